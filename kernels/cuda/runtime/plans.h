/* Plans of NVIDIA's libraries: descriptors, an algorithm, a graph, found again by the sizes and
 * types of the call that they were made for. One cache for each kind of plan holds the number that
 * its owner says; a further one takes the place of the one that was used longest ago. So a model
 * whose calls have fewer shapes than that plans each of them once, in whatever order they come.
 *
 * A plan is a struct that begins with its key, which is compared byte by byte: the owner zeroes a
 * key, padding too, before it fills it. All functions are called with gp_lib_lock held; a plan
 * stays where it is until it is forgotten. */
#ifndef GP_CUDA_PLANS_H
#define GP_CUDA_PLANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/op.h"

enum { GP_PLAN_BUCKETS = 256 };

typedef struct gp_plans {
    size_t key, size; /* bytes of a key, and of a plan */
    int most;         /* how many it holds */
    /* Frees what a plan holds, but not the plan; c: the call that needs its place. */
    void (*forget)(const gp_call *c, void *plan);
    bool (*kept)(const void *plan);               /* whether it must not be replaced; NULL: never */
    int n;                                        /* the rest begins as 0: how many there are, */
    uint64_t clock;                               /* look-ups until now, */
    struct gp_plan_node *bucket[GP_PLAN_BUCKETS]; /* and the plans by their keys' hashes */
} gp_plans;

/* How many were made so far, of all kinds. */
extern int gp_plans_made;

/* The plan with that key, or NULL. */
void *gp_plans_find(gp_plans *p, const void *key);

/* A plan with that key and zeros after it, which the cache owns; there was none. Where it is full
 * and no plan may be replaced, it grows. NULL with a message where there is no memory. */
void *gp_plans_add(gp_plans *p, const gp_call *c, const void *key);

/* Forgets a plan and frees it. */
void gp_plans_drop(gp_plans *p, const gp_call *c, void *plan);

#endif
