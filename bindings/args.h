/* Arguments of a Lua call, read and checked by a signature. */
#ifndef GP_ARGS_H
#define GP_ARGS_H

#include <lua.h>

#include "tensor/op.h"
#include "tensor/sig.h"

/* Reads the call on the stack into c, argument by argument of sig: by position, by name from a last
 * table of options, or the default. Raises "NAME: argument 'x' (#1): expected …, got …" with op's
 * name; of op only the name and the text of the signature are used. Tensors are borrowed from the
 * stack. at, where given, gets for each parameter the stack index of its (first) value, 0 for a
 * default. */
void gp_lua_args(
    lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c, int8_t at[GP_MAX_PARAMS]);

#endif
