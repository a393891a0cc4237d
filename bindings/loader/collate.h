/* A loader's batches: samples, each one or several Lua values, put side by side. */
#ifndef GP_COLLATE_H
#define GP_COLLATE_H

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gp_collate gp_collate;

/* A batch of n samples; pin: in host memory that a device copies from. NULL with a message. */
gp_collate *gp_collate_new(int n, bool pin);
void gp_collate_free(gp_collate *s); /* NULL is fine */

/* The first sample says what there is in each: the count values from index first on, tables by
   their keys. index: of the sample, for messages. Nobody else uses s meanwhile. False with a
   message. */
bool gp_collate_shape(gp_collate *s, lua_State *L, int first, int count, int64_t index);
bool gp_collate_shaped(const gp_collate *s);

/* Puts a sample into its place, 0 … n-1; each place once, several threads at a time. */
bool gp_collate_put(gp_collate *s, int slot, lua_State *L, int first, int count, int64_t index);

/* Pushes the batch, as many values as a sample has: a tensor with a dim of n in front for tensors,
   numbers (integers i64, else the default dtype) and booleans; a list for strings; tables for
   tables. Returns their number. Raises. */
int gp_collate_push(gp_collate *s, lua_State *L);

#endif
