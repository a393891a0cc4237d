/* A loader's batches: collated samples, each one or several Lua values. */
#ifndef GP_COLLATE_H
#define GP_COLLATE_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gp_collate gp_collate;

/* A batch of n samples; pin: in pinned host memory. NULL with a message. */
gp_collate *gp_collate_new(int n, bool pin);
void gp_collate_free(gp_collate *s); /* NULL is fine */

/* Determines the values of all samples from the first one: the count values from index first on,
 * tables by their keys. index: of the sample, for messages. The caller makes sure that no one else
 * uses s. False with a message. */
bool gp_collate_shape(gp_collate *s, lua_State *L, int first, int count, int64_t index);
bool gp_collate_shaped(const gp_collate *s);

/* Stores a sample in its slot, 0 … n-1; each slot once, from several threads at a time. */
bool gp_collate_store(gp_collate *s, int slot, lua_State *L, int first, int count, int64_t index);

/* Pushes the batch, as many values as a sample has: a tensor with a leading dim of n for tensors,
 * numbers (integers i64, else the default dtype) and booleans; a list for strings; tables for
 * tables. Returns their number. Raises. */
int gp_collate_push(gp_collate *s, lua_State *L);

#endif
