/* What :debug shows after an error at the prompt: the message handler keeps the frames with their
 * variables, and what the devices had queued, in the registry, until a chunk succeeds or the next
 * error. The Lua part is scripts/lua/shell/debug/frames.lua. */
#include "shell/shell.h"

#include "tensor/device/device.h"

#include <lauxlib.h>

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

static int l_keep(lua_State *L) { return gp_shell_delegate(L, "keep_frames"); }

void gp_debug_keep(lua_State *L, const char *message) {
    lua_pushcfunction(L, l_keep);
    lua_pushstring(L, message);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK) lua_setfield(L, LUA_REGISTRYINDEX, GP_DEBUG_FRAMES);
    else lua_pop(L, 1), gp_debug_release(L); /* no memory: then :debug has nothing */
}

void gp_debug_release(lua_State *L) {
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, GP_DEBUG_FRAMES);
}
