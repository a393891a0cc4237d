/* Counts the instructions of Lua where the host's time is counted. Lua calls a hook for each, which
 * moves the clock by the host's time for one: exactly, so that the same code takes the same time
 * wherever it stands. What functions of C do within one (library.h) counts at their calls and
 * returns. Lua then runs at a third of its speed or less, which no clock shows.
 *
 * A Lua state has one hook. Ctrl-C's and a sample's (stop.c, sampler.c) take the counter's place
 * and call gp_counter_rest when they are done; the script's own (debug.sethook) keeps it, and what
 * runs under that is not counted. */
#include "bindings/sampling/counter.h"

#include <lauxlib.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "bindings/sampling/library.h"
#include "bindings/sampling/sampler.h"
#include "bindings/stop.h"
#include "tensor/device/card/card.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/card/model.h"

static bool counting(void) { return gp_clock_op_ns() && gp_model_script(); }

static void on_hook(lua_State *L, lua_Debug *ar) {
    if (!counting()) {
        gp_counter_rest(L);
        return;
    }
    uint64_t ns = ar->event == LUA_HOOKCOUNT ? gp_model_script() : gp_library_time(L, ar);
    gp_clock_work(ns);
    gp_sampler_count(L, ns);
}

void gp_counter_rest(lua_State *L) {
    if (counting()) lua_sethook(L, on_hook, LUA_MASKCOUNT | LUA_MASKCALL | LUA_MASKRET, 1);
    else lua_sethook(L, NULL, 0, 0);
    gp_stop_again(); /* a signal may have set its hook in between */
}

void gp_counter_follow(lua_State *L) {
    lua_Hook hook = lua_gethook(L);
    if (gp_stop_requested()) return;
    if (counting() ? !hook : hook == on_hook) gp_counter_rest(L);
}

/* Calls the function that this one replaces, the upvalue, with the same arguments, in whose place
 * its results come; returns their number. */
static int call_original(lua_State *L) {
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, LUA_MULTRET);
    return lua_gettop(L);
}

/* debug.sethook([thread,] …), as it was. */
static int l_sethook(lua_State *L) {
    lua_State *of = lua_isthread(L, 1) ? lua_tothread(L, 1) : L;
    int n = call_original(L);
    gp_counter_follow(of);
    return n;
}

/* io.open, as it was: a file opened to be read counts with its bytes. */
static int l_open(lua_State *L) {
    struct stat st;
    bool reads = lua_isnoneornil(L, 2) || strchr(luaL_checkstring(L, 2), 'r');
    int n = call_original(L);
    luaL_Stream *s = luaL_testudata(L, 1, LUA_FILEHANDLE);
    if (s && gp_clock_op_ns() && !fstat(fileno(s->f), &st))
        gp_host_count_file(reads ? (double)st.st_size : 0);
    return n;
}

/* io.lines, as it was. */
static int l_lines(lua_State *L) {
    struct stat st;
    const char *name = lua_tostring(L, 1);
    if (name && gp_clock_op_ns() && !stat(name, &st)) gp_host_count_file((double)st.st_size);
    return call_original(L);
}

/* Replaces LIBRARY.NAME by fn, whose upvalue is what it was. */
static void replace(lua_State *L, const char *library, const char *name, lua_CFunction fn) {
    if (lua_getglobal(L, library) == LUA_TTABLE) {
        lua_getfield(L, -1, name);
        lua_pushcclosure(L, fn, 1);
        lua_setfield(L, -2, name);
    }
    lua_pop(L, 1);
}

/* Once: lets debug.sethook, which can remove the counter's hook, set it again, and io.open and
 * io.lines count the files that they open. A program whose host is not counted has Lua's own. */
static void install(lua_State *L) {
    static const char key = 0;
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, &key) == LUA_TNIL) {
        lua_pushboolean(L, true);
        lua_rawsetp(L, LUA_REGISTRYINDEX, &key);
        replace(L, "debug", "sethook", l_sethook);
        replace(L, "io", "open", l_open);
        replace(L, "io", "lines", l_lines);
        gp_library_find(L);
    }
    lua_pop(L, 1);
}

void gp_counter_change(lua_State *L) {
    if (counting()) install(L);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    gp_counter_follow(lua_tothread(L, -1));
    lua_pop(L, 1);
    for (; L; L = gp_stop_resumer(L)) gp_counter_follow(L);
}
