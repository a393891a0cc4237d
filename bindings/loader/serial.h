/* Values on the way from one Lua state to another, in any thread: plain data, tables, functions and
 * tensors. */
#ifndef GP_SERIAL_H
#define GP_SERIAL_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

#include "tensor/tensor.h"

/* Owned by one thread at a time; any number of threads may unpack it while nobody changes it. */
typedef struct gp_serial {
    char *bytes;
    size_t n, room;
    gp_tensor **tensor; /* without history; they share the storages of those packed */
    int ntensors, tensor_room;
} gp_serial;

/* Packs the n values from index first on. Tables and functions that appear several times stay one.
   Functions go as bytecode with their upvalues, and if so wished with the globals that they name;
   what the other state has as well (libraries, gpush, what require loads) goes by name. False with
   a message, which tells the way to what cannot go over: a coroutine, a file, a tensor of a device;
   what: the name of the values in it. Raises only when Lua is out of memory. */
bool gp_serialize(lua_State *L, int first, int n, const char *what, bool globals, gp_serial *p);

/* Pushes the values of p and returns their number; sets the globals that came with functions. May
 * raise. */
int gp_deserialize(lua_State *L, const gp_serial *p);

/* Releases bytes and tensors; p is empty then. */
void gp_serial_clear(gp_serial *p);

/* Pushes a userdata that clears its values, at first none, when it is collected. */
gp_serial *gp_serial_push(lua_State *L);

#endif
