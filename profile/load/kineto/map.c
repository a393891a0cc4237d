/* The table of map.h. Its seed is where it lies in memory, which a file cannot know: no file
 * can be made of numbers that all have one place. */
#include "profile/load/kineto/map.h"

#include <stdlib.h>

enum { NEIGHBOURS = 16 };

bool kineto_map_new(kineto_map *m, int n) {
    m->slots = 64;
    while (m->slots < 2 * (size_t)n) m->slots *= 2;
    m->key = malloc(m->slots * sizeof *m->key);
    m->event = calloc(m->slots, sizeof *m->event);
    return m->key && m->event;
}

/* Numbers that follow each other, as most do, are neighbours in the table. */
int *kineto_map_at(const kineto_map *m, int64_t key) {
    uint64_t h = ((uint64_t)key / NEIGHBOURS) ^ (uint64_t)(uintptr_t)m->key;
    h = (h ^ h >> 33) * 0xff51afd7ed558ccdu; /* MurmurHash3's finalizer */
    h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
    size_t mask = m->slots - 1, at = (size_t)(h ^ h >> 33);
    at = (at - at % NEIGHBOURS + (size_t)key % NEIGHBOURS) & mask;
    while (m->event[at] && m->key[at] != key) at = (at + 1) & mask;
    return &m->event[at];
}

void kineto_map_add(kineto_map *m, int64_t key, int event) {
    int *at = kineto_map_at(m, key);
    if (key < 0 || *at) return;
    m->key[at - m->event] = key;
    *at = event + 1;
}

int kineto_map_get(const kineto_map *m, int64_t key) {
    return key < 0 ? -1 : *kineto_map_at(m, key) - 1;
}

void kineto_map_free(kineto_map *m) {
    free(m->key);
    free(m->event);
}
