/* Options of a call by name. */
#ifndef GP_ARGS_NAMES_H
#define GP_ARGS_NAMES_H

#include <lua.h>

#include "tensor/op.h"
#include "tensor/sig.h"

/* The parameter that key names, -1 if none: its own name takes precedence over another's second
 * one. */
int gp_option_named(const gp_op *op, const gp_sig *sig, const char *key);

/* Raises unless every name in the table at that index is a parameter after the `given` first ones;
 * requires_grad, which ops that make a tensor on a device take, goes into c. */
void gp_check_options(lua_State *L, const gp_op *op, const gp_sig *sig, gp_call *c, int table,
                      int given);

/* The same for a table whose fields are all options, for functions that read it themselves: sig
 * names them, "any? max, any? stall". what is the function's name in the message. */
void gp_check_fields(lua_State *L, const char *what, const char *sig, int table);

/* Pushes the field of that name of such a table, or of its second name for the function `what`, and
 * returns its type. Raises where both are there. */
int gp_get_field(lua_State *L, const char *what, const char *name, int table);

/* require "check_fields" of files in Lua: (what, sig, table). */
int gp_l_check_fields(lua_State *L);

/* Pushes {op = {second name, …}, …} of the rows' columns and of names.def, scripts'
 * "gpush.synonyms". */
void gp_lua_push_synonyms(lua_State *L);
/* Pushes {table = {second name = function, …}, …}, scripts' "gpush.members". */
void gp_lua_push_members(lua_State *L);
/* Pushes {function = {second name = parameter, …}, …}, any = {…} for every function: options
 * that are translated only at the prompt, scripts' "gpush.typed_options". */
void gp_lua_push_typed_options(lua_State *L);
/* Pushes a table of the options that an op takes by another name: of each op, or of any, the
 * parameter by "second parameter". */
void gp_lua_push_second_options(lua_State *L);

#endif
