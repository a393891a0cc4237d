/* fork and wait: a function's ops go to streams of their own, in parallel to work queued meanwhile.
 * Source: torch.jit.fork and wait. */
#include <string.h>

#include "bindings/args/entries.h"
#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"

#define FUTURE "gpush.future"

enum { STREAMS = 8 }; /* of a device; more forks than that share them */

/* The streams of a Lua state's forks, by the device's slot; they are held until the state ends. */
typedef struct pools {
    struct pool {
        int n, next;
        gp_stream *stream[STREAMS];
    } of[GP_MAX_DEVICES];
} pools;

/* Its value is a Lua table of what the function returned, or the only value. */
typedef struct future {
    int nvalues, n;
    bool inside; /* the function is running */
    struct branch {
        gp_stream *stream, *was; /* of one device: the fork's, and the caller's while inside */
        uint64_t upto;           /* the commands up to this one are the fork's, or earlier */
    } at[];
} future;

/* ---- streams ---- */

/* The cpu's are threads: no more than there are processors. */
static int most_streams(const gp_device *dev) {
    int n = dev->vt->on_host ? gp_processors() : STREAMS;
    return n < STREAMS ? n : STREAMS;
}

/* The next stream of dev in turn, so that backward can run forks in parallel even where their
 * forwards took turns; a busy one only where all are. Not the current one, unless it is the only
 * one: there the fork would follow its caller. NULL with a message. */
static gp_stream *pick(struct pool *p, gp_device *dev) {
    gp_stream *current = gp_stream_current(dev), *best = NULL;
    if (p->n < most_streams(dev)) {
        gp_stream *s = gp_stream_acquire(dev);
        if (s) p->stream[p->n++] = s;
        return s;
    }
    for (int i = 1; i <= p->n; i++) {
        gp_stream *s = p->stream[(p->next + i) % p->n];
        if (s == current) continue;
        if (!best) best = s;
        if (dev->vt->busy(s)) continue;
        best = s;
        break;
    }
    if (!best) return current;
    while (p->stream[p->next] != best) p->next = (p->next + 1) % p->n;
    return best;
}

static int l_release(lua_State *L) {
    pools *all = lua_touserdata(L, 1);
    for (int d = 0; all && d < GP_MAX_DEVICES; d++)
        while (all->of[d].n) gp_stream_release(all->of[d].stream[--all->of[d].n]);
    return 0;
}

/* ---- fork ---- */

typedef struct entering {
    future *f;
    pools *all;
    bool ok;
} entering;

static void count_device(gp_device *dev, void *n) { ++*(int *)n; }

static void choose(gp_device *dev, void *ctx) {
    entering *e = ctx;
    gp_stream *s = e->ok ? pick(&e->all->of[dev->slot], dev) : NULL;
    if (s) e->f->at[e->f->n++] = (struct branch){.stream = s, .was = gp_stream_current(dev)};
    else e->ok = false;
}

static void restore(future *f) {
    for (int i = 0; f->inside && i < f->n; i++) gp_stream_set_current(f->at[i].was);
    f->inside = false;
}

/* The function raised: the caller's streams are current again. */
static int l_close(lua_State *L) {
    restore(gp_lua_checkudata(L, 1, FUTURE));
    return 0;
}

/* Pushes a future whose streams are current from here on. A data loader's thread has none: it is a
 * worker itself, and the function just runs there. */
static future *enter(lua_State *L, pools *all) {
    int n = 0;
    if (!gp_thread_loader()) gp_device_each(count_device, &n);
    future *f = lua_newuserdatauv(L, sizeof *f + (size_t)n * sizeof *f->at, 1);
    *f = (future){.n = 0};
    luaL_setmetatable(L, FUTURE);
    entering e = {.f = f, .all = all, .ok = true};
    if (n) gp_device_each(choose, &e);
    if (!e.ok) gp_lua_raise(L);
    for (int i = 0; i < f->n; i++) gp_stream_set_current(f->at[i].stream);
    f->inside = true;
    return f;
}

/* The stack holds the future and what the function returned. */
static int finish(lua_State *L, int status, lua_KContext unused) {
    future *f = lua_touserdata(L, 1);
    int n = f->nvalues = lua_gettop(L) - 1;
    restore(f);
    for (int i = 0; i < f->n; i++)
        f->at[i].upto = atomic_load_explicit(&f->at[i].stream->issued, memory_order_relaxed);
    if (n != 1) {
        lua_createtable(L, n, 0);
        lua_insert(L, 2);
        for (int i = n; i > 0; i--) lua_rawseti(L, 2, i);
    }
    lua_setiuservalue(L, 1, 1);
    return 1;
}

/* fork(fn, …): calls fn at once, with streams of its own as the current ones of the devices in use;
 * returns a future. */
static int l_fork(lua_State *L) {
    if (!lua_isfunction(L, 1) && luaL_getmetafield(L, 1, "__call") == LUA_TNIL)
        return luaL_error(L, "fork: fn: expected a function or a module, got %s",
                          gp_lua_totensor(L, 1) ? "a tensor" : luaL_typename(L, 1));
    if (!lua_isfunction(L, 1)) lua_pop(L, 1);
    gp_lua_enter(L);
    enter(L, lua_touserdata(L, gp_lua_upvalue(1)));
    lua_insert(L, 1);
    lua_toclose(L, 1);
    lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, finish);
    return finish(L, LUA_OK, 0);
}

/* ---- wait ---- */

void gp_lua_push_future(lua_State *L, gp_stream *s) {
    future *f = lua_newuserdatauv(L, sizeof *f + sizeof *f->at, 1);
    *f = (future){.nvalues = 1, .n = 1};
    f->at[0] = (struct branch){.stream = s,
                               .upto = atomic_load_explicit(&s->issued, memory_order_relaxed)};
    luaL_setmetatable(L, FUTURE);
    lua_insert(L, -2);
    lua_setiuservalue(L, -2, 1);
}

/* The future at index i, or NULL; luaL_testudata would look up the class by its name. */
static future *to_future(lua_State *L, int i) { return luaL_testudata(L, i, FUTURE); }

/* What follows on the caller's streams follows the fork's work. Elsewhere than on the cpu ops do so
 * one by one, where they take what it makes; there the host, if it runs ops itself, waits here, and
 * raises the fork's errors. */
static void join(lua_State *L, const future *f) {
    for (int i = 0; i < f->n; i++) {
        gp_device *dev = f->at[i].stream->dev;
        if (!dev->vt->on_host) continue;
        gp_stream *s = gp_stream_current(dev);
        if (!gp_order_join(s, f->at[i].stream, f->at[i].upto, "wait")) gp_lua_raise(L);
    }
}

/* Pushes what the function of the future at index i returned, at most `most` values; returns their
 * number. */
static int push_values(lua_State *L, int i, const future *f, int most) {
    int n = f->nvalues < most ? f->nvalues : most;
    i = lua_absindex(L, i);
    luaL_checkstack(L, n + 2, "wait: too many values");
    lua_getiuservalue(L, i, 1);
    if (f->nvalues == 1) return 1;
    for (int k = 1; k <= n; k++) lua_rawgeti(L, -k, k);
    lua_remove(L, -n - 1);
    return n;
}

/* A list of the first value of each future in the list at 1. */
static int wait_list(lua_State *L) {
    lua_pushcfunction(L, gp_l_check_list);
    lua_pushstring(L, "wait");
    lua_pushstring(L, "future");
    lua_pushvalue(L, 1);
    lua_call(L, 3, 0);
    int n = (int)lua_rawlen(L, 1);
    lua_createtable(L, n, 0);
    for (int i = 1; i <= n; i++) {
        lua_rawgeti(L, 1, i);
        future *f = to_future(L, -1);
        if (!f)
            return luaL_error(L, "wait: number %d of the list: expected a future, got %s", i,
                              luaL_typename(L, -1));
        join(L, f);
        if (!push_values(L, -1, f, 1)) lua_pushnil(L);
        lua_rawseti(L, 2, i);
        lua_pop(L, 1);
    }
    return 1;
}

/* wait(f): what the function returned. wait{f, g, …}: a list of the first value of each. */
static int l_wait(lua_State *L) {
    future *f = to_future(L, 1);
    lua_settop(L, 1);
    gp_lua_enter(L);
    if (f) return join(L, f), push_values(L, 1, f, INT32_MAX);
    if (lua_istable(L, 1)) return wait_list(L);
    return luaL_error(L, "wait: expected a future, or a list of futures, got %s",
                      gp_lua_totensor(L, 1) ? "a tensor" : luaL_typename(L, 1));
}

static bool is_done(const future *f) {
    bool done = true;
    gp_defer_run();
    for (int i = 0; i < f->n && done; i++) {
        gp_stream *s = f->at[i].stream;
        s->dev->vt->busy(s); /* brings the count of commands that are done up to date */
        done = atomic_load_explicit(&s->completed, memory_order_acquire) >= f->at[i].upto;
    }
    return done;
}

/* future:done(): whether all that the function queued is done. Does not wait. */
static int l_done(lua_State *L) {
    if (!gp_at(GP_AT_READ, "done", NULL)) return gp_lua_raise(L);
    lua_pushboolean(L, is_done(gp_lua_checkudata(L, 1, FUTURE)));
    return 1;
}

static int l_tostring(lua_State *L) {
    future *f = gp_lua_checkudata(L, 1, FUTURE);
    lua_pushfstring(L, "future: %d value%s, %s", f->nvalues, f->nvalues == 1 ? "" : "s",
                    is_done(f) ? "done" : "at work");
    return 1;
}

/* Pushes the pools of a new state. */
static void push_pools(lua_State *L) {
    pools *all = lua_newuserdatauv(L, sizeof *all, 0);
    memset(all, 0, sizeof *all);
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, l_release);
    lua_setfield(L, -2, "__gc");
    lua_setmetatable(L, -2);
}

void gp_lua_open_fork(lua_State *L) {
    static const gp_lua_function fork = {"fork", "value fn, rest args", l_fork};
    static const gp_lua_function wait[] = {{"wait", "value future", l_wait}, {NULL, NULL, NULL}};
    static const gp_lua_function methods[] = {{"future.done", "self future", l_done},
                                              {"future.wait", "self future", l_wait},
                                              {NULL, NULL, NULL}};
    push_pools(L);
    gp_lua_push_function(L, &fork, 1);
    lua_setfield(L, -2, "fork");
    gp_lua_set_functions(L, wait);
    luaL_newmetatable(L, FUTURE);
    gp_lua_set_functions(L, methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, l_close);
    lua_setfield(L, -2, "__close");
    lua_pushcfunction(L, l_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
}
