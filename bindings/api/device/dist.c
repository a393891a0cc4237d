/* Many processes in Lua: what scripts/lua/dist is made of. */
#include "bindings/bind.h"
#include "bindings/module.h"
#include "profile/sync/sync.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/dist/dist.h"
#include "tensor/base/intern.h"

/* open(): joins the job. */
static int l_open(lua_State *L) {
    gp_lua_enter(L);
    return gp_dist_open() ? 0 : gp_lua_raise(L);
}

static int l_rank(lua_State *L) { return lua_pushinteger(L, gp_dist_rank()), 1; }
static int l_size(lua_State *L) { return lua_pushinteger(L, gp_dist_size()), 1; }
static int l_engine(lua_State *L) { return lua_pushstring(L, gp_dist_engine()), 1; }

/* mpi(): the name and version of MPI in the plug-in, which is not started; or nil, and why. */
static int l_mpi(lua_State *L) {
    char text[600] = "";
    if (gp_mpi_engine(text, sizeof text)) return lua_pushstring(L, text), 1;
    return lua_pushnil(L), lua_pushstring(L, text), 2;
}

/* timeout([seconds]) */
static int l_timeout(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) gp_dist_set_timeout(luaL_checknumber(L, 1));
    return lua_pushnumber(L, gp_dist_timeout()), 1;
}

/* group{rank, …}: its number; nil where this process is not in it. */
static int l_group(lua_State *L) {
    int n = (int)luaL_len(L, 1);
    int *ranks = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *ranks, 0);
    gp_lua_enter(L);
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        ranks[i] = (int)lua_tointeger(L, -1);
        lua_pop(L, 1);
    }
    int g = gp_dist_group(ranks, n);
    if (g == -1) return gp_lua_raise(L);
    if (g >= 0) lua_pushinteger(L, g);
    else lua_pushnil(L);
    return 1;
}

/* The rank of the group that is rank number `root` of all; what: the parameter's name. */
static int rank_in(lua_State *L, const char *name, const char *what, int group, lua_Integer root) {
    for (int r = 0; r < gp_dist_group_size(group); r++)
        if (gp_dist_global(group, r) == root) return r;
    lua_pushfstring(L, "%s: argument '%s': there is no rank %I in this %s", name, what, root,
                    group ? "group" : "job");
    gp_fail("%s", lua_tostring(L, -1));
    return gp_lua_raise(L);
}

/* row(name): the row of the op table, for run */
static int l_row(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    const gp_op *op = gp_op_find(name);
    if (!op) return luaL_error(L, "%s: no such row", name);
    return lua_pushinteger(L, gp_op_id(op)), 1;
}

/* Fills in c for run's arguments: name, row, group, x, reduction or nil, root or nil. */
static void read_call(lua_State *L, gp_call *c) {
    lua_Integer row = luaL_checkinteger(L, 2);
    int group = (int)luaL_checkinteger(L, 3);
    if (row < 0 || row >= GP_ROWS || !gp_dist_is_group(group))
        luaL_error(L, "%s: no such row or group", luaL_checkstring(L, 1));
    const gp_op *op = &gp_ops[row];
    gp_call_begin(c, op);
    c->name = gp_intern_text(luaL_checkstring(L, 1));
    if (!c->name) luaL_error(L, "out of memory");
    gp_call_int(c, group);
    gp_call_tensor(c, gp_lua_check(L, 4, c->name));
    if (lua_isstring(L, 5))
        c->arg[c->nargs++] = (gp_value){.kind = GP_STR, .s = gp_intern_text(lua_tostring(L, 5))};
    if (!lua_isnil(L, 6))
        gp_call_int(c, rank_in(L, c->name, luaL_checkstring(L, 9), group, luaL_checkinteger(L, 6)));
}

/* Queues c on the communication stream, which is returned; that of a group of one is the caller's.
 * Where the caller waits, it may run c itself; not in error mode, which refuses waits. Raises. */
static gp_stream *queue(lua_State *L, gp_call *c, bool async) {
    gp_device *dev = gp_tensor_device(c->arg[1].t);
    gp_stream *was = gp_stream_current(dev), *s = was;
    if (gp_dist_group_size((int)c->arg[0].i) > 1) s = gp_dist_stream(dev);
    if (!s) return gp_lua_raise(L), NULL;
    bool waits = !async && dev->vt->on_host && !was->async;
    if (waits && gp_sync_mode_here() != GP_SYNC_ERROR) s->here = gp_dist_run_here;
    gp_stream_set_current(s);
    bool ok = gp_op_run(c);
    gp_stream_set_current(was);
    s->here = NULL;
    if (!ok) gp_lua_raise(L);
    return s;
}

/* run(name, row, group, x, reduction, root, form, async, name of root): form "new" gives the
 * result, "in place" x, "none" nil. Without async what follows on the caller's stream follows the
 * collective: on the cpu the host waits (why = collective); with it, a future is returned. */
static int l_run(lua_State *L) {
    gp_call c;
    lua_settop(L, 9);
    gp_lua_enter(L);
    read_call(L, &c);
    const char *form = luaL_checkstring(L, 7);
    bool async = lua_toboolean(L, 8);
    if (form[0] == 'i') c.into = c.arg[1].t;
    gp_stream *s = queue(L, &c, async);
    if (form[0] == 'n' && form[1] == 'e') gp_lua_push(L, c.out[0]);
    else {
        gp_tensor_unref(c.out[0]);
        if (form[0] == 'i') lua_pushvalue(L, 4);
        else lua_pushnil(L);
    }
    if (async) return gp_lua_push_future(L, s), 1;
    gp_stream *here = gp_stream_current(s->dev);
    uint64_t upto = atomic_load_explicit(&s->issued, memory_order_relaxed);
    return gp_order_join(here, s, upto, c.name) ? 1 : gp_lua_raise(L);
}

void gp_lua_open_dist(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"open", l_open},       {"rank", l_rank},   {"size", l_size}, {"engine", l_engine},
        {"timeout", l_timeout}, {"group", l_group}, {"row", l_row},   {"run", l_run},
        {"mpi", l_mpi},         {NULL, NULL}};
    luaL_newlib(L, functions);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.dist");
}
