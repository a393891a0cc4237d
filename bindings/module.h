/* The module gpush and Lua states with it; the openers of its parts, which bindings/module.c alone
 * calls. */
#ifndef GP_MODULE_H
#define GP_MODULE_H

#include <lua.h>

#include "bindings/bind.h"

/* Openers: each adds its functions to the module table on top of the stack, and methods to the
 * table of methods. */
void gp_lua_open_ops(lua_State *L);
void gp_lua_open_tensor(lua_State *L);
void gp_lua_open_set_data(lua_State *L);
void gp_lua_open_device(lua_State *L);
void gp_lua_open_fork(lua_State *L);
void gp_lua_open_help(lua_State *L);
void gp_lua_open_convert(lua_State *L);
void gp_lua_open_random(lua_State *L);
void gp_lua_open_print(lua_State *L);
void gp_lua_open_terminal(lua_State *L);
void gp_lua_open_data(lua_State *L);
void gp_lua_open_dlpack(lua_State *L);
void gp_lua_open_json(lua_State *L);
/* For the shell: math.* and string.format of the state accept one-element tensors as numbers, and
 * os.exit first calls registry["gpush.end"] with whether its status is a success, if that is set;
 * where it returns false, a success becomes a failure. */
void gp_lua_open_stdlib(lua_State *L);
void gp_lua_open_autograd(lua_State *L);
void gp_lua_open_nan(lua_State *L);
void gp_lua_open_autocast(lua_State *L);
void gp_lua_open_sync(lua_State *L);
void gp_lua_open_profile(lua_State *L);
void gp_lua_open_time(lua_State *L);
void gp_lua_open_fuse(lua_State *L);
void gp_lua_open_simt(lua_State *L);
void gp_lua_open_extension(lua_State *L);
void gp_lua_open_card(lua_State *L);
void gp_lua_open_capture(lua_State *L);
void gp_lua_open_dist(lua_State *L);
void gp_lua_open_preempt(lua_State *L);
void gp_lua_open_watch(lua_State *L);

/* Opens the standard libraries and gpush in a new L. May raise. */
void gp_lua_open_state(lua_State *L, gp_lua_kind kind);

/* At the end of a program: checks this thread's budgets of waits whose blocks are still open, by
 * gp_scope_missed. */
void gp_lua_check_budgets(void);

/* require "gpush": leaves the module table on the stack. */
__attribute__((visibility("default"))) int luaopen_gpush(lua_State *L);

#endif
