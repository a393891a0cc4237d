/* One argument of a Lua call: the value on the stack, checked by the type of its parameter. */
#ifndef GP_VALUES_H
#define GP_VALUES_H

#include <lua.h>

#include "tensor/op.h"
#include "tensor/sig.h"

/* The state for reading one argument of a call of op into c; p is its parameter. */
typedef struct gp_lua_reading {
    lua_State *L;
    const gp_op *op;
    gp_call *c;
    const gp_param *p;
    int i, number; /* stack index; position as the user counts it, or 0 for an option */
} gp_lua_reading;

/* Reads an argument that is present, with those that follow it up to index last where it may be a
 * run of numbers; returns how many stack slots it used. Raises "NAME: argument 'x' (#1): expected
 * …, got …". What a function takes from Lua's stack itself is only checked there; of `numbers` and
 * `order` plain numbers take the places of one-element tensors, which are waited for. */
int gp_lua_read_arg(const gp_lua_reading *r, int last);

/* Raises: the value before a method's colon is not an object of its class. Never returns. */
int gp_lua_no_self(const gp_lua_reading *r);

/* What is expected of each parameter type, in words. */
extern const char *const gp_lua_wanted[GP_SIGS];

#endif
