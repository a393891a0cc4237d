/* Devices, streams and events in Lua: synchronize, memory figures, threads, the default device and
 * dtype. */
#include <math.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/fields.h"
#include "bindings/module.h"
#include "bindings/stop.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/backends.h"
#include "tensor/infer.h"
#include "tensor/intercept.h"

#define STREAM "gpush.stream"
#define EVENT "gpush.event"

static gp_device *check_device(lua_State *L, int arg, const char *fn) {
    const char *name = luaL_optstring(L, arg, "gpu");
    gp_device *dev = gp_device_get(name);
    if (!dev) luaL_error(L, "%s: %s", fn, gp_error());
    return dev;
}

/* gpush.synchronize([device]): waits for a device, or for all. */
static int l_synchronize(lua_State *L) {
    gp_lua_enter(L);
    gp_device *dev = lua_isnoneornil(L, 1) ? NULL : check_device(L, 1, "synchronize");
    return gp_wait_device(dev, GP_WHY_explicit, "synchronize") ? 0 : gp_lua_raise(L);
}

/* gpush.memory(device): a table of bytes in use, peak, cached, limit, and counts. */
static int l_memory(lua_State *L) {
    gp_mem_stats m;
    gp_alloc_stats(check_device(L, 1, "memory"), &m);
    lua_createtable(L, 0, 8);
    set_int(L, "in_use", m.in_use);
    set_int(L, "peak", m.peak);
    set_int(L, "cached", m.cached);
    set_int(L, "limit", m.limit);
    set_int(L, "allocations", (lua_Integer)m.allocs);
    set_int(L, "reused", (lua_Integer)m.reused);
    set_int(L, "flushes", (lua_Integer)m.flushes);
    return 1;
}

static int l_empty_cache(lua_State *L) {
    gp_device *dev = check_device(L, 1, "empty_cache");
    gp_lua_enter(L);
    return gp_alloc_release(dev, "empty_cache") ? 0 : gp_lua_raise(L);
}

static int l_reset_peak(lua_State *L) {
    gp_alloc_reset_peak(check_device(L, 1, "reset_peak"));
    return 0;
}

/* gpush.threads([n]): threads of CPU kernels; sets them if n is given. */
static int l_threads(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) {
        lua_Integer n = luaL_checkinteger(L, 1);
        luaL_argcheck(L, n >= 1 && n <= 256, 1, "expected 1 to 256 threads");
        gp_set_threads((int)n);
    }
    lua_pushinteger(L, gp_threads());
    return 1;
}

/* gpush.deterministic([on]): whether the cpu's results do not depend on the number of threads. */
static int l_deterministic(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) {
        luaL_checktype(L, 1, LUA_TBOOLEAN);
        gp_set_deterministic(lua_toboolean(L, 1));
    }
    lua_pushboolean(L, gp_deterministic());
    return 1;
}

static int l_default_device(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) gp_default_device = check_device(L, 1, "default_device");
    lua_pushstring(L, gp_default_device ? gp_default_device->name : "cpu");
    return 1;
}

static int l_default_dtype(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) {
        gp_dtype dt;
        if (!gp_dtype_parse(luaL_checkstring(L, 1), &dt)) return gp_lua_raise(L);
        if (!gp_is_float(dt))
            return luaL_error(L, "default_dtype: expected a float dtype, got %s",
                              gp_dtype_name(dt));
        gp_default_dtype = dt;
    }
    lua_pushstring(L, gp_dtype_name(gp_default_dtype));
    return 1;
}

/* ---- streams ---- */

static gp_stream *check_stream(lua_State *L, int arg) {
    gp_stream *s = *(gp_stream **)gp_lua_checkudata(L, arg, STREAM);
    if (!s) luaL_error(L, "stream: it was released");
    return s;
}

static int push_stream(lua_State *L, gp_stream *s) {
    if (!s) return gp_lua_raise(L);
    *(gp_stream **)lua_newuserdatauv(L, sizeof s, 1) = s;
    luaL_setmetatable(L, STREAM);
    return 1;
}

/* gpush.stream([device]): a new stream. Collected streams are reused. */
static int l_stream(lua_State *L) {
    gp_device *dev = check_device(L, 1, "stream");
    return push_stream(L, gp_stream_acquire(dev));
}

static int l_stream_gc(lua_State *L) {
    gp_stream **s = gp_lua_checkudata(L, 1, STREAM);
    if (*s) gp_stream_release(*s);
    *s = NULL;
    return 0;
}

/* gpush.current_stream([device]) */
static int l_current_stream(lua_State *L) {
    gp_stream *s = gp_stream_current(check_device(L, 1, "current_stream"));
    if (s->deferred) s = s->dev->streams[0]; /* in whose place it is */
    return push_stream(L, gp_stream_retain(s));
}

#define STREAM_GUARD "gpush.stream_guard"

static void restore(gp_stream **s) {
    if (*s) gp_stream_set_current(*s);
    *s = NULL;
}

static int l_restore(lua_State *L) {
    restore(gp_lua_checkudata(L, 1, STREAM_GUARD));
    return 0;
}

/* stream:use(): ops of this thread go to the stream until the returned to-be-closed value is
 * closed. stream:use(fn, …): while fn runs. */
static int push_guard(lua_State *L, gp_stream *s) {
    gp_stream **g = lua_newuserdatauv(L, sizeof *g, 1);
    *g = gp_stream_current(s->dev);
    if (luaL_newmetatable(L, STREAM_GUARD)) {
        lua_pushcfunction(L, l_restore);
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    gp_stream_set_current(s);
    gp_stop_after_next();
    return 1;
}

static int l_stream_use(lua_State *L) {
    gp_stream *s = check_stream(L, 1);
    if (lua_isnoneornil(L, 2)) return push_guard(L, s);
    push_guard(L, s);
    lua_insert(L, 2);
    lua_toclose(L, 2);
    lua_call(L, lua_gettop(L) - 3, LUA_MULTRET);
    int n = lua_gettop(L) - 2;
    restore(lua_touserdata(L, 2));
    return n;
}

static int l_stream_synchronize(lua_State *L) {
    gp_lua_enter(L);
    return gp_wait(check_stream(L, 1), GP_WHY_explicit, "synchronize") ? 0 : gp_lua_raise(L);
}

static int l_stream_busy(lua_State *L) {
    gp_stream *s = check_stream(L, 1);
    gp_defer_run();
    lua_pushboolean(L, s->dev->vt->busy(s));
    return 1;
}

static int l_stream_queued(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)gp_stream_queued(check_stream(L, 1)));
    return 1;
}

static int l_stream_tostring(lua_State *L) {
    gp_stream *s = check_stream(L, 1);
    lua_pushfstring(L, "stream %d of %s", s->index, s->dev->name);
    return 1;
}

/* ---- events ---- */

static gp_event **check_event(lua_State *L, int arg) {
    gp_event **e = gp_lua_checkudata(L, arg, EVENT);
    if (!*e) luaL_error(L, "event: not recorded");
    return e;
}

/* stream:record(): an event after everything that is queued. */
static int l_stream_record(lua_State *L) {
    gp_stream *s = check_stream(L, 1);
    gp_event **e = lua_newuserdatauv(L, sizeof *e, 1);
    *e = NULL;
    luaL_setmetatable(L, EVENT);
    if (gp_at(GP_AT_ORDER, NULL, s)) *e = s->dev->vt->event_record(s, true);
    if (!*e) return gp_lua_raise(L);
    (*e)->id = atomic_load_explicit(&s->last_id, memory_order_relaxed);
    return 1;
}

/* stream:wait(event): work queued from here on starts after the event; the host does not wait. */
static int l_stream_wait(lua_State *L) {
    gp_lua_enter(L);
    return gp_stream_wait_event(check_stream(L, 1), *check_event(L, 2)) ? 0 : gp_lua_raise(L);
}

static int l_event_done(lua_State *L) {
    gp_event *e = *check_event(L, 1);
    gp_defer_run();
    lua_pushboolean(L, e->stream->dev->vt->event_done(e));
    return 1;
}

static int l_event_synchronize(lua_State *L) {
    gp_lua_enter(L);
    return gp_wait_event(*check_event(L, 1), GP_WHY_explicit, "synchronize") ? 0 : gp_lua_raise(L);
}

/* event:elapsed(later): seconds between two events; waits for the later one. */
static int l_event_elapsed(lua_State *L) {
    gp_event *a = *check_event(L, 1), *b = *check_event(L, 2);
    gp_lua_enter(L);
    if (!gp_wait_event(a, GP_WHY_explicit, "elapsed") ||
        !gp_wait_event(b, GP_WHY_explicit, "elapsed"))
        return gp_lua_raise(L);
    lua_pushnumber(L, b->stream->dev->vt->event_time(b) - a->stream->dev->vt->event_time(a));
    return 1;
}

static int l_event_gc(lua_State *L) {
    gp_event **e = gp_lua_checkudata(L, 1, EVENT);
    if (*e) (*e)->stream->dev->vt->event_free(*e);
    *e = NULL;
    return 0;
}

static void add_device(gp_device *dev, void *L) {
    lua_pushstring(L, dev->name);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
}

/* The lines of text as a list. */
static void push_lines(lua_State *L, char *text) {
    lua_newtable(L);
    char *rest;
    int n = 0;
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
        lua_pushstring(L, line);
        lua_rawseti(L, -2, ++n);
    }
}

/* The existing devices of a kind, opened or not: "cuda:0, NAME, …"; or none, and why. Of cuda also
 * which of them "cuda" is, as its position. */
static int devices_of(lua_State *L, const char *kind) {
    char text[4096] = "";
    bool cuda = !strcmp(kind, "cuda");
    if (!cuda && strcmp(kind, "sim"))
        return luaL_error(L, "devices: expected \"cuda\" or \"sim\", got \"%s\"", kind);
    int n = cuda ? gp_cuda_devices(text, sizeof text) : gp_sim_count();
    if (cuda && n < 1) return lua_newtable(L), lua_pushstring(L, text), 2;
    if (cuda) {
        push_lines(L, text);
        lua_pushnil(L);
        return lua_pushinteger(L, gp_cuda_own_card().index + 1), 3;
    }
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushfstring(L, "sim:%d, the simulated device, made of the CPU", i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* gpush.devices(): names of the devices that have been opened. gpush.devices(kind): descriptions of
 * the existing ones. */
static int l_devices(lua_State *L) {
    if (!lua_isnoneornil(L, 1)) return devices_of(L, luaL_checkstring(L, 1));
    gp_device_cpu();
    lua_newtable(L);
    gp_device_each(add_device, L);
    return 1;
}

/* gpush.cuda_setting(name [, on]): settings of CUDA's libraries, described in
 * scripts/lua/cuda/init.lua. on: a boolean; for svd_driver, svd_used, conv_elements, plans_made and
 * launch_ns a number, and -1 reads it. */
static int l_cuda_setting(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    bool number = !strncmp(name, "svd_", 4) || !strcmp(name, "conv_elements") ||
                  !strcmp(name, "plans_made") || !strcmp(name, "launch_ns");
    if (!number && !lua_isnoneornil(L, 2)) luaL_checktype(L, 2, LUA_TBOOLEAN);
    int now = gp_cuda_setting(name, number                  ? (int)luaL_checkinteger(L, 2)
                                    : lua_isnoneornil(L, 2) ? -1
                                                            : lua_toboolean(L, 2));
    if (now < 0) return luaL_error(L, "cuda.%s: %s", name, gp_error());
    number ? lua_pushinteger(L, now) : lua_pushboolean(L, now);
    return 1;
}

/* gpush.cuda_routes([text]): linear algebra's table of routines on CUDA, described in
 * scripts/lua/cuda/init.lua; after another was put in its place, "" for its own. Gives how many
 * rows it has, where it is from, and which routine was chosen last. */
static int l_cuda_routes(lua_State *L) {
    char source[200] = "";
    const char *used = NULL;
    int n = gp_cuda_routes(luaL_optstring(L, 1, NULL), source, sizeof source, &used);
    if (n < 0) return luaL_error(L, "cuda.linalg_routes: %s", gp_error());
    lua_pushinteger(L, n);
    lua_pushstring(L, source);
    lua_pushstring(L, used);
    return 3;
}

static void open_class(lua_State *L, const char *name, const gp_lua_function *fns, lua_CFunction gc,
                       lua_CFunction tostring) {
    luaL_newmetatable(L, name);
    gp_lua_set_functions(L, fns);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, gc);
    lua_setfield(L, -2, "__gc");
    if (tostring) lua_pushcfunction(L, tostring), lua_setfield(L, -2, "__tostring");
    lua_pop(L, 1);
}

void gp_lua_open_device(lua_State *L) {
    static const gp_lua_function fns[] = {{"synchronize", "device? device", l_synchronize},
                                          {"memory", "device? device", l_memory},
                                          {"empty_cache", "device? device", l_empty_cache},
                                          {"reset_peak", "device? device", l_reset_peak},
                                          {"threads", "int? n", l_threads},
                                          {"deterministic", "bool? on", l_deterministic},
                                          {"default_device", "device? device", l_default_device},
                                          {"default_dtype", "dtype? dtype", l_default_dtype},
                                          {"stream", "device? device", l_stream},
                                          {"current_stream", "device? device", l_current_stream},
                                          {"devices", "text? kind", l_devices},
                                          {"cuda_setting", "text name, value? on", l_cuda_setting},
                                          {"cuda_routes", "text? text", l_cuda_routes},
                                          {NULL, NULL, NULL}};
    static const gp_lua_function stream[] = {
        {"stream.use", "self stream, function? fn, rest args", l_stream_use},
        {"stream.synchronize", "self stream", l_stream_synchronize},
        {"stream.busy", "self stream", l_stream_busy},
        {"stream.queued", "self stream", l_stream_queued},
        {"stream.record", "self stream", l_stream_record},
        {"stream.wait", "self stream, value event", l_stream_wait},
        {NULL, NULL, NULL}};
    static const gp_lua_function event[] = {
        {"event.done", "self event", l_event_done},
        {"event.synchronize", "self event", l_event_synchronize},
        {"event.elapsed", "self event, value later", l_event_elapsed},
        {NULL, NULL, NULL}};
    gp_lua_set_functions(L, fns);
    open_class(L, STREAM, stream, l_stream_gc, l_stream_tostring);
    open_class(L, EVENT, event, l_event_gc, NULL);
}
