/* The table `profile` in Lua: regions, recording, and a profile as a value that makes tables and
 * traces. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/args/names.h"
#include "bindings/module.h"
#include "bindings/api/profile/profile.h"
#include "bindings/fields.h"
#include "bindings/sampling/sampler.h"
#include "bindings/scope.h"
#include "bindings/sampling/stack.h"
#include "bindings/stop.h"
#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/record/record.h"
#include "profile/show/table.h"
#include "profile/show/usage.h"
#include "profile/show/chrome_trace.h"
#include "tensor/device/backends.h"
#include "tensor/base/env.h"

#define PROF "gpush.profile"
#define RUN "gpush.profile.run"
#define REGION "gpush.profile.region"

/* ---- regions ---- */

static int l_region_close(lua_State *L) {
    gp_region_end(gp_lua_checkudata(L, 1, REGION));
    return 0;
}

/* profile.region(name [, fn, ...]): events until the value is closed, or in fn, form a row of their
 * own. Nearly free while nothing is recorded: then one value, the upvalue, is returned each
 * time. */
static int l_region(lua_State *L) {
    if (!gp_prof_running() && !gp_cuda_ranges()) {
        lua_pushvalue(L, gp_lua_upvalue(1));
        return gp_lua_scoped(L, 2);
    }
    gp_region *r = lua_newuserdatauv(L, sizeof *r, 1);
    *r = (gp_region){0};
    luaL_setmetatable(L, REGION);
    size_t len;
    const char *name = lua_tolstring(L, 1, &len);
    lua_pushthread(L); /* lives as long as its region */
    lua_setiuservalue(L, -2, 1);
    gp_lua_enter(L);
    *r = gp_region_begin(name, len, 0);
    return gp_lua_scoped(L, 2);
}

/* ---- recording ---- */

static bool flag(lua_State *L, int idx, const char *name) {
    int type = gp_get_field(L, "profile.run", name, idx);
    if (type != LUA_TNIL && type != LUA_TBOOLEAN)
        luaL_error(L, "profile: %s: expected true or false, got %s", name, luaL_typename(L, -1));
    bool on = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return on;
}

static gp_prof_opts check_opts(lua_State *L, int idx) {
    gp_prof_opts o = {0};
    if (lua_isnoneornil(L, idx)) return o;
    gp_check_fields(L, "profile.run",
                    "any? stack, any? memory, any? shapes, any? limit, any? flops, any? lua", idx);
    gp_get_field(L, "profile.run", "stack", idx);
    o.stack = gp_lua_check_depth(L, -1, "profile.run");
    lua_pop(L, 1);
    o.memory = flag(L, idx, "memory");
    o.shapes = flag(L, idx, "shapes");
    o.flops = flag(L, idx, "flops");
    o.lua = flag(L, idx, "lua");
    if (lua_getfield(L, idx, "limit") != LUA_TNIL) {
        lua_Integer n = lua_tointeger(L, -1);
        if (n < 1)
            luaL_error(L, "profile: limit: expected a number of events, got %s",
                       luaL_tolstring(L, -1, NULL));
        o.limit = (uint64_t)n;
    }
    lua_pop(L, 1);
    return o;
}

gp_prof **gp_lua_push_prof(lua_State *L) {
    gp_prof **box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = NULL;
    luaL_setmetatable(L, PROF);
    return box;
}

/* Both in the name of the running code, which may be a coroutine's. False, NULL with a message.
 * A recording that an error left with nobody to end it is ended first, by its finalizer. */
static bool start(lua_State *L, const gp_prof_opts *o) {
    if (gp_prof_running()) lua_gc(L, LUA_GCCOLLECT);
    gp_lua_enter(L);
    if (!gp_prof_start(o)) return false;
    if (!o->lua || gp_sampler_start(L)) return true;
    char why[200];
    snprintf(why, sizeof why, "%s", gp_error());
    gp_prof_free(gp_prof_stop());
    return gp_fail("%s", why);
}

static gp_prof *stop(lua_State *L) {
    gp_lua_enter(L);
    uint64_t blocked = gp_sampler_stop();
    gp_prof *p = gp_prof_stop();
    if (p && p->opts.lua) p->period = GP_SAMPLER_NS, p->blocked = blocked;
    return p;
}

/* profile.start([opts]): stack, memory, shapes, limit, flops and lua. A schedule notes that it has
 * started, or stopped, in its next instruction: Ctrl-C comes after that. */
static int l_start(lua_State *L) {
    lua_Integer limit = luaL_optinteger(L, 4, 0);
    gp_prof_opts o = {.stack = gp_lua_check_depth(L, 1, "profile.start"),
                      .memory = lua_toboolean(L, 2),
                      .shapes = lua_toboolean(L, 3),
                      .flops = lua_toboolean(L, 5),
                      .lua = lua_toboolean(L, 6),
                      .limit = (uint64_t)limit};
    if (limit < 0 || (limit == 0 && !lua_isnoneornil(L, 4)))
        return gp_fail("profile.start: limit: expected a number of events, got %lld",
                       (long long)limit),
               gp_lua_raise(L);
    if (!start(L, &o)) return gp_lua_raise(L);
    gp_stop_after_next();
    return 0;
}

/* profile.stop() -> profile */
static int l_stop(lua_State *L) {
    gp_prof **box = gp_lua_push_prof(L);
    *box = stop(L);
    gp_stop_after_next();
    return *box ? 1 : gp_lua_raise(L);
}

/* Guards profile.run: on an error, and where its coroutine is never resumed, the recorded events
 * are dropped. */
static int l_run_close(lua_State *L) {
    bool *recording = gp_lua_checkudata(L, 1, RUN);
    if (*recording) gp_prof_free(stop(L));
    *recording = false;
    return 0;
}

/* Stack: guard at 1, then fn's results. */
static int run_done(lua_State *L, int status, lua_KContext ctx) {
    bool *recording = lua_touserdata(L, 1);
    gp_prof **box = gp_lua_push_prof(L);
    lua_insert(L, 2);
    *recording = false;
    *box = stop(L);
    return *box ? lua_gettop(L) - 1 : gp_lua_raise(L);
}

/* profile.run([opts,] fn, ...) -> profile, fn's results. Errors of fn are passed on. */
static int l_run(lua_State *L) {
    gp_prof_opts o = check_opts(L, 1);
    bool *recording = lua_newuserdatauv(L, sizeof *recording, 0);
    *recording = false;
    luaL_setmetatable(L, RUN);
    lua_replace(L, 1);
    lua_toclose(L, 1);
    if (!start(L, &o)) return gp_lua_raise(L);
    *recording = true;
    lua_callk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, run_done);
    return run_done(L, LUA_OK, 0);
}

/* ---- a profile ---- */

gp_prof *gp_lua_check_prof(lua_State *L, int i) {
    gp_prof *p = *(gp_prof **)gp_lua_checkudata(L, i, PROF);
    if (!p) luaL_error(L, "profile: it was freed");
    return p;
}

static gp_prof *check_prof(lua_State *L) { return gp_lua_check_prof(L, 1); }

static int l_prof_free(lua_State *L) {
    gp_prof **p = gp_lua_checkudata(L, 1, PROF);
    gp_prof_free(*p);
    *p = NULL;
    return 0;
}

static void release_rows(void *owner) {
    gp_rows **r = owner;
    gp_rows_free(*r);
    *r = NULL;
}

static gp_group_by check_group(lua_State *L, int idx) {
    static const char *const names[] = {"op",    "region", "line",   "shape",
                                        "stack", "rank",   "module", "kernel"};
    const char *name = lua_tostring(L, idx);
    for (int i = 0; name && i < GP_GROUPS; i++)
        if (!strcmp(name, names[i])) return (gp_group_by)i;
    return luaL_error(L,
                      "profile: group: expected \"op\", \"region\", \"line\", \"shape\", "
                      "\"stack\", \"rank\", \"module\" or \"kernel\", got %s",
                      luaL_tolstring(L, idx, NULL)),
           GP_BY_OP;
}

/* A count of 1 or more at idx; 0 if it is absent. */
static int check_count(lua_State *L, int idx, const char *what) {
    lua_Integer n = luaL_optinteger(L, idx, 0);
    if (n < 1 && !lua_isnoneornil(L, idx))
        luaL_error(L, "profile: %s, got %I", what, (LUAI_UACINT)n);
    return n > INT_MAX ? INT_MAX : (int)n;
}

/* Pushes the rows that the arguments group, sort and limit ask for; Lua owns them. */
static gp_rows *push_rows(lua_State *L) {
    const gp_prof *p = check_prof(L);
    gp_group_by group = lua_isnoneornil(L, 2) ? GP_BY_OP : check_group(L, 2);
    bool devices = group == GP_BY_KERNEL;
    const char *sort =
        luaL_optstring(L, 3, devices ? "self_device_time_total" : "self_cpu_time_total");
    int limit = check_count(L, 4, "limit: expected a number of rows");
    static const gp_owner_type type = {"gpush.profile.rows", release_rows};
    gp_rows **box = gp_lua_push_owner(L, &type, sizeof *box);
    *box = gp_rows_new(p, group);
    if (!*box || !gp_rows_sort(*box, sort)) gp_lua_raise(L);
    if (limit > 0) gp_rows_limit(*box, limit);
    return *box;
}

static void push_list(lua_State *L, const gp_rows *r) {
    lua_createtable(L, r->n, 0);
    for (int i = 0; i < r->n; i++) {
        gp_lua_may_stop(L, i);
        gp_lua_push_row(L, r, &r->row[i]);
        lua_rawseti(L, -2, i + 1);
    }
}

/* prof:rows{as for table}: a table per row; times in integer ns, memory in bytes. */
static int l_rows(lua_State *L) {
    lua_settop(L, 5);
    push_list(L, push_rows(L));
    return 1;
}

/* prof:table{sort = "self_cpu_time_total", limit = , group = "op", width = , format = } -> text;
 * width: of its lines, by default the terminal's, for which columns are left out; format: one that
 * scripts/lua/profile/export.lua makes of the rows. */
static int l_table(lua_State *L) {
    lua_settop(L, 6);
    const char *format = lua_tostring(L, 6);
    int width = check_count(L, 5, "width: expected a number of columns");
    const gp_rows *r = push_rows(L);
    if (!format || !strcmp(format, "text")) {
        char **text = gp_lua_push_block(L);
        *text = gp_table_text(check_prof(L), r, width ? width : gp_fit_columns());
        return *text ? (lua_pushstring(L, *text), 1) : gp_lua_raise(L);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, "gpush.table_as");
    lua_pushvalue(L, 1);
    push_list(L, r);
    lua_pushvalue(L, 6);
    lua_call(L, 3, 1);
    return 1;
}

/* A size in bytes: a number, or text such as "50MB"; 0 where it is absent. */
static uint64_t check_size(lua_State *L, int idx) {
    const char *text = lua_tostring(L, idx);
    uint64_t bytes = text ? gp_size_parse(text, 1) : 0;
    if (!bytes && !lua_isnoneornil(L, idx))
        luaL_error(L,
                   "profile.trace: max: expected a size as \"50MB\" or a number of bytes, got %s",
                   luaL_tolstring(L, idx, NULL));
    return bytes;
}

/* prof:trace(file{, max = "50MB"}) -> nil, or what was merged for that, as text */
static int l_trace(lua_State *L) {
    const gp_prof *p = check_prof(L);
    const char *path = luaL_checkstring(L, 2);
    uint64_t max = check_size(L, 3);
    gp_merged merged;
    if (!gp_trace_write_most(p, path, max, &merged)) return gp_lua_raise(L);
    if (!merged.events) return 0;
    lua_pushfstring(L, "%I events were merged into %I, and arrows left out",
                    (LUAI_UACINT)merged.events, (LUAI_UACINT)merged.slices);
    return 1;
}

void gp_lua_push_event(lua_State *L, const gp_prof *p, const gp_rec *r) {
    char name[200];
    lua_createtable(L, 0, 10);
    set_text(L, "kind", gp_rec_kind_name((gp_rec_kind)r->kind));
    set_text(L, "name", gp_rec_name(r, name, sizeof name));
    set_int(L, "start", (int64_t)(r->t0 - p->t0));
    set_int(L, "stop", (int64_t)(gp_rec_end(p, r) - p->t0));
    if (r->id) set_int(L, "id", (int64_t)r->id);
    if (r->file) set_text(L, "file", r->file), set_int(L, "line", r->line);
    if (r->kind == GP_REC_SAMPLE) set_int(L, "samples", r->bytes);
    if (gp_is_batch_request(r)) lua_pushboolean(L, true), lua_setfield(L, -2, "batch");
    if (gp_rec_has_why(r)) set_text(L, "why", gp_why_name((gp_why)r->why));
    bool named = r->kind == GP_REC_KERNEL || r->kind == GP_REC_HELD || r->kind == GP_REC_CALL;
    if (r->kind == GP_REC_KERNEL && gp_rec_is_collective(r))
        lua_pushboolean(L, true), lua_setfield(L, -2, "collective");
    if (named && r->kernel) set_text(L, "kernel", r->kernel);
    if (r->kind == GP_REC_REGION || r->kind == GP_REC_SWITCH || !r->where) return;
    if (r->kind == GP_REC_WAIT) set_int(L, "queued", r->bytes);
    else set_int(L, r->kind == GP_REC_KERNEL ? "waited" : "bytes", r->bytes);
    const gp_device *dev = r->kind == GP_REC_ALLOC ? r->where : ((gp_stream *)r->where)->dev;
    set_text(L, "device", dev->name);
    if (r->kind != GP_REC_ALLOC) set_int(L, "stream", ((gp_stream *)r->where)->index);
}

int gp_lua_push_events(lua_State *L, const gp_prof *p, int rank) {
    lua_Integer n = 0;
    lua_newtable(L);
    for (const gp_track *lists[] = {p->host, p->workers}, **l = lists; l < lists + 2; l++)
        for (const gp_track *t = *l; t; t = t->next) {
            gp_cursor at = gp_first(t);
            for (gp_rec *r; (rank < 0 || t->rank == rank) && (r = gp_next(&at));) {
                gp_lua_may_stop(L, n);
                gp_lua_push_event(L, p, r);
                if (t->name) set_text(L, "thread", t->name);
                if (p->ranks > 1) set_int(L, "rank", t->rank);
                lua_rawseti(L, -2, ++n);
            }
        }
    return 1;
}

/* prof:events(): every event as a table, the host's first; times in integer ns since the start. */
static int l_events(lua_State *L) {
    const gp_prof *p = check_prof(L);
    return gp_lua_push_events(L, p, -1);
}

static uint64_t count(const gp_prof *p) {
    uint64_t n = 0;
    for (const gp_track *lists[] = {p->host, p->workers}, **l = lists; l < lists + 2; l++)
        for (const gp_track *t = *l; t; t = t->next)
            for (const gp_chunk *c = t->first; c; c = c->next) n += (uint64_t)c->n;
    return n;
}

/* The profile that p was predicted from, or nil. */
static int push_measured(lua_State *L, gp_prof *p) {
    if (!p->base) return lua_pushnil(L), 1;
    gp_prof **box = gp_lua_push_prof(L);
    *box = p->base;
    p->base->refs++;
    return 1;
}

/* prof.kind (of its times: profile/record/kind.h), wall (s), wall_ns, count (events), dropped,
 * lost, how, writer, modelled, card, predicted, accuracy, at_least, measured, others, foreign
 * (whether another program's trace was loaded); else a method. */
static int l_prof_index(lua_State *L) {
    const char *key = lua_tostring(L, 2);
    gp_prof *p = *(gp_prof **)gp_lua_checkudata(L, 1, PROF);
    char kind[GP_PROF_KIND_TEXT];
    if (p && key && !strcmp(key, "kind")) return lua_pushstring(L, gp_prof_kind(p, kind)), 1;
    if (p && key && !strcmp(key, "wall"))
        return lua_pushnumber(L, (double)(p->t1 - p->t0) * 1e-9), 1;
    if (p && key && !strcmp(key, "wall_ns"))
        return lua_pushinteger(L, (lua_Integer)(p->t1 - p->t0)), 1;
    if (p && key && !strcmp(key, "count")) return lua_pushinteger(L, (lua_Integer)count(p)), 1;
    if (p && key && !strcmp(key, "dropped")) return lua_pushinteger(L, (lua_Integer)p->dropped), 1;
    if (p && key && !strcmp(key, "lost")) return lua_pushinteger(L, (lua_Integer)p->lost), 1;
    if (p && key && !strcmp(key, "how")) return lua_pushstring(L, p->how), 1;
    if (p && key && !strcmp(key, "writer")) return lua_pushstring(L, p->writer), 1;
    if (p && key && !strcmp(key, "modelled")) return lua_pushstring(L, p->modelled), 1;
    if (p && key && !strcmp(key, "at_least")) return lua_pushstring(L, p->at_least), 1;
    if (p && key && !strcmp(key, "card"))
        return p->card ? gp_lua_push_card(L, p->card) : (lua_pushnil(L), 1);
    if (p && key && !strcmp(key, "predicted")) return lua_pushstring(L, p->predicted), 1;
    if (p && key && !strcmp(key, "accuracy")) return lua_pushstring(L, p->accuracy), 1;
    if (p && key && !strcmp(key, "foreign")) return lua_pushboolean(L, p->foreign), 1;
    if (p && key && !strcmp(key, "unpaired")) return lua_pushboolean(L, p->unpaired), 1;
    if (p && key && !strcmp(key, "measured")) return push_measured(L, p);
    if (p && key && !strcmp(key, "others")) return lua_pushinteger(L, (lua_Integer)p->others), 1;
    lua_pushvalue(L, 2);
    lua_rawget(L, lua_upvalueindex(1));
    return 1;
}

static int l_prof_tostring(lua_State *L) {
    const gp_prof *p = check_prof(L);
    char wall[40], kind[GP_PROF_KIND_TEXT];
    gp_table_time((double)(p->t1 - p->t0), wall, sizeof wall);
    lua_pushfstring(L, "profile of %s, %I events, %s", wall, (LUAI_UACINT)count(p),
                    gp_prof_kind(p, kind));
    if (!p->at_least || p->foreign) return 1;
    lua_pushfstring(L, "; at least, as nobody measured how long the card takes: %s", p->at_least);
    lua_concat(L, 2);
    return 1;
}

static void make_metatables(lua_State *L) {
#define ROWS "self profile, text? group, text? sort, int? limit, int? width"
    static const gp_lua_function methods[] = {
        {"profile.table", ROWS ", text? format", l_table},
        {"profile.rows", ROWS, l_rows},
        {"profile.trace", "self profile, text file, any? max", l_trace},
        {"profile.events", "self profile", l_events},
        {"profile.free", "self profile", l_prof_free},
        {NULL, NULL, NULL}};
    static const luaL_Reg prof[] = {
        {"__gc", l_prof_free}, {"__tostring", l_prof_tostring}, {NULL, NULL}};
    static const luaL_Reg region[] = {
        {"__close", l_region_close}, {"__gc", l_region_close}, {NULL, NULL}};
    static const luaL_Reg run[] = {{"__close", l_run_close}, {"__gc", l_run_close}, {NULL, NULL}};
    luaL_newmetatable(L, PROF);
    luaL_setfuncs(L, prof, 0);
    lua_newtable(L);
    gp_lua_set_functions(L, methods);
    gp_lua_set_whatif(L);
    gp_lua_set_replay(L);
    gp_lua_set_save(L);
    gp_lua_set_usage(L);
    gp_lua_set_columns(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.profile.methods");
    lua_pushcclosure(L, l_prof_index, 1);
    lua_setfield(L, -2, "__index");
    luaL_newmetatable(L, REGION);
    luaL_setfuncs(L, region, 0);
    luaL_newmetatable(L, RUN);
    luaL_setfuncs(L, run, 0);
    lua_pop(L, 3);
}

void gp_lua_open_profile(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"profile.run", "table? options, function fn, rest args", l_run},
        {"profile.start",
         "any? stack, bool? memory, bool? shapes, int? limit, bool? flops, bool? lua", l_start},
        {"profile.stop", "", l_stop},
        {NULL, NULL, NULL}};
    static const gp_lua_function region = {"profile.region", "text name, function? fn, rest args",
                                           l_region};
    make_metatables(L);
    gp_lua_install_stack(L);
    lua_createtable(L, 0, 6);
    gp_lua_set_functions(L, functions);
    gp_lua_set_load(L);
    gp_region *none = lua_newuserdatauv(L, sizeof *none, 0);
    *none = (gp_region){0};
    luaL_setmetatable(L, REGION);
    gp_lua_push_function(L, &region, 1);
    lua_setfield(L, -2, "region");
    lua_setfield(L, -2, "profile");
}
