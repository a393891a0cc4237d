/* Functions in C that scripts call, with signatures (tensor/sig.h). */
#ifndef GP_FUNCTION_H
#define GP_FUNCTION_H

#include <lua.h>

#include "tensor/op.h"

/* fn finds one value for each parameter on the stack, in order: checked, or the default, or nil;
 * the values of `rest` come last. It may yield. The name is for messages and, after its last dot,
 * that of the field: "sync.lines". */
typedef struct gp_lua_function {
    const char *name, *sig;
    lua_CFunction fn;
} gp_lua_function;

/* Pushes the function of a row, whose nup upvalues are on top of the stack; fn reads them by
 * gp_lua_upvalue, from 1 on. The row must live as long. */
void gp_lua_push_function(lua_State *L, const gp_lua_function *row, int nup);
#define gp_lua_upvalue(i) lua_upvalueindex(2 + (i))

/* Sets the functions of rows, up to one without a name, as fields of the table on top. */
void gp_lua_set_functions(lua_State *L, const gp_lua_function *rows);

/* Name and signature of the function at i, as of a composite without help; NULL for any other
 * value. */
const gp_op *gp_lua_function_of(lua_State *L, int i);

#endif
