/* Profiles as values of Lua: bindings/api/profile/profile.c makes them, load.c reads and writes
 * their files, whatif.c and replay.c have their replays. */
#ifndef GP_BINDINGS_PROFILE_H
#define GP_BINDINGS_PROFILE_H

#include <lua.h>

#include "bindings/args/function.h"
#include "profile/record/record.h"
#include "tensor/device/card/card.h"

/* The profile at that index, which Lua owns; raises for any other value, and a freed one. */
gp_prof *gp_lua_check_prof(lua_State *L, int i);
/* Pushes a profile that has none yet: what is stored there is Lua's. */
gp_prof **gp_lua_push_prof(lua_State *L);

/* The card that the value at idx, absolute, says: a name or a table of figures. Raises, in the name
 * of `what`. */
void gp_lua_check_card(lua_State *L, const char *what, int idx, gp_card *card);

/* Pushes a table of the card's name and figures, and returns 1. */
int gp_lua_push_card(lua_State *L, const gp_card *card);

struct gp_rows;
struct gp_row;
/* Pushes a row of those; times in integer ns, memory in bytes. */
void gp_lua_push_row(lua_State *L, const struct gp_rows *r, const struct gp_row *row);

/* Pushes an event of p as a table; times in integer ns since the start. */
void gp_lua_push_event(lua_State *L, const gp_prof *p, const gp_rec *r);
/* Pushes a list of those of that rank, or of all where it is -1; the host's come first. Returns 1.
 */
int gp_lua_push_events(lua_State *L, const gp_prof *p, int rank);

/* Adds the methods whatif and on to the table on top. */
void gp_lua_set_whatif(lua_State *L);
/* Makes the registry's "gpush.replay", for scripts/lua/profile/whatif.lua and verdict.lua. */
void gp_lua_set_replay(lua_State *L);
/* Pushes the registry's table of that name, of what was last made of each profile, which is there
 * as long as someone holds it. */
void gp_lua_push_kept(lua_State *L, const char *name);
/* For replay.c. Pushes the timelines of the ranks of the profile at 1, or of the one whose number
 * is at i, unless that is 0; Lua owns them. what: the caller's name, for errors. */
struct gp_job *gp_lua_push_job(lua_State *L, int i, const char *what);
/* Sets the field `assumed` of the table on top, where a replay of p has to assume something. */
void gp_lua_set_assumed(lua_State *L, const gp_prof *p);

/* Adds profile.load to the table on top; the method save. */
void gp_lua_set_load(lua_State *L);
void gp_lua_set_save(lua_State *L);
/* Makes the registry's "gpush.usage", for scripts/lua/profile/usage.lua. */
void gp_lua_set_usage(lua_State *L);

/* Stores the function that scripts/lua/report reads a record by as the registry's
 * "gpush.record_columns", and one that gives free memory back as "gpush.trim". */
void gp_lua_set_columns(lua_State *L);

#endif
