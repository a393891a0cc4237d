/* Planning a capture's replays: where each storage is, and what differs from replay to replay.
 * Intermediate results share one block: storages of one lane whose lifetimes do not overlap get the
 * same memory. Results and gradients are new in each replay. What the function made and still holds
 * elsewhere is refused, since a replay could not make it again. */
#include <stdlib.h>
#include <string.h>

#include "tensor/capture/list.h"
#include "tensor/device/device.h"
#include "tensor/memory/alloc.h"

enum { ALIGN = 64 };

/* ---- what a replay gives ---- */

static int find_slot(const gp_capture *k, const gp_storage *st) {
    for (int i = k->nslots - 1; i >= 0; i--)
        if (k->slot[i].st == st) return i;
    return -1;
}

/* How a replay gives t. False with a message. what: "result 1" */
static bool plan_output(gp_capture *k, gp_capture_output *g, gp_tensor *t, const char *what,
                        int n) {
    int i = find_slot(k, t->storage);
    gp_capture_slot *s = i < 0 ? NULL : &k->slot[i];
    for (int j = 0; j < k->ninputs; j++)
        if (k->input[j] == t)
            return *g = (gp_capture_output){.how = GP_GIVE_INPUT, .input = j}, true;
    if (!s || (s->kind == GP_SLOT_FIXED && !s->made)) {
        *g = (gp_capture_output){.how = GP_GIVE_SAME, .same = gp_tensor_ref(t)};
        return true;
    }
    if (s->kind == GP_SLOT_FIXED || (s->kind == GP_SLOT_OURS && !s->written))
        return gp_fail("capture: %s %d is made from values of the host, which a replay would not "
                       "make again; make it by an op (zeros, full, arange), or before the call",
                       what, n);
    if (s->kind == GP_SLOT_OURS) s->kind = GP_SLOT_GIVEN;
    *g = (gp_capture_output){
        .how = GP_GIVE_ARRAY, .slot = i, .offset = t->a.data - s->data, .a = t->a};
    return true;
}

static bool plan_results(gp_capture *k, gp_tensor *const *results, int n) {
    for (int i = 0; i < n; i++) {
        gp_tensor *t = results[i];
        gp_node *node = gp_tensor_node(t);
        if (node && !node->walked)
            return gp_fail("capture: result %d carries gradients (of %s, %s:%d), which a replay "
                           "does not record: call backward in the function, or run it under "
                           "no_grad, or return the tensor's :detach()",
                           i + 1, node->op->name, node->loc.file ? node->loc.file : "?",
                           node->loc.line);
        if (!plan_output(k, &k->result[i], t, "result", i + 1)) return false;
        if (k->result[i].how == GP_GIVE_ARRAY) k->slot[k->result[i].slot].result = true;
        k->nresults++;
    }
    return true;
}

/* Cuts the function's own results off from the graph, which its backward has walked: the first call
 * gives what replays give. */
static void cut_results(const gp_capture *k, gp_tensor *const *results) {
    for (int i = 0; i < k->nresults; i++)
        if (k->result[i].how == GP_GIVE_ARRAY) gp_tensor_drop_history(results[i]);
}

/* Leaves that the function made, and nobody holds any more, are made again by each call. */
static void drop_own_leaves(gp_capture *k) {
    int n = 0;
    for (int i = 0; i < k->nleaves; i++) {
        gp_captured_leaf *l = &k->leaf[i];
        if (l->leaf->refs > 1) {
            k->leaf[n++] = *l;
            continue;
        }
        gp_leaf_unref(l->leaf);
        gp_tensor_unref(l->before);
    }
    k->nleaves = n;
}

/* A gradient that was read must be there in the next call: one that accumulates. */
static bool plan_leaves(gp_capture *k) {
    for (int i = 0; i < k->nleaves; i++) {
        gp_captured_leaf *l = &k->leaf[i];
        gp_tensor *g = l->leaf->grad;
        if (l->read && g != l->before) {
            k->again = true;
            return gp_fail("capture: %s:%d reads a gradient, which the function then replaces: a "
                           "replay would read the old one; clear gradients first in the function "
                           "(zero_grad)",
                           l->loc.file ? l->loc.file : "?", l->loc.line);
        }
        if (g && !plan_output(k, &l->after, g, "gradient", i + 1)) return false;
    }
    return true;
}

/* ---- what is held ---- */

static gp_srcloc maker(const gp_capture *k, const gp_capture_slot *s) {
    return s->first < 0 ? k->loc : k->call[s->first]->call.loc;
}

/* Whether s, made in the function, outlives its call elsewhere than in its results. */
static bool leaks(const gp_capture_slot *s) {
    if (!s->made || s->dead) return false;
    if (s->kind == GP_SLOT_FIXED) return atomic_load(&s->st->refs) > 1;
    return s->kind == GP_SLOT_OURS;
}

static bool check_held(gp_capture *k) {
    for (int i = 0; i < k->nslots; i++) {
        const gp_capture_slot *s = &k->slot[i];
        gp_srcloc at = maker(k, s);
        const char *file = at.file ? at.file : "?";
        k->again = true;
        if (leaks(s))
            return gp_fail("capture: the tensor that %s:%d makes is kept after the call (in an "
                           "upvalue, a field or a global): a replay would not put a new one there; "
                           "return it, or write it into a tensor that exists (copy_)",
                           file, at.line);
        if (s->kind == GP_SLOT_FIXED && !s->made && atomic_load(&s->st->refs) == 1)
            return gp_fail("capture: the tensor that %s:%d reads was freed during the call: its "
                           "next call would not find it",
                           file, at.line);
        k->again = false;
    }
    return true;
}

/* ---- the block of intermediate results ---- */

/* Free parts of the block, in order. */
typedef struct gap {
    size_t at, bytes;
} gap;

typedef struct blocks {
    int n;
    gap *gap;
    size_t top;
} blocks;

static size_t allocate(blocks *b, size_t bytes) {
    int best = -1;
    for (int i = 0; i < b->n; i++)
        if (b->gap[i].bytes >= bytes && (best < 0 || b->gap[i].bytes < b->gap[best].bytes))
            best = i;
    if (best < 0) return b->top += bytes, b->top - bytes;
    size_t at = b->gap[best].at;
    b->gap[best].at += bytes;
    b->gap[best].bytes -= bytes;
    if (!b->gap[best].bytes)
        memmove(b->gap + best, b->gap + best + 1, (size_t)(--b->n - best) * sizeof *b->gap);
    return at;
}

static void give_back(blocks *b, size_t at, size_t bytes) {
    int i = 0;
    while (i < b->n && b->gap[i].at < at) i++;
    bool joins = i && b->gap[i - 1].at + b->gap[i - 1].bytes == at;
    if (joins) {
        b->gap[--i].bytes += bytes;
    } else {
        memmove(b->gap + i + 1, b->gap + i, (size_t)(b->n++ - i) * sizeof *b->gap);
        b->gap[i] = (gap){at, bytes};
    }
    if (i + 1 < b->n && b->gap[i].at + b->gap[i].bytes == b->gap[i + 1].at) {
        b->gap[i].bytes += b->gap[i + 1].bytes;
        memmove(b->gap + i + 1, b->gap + i + 2, (size_t)(--b->n - i - 1) * sizeof *b->gap);
    }
}

static size_t rounded(const gp_capture_slot *s) { return (s->bytes + ALIGN - 1) / ALIGN * ALIGN; }

/* Slots by the call that uses them first, or last: lists by call. */
typedef struct by_call {
    int *head, *next;
} by_call;

static void list_slots(const gp_capture *k, by_call *l, bool last) {
    for (int i = 0; i < k->ncalls; i++) l->head[i] = -1;
    for (int i = 0; i < k->nslots; i++) {
        const gp_capture_slot *s = &k->slot[i];
        if (s->kind != GP_SLOT_OURS || s->first < 0) continue;
        int at = last ? s->last : s->first;
        l->next[i] = l->head[at];
        l->head[at] = i;
    }
}

/* Gives each slot that is OURS a place in the block, which those that one lane uses, and not at the
 * same time, share; returns the block's size. */
static size_t pack(gp_capture *k, int *memory, gap *gaps) {
    by_call first = {memory, memory + k->ncalls}, last = {first.next + k->nslots, NULL};
    size_t top = 0;
    last.next = last.head + k->ncalls;
    list_slots(k, &first, false);
    list_slots(k, &last, true);
    for (int lane = 0; lane <= GP_CAPTURE_LANES; lane++) {
        blocks b = {.gap = gaps, .top = top};
        for (int c = 0; c < k->ncalls; c++) {
            for (int i = first.head[c]; i >= 0; i = first.next[i])
                if (k->slot[i].lane == lane) k->slot[i].at = allocate(&b, rounded(&k->slot[i]));
            for (int i = last.head[c]; i >= 0 && lane < GP_CAPTURE_LANES; i = last.next[i])
                if (k->slot[i].lane == lane) give_back(&b, k->slot[i].at, rounded(&k->slot[i]));
        }
        top = b.top;
    }
    return top;
}

/* There is one in any case: replays on several streams follow one another by it. */
static bool make_block(gp_capture *k) {
    size_t n = (size_t)k->ncalls + (size_t)k->nslots;
    int *memory = malloc(2 * n * sizeof *memory + 1);
    gap *gaps = malloc((size_t)(k->nslots + 1) * sizeof *gaps);
    bool ok = memory && gaps;
    size_t bytes = ok ? pack(k, memory, gaps) : 0;
    free(memory);
    free(gaps);
    if (!ok) return gp_fail("capture: out of memory");
    if (!k->ncalls) return true;
    return (k->block = gp_storage_new(k->stream, bytes ? bytes : 1));
}

/* ---- what differs ---- */

static bool number_dynamic(gp_capture *k) {
    for (int i = 0; i < k->nslots; i++)
        k->ndynamic += k->slot[i].kind == GP_SLOT_INPUT || k->slot[i].kind == GP_SLOT_GIVEN;
    k->dynamic = malloc((size_t)(k->ndynamic + 1) * sizeof *k->dynamic);
    k->outside = malloc((size_t)(k->nslots + 1) * sizeof *k->outside);
    if (!k->dynamic || !k->outside) return gp_fail("capture: out of memory");
    for (int i = 0, n = 0; i < k->nslots; i++) {
        gp_capture_slot *s = &k->slot[i];
        if (s->kind == GP_SLOT_INPUT || s->kind == GP_SLOT_FIXED) k->outside[k->noutside++] = i;
        if (s->kind != GP_SLOT_INPUT && s->kind != GP_SLOT_GIVEN) continue;
        s->dynamic = n;
        k->dynamic[n++] = i;
    }
    return true;
}

/* Moves the arrays of r into the block, and lists those that are elsewhere each time. */
static bool fix_arrays(gp_capture *k, gp_recorded *r) {
    int n = 0;
    uintptr_t bits = k->stream->dev->vt->host_bits;
    for (int i = 0; i < r->narrays; i++) n += r->slot[i] >= 0 && k->slot[r->slot[i]].dynamic >= 0;
    if (n && !(r->fixup = malloc((size_t)n * sizeof *r->fixup)))
        return gp_fail("capture: out of memory");
    for (int i = 0; i < r->narrays; i++) {
        if (r->slot[i] < 0) continue;
        const gp_capture_slot *s = &k->slot[r->slot[i]];
        ptrdiff_t offset = r->array[i].data - s->data;
        if (s->dynamic >= 0) r->fixup[r->nfixups++] = (gp_fixup){i, s->dynamic, offset};
        else if (s->kind == GP_SLOT_OURS) r->array[i].data = k->block->data + s->at + offset;
        if (bits) r->array[i].data = (char *)((uintptr_t)r->array[i].data & bits);
    }
    r->varies = r->nfixups || r->draws || r->seed || r->nnumbers;
    r->kernel = gp_cpu_kernels[gp_op_id(r->call.op)];
    return true;
}

static bool fix_calls(gp_capture *k) {
    for (int i = 0; i < k->ncalls; i++)
        if (!fix_arrays(k, k->call[i])) return false;
    return true;
}

void gp_capture_pin(gp_capture *k, const gp_tensor *t) {
    for (int i = 0; i < k->ninputs; i++)
        if (k->like[i].storage == t->storage) k->slot[k->input_slot[i]].pinned = true;
}

/* The inputs' tensors belong to the caller again. */
static void release_inputs(gp_capture *k) {
    for (int i = 0; i < k->ninputs; i++) {
        gp_tensor_unref(k->input[i]);
        k->input[i] = NULL;
    }
    free(k->bucket);
    k->bucket = NULL;
}

bool gp_capture_plan(gp_capture *k, gp_tensor *const *results, int n, bool *again) {
    /* Forks of the function are over: its caller's streams are current. */
    if (k->stream) k->stream = gp_stream_current(k->stream->dev);
    drop_own_leaves(k);
    gp_capture_stop(k);
    if (k->failed)
        return gp_fail("capture: something that a replay would not repeat was refused in the "
                       "function, which went on all the same");
    if (gp_generator.seed == k->rng.seed) k->draws = gp_generator.counter - k->rng.counter;
    bool ok = plan_results(k, results, n);
    if (ok) cut_results(k, results);
    ok = ok && plan_leaves(k) && check_held(k) && gp_capture_divide(k) && make_block(k) &&
         number_dynamic(k) && fix_calls(k);
    *again = k->again;
    if (ok) release_inputs(k);
    return ok;
}
