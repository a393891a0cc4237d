/* Arguments of a Lua call, read and checked by a signature. */
#ifndef GP_ARGS_H
#define GP_ARGS_H

#include <lua.h>
#include <stdbool.h>

#include "tensor/op.h"
#include "tensor/sig.h"

/* Reads the call on the stack into c, argument by argument of sig: by position, by name from a last
 * table of options, or the default. Raises "NAME: argument 'x' (#1): expected …, got …" with op's
 * name; only op's name and the text of its signature are used. Tensors are borrowed from the stack.
 * at, where given, gets for each parameter the stack index of its (first) value, 0 for a
 * default. */
void gp_lua_args(lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c,
                 int8_t at[GP_MAX_PARAMS]);

/* Pushes the arguments that gp_lua_args read, one value for each parameter and all values of
 * `rest`, which are on the stack up to top; returns their number. */
int gp_lua_push_args(lua_State *L, const gp_sig *sig, const gp_call *c, const int8_t *at, int top);

#endif
