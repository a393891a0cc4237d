/* gp_arrays_overlap against a comparison of every element's address with every other's, on random
 * layouts. */
#include "ops.h"

#include "tensor/overlap.h"

enum { ROOM = 64 };

static float memory[2 * ROOM];
static uint32_t state = 20261121;

static int64_t any(int64_t most) { /* 0 to most; xorshift32 */
    state ^= state << 13, state ^= state >> 17, state ^= state << 5;
    return state % (uint32_t)(most + 1);
}

static gp_array array(int64_t at, int ndim, const int64_t *dim, const int64_t *stride) {
    gp_array a = {
        .data = (char *)(memory + at), .numel = 1, .dtype = GP_f32, .ndim = (uint8_t)ndim};
    for (int i = 0; i < ndim; i++) a.dim[i] = dim[i], a.stride[i] = stride[i], a.numel *= dim[i];
    a.contiguous = a.numel == 0;
    return a;
}

static gp_array random_array(bool with_empty) {
    int64_t dim[3], stride[3];
    int ndim = (int)any(3);
    for (int i = 0; i < ndim; i++)
        dim[i] = with_empty ? any(3) : 1 + any(3), stride[i] = any(14) - 7;
    return array(ROOM + any(24) - 12, ndim, dim, stride);
}

/* Marks the floats that a's elements occupy. */
static void places(const gp_array *a, bool *taken) {
    memset(taken, 0, 2 * ROOM);
    for (int64_t k = 0; k < a->numel; k++) {
        int64_t at = (float *)a->data - memory, rest = k;
        for (int d = a->ndim - 1; d >= 0; d--)
            at += rest % a->dim[d] * a->stride[d], rest /= a->dim[d];
        taken[at] = true;
    }
}

static bool slow(const gp_array *a, const gp_array *b) {
    bool x[2 * ROOM], y[2 * ROOM];
    places(a, x), places(b, y);
    for (int i = 0; i < 2 * ROOM; i++)
        if (x[i] && y[i]) return true;
    return false;
}

static void against_slow(void) {
    int yes = 0, empty = 0;
    for (int k = 0; k < 20000; k++) {
        gp_array a = random_array(k & 1), b = random_array(k & 1);
        bool want = slow(&a, &b), got = gp_arrays_overlap(&a, &b);
        if (got != want)
            complain("pair %d: %s", k, got ? "they share nothing" : "they share an element");
        yes += want, empty += a.numel == 0 || b.numel == 0;
    }
    tap_quiet("20000 pairs of layouts share elements exactly where their places meet");
    tap_ok(yes > 3000 && yes < 17000 && empty > 4000, "of them %d share, %d have an empty one", yes,
           empty);
}

/* An empty view inside another array: its strides and the other dims reach into the other's
 * elements. */
static void nothing_inside(void) {
    gp_array x = array(0, 1, (int64_t[]){20}, (int64_t[]){1}),
             none = array(5, 2, (int64_t[]){0, 3}, (int64_t[]){4, 2}),
             first = array(5, 2, (int64_t[]){3, 0}, (int64_t[]){2, 1});
    tap_ok(!gp_arrays_overlap(&x, &none) && !gp_arrays_overlap(&none, &x),
           "an empty array inside another shares nothing with it");
    tap_ok(!gp_arrays_overlap(&x, &first) && !gp_arrays_overlap(&first, &x),
           "nor where the empty dim is the last");
    tap_ok(!gp_arrays_overlap(&none, &none), "nor with itself");
    tap_ok(gp_arrays_overlap(&x, &x), "as one with elements does");
}

int main(void) {
    nothing_inside();
    against_slow();
    return tap_done();
}
