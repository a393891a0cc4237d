/* What :debug shows after an error at the prompt: the message handler keeps the frames with their
 * variables, and what the devices had queued, in the registry, until a chunk succeeds or the next
 * error. Of a coroutine the frames are taken when its error comes out of it: by the time of the
 * handler coroutine.wrap has closed it. Where a pcall of the user's is to catch the error, or
 * coroutine.close takes the frames, they are described, in case the error is raised again: their
 * values are not held, and it takes a small share of the time. The Lua part is
 * scripts/lua/shell/debug/frames.lua. */
#include "shell/shell.h"

#include "bindings/stop.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/device.h"

#include <lauxlib.h>

/* Where the registry has the coroutines that failed while the running chunk ran. */
#define FAILED "gpush.failed"

/* Adds the device's streams that have work to the list on top of ctx's stack. */
static void add_streams(gp_device *dev, void *ctx) {
    lua_State *L = ctx;
    for (int i = 0; i < dev->nstreams; i++) {
        gp_stream *s = dev->streams[i];
        uint64_t queued = gp_stream_queued(s);
        if (!queued) continue;
        lua_createtable(L, 0, 6);
        lua_pushstring(L, dev->name);
        lua_setfield(L, -2, "device");
        lua_pushinteger(L, i);
        lua_setfield(L, -2, "stream");
        lua_pushinteger(L, (lua_Integer)queued);
        lua_setfield(L, -2, "queued");
        lua_pushstring(L, s->last_op);
        lua_setfield(L, -2, "op");
        lua_pushstring(L, s->last_file);
        lua_setfield(L, -2, "file");
        lua_pushinteger(L, s->last_line);
        lua_setfield(L, -2, "line");
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
}

int gp_debug_streams(lua_State *L) {
    lua_newtable(L);
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    gp_device_each(add_streams, L);
    return 1;
}

/* ---- The frames ---- */

static int l_keep_frames(lua_State *L) { return gp_shell_delegate(L, "keep_frames"); }
static int l_keep_coroutine(lua_State *L) { return gp_shell_delegate(L, "keep_coroutine"); }

/* (function, ...) -> its result. It runs on a thread of its own, where Ctrl-C, which may be why it
 * is called, does not stop it. */
static int l_apart(lua_State *L) {
    int n = lua_gettop(L);
    lua_State *H = lua_newthread(L);
    lua_insert(L, 1);
    lua_sethook(H, NULL, 0, 0);
    luaL_checkstack(H, n, NULL);
    lua_xmove(L, H, n);
    gp_stop_hold(true);
    int status = lua_pcall(H, n - 1, 1, 0);
    gp_stop_hold(false);
    lua_xmove(H, L, 1);
    return status == LUA_OK ? 1 : lua_error(L);
}

/* How long frames were described that may not be needed, since the chunk's first. */
static uint64_t described_ns, described_since;

bool gp_debug_keep(lua_State *L, const char *message) {
    described_since = 0;
    lua_pushcfunction(L, l_apart);
    lua_pushcfunction(L, l_keep_frames);
    lua_pushthread(L);
    lua_pushvalue(L, 1);
    lua_pushstring(L, message);
    bool ok = lua_pcall(L, 4, 1, 0) == LUA_OK;
    bool kept = ok && lua_istable(L, -1); /* nil: of an error in a kept frame */
    if (kept) lua_setfield(L, LUA_REGISTRYINDEX, GP_DEBUG_FRAMES);
    else lua_pop(L, 1);
    if (!ok) gp_debug_release(L); /* no memory: then :debug has nothing */
    return kept;
}

const char *gp_debug_field(lua_State *L, bool kept, const char *name) {
    lua_pushnil(L);
    if (!kept || lua_getfield(L, LUA_REGISTRYINDEX, GP_DEBUG_FRAMES) != LUA_TTABLE) return NULL;
    lua_getfield(L, -1, name);
    return lua_tostring(L, -1);
}

void gp_debug_release(lua_State *L) {
    described_since = 0;
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, GP_DEBUG_FRAMES);
    if (lua_getfield(L, LUA_REGISTRYINDEX, FAILED) == LUA_TTABLE)
        for (lua_pushnil(L); lua_next(L, -2);) {
            lua_pop(L, 1);
            lua_pushvalue(L, -1);
            lua_pushnil(L);
            lua_rawset(L, -4);
        }
    lua_pop(L, 1);
}

/* ---- Coroutines that failed ---- */

static lua_CFunction l_pcall, l_xpcall;

/* Whether the error that L is about to raise is caught by a pcall of the user's. Our own pass it
 * on. */
static bool is_caught(lua_State *L) {
    enum { LEVELS = 1000 }; /* that are examined */
    lua_Debug ar;
    int level = 0;
    for (lua_State *at = L; at; at = gp_stop_resumer(at), level = 0) {
        for (bool catches = false; level < LEVELS && lua_getstack(at, level, &ar); level++) {
            lua_getinfo(at, "Sf", &ar);
            lua_CFunction f = lua_tocfunction(at, -1);
            lua_pop(at, 1);
            if (catches && !gp_shell_is_ours(ar.source)) return true;
            catches = f && (f == l_pcall || f == l_xpcall);
        }
        if (level == LEVELS) return true;
    }
    return false;
}

/* (coroutine, message, the one that resumed it): notes them, weakly, with their order. */
static int l_failed(lua_State *L) {
    static lua_Integer count;
    lua_getfield(L, LUA_REGISTRYINDEX, FAILED);
    lua_pushvalue(L, 1);
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, 2);
    lua_setfield(L, -2, "raw");
    lua_pushvalue(L, 3);
    lua_setfield(L, -2, "by");
    lua_pushinteger(L, ++count);
    lua_setfield(L, -2, "order");
    lua_rawset(L, -3);
    return 0;
}

/* (coroutine, whether its values are not to be held): keeps its frames. */
static int l_keep(lua_State *L) {
    lua_pushcfunction(L, l_keep_coroutine);
    lua_insert(L, 1);
    return l_apart(L);
}

static void keep(lua_State *L, lua_State *co, bool caught) {
    uint64_t began = gp_real_ns();
    if (!described_since) described_since = began, described_ns = 0;
    if (caught && described_ns > 10000000 + (began - described_since) / 20) return;
    lua_pushcfunction(L, l_keep);
    lua_pushthread(co);
    lua_xmove(co, L, 1);
    lua_pushboolean(L, caught);
    lua_pcall(L, 2, 0, 0);
    if (caught) described_ns += gp_real_ns() - began;
}

/* Whether failed coroutines of this state are noted: those of a worker's are not. */
static bool is_watched(lua_State *L, lua_State *co) {
    if (!lua_checkstack(L, LUA_MINSTACK) || !lua_checkstack(co, 1)) return false;
    return lua_getfield(L, LUA_REGISTRYINDEX, FAILED) == LUA_TTABLE;
}

static void failed(lua_State *L, lua_State *co, bool wrapped) {
    int top = lua_gettop(L);
    if (is_watched(L, co)) {
        lua_pushcfunction(L, l_failed);
        lua_pushthread(co);
        lua_xmove(co, L, 1);
        lua_pushvalue(L, top);
        lua_pushfstring(L, "%p", (void *)L);
        if (lua_pcall(L, 3, 0, 0) == LUA_OK && wrapped) keep(L, co, is_caught(L));
    }
    lua_settop(L, top);
}

static void closing(lua_State *L, lua_State *co) {
    int top = lua_gettop(L);
    if (is_watched(L, co)) keep(L, co, true);
    lua_settop(L, top);
}

void gp_debug_watch(lua_State *L) {
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, FAILED);
    if (gp_stop_failed) return;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_GNAME);
    lua_getfield(L, -1, "pcall");
    lua_getfield(L, -2, "xpcall");
    l_pcall = lua_tocfunction(L, -2);
    l_xpcall = lua_tocfunction(L, -1);
    lua_pop(L, 4);
    gp_stop_failed = failed;
    gp_stop_closing = closing;
}
