/* Segments of a device's memory: which sizes they have, and that blocks never overlap, become one
 * again, stay with their stream and are given back as asked. */
#include "tap.h"

#include <stdint.h>
#include <stdlib.h>

#include "tensor/memory/segments.h"

enum { KIB = 1 << 10, MIB = 1 << 20 };

/* ---- a device that counts ---- */

static int allocated, freed;
static size_t last_allocated, last_freed;
static int refuse; /* the number of allocations that fail */

static void *mem_alloc(gp_device *dev, size_t bytes) {
    if (refuse) return refuse--, NULL;
    allocated++, last_allocated = bytes;
    return aligned_alloc(512, (bytes + 511) / 512 * 512);
}
static void mem_free(gp_device *dev, void *p, size_t bytes) {
    freed++, last_freed = bytes;
    free(p);
}
static const gp_device_vt vt = {.kind = "counting", .mem_alloc = mem_alloc, .mem_free = mem_free};
static gp_device dev = {.vt = &vt};

static gp_block *get(gp_segments *all, int stream, size_t bytes) {
    gp_block *b = gp_segments_allocate(all, stream, bytes);
    return b ? b : gp_segments_add(all, stream, bytes, 0);
}

/* They live as long as their device: this one's must be found by the leak checker. */
static gp_segments *new_segments(void) {
    static gp_segments *all[8];
    static int n;
    return all[n++] = gp_segments_new(&dev);
}

/* All of it must come back: nothing is left in use. */
static void end(gp_segments *all) {
    gp_segments_trim(all, 0);
    tap_ok(gp_segments_bytes(all) == 0 && gp_segments_free_bytes(all) == 0 && allocated == freed,
           "all is given back: %d segments of %d", freed, allocated);
}

/* ---- sizes ---- */

static void sizes(void) {
    static const struct {
        int kib, segment; /* MiB */
    } of[] = {{1, 2},         {KIB, 2},         {KIB + 2, 20},   {9 * KIB, 20},
              {11 * KIB, 12}, {100 * KIB, 100}, {201 * KIB, 204}};
    gp_segments *all = new_segments();
    for (int i = 0; i < 7; i++) {
        gp_block *b = gp_segments_add(all, i, (size_t)of[i].kib * KIB - 64, 0);
        tap_is_int((long long)last_allocated, (long long)of[i].segment * MIB,
                   "a block of %d KiB comes from a segment of %d MiB", of[i].kib, of[i].segment);
        gp_segments_give(all, b);
    }
    end(all);
}

/* A block of 3 MiB leaves 17 of 20; the next ones come from there. */
static void divided(void) {
    gp_segments *all = new_segments();
    gp_block *b[6];
    int before = allocated;
    for (int i = 0; i < 6; i++) b[i] = get(all, 0, 3 * MIB);
    tap_is_int(allocated - before, 1, "six blocks of 3 MiB are of one segment");
    tap_ok(!gp_segments_allocate(all, 1, 3 * KIB) && !gp_segments_allocate(all, 0, 3 * KIB),
           "small ones and other streams get none of it");
    gp_segments_give(all, b[1]), gp_segments_give(all, b[3]);
    tap_ok(!gp_segments_allocate(all, 0, 7 * MIB), "3 and 3 MiB apart are not 7");
    gp_segments_give(all, b[2]);
    gp_block *nine = gp_segments_allocate(all, 0, 8 * MIB);
    tap_ok(nine && nine->data == b[1]->data, "with what was between them they are 9");
    gp_segments_give(all, nine);
    for (int i = 0; i < 6; i++)
        if (i < 1 || i > 3) gp_segments_give(all, b[i]);
    tap_ok(gp_segments_free_bytes(all) == 20 * MIB, "and at last the segment is whole");
    gp_block *first = gp_segments_allocate(all, 0, 5 * MIB);
    char *data = first->data;
    gp_segments_give(all, first);
    gp_block *again = gp_segments_allocate(all, 0, 5 * MIB);
    tap_ok(again->data == data, "what was freed last is used first");
    gp_segments_give(all, again);
    end(all);
}

/* ---- at random ---- */

typedef struct {
    gp_block *b;
    unsigned char mark;
} held;

static uint64_t state = 88172645463325252u;
static uint64_t draw(uint64_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state % below;
}

/* Marks both ends, where neighbours would reach into it. */
static void mark(held *h) { h->b->data[0] = h->b->data[h->b->bytes - 1] = (char)h->mark; }
static bool marked(const held *h) {
    return (unsigned char)h->b->data[0] == h->mark &&
           (unsigned char)h->b->data[h->b->bytes - 1] == h->mark;
}

static void at_random(void) {
    enum { HELD = 200, STEPS = 40000 };
    gp_segments *all = new_segments();
    static held h[HELD];
    int before = allocated, wrong = 0, warm = 0;
    for (int step = 0; step < STEPS; step++) {
        held *x = &h[draw(HELD)];
        if (step == STEPS / 2) warm = allocated;
        if (x->b) {
            wrong += !marked(x);
            gp_segments_give(all, x->b), x->b = NULL;
            continue;
        }
        size_t bytes = draw(8) ? 1 + draw(200 * KIB) : 1 + draw(4 * MIB);
        *x = (held){get(all, (int)draw(2), bytes), (unsigned char)step};
        wrong += x->b->bytes < bytes || (uintptr_t)x->b->data % 64;
        mark(x);
    }
    tap_is_int(wrong, 0, "blocks keep what their users wrote");
    tap_ok(warm - before < 200 && allocated - warm < 20,
           "sizes at random need %d segments, and %d once there are enough", warm - before,
           allocated - warm);
    for (int i = 0; i < HELD; i++)
        if (h[i].b) gp_segments_give(all, h[i].b);
    tap_ok(gp_segments_bytes(all) == gp_segments_free_bytes(all), "nothing is lost");
    end(all);
}

/* ---- giving back ---- */

static void given_back(void) {
    gp_segments *all = new_segments();
    static const int mib[] = {30, 60, 120, 40};
    gp_block *b[5];
    for (int i = 0; i < 4; i++) b[i] = gp_segments_add(all, i % 2, (size_t)mib[i] * MIB - 64, 0);
    b[4] = gp_segments_add(all, 0, 100, 0);
    tap_ok(!gp_segments_trim_for(all, 1), "what is used is not given back");
    for (int i = 0; i < 4; i++) gp_segments_give(all, b[i]);
    int before = freed;
    gp_segments_trim_for(all, 35 * MIB);
    tap_ok(freed - before == 1 && last_freed == 40 * MIB, "35 MiB: the smallest that is enough");
    gp_segments_trim_for(all, 130 * MIB);
    tap_ok(freed - before == 3 && gp_segments_free_bytes(all) < 33 * MIB,
           "130 MiB: the largest two, as none is enough");
    gp_segments_trim(all, 31 * MIB + 2 * MIB);
    tap_is_int(freed - before, 3, "with so much to keep nothing is freed");
    tap_ok(!gp_segments_add(all, 0, 30 * MIB, gp_segments_bytes(all) + 29 * MIB),
           "no segment goes beyond the limit");
    gp_block *least = gp_segments_add(all, 0, 3 * MIB, gp_segments_bytes(all) + 4 * MIB);
    tap_ok(least && last_allocated < 4 * MIB, "near it a segment is no larger than its block");
    if (least) gp_segments_give(all, least);
    refuse = 1;
    least = gp_segments_add(all, 3, 3 * MIB, 0);
    tap_ok(least && last_allocated < 4 * MIB, "nor where the device has no more");
    if (least) gp_segments_give(all, least);
    refuse = 2;
    tap_ok(!gp_segments_add(all, 4, 3 * MIB, 0) && refuse == 0, "a device without memory");
    gp_segments_give(all, b[4]);
    end(all);
}

int main(void) {
    sizes();
    divided();
    at_random();
    given_back();
    return tap_done();
}
