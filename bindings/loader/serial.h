/* Values passed from one Lua state to another, in any thread: plain data, tables, functions and
 * tensors. */
#ifndef GP_SERIAL_H
#define GP_SERIAL_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "tensor/tensor.h"

/* Owned by one thread at a time; any number of threads may deserialize it while none changes it. */
typedef struct gp_serial {
    char *bytes;
    size_t n, capacity;
    gp_tensor **tensor; /* without history; they share the storages of the originals */
    int ntensors, tensor_capacity;
} gp_serial;

/* Serializes the n values from index first on. Tables and functions that appear several times stay
 * one. Functions go as bytecode with their upvalues, and on request with the globals that they
 * name; what the other state has, too (libraries, gpush, modules loaded by require), goes by name.
 * False with a message, which gives the path to what cannot be serialized: a coroutine, a file, a
 * tensor of a device; what: the name of the values in it. Raises only when Lua is out of memory. */
bool gp_serialize(lua_State *L, int first, int n, const char *what, bool globals, gp_serial *p);

/* Pushes the values of p and returns their number; sets the globals that came with functions. May
 * raise. */
int gp_deserialize(lua_State *L, const gp_serial *p);

/* Releases bytes and tensors; p is then empty. */
void gp_serial_clear(gp_serial *p);

/* Pushes a userdata with no values, which clears its values when it is collected. */
gp_serial *gp_serial_push(lua_State *L);

#endif
