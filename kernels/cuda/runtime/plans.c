/* A cache of plans: chains by hash, and the least recently used one is replaced. A replacement
 * looks at all of them: it is rare, and makes a plan, which takes longer. */
#include "kernels/cuda/runtime/plans.h"

#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"

typedef struct gp_plan_node {
    struct gp_plan_node *next;
    uint64_t hash, used; /* used: the clock of the last look-up */
    max_align_t plan[];
} node;

int gp_plans_made;

/* Multiplies and folds eight bytes at a time, as FNV-1a does one. */
static uint64_t hash_of(const void *key, size_t bytes) {
    uint64_t h = 14695981039346656037u;
    for (size_t i = 0; i < bytes; i += sizeof h) {
        uint64_t word = 0;
        memcpy(&word, (const char *)key + i, bytes - i < sizeof word ? bytes - i : sizeof word);
        h = (h ^ word) * 1099511628211u;
        h ^= h >> 32;
    }
    return h;
}

void *gp_plans_find(gp_plans *p, const void *key) {
    uint64_t hash = hash_of(key, p->key);
    for (node *n = p->bucket[hash % GP_PLAN_BUCKETS]; n; n = n->next) {
        if (n->hash != hash || memcmp(n->plan, key, p->key)) continue;
        n->used = ++p->clock;
        return n->plan;
    }
    return NULL;
}

void gp_plans_drop(gp_plans *p, const gp_call *c, void *plan) {
    node *old = (void *)((char *)plan - offsetof(node, plan)),
         **at = &p->bucket[old->hash % GP_PLAN_BUCKETS];
    while (*at != old) at = &(*at)->next;
    *at = old->next;
    p->forget(c, plan);
    free(old);
    p->n--;
}

/* The plan that was used longest ago, of those that may be replaced; NULL where there is none. */
static node *oldest(const gp_plans *p) {
    node *old = NULL;
    for (int i = 0; i < GP_PLAN_BUCKETS; i++)
        for (node *n = p->bucket[i]; n; n = n->next)
            if ((!old || n->used < old->used) && !(p->kept && p->kept(n->plan))) old = n;
    return old;
}

void *gp_plans_add(gp_plans *p, const gp_call *c, const void *key) {
    node *old = p->n >= p->most ? oldest(p) : NULL;
    if (old) gp_plans_drop(p, c, old->plan);
    node *n = calloc(1, offsetof(node, plan) + p->size);
    if (!n) return gp_fail("%s: out of memory", c->op->name), NULL;
    n->hash = hash_of(key, p->key);
    n->used = ++p->clock;
    memcpy(n->plan, key, p->key);
    n->next = p->bucket[n->hash % GP_PLAN_BUCKETS];
    p->bucket[n->hash % GP_PLAN_BUCKETS] = n;
    p->n++;
    gp_plans_made++;
    return n->plan;
}
