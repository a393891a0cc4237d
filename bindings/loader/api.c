/* Pools of data loader workers in Lua, for scripts/lua/data/Loader.lua: starting one, adding
 * batches, taking them. Arguments are checked there. */
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/fields.h"
#include "bindings/loader/workers.h"
#include "tensor/base/error.h"
#include "tensor/device/card/clock.h"
#include "tensor/infer.h"
#include "tensor/rng.h"

#define WORKER_POOL "gpush.pool"

typedef struct box {
    gp_worker_pool *pool;      /* NULL: stopped */
    gp_worker_pool_stats last; /* of a stopped pool */
} box;

static gp_worker_pool *check_pool(lua_State *L) {
    gp_worker_pool *c = ((box *)luaL_checkudata(L, 1, WORKER_POOL))->pool;
    if (!c) luaL_error(L, "data.Loader: this pass has ended");
    return c;
}

static lua_Integer int_field(lua_State *L, int idx, const char *name) {
    lua_getfield(L, idx, name);
    lua_Integer v = luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return v;
}

static bool flag_field(lua_State *L, int idx, const char *name) {
    lua_getfield(L, idx, name);
    bool on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return on;
}

/* A copy of package.NAME, or NULL. */
static char *package_field(lua_State *L, const char *name) {
    char *copy = NULL;
    if (lua_getglobal(L, "package") == LUA_TTABLE) {
        lua_getfield(L, -1, name);
        const char *s = lua_tostring(L, -1);
        if (s) copy = strdup(s);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return copy;
}

static void (*open_worker)(lua_State *worker, gp_lua_kind kind);

/* start{workers =, prefetch =, pin =, stacked =, seed =, epoch =, program = {…}}: a pool. Without
 * workers the program runs in this state, prepared here. */
static int l_start(lua_State *L) {
    lua_settop(L, 1);
    gp_worker_pool_opts o = {.workers = (int)int_field(L, 1, "workers"),
                             .prefetch = (int)int_field(L, 1, "prefetch"),
                             .stacked = flag_field(L, 1, "stacked"),
                             .pin = flag_field(L, 1, "pin"),
                             .seed = (uint64_t)int_field(L, 1, "seed"),
                             .epoch = (uint64_t)int_field(L, 1, "epoch"),
                             .kind = gp_lua_state_kind(L),
                             .open = open_worker,
                             .dtype = gp_default_dtype};
    box *b = lua_newuserdatauv(L, sizeof *b, 1);
    *b = (box){0};
    luaL_setmetatable(L, WORKER_POOL);
    lua_getfield(L, 1, "program");
    gp_lua_enter(L);
    gp_serial *p = gp_serial_push(L);
    if (o.workers == 0) {
        lua_getfield(L, 3, "prepare");
        lua_pushvalue(L, 3);
        lua_call(L, 1, 1);
        lua_setiuservalue(L, 2, 1);
    } else {
        if (!gp_serialize(L, 3, 1, "", true, p)) {
            gp_fail("data.Loader: %s", gp_error());
            return gp_lua_raise(L);
        }
        gp_chunks_keep(L);
        o.path = package_field(L, "path");
        o.cpath = package_field(L, "cpath");
    }
    if (!(b->pool = gp_worker_pool_new(&o, p))) return gp_lua_raise(L);
    lua_settop(L, 2);
    return 1;
}

/* pool:accepts(): whether another batch may be added. */
static int l_accepts(lua_State *L) {
    lua_pushboolean(L, gp_worker_pool_accepts(check_pool(L)));
    return 1;
}

/* pool:add{indices}: adds a batch to be made. */
static int l_add(lua_State *L) {
    gp_worker_pool *c = check_pool(L);
    lua_Integer n = luaL_len(L, 2);
    int64_t *index = lua_newuserdatauv(L, (size_t)n * sizeof *index + 1, 0);
    for (lua_Integer i = 0; i < n; i++) {
        lua_rawgeti(L, 2, i + 1);
        index[i] = lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    return gp_worker_pool_add(c, index, (int)n) ? 0 : gp_lua_raise(L);
}

static void release_batch(void *owner) {
    gp_loader_batch **b = owner;
    gp_loader_batch_free(*b);
    *b = NULL;
}

/* pool:next(): the next batch's values. */
static int l_next(lua_State *L) {
    gp_worker_pool *c = check_pool(L);
    lua_settop(L, 1);
    static const gp_owner_type type = {"gpush.batch", release_batch};
    gp_loader_batch **b = gp_lua_push_owner(L, &type, sizeof *b);
    lua_getiuservalue(L, 1, 1);
    if (!(*b = gp_worker_pool_next(c, L, 3))) return gp_lua_raise(L);
    int n = gp_loader_batch_push(L, *b);
    gp_loader_batch_free(*b);
    *b = NULL;
    return n;
}

/* pool:stop(), also when a pool is closed or collected: ends all its threads. In C, because in Lua
 * code a Ctrl-C that has just ended the loop would strike again. */
static int l_stop(lua_State *L) {
    box *b = luaL_checkudata(L, 1, WORKER_POOL);
    if (b->pool) gp_worker_pool_get_stats(b->pool, &b->last);
    gp_worker_pool_free(b->pool);
    b->pool = NULL;
    return 0;
}

/* pool:stats(): a table; times in seconds. */
static int l_stats(lua_State *L) {
    const box *b = luaL_checkudata(L, 1, WORKER_POOL);
    gp_worker_pool_stats s = b->last;
    if (b->pool) gp_worker_pool_get_stats(b->pool, &s);
    lua_createtable(L, 0, 14);
    set_seconds(L, "elapsed", s.elapsed);
    set_seconds(L, "first", s.first);
    set_seconds(L, "wait", s.wait);
    set_seconds(L, "first_wait", s.first_wait);
    set_seconds(L, "covered", s.covered);
    set_seconds(L, "busy", s.busy);
    set_seconds(L, "computed", s.computed < s.busy ? s.computed : s.busy);
    set_seconds(L, "idle", s.idle);
    set_seconds(L, "open", s.open);
    set_int(L, "batches", s.batches);
    set_int(L, "samples", s.samples);
    set_int(L, "waits", s.waits);
    set_int(L, "workers", s.workers);
    set_int(L, "processors", gp_clock_op_ns() ? 0 : sysconf(_SC_NPROCESSORS_ONLN));
    return 1;
}

/* draw(seed, epoch, i, low, high): an integer, low … high, that depends on nothing else. */
static int l_draw(lua_State *L) {
    uint32_t w[4];
    lua_Integer low = luaL_checkinteger(L, 4), high = luaL_checkinteger(L, 5);
    gp_philox((uint64_t)luaL_checkinteger(L, 1), ~(uint64_t)luaL_checkinteger(L, 2),
              (uint64_t)luaL_checkinteger(L, 3), w);
    lua_pushinteger(
        L, gp_integer(w[0] | (uint64_t)w[1] << 32, low, (uint64_t)high - (uint64_t)low + 1));
    return 1;
}

/* seed(): drawn from this thread's generator, so that manual_seed decides it. */
static int l_seed(lua_State *L) {
    uint32_t w[4];
    gp_philox(gp_generator.seed, gp_generator.counter++, 0, w);
    lua_pushinteger(L, (lua_Integer)(w[0] | (uint64_t)w[1] << 32));
    return 1;
}

static void close_folder(void *owner) {
    DIR **dir = owner;
    if (*dir) closedir(*dir);
    *dir = NULL;
}

/* list(folder): the names in it, unordered, without those that begin with a dot; nil and a message
 * if it cannot be read. */
static int l_list(lua_State *L) {
    const char *folder = luaL_checkstring(L, 1);
    static const gp_owner_type type = {"gpush.folder", close_folder};
    DIR **dir = gp_lua_push_owner(L, &type, sizeof *dir);
    if (!(*dir = opendir(folder))) {
        lua_pushnil(L);
        lua_pushfstring(L, "cannot read the folder %s: %s", folder, strerror(errno));
        return 2;
    }
    lua_newtable(L);
    for (struct dirent *e; (e = readdir(*dir));) {
        if (e->d_name[0] == '.') continue;
        lua_pushstring(L, e->d_name);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    closedir(*dir);
    *dir = NULL;
    return 1;
}

void gp_lua_push_loader(lua_State *L, void (*open)(lua_State *worker, gp_lua_kind kind)) {
    if (open_worker != open) open_worker = open; /* the same for every state */
    static const luaL_Reg functions[] = {
        {"start", l_start}, {"draw", l_draw}, {"seed", l_seed}, {"list", l_list}, {NULL, NULL}};
    static const luaL_Reg methods[] = {{"accepts", l_accepts}, {"add", l_add},     {"next", l_next},
                                       {"stop", l_stop},       {"stats", l_stats}, {"__gc", l_stop},
                                       {"__close", l_stop},    {NULL, NULL}};
    luaL_newmetatable(L, WORKER_POOL);
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_newlib(L, functions);
}
