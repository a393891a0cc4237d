/* The stack of the running script, for profiles. */
#ifndef GP_BINDINGS_STACK_H
#define GP_BINDINGS_STACK_H

#include <lua.h>
#include <stdbool.h>

/* A frame that runs, of L's stack or, after its last one, of the coroutine that resumed it. */
typedef struct gp_lua_frame {
    lua_State *L; /* NULL: there are no more */
    int level;
    lua_Debug ar; /* "Sl"; a name costs more */
} gp_lua_frame;

/* for (gp_lua_frame f = gp_lua_innermost(L); gp_lua_outwards(&f);) */
static inline gp_lua_frame gp_lua_innermost(lua_State *L) {
    return (gp_lua_frame){.L = L, .level = -1};
}
bool gp_lua_outwards(gp_lua_frame *f);

/* The option `stack` of fname at idx as frames to keep: true, false, none, or a number of them.
 * Raises. */
int gp_lua_check_depth(lua_State *L, int idx, const char *fname);

/* Makes profiles record stacks: sets gp_record_stack, and "gpush.check_depth" in the registry for
 * options that are used later. */
void gp_lua_install_stack(lua_State *L);

#endif
