/* The table `sync` in Lua: modes, scopes, the ledger. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/args/names.h"
#include "bindings/loops.h"
#include "bindings/module.h"
#include "bindings/chunks.h"
#include "bindings/fields.h"
#include "bindings/paths.h"
#include "bindings/scope.h"
#include "bindings/stop.h"
#include "profile/record/calls.h"
#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/sync/report.h"
#include "profile/sync/sync.h"
#include "tensor/base/safe_text.h"

#define SCOPE "gpush.sync.scope"
#define ASIDE "gpush.sync.aside"

static const char *const mode_names[] = {"off", "warn", "error", NULL};
_Static_assert(GP_SYNC_OFF == 0 && GP_SYNC_WARN == 1 && GP_SYNC_ERROR == 2, "names by number");

/* Copies `from` (n bytes, malloc'd) into a userdata and frees it, so that an error while it is read
 * leaks nothing. */
static const void *own(lua_State *L, void *from, size_t n) {
    void **box = lua_newuserdatauv(L, n + 1, 0);
    if (from) memcpy(box, from, n);
    free(from);
    return box;
}

/* ---- mode ---- */

static int l_index(lua_State *L) {
    const char *key = lua_tostring(L, 2);
    gp_lua_enter(L);
    gp_sync_mode mode = gp_sync_mode_here();
    if (key && !strcmp(key, "mode")) lua_pushstring(L, mode_names[mode]);
    else if (key && !strcmp(key, "warn")) lua_pushboolean(L, mode == GP_SYNC_WARN);
    else lua_pushnil(L);
    return 1;
}

static gp_sync_mode check_mode(lua_State *L, int idx) {
    const char *name =
        lua_type(L, idx) == LUA_TSTRING ? lua_tostring(L, idx) : luaL_tolstring(L, idx, NULL);
    for (int i = 0; mode_names[i]; i++)
        if (!strcmp(name, mode_names[i])) return (gp_sync_mode)i;
    return luaL_error(L, "sync.mode: expected \"off\", \"warn\" or \"error\", got %s", name),
           GP_SYNC_OFF;
}

static int l_newindex(lua_State *L) {
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    if (!strcmp(key, "mode")) {
        gp_sync_set_mode(check_mode(L, 3));
    } else if (!strcmp(key, "warn")) {
        if (!lua_isboolean(L, 3))
            return luaL_error(L, "sync.warn: expected true or false, got %s", luaL_typename(L, 3));
        bool on = lua_toboolean(L, 3);
        if (on || gp_sync_get_mode() == GP_SYNC_WARN)
            gp_sync_set_mode(on ? GP_SYNC_WARN : GP_SYNC_OFF);
    } else {
        return luaL_error(L, "sync has no field \"%s\" to set; it has mode and warn", key);
    }
    return 0;
}

/* ---- scopes ---- */

static void *running(void) { return gp_lua_state; }

/* Pushes an open scope that belongs to the running coroutine, which it keeps alive. */
static gp_scope *push_scope(lua_State *L, gp_scope_kind kind) {
    gp_scope *s = lua_newuserdatauv(L, sizeof *s, 1);
    memset(s, 0, sizeof *s);
    s->kind = kind;
    luaL_setmetatable(L, SCOPE);
    lua_pushthread(L);
    lua_setiuservalue(L, -2, 1);
    s->coroutine = L;
    gp_lua_enter(L);
    s->opened = gp_srcloc_here();
    return s;
}

/* sync.allow(reason [, fn, ...]): waits in the scope are recorded with the reason, not warned about
 * or refused. */
static int l_allow(lua_State *L) {
    if (lua_type(L, 1) != LUA_TSTRING || !lua_rawlen(L, 1))
        return luaL_error(L, "sync.allow: argument #1: expected a reason (text), got %s",
                          luaL_typename(L, 1));
    gp_lua_check_fn(L, 2, "sync.allow");
    gp_scope *s = push_scope(L, GP_SCOPE_ALLOW);
    s->reason = gp_sync_name(lua_tostring(L, 1));
    gp_scope_open(s);
    return gp_lua_scoped(L, 2);
}

static const char *const mode_scopes[] = {"off", "warning", "error"};

/* sync.off([fn, ...]), sync.warning and sync.error: the mode of this thread in the scope, the
 * upvalue. An allow() around the scope does not hold in it. */
static int l_mode_region(lua_State *L) {
    char name[24];
    int mode = (int)lua_tointeger(L, gp_lua_upvalue(1));
    snprintf(name, sizeof name, "sync.%s", mode_scopes[mode]);
    gp_lua_check_fn(L, 1, name);
    gp_scope *s = push_scope(L, GP_SCOPE_MODE);
    s->mode = (gp_sync_mode)mode;
    gp_scope_open(s);
    return gp_lua_scoped(L, 1);
}

/* The field's time in ns: given in seconds, or as text such as "50us". */
static uint64_t check_time(lua_State *L, int idx, const char *what) {
    static const struct {
        const char *unit;
        double ns;
    } units[] = {{"ns", 1},          {"us", 1e3}, {"\xc2\xb5s", 1e3},
                 {"\xce\xbcs", 1e3}, {"ms", 1e6}, {"s", 1e9}};
    double v = -1;
    if (lua_type(L, idx) == LUA_TNUMBER) {
        v = lua_tonumber(L, idx) * 1e9;
    } else if (lua_type(L, idx) == LUA_TSTRING) {
        char *end;
        double n = strtod(lua_tostring(L, idx), &end);
        while (*end == ' ') end++;
        for (size_t i = 0; i < sizeof units / sizeof *units; i++)
            if (!strcmp(end, units[i].unit)) v = n * units[i].ns;
    }
    if (!(v >= 0 && v < 1e18))
        luaL_error(L, "%s: expected seconds or a time such as \"50us\", got %s", what,
                   luaL_tolstring(L, idx, NULL));
    return (uint64_t)v;
}

/* math.huge: no limit. */
static uint64_t check_count(lua_State *L, int idx) {
    int ok;
    lua_Integer n = lua_tointegerx(L, idx, &ok);
    if (lua_type(L, idx) == LUA_TNUMBER && lua_tonumber(L, idx) == HUGE_VAL) return UINT64_MAX;
    if (!ok || n < 0)
        luaL_error(L, "sync.budget: max: expected a number of waits, got %s",
                   luaL_tolstring(L, idx, NULL));
    return (uint64_t)n;
}

/* sync.budget({max = , stall = } [, fn, ...]): raises at the scope's end unless there were at most
 * max waits that took at most stall together; without either, none. Waits that are allowed, the
 * prompt's echo and a full queue are free. */
static int l_budget(lua_State *L) {
    if (!lua_istable(L, 1))
        return luaL_error(L,
                          "sync.budget: argument #1: expected a table {max = , stall = }, got %s",
                          luaL_typename(L, 1));
    gp_lua_check_fn(L, 2, "sync.budget");
    gp_check_fields(L, "sync.budget", "any? max, any? stall",
                    1); /* a misspelt option would mean no limit */
    uint64_t max = UINT64_MAX, stall = UINT64_MAX;
    if (lua_getfield(L, 1, "max") != LUA_TNIL) max = check_count(L, -1);
    if (lua_getfield(L, 1, "stall") != LUA_TNIL) stall = check_time(L, -1, "sync.budget: stall");
    else if (lua_isnil(L, -2)) max = 0;
    lua_pop(L, 2);
    gp_scope *s = push_scope(L, GP_SCOPE_BUDGET);
    s->max = max;
    s->stall_ns = stall;
    gp_scope_open(s);
    return gp_lua_scoped(L, 2);
}

/* Raises at the end of a scope whose waits were too many or too long. */
static int over_budget(lua_State *L, const gp_scope *s) {
    char *text = gp_scope_text(s);
    if (!text) return luaL_error(L, "sync.budget: out of memory");
    lua_pushstring(L, own(L, text, strlen(text) + 1));
    return lua_error(L);
}

/* An error that leaves the scope matters more than the budget. */
static int l_scope_close(lua_State *L) {
    gp_scope *s = gp_lua_checkudata(L, 1, SCOPE);
    bool was_open = s->open;
    gp_scope_close(s);
    return was_open && gp_scope_over(s) && lua_isnoneornil(L, 2) ? over_budget(L, s) : 0;
}

/* The error of a coroutine leaves its scopes open. */
static bool failed(void *coroutine) {
    int status = lua_status(coroutine);
    return status != LUA_OK && status != LUA_YIELD;
}

void gp_lua_check_budgets(void) {
    for (gp_scope *s = gp_scope_innermost(), *outer; s; s = outer) {
        outer = s->outer;
        if (!gp_scope_over(s)) continue;
        gp_scope_close(s);
        if (!failed(s->coroutine)) gp_scope_missed(s);
    }
}

/* For a scope that was never closed, and lasted until the collector ran: says so, and checks a
 * budget. */
static int l_scope_gc(lua_State *L) {
    gp_scope *s = gp_lua_checkudata(L, 1, SCOPE);
    char file[160];
    if (!s->open) return 0;
    gp_scope_close(s);
    if (gp_scope_over(s) && !failed(s->coroutine)) gp_scope_missed(s);
    const char *name = s->kind == GP_SCOPE_MODE    ? mode_scopes[s->mode]
                       : s->kind == GP_SCOPE_ALLOW ? "allow"
                                                   : "budget";
    lua_writestringerror("%s:",
                         s->opened.file ? gp_safe_text(s->opened.file, file, sizeof file) : "?");
    lua_writestringerror("%d: ", s->opened.line);
    lua_writestringerror("sync.%s was not closed: ", name);
    lua_writestringerror("write local _ <close> = sync.%s(...), or pass it a function\n", name);
    return 0;
}

/* ---- the ledger ---- */

static void push_line(lua_State *L, const gp_sync_line *l) {
    char kind[GP_KIND_TEXT]; /* of its times */
    lua_createtable(L, 0, 16);
    set_text(L, "file", l->loc.file);
    set_int(L, "line", (uint64_t)l->loc.line);
    set_text(L, "loop_file", l->loop.file);
    if (l->loop.file) set_int(L, "loop_line", (uint64_t)l->loop.line);
    set_text(L, "why", gp_why_name(l->why));
    set_text(L, "what", l->what);
    set_text(L, "device", l->device);
    set_text(L, "reason", l->reason);
    set_text(L, "advice", l->advice);
    set_bool(L, "watched", gp_sync_watched(l->why));
    set_int(L, "times", l->times);
    set_int(L, "refused", l->refused);
    set_int(L, "drained", l->drained);
    set_seconds(L, "wait", l->wait_ns);
    set_seconds(L, "longest", l->max_ns);
    set_seconds(L, "idle", l->idle_ns);
    set_text(L, "kind", gp_kind_of_device(l->device, kind));
    if (gp_sync_worth(l) >= 0) set_seconds(L, "worth", (uint64_t)gp_sync_worth(l));
}

/* sync.lines(): the ledger, a table per source line, reason and kind of wait; times in seconds. */
static int l_lines(lua_State *L) {
    int n;
    gp_sync_line **lines = gp_lua_push_block(L), *l = *lines = gp_sync_lines(&n);
    if (n < 0) return luaL_error(L, "sync.lines: out of memory");
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_line(L, &l[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static void push_event(lua_State *L, const gp_sync_event *e) {
    char kind[GP_KIND_TEXT]; /* of its times */
    lua_createtable(L, 0, 18);
    set_text(L, "file", e->loc.file);
    set_int(L, "line", (uint64_t)e->loc.line);
    set_text(L, "why", gp_why_name(e->why));
    set_text(L, "what", e->what);
    set_text(L, "device", e->device);
    set_int(L, "stream", (uint64_t)e->stream);
    set_text(L, "reason", e->reason);
    set_text(L, "advice", e->advice);
    set_bool(L, "refused", e->refused);
    set_bool(L, "watched", gp_sync_watched(e->why));
    set_int(L, "queued", e->queued);
    set_text(L, "last_op", e->last_op);
    set_text(L, "last_file", e->last.file);
    set_int(L, "last_line", (uint64_t)e->last.line);
    set_seconds(L, "start", e->t0);
    set_seconds(L, "wait", e->t1 - e->t0);
    set_text(L, "kind", gp_kind_of_device(e->device, kind));
}

/* sync.events(): the last waits, one by one, oldest first, and the number of older ones that were
 * dropped. */
static int l_events(lua_State *L) {
    int n;
    uint64_t lost;
    gp_sync_event **events = gp_lua_push_block(L), *e = *events = gp_sync_events(&n, &lost);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        push_event(L, &e[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushinteger(L, (lua_Integer)lost);
    return 2;
}

/* sync.report(): prints the ledger. sync.report{print = false}: returns it as text. */
static int l_report(lua_State *L) {
    bool print = lua_toboolean(L, 1);
    char **text = gp_lua_push_block(L);
    if (!(*text = gp_sync_report(gp_fit_columns())))
        return luaL_error(L, "sync.report: out of memory");
    if (!print) return lua_pushstring(L, *text), 1;
    fputs(*text, stdout);
    fflush(stdout);
    return 0;
}

/* sync.calls(): the calls of a device's runtime that may block, a table per source line and
 * function: their number, how many blocked the host (blocked), and the times in seconds. */
static int l_calls(lua_State *L) {
    int n;
    char kind[GP_KIND_TEXT]; /* of its times */
    gp_call_line **lines = gp_lua_push_block(L), *l = *lines = gp_calls_lines(&n);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++, l++) {
        lua_createtable(L, 0, 10);
        set_text(L, "file", l->loc.file);
        set_int(L, "line", (uint64_t)l->loc.line);
        set_text(L, "what", l->what);
        set_text(L, "device", l->device);
        set_bool(L, "first_use", l->first);
        set_int(L, "times", l->times);
        set_int(L, "blocked", l->blocked);
        set_seconds(L, "time", l->ns);
        set_seconds(L, "blocked_time", l->blocked_ns);
        set_seconds(L, "longest", l->max_ns);
        set_text(L, "kind", gp_kind_of_device(l->device, kind));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int l_reset(lua_State *L) {
    gp_sync_reset();
    gp_calls_reset();
    return 0;
}

/* ---- the self-test ---- */

typedef struct aside {
    gp_sync_state state;
    gp_call_line *calls; /* malloc'd */
    int ncalls;
    bool held;
} aside;

static int l_aside_close(lua_State *L) {
    aside *a = gp_lua_checkudata(L, 1, ASIDE);
    if (a->held) gp_sync_restore(&a->state), gp_calls_restore(a->calls, a->ncalls);
    if (a->held) free(a->calls);
    a->held = false;
    return 0;
}

/* Calls scripts/lua/sync/NAME.lua with `require` and the n values on top of the stack, with a
 * ledger and a mode of its own; leaves what it returns. */
static int run_aside(lua_State *L, const char *name, int n) {
    int first = lua_gettop(L) - n + 1;
    aside *a = lua_newuserdatauv(L, sizeof *a, 0);
    a->held = false;
    luaL_setmetatable(L, ASIDE);
    lua_insert(L, first);
    lua_toclose(L, first);
    gp_chunk_push(L, lua_pushfstring(L, "%s/sync/%s.lua", gp_scripts_dir(), name));
    lua_insert(L, first + 1);
    lua_pop(L, 1); /* the name of the file */
    lua_pushcfunction(L, gp_l_require);
    lua_insert(L, first + 2);
    gp_lua_enter(L);
    if (!gp_sync_save(&a->state)) return gp_lua_raise(L);
    a->calls = gp_calls_lines(&a->ncalls);
    a->held = true;
    lua_call(L, n + 1, LUA_MULTRET);
    return lua_gettop(L) - first;
}

/* sync.selftest([device]) */
static int l_selftest(lua_State *L) {
    lua_pushstring(L, luaL_optstring(L, 1, "gpu"));
    return run_aside(L, "selftest", 1);
}

/* sync.explain([cause [, device]]) prints; with {print = false} it returns a table, and with
 * {run = false} it measures nothing. */
static int l_explain(lua_State *L) {
    lua_settop(L, 4);
    return run_aside(L, "explain", 4);
}

void gp_lua_open_sync(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"sync.allow", "text reason, function? fn, rest args", l_allow},
        {"sync.budget", "table limits, function? fn, rest args", l_budget},
        {"sync.events", "", l_events},
        {"sync.lines", "", l_lines},
        {"sync.report", "bool print=true", l_report},
        {"sync.reset", "", l_reset},
        {"sync.calls", "", l_calls},
        {"sync.selftest", "device? device", l_selftest},
        {"sync.explain", "text? cause, device? device, bool print=true, bool run=true", l_explain},
        {NULL, NULL, NULL}};
    static const gp_lua_function modes[] = {
        {"sync.off", "function? fn, rest args", l_mode_region},
        {"sync.warning", "function? fn, rest args", l_mode_region},
        {"sync.error", "function? fn, rest args", l_mode_region}};
    static const luaL_Reg meta[] = {{"__index", l_index}, {"__newindex", l_newindex}, {NULL, NULL}};
    static const luaL_Reg scopes[] = {
        {"__close", l_scope_close}, {"__gc", l_scope_gc}, {NULL, NULL}};
    gp_sync_open();
    if (gp_scope_depth != gp_stop_distance) gp_scope_depth = gp_stop_distance;
    if (gp_scope_coroutine != running) gp_scope_coroutine = running;
    if (gp_sync_loop != gp_lua_loop_here) gp_sync_loop = gp_lua_loop_here;
    luaL_newmetatable(L, SCOPE);
    luaL_setfuncs(L, scopes, 0);
    luaL_newmetatable(L, ASIDE);
    lua_pushcfunction(L, l_aside_close);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 2);
    lua_createtable(L, 0, 12);
    gp_lua_set_functions(L, functions);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, i);
        gp_lua_push_function(L, &modes[i], 1);
        lua_setfield(L, -2, mode_scopes[i]);
    }
    luaL_newlib(L, meta);
    lua_pushliteral(L, "sync");
    lua_setfield(L, -2, "__name");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "sync");
}
