/* What the files of bindings/ share: the tensor box in Lua, pushing, raising, and the module's openers. */
#ifndef GP_BIND_H
#define GP_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>

struct gp_tensor;

/* A tensor in Lua is a full userdata of this shape; the box owns one reference. */
typedef struct gp_box {
    const void *tag; /* &gp_box_tag: tells our boxes from anybody else's userdata without a metatable look-up */
    struct gp_tensor *t;
} gp_box;
extern const char gp_box_tag;

/* The tensor at idx, or NULL if the value there is none. Never raises. */
static inline struct gp_tensor *gp_lua_totensor(lua_State *L, int idx) {
    gp_box *b = (gp_box *)lua_touserdata(L, idx);
    if (!b || lua_rawlen(L, idx) != sizeof *b || b->tag != (const void *)&gp_box_tag) return NULL;
    return b->t;
}

/* Pushes t as a Lua value and takes over the caller's reference; raises on NULL (with gp_error()) and when Lua is out of memory. */
int gp_lua_push(lua_State *L, struct gp_tensor *t);

/* Raises gp_error() with the position of the running Lua line, as luaL_error does. */
int gp_lua_raise(lua_State *L);

/* Truth value of the tensor at idx: a recorded wait (why = branch). Raises for tensors with more than one element. */
bool gp_lua_truth(lua_State *L, int idx);

/* Elementwise comparison of the values at a and b, at least one a tensor; op is one of "lt" "le" "gt" "ge" "eq" "ne". Pushes the bool tensor. */
int gp_lua_compare(lua_State *L, const char *op, int a, int b);

/* require "gpush": leaves the module table on the stack. */
int luaopen_gpush(lua_State *L);

#endif
