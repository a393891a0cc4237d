/* A stop, as by Ctrl-C, between the opening of a scope and its marking as to be closed: the scope
 * is closed, nothing of it is left on. Also where Lua's instructions are counted, by a hook that
 * the stop's replaces and that is back in the next chunk. */
#include "tap.h"

#include "bindings/memory.h"
#include "bindings/module.h"
#include "bindings/stop.h"

#include <lauxlib.h>

/* stopped(fn, ...): calls fn and asks for the stop before its result is back. */
static int l_stopped(lua_State *L) {
    lua_call(L, lua_gettop(L) - 1, 1);
    gp_stop_now();
    return 1;
}

static const struct {
    const char *open, *left_on;
} scopes[] = {
    {"no_grad", "not is_grad_enabled()"},
    {"autocast, 'bf16'", "is_autocast_enabled()"},
    {"function() return stream 'sim':use() end", "tostring(current_stream 'sim') ~= before"},
};

static const char chunk[] = "%s"
                            " local open = {%s}"
                            " local ok, message = pcall(function()"
                            "   local _ <close> = stopped(table.unpack(open))"
                            "   while true do end end)"
                            " return not ok and message:match 'interrupted' ~= nil, %s";

static void scope(lua_State *L, int i) {
    char text[1000];
    snprintf(text, sizeof text, chunk, "local before = tostring(current_stream 'sim')",
             scopes[i].open, scopes[i].left_on);
    int status = luaL_loadstring(L, text);
    gp_stop_begin(L);
    if (status == LUA_OK) status = lua_pcall(L, 0, 2, 0);
    gp_stop_end(L);
    if (!tap_is_int(status, LUA_OK, "%s runs", scopes[i].open)) {
        fprintf(stderr, "# %s\n", lua_tostring(L, -1));
        lua_pop(L, 1);
        return;
    }
    tap_ok(lua_toboolean(L, -2), "it is interrupted");
    tap_ok(!lua_toboolean(L, -1), "and not left on");
    lua_pop(L, 2);
}

/* Whether the next chunk's 1000 turns of a loop, 3 ns each, move the clock, as `counts` has it. */
static void turns(lua_State *L, const char *counts) {
    static const char text[] = "local before = clock() for _ = 1, 1000 do end "
                               "local took = clock() - before return ";
    char whole[200];
    snprintf(whole, sizeof whole, "%s%s", text, counts);
    gp_stop_begin(L);
    tap_ok(luaL_dostring(L, whole) == LUA_OK && lua_toboolean(L, -1), "then %s", counts);
    gp_stop_end(L);
    lua_settop(L, 0);
}

int main(void) {
    lua_State *L = gp_lua_newstate();
    gp_lua_open_state(L, GP_LUA_SYNTAX);
    lua_register(L, "stopped", l_stopped);
    for (int i = 0; i < (int)(sizeof scopes / sizeof *scopes); i++) scope(L, i);
    tap_ok(luaL_dostring(L, "sim.card, sim.host = 'h200', 8e-6") == LUA_OK, "counted");
    for (int i = 0; i < (int)(sizeof scopes / sizeof *scopes); i++) scope(L, i);
    turns(L, "took > 3e-6 and took < 4e-6");
    tap_ok(luaL_dostring(L, "sim.script = 0") == LUA_OK, "not counted");
    turns(L, "took < 1e-7");
    tap_ok(!lua_gethook(L), "and no hook is left behind");
    lua_close(L);
    return tap_done();
}
