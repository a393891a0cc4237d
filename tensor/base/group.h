/* Groups of what is alike in a list, found by a hash: one pass, where sorting takes many. */
#ifndef GP_GROUP_H
#define GP_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Moves those of n pointers together that are alike: they keep their order, and groups have that of
 * their first ones. hash: the same for any two that are alike. False, and nothing is moved, without
 * memory. */
bool gp_group(const void **list, size_t n, uint64_t (*hash)(const void *),
              bool (*alike)(const void *, const void *));

/* The hash h of what came before, and v. */
static inline uint64_t gp_hash(uint64_t h, uint64_t v) {
    h = (h ^ v) * 0xff51afd7ed558ccdu; /* a step of MurmurHash3's finalizer */
    return h ^ h >> 33;
}

#endif
