/* Grouping by an open table of the groups, in which each of the list finds its own. */
#include "tensor/base/group.h"

#include <stdlib.h>
#include <string.h>

typedef struct grouping {
    size_t *slot;       /* 1 + a group's number; 0: free */
    size_t *of;         /* by place in the list: its group */
    const void **first; /* by group */
    size_t *at;         /* by group: how many it has, then where its next one goes */
    size_t slots, n;    /* n: groups */
} grouping;

static bool allocate(grouping *g, size_t n) {
    g->slots = 64;
    while (g->slots < 2 * n) g->slots *= 2;
    g->slot = calloc(g->slots, sizeof *g->slot);
    g->of = malloc((n + 1) * sizeof *g->of);
    g->first = malloc((n + 1) * sizeof *g->first);
    g->at = malloc((n + 1) * sizeof *g->at);
    return g->slot && g->of && g->first && g->at;
}

/* The group of x, whose hash is h: that of another one, or a new one. */
static size_t group_of(grouping *g, const void *x, uint64_t h,
                       bool (*alike)(const void *, const void *)) {
    size_t i = (size_t)h & (g->slots - 1);
    while (g->slot[i] && !alike(g->first[g->slot[i] - 1], x)) i = (i + 1) & (g->slots - 1);
    if (!g->slot[i]) {
        g->first[g->n] = x, g->at[g->n] = 0;
        g->slot[i] = ++g->n;
    }
    return g->slot[i] - 1;
}

bool gp_group(const void **list, size_t n, uint64_t (*hash)(const void *),
              bool (*alike)(const void *, const void *)) {
    grouping g = {0};
    const void **moved = malloc((n + 1) * sizeof *moved);
    bool ok = moved && allocate(&g, n);
    for (size_t i = 0; ok && i < n; i++) {
        g.of[i] = group_of(&g, list[i], hash(list[i]), alike);
        g.at[g.of[i]]++;
    }
    for (size_t i = 0, before = 0; ok && i < g.n; i++) {
        size_t has = g.at[i];
        g.at[i] = before, before += has;
    }
    for (size_t i = 0; ok && i < n; i++) moved[g.at[g.of[i]]++] = list[i];
    if (ok && n) memcpy(list, moved, n * sizeof *list);
    free(moved);
    free(g.slot), free(g.of), free(g.first), free(g.at);
    return ok;
}
