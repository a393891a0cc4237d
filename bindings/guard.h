/* What the functions that fuse and capture run once depend on besides tensors: the values of
 * arguments, and what they read, so that a change is noticed. */
#ifndef GP_GUARD_H
#define GP_GUARD_H

#include <lua.h>

#include "tensor/op.h"

/* An argument, as far as what is planned depends on it. */
typedef struct gp_guard_key {
    uint8_t type; /* of Lua; a tensor is LUA_TUSERDATA */
    uint8_t dtype, ndim;
    bool integer;
    int8_t same;   /* an earlier argument that is the same tensor; -1 */
    uint64_t ones; /* dims of size 1, a bit each */
    gp_device *dev;
    union {
        int64_t i;     /* of a number that is no integer: its bits */
        const char *s; /* interned */
    };
} gp_guard_key;

/* Notes the value at argument i, of a tensor only that it is one; raises where it is of a type
 * that a function of that kind ("fused") cannot take. */
void gp_guard_set_key(lua_State *L, const char *kind, int i, gp_guard_key *k);
/* Whether the value there, no tensor, is the one noted. */
bool gp_guard_is_key(lua_State *L, int i, const gp_guard_key *k);

/* The dtype of the autocast scope that holds; -1: none converts. */
int gp_guard_autocast(void);

/* Pushes the guards that hold now: what collect, at that index, finds that fn reads, and returns
 * their number. */
int gp_guard_collect(lua_State *L, int collect, int fn);
/* Whether what the guards of the list on top say is as it was: of a tensor, that the object has the
 * same one, which model:to changes. The number of the first that is not,
 * from 1; 0: none. */
int gp_guard_changed(lua_State *L, int n);
/* Replaces the list of guards at `list` by the text of guard i: what it reads. */
void gp_guard_push_name(lua_State *L, int list, int i);

/* A Lua function that calls its first argument with the others. */
int gp_guard_call(lua_State *L);

#endif
