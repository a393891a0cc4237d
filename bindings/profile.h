/* Profiles as values of Lua: bindings/api/profile.c makes them, load.c reads and writes
 * their files, whatif.c has their replays. */
#ifndef GP_BINDINGS_PROFILE_H
#define GP_BINDINGS_PROFILE_H

#include <lua.h>

#include "bindings/args/function.h"
#include "profile/record.h"
#include "tensor/device/card.h"

/* The profile at that index, which Lua owns; raises for any other value, and a freed one. */
gp_prof *gp_lua_check_prof(lua_State *L, int i);
/* Pushes a profile that has none yet: what is stored there is Lua's. */
gp_prof **gp_lua_push_prof(lua_State *L);

/* The card that the value at idx, absolute, says: a name or a table of figures. Raises, in the name
 * of `what`. */
void gp_lua_check_card(lua_State *L, const char *what, int idx, gp_card *card);

/* Pushes a table of the card's name and figures, and returns 1. */
int gp_lua_push_card(lua_State *L, const gp_card *card);

/* Adds the method whatif to the table on top, and for scripts/lua/whatif.lua the lists of what a
 * replay tells as functions of the registry's "gpush.replay". */
void gp_lua_set_whatif(lua_State *L);

/* Adds profile.load to the table on top; the method save. */
void gp_lua_set_load(lua_State *L);
void gp_lua_set_save(lua_State *L);
/* Makes the registry's "gpush.usage", for scripts/lua/usage.lua. */
void gp_lua_set_usage(lua_State *L);

/* Stores the function that scripts/lua/report reads a record by as the registry's
 * "gpush.record_columns", and one that gives free memory back as "gpush.trim". */
void gp_lua_set_columns(lua_State *L);

#endif
