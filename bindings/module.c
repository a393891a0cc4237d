/* Opens the module gpush, part by part, and Lua states with it: the shell's, and those of a data
 * loader's workers, which are like the one they work for. Releases the process's resources when the
 * last state is closed. */
#include "bindings/module.h"

#include <lualib.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bindings/args/names.h"
#include "bindings/args/entries.h"
#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/paths.h"
#include "bindings/rewrite/truth.h"
#include "bindings/stop.h"
#include "tensor/autograd/checks.h"
#include "tensor/base/env.h"
#include "tensor/base/error.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/stream/failure.h"
#include "tensor/base/process.h"
#include "tensor/io/file.h"

/* States that have gpush open. */
static atomic_int states;

static void flush(gp_device *dev, void *ctx) { gp_alloc_flush(dev); }

/* Releases the process's resources when the last state that opened gpush is closed. It was made
 * before any tensor, so its finalizer comes last. */
static int l_close(lua_State *L) {
    gp_lua_state = NULL;
    if (!gp_pending_check()) gp_error_clear();
    if (atomic_fetch_sub(&states, 1) == 1) {
        gp_device_drain();
        if (gp_lua_state_kind(L) == GP_LUA_STOCK &&
            gp_failure_collect_all(NULL)) /* the shell reports it later */
            lua_writestringerror("gpush: %s\n", gp_error());
        gp_device_each(flush, NULL);
        if (gp_lua_state_kind(L) == GP_LUA_STOCK) gp_process.end();
    }
    return 0;
}

/* save(op, file, text): writes a file as all ops that write files do. */
static int l_save(lua_State *L) {
    size_t n;
    const char *op = luaL_checkstring(L, 1), *file = luaL_checkstring(L, 2);
    const char *text = luaL_checklstring(L, 3, &n);
    gp_outfile o;
    if (!gp_outfile_begin(&o, op, file)) return gp_lua_raise(L);
    fwrite(text, 1, n, o.f); /* commit checks its errors */
    return gp_outfile_commit(&o, false) ? 0 : gp_lua_raise(L);
}

/* same_file(a, b): whether both paths are of one file. */
static int l_same_file(lua_State *L) {
    return lua_pushboolean(L, gp_file_same(luaL_checkstring(L, 1), luaL_checkstring(L, 2))), 1;
}

/* is_regular(path): whether it is a file, and no pipe, device or folder; nil: nothing is there. */
static int l_is_regular(lua_State *L) {
    struct stat st;
    if (stat(luaL_checkstring(L, 1), &st)) return lua_pushnil(L), 1;
    return lua_pushboolean(L, S_ISREG(st.st_mode)), 1;
}

/* What files in Lua require that is not a file; see scripts/lua/init.lua. The module is on top. */
static void make_loaded(lua_State *L) {
    static const luaL_Reg functions[] = {{"check_fields", gp_l_check_fields},
                                         {"check_list", gp_l_check_list},
                                         {"is_regular", l_is_regular},
                                         {"same_file", l_same_file},
                                         {"save", l_save},
                                         {NULL, NULL}};
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    luaL_setfuncs(L, functions, 0);
    lua_pushvalue(L, -2), lua_setfield(L, -2, "gpush");
    lua_pushvalue(L, LUA_REGISTRYINDEX), lua_setfield(L, -2, "registry");
    lua_pushstring(L, gp_scripts_dir()), lua_setfield(L, -2, "dir");
    gp_lua_push_composite(L), lua_setfield(L, -2, "composite");
    gp_lua_push_composite_index(L), lua_setfield(L, -2, "composite_index");
    gp_lua_push_loader(L, gp_lua_open_state), lua_setfield(L, -2, "loader");
    lua_pop(L, 1);
}

/* What files in Lua, and tests, read in the registry, under "gpush." and its name. */
static void fill_registry(lua_State *L) {
    lua_newtable(L), lua_setfield(L, LUA_REGISTRYINDEX, GP_LUA_COMPOSITES);
    gp_lua_push_synonyms(L), lua_setfield(L, LUA_REGISTRYINDEX, "gpush.synonyms");
    gp_lua_push_members(L), lua_setfield(L, LUA_REGISTRYINDEX, "gpush.members");
    gp_lua_push_typed_options(L), lua_setfield(L, LUA_REGISTRYINDEX, "gpush.typed_options");
    gp_lua_push_second_options(L), lua_setfield(L, LUA_REGISTRYINDEX, "gpush.second_options");
    lua_pushcfunction(L, gp_l_require), lua_setfield(L, LUA_REGISTRYINDEX, "gpush.require");
}

/* Runs scripts/lua/init.lua, the part written in Lua. The module is on top of the stack. */
static void run_init(lua_State *L) {
    if (!*gp_scripts_dir())
        luaL_error(L, "gpush: its Lua files were not found next to the program (share/gpush) or in "
                      "the build tree");
    make_loaded(L);
    fill_registry(L);
    gp_lua_require(L, "init");
    lua_pop(L, 1);
}

/* Makes the tensors' metatable, without its functions yet. The keys that Lua looks up for every
 * tensor come first, into a table that need not grow: then each is where its hash points. */
static void make_meta(lua_State *L) {
    static const char *const first[] = {"__index", "__gc", "__add", "__mul", "__sub", "__div"};
    lua_createtable(L, 0, 32);
    for (size_t i = 0; i < sizeof first / sizeof *first; i++)
        lua_pushboolean(L, 0), lua_setfield(L, -2, first[i]);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, GP_LUA_META);
}

static void make_tables(lua_State *L) {
    make_meta(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    lua_newuserdatauv(L, 0, 0);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, l_close);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.close");
    atomic_fetch_add(&states, 1);
}

int luaopen_gpush(lua_State *L) {
    if (!gp_env_check()) return luaL_error(L, "%s", gp_error());
    /* Opened here, so that it is there for all that needs it later. */
    if (!gp_device_cpu()) return luaL_error(L, "gpush: the cpu: %s", gp_error());
    gp_lua_install_hooks();
    gp_lua_enter(L);
    make_tables(L);
    lua_newtable(L);
    lua_pushliteral(L, GPUSH_VERSION);
    lua_setfield(L, -2, "_VERSION");
    gp_lua_open_ops(L);
    gp_lua_open_tensor(L);
    gp_lua_open_set_data(L);
    gp_lua_open_device(L);
    gp_lua_open_fork(L);
    gp_lua_open_help(L);
    gp_lua_open_convert(L);
    gp_lua_open_random(L);
    gp_lua_open_print(L);
    gp_lua_open_terminal(L);
    gp_lua_open_data(L);
    gp_lua_open_dlpack(L);
    gp_lua_open_json(L);
    gp_lua_open_autograd(L);
    gp_lua_open_nan(L);
    gp_lua_open_autocast(L);
    gp_lua_open_sync(L);
    gp_lua_open_profile(L);
    gp_lua_open_time(L);
    gp_lua_open_fuse(L);
    gp_lua_open_simt(L);
    gp_lua_open_extension(L);
    gp_lua_open_card(L);
    gp_lua_open_capture(L);
    gp_lua_open_dist(L);
    gp_lua_open_preempt(L);
    gp_lua_open_watch(L);
    run_init(L);
    return 1;
}

/* ---- states ---- */

/* The module's fields become globals where Lua has none of that name. */
static void set_globals(lua_State *L) {
    lua_pushglobaltable(L);
    for (lua_pushnil(L); lua_next(L, -3);) {
        lua_pushvalue(L, -2);
        if (lua_rawget(L, -4) == LUA_TNIL) {
            lua_pushvalue(L, -3);
            lua_pushvalue(L, -3);
            lua_rawset(L, -6);
        }
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* Lua itself puts a name into the registry where a text first takes a long buffer. It does so here:
 * if the registry is just full, it would grow in the middle of a script. */
static void need_long_buffer(lua_State *L) {
    luaL_Buffer b;
    luaL_buffinitsize(L, &b, LUAL_BUFFERSIZE + 1);
    luaL_pushresultsize(&b, 0);
    lua_pop(L, 1);
}

void gp_lua_open_state(lua_State *L, gp_lua_kind kind) {
    gp_lua_set_state_kind(L, kind);
    luaL_openlibs(L);
    need_long_buffer(L);
    gp_stop_install(L);
    if (kind == GP_LUA_PLAIN) gp_syntax_plain(L);
    else if (kind == GP_LUA_SYNTAX) gp_syntax_install(L);
    luaL_requiref(L, "gpush", luaopen_gpush, kind != GP_LUA_STOCK);
    if (kind != GP_LUA_STOCK) {
        set_globals(L);
        gp_lua_open_stdlib(L);
    }
    lua_pop(L, 1);
}
