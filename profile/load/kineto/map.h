/* Finds a trace's events by a number: a table of places, each found by its key's hash. */
#ifndef GP_LOAD_KINETO_MAP_H
#define GP_LOAD_KINETO_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kineto_map {
    int64_t *key;
    int *event; /* 1 + index; 0: free */
    size_t slots;
} kineto_map;

/* For at most n keys; false without memory. It is freed by kineto_map_free also then. */
bool kineto_map_new(kineto_map *m, int n);
void kineto_map_free(kineto_map *m);
/* The first event with a key stays; keys below 0 are none. */
void kineto_map_add(kineto_map *m, int64_t key, int event);
/* The event's index; -1: none. */
int kineto_map_get(const kineto_map *m, int64_t key);
/* The place of that key, 1 + index there, or the free one for it. */
int *kineto_map_at(const kineto_map *m, int64_t key);

#endif
