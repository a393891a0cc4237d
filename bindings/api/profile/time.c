/* timeit and compare: how long a function takes, on the host and on the devices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/fields.h"
#include "bindings/module.h"
#include "profile/show/fit.h"
#include "profile/record/kind.h"
#include "profile/record/record.h"
#include "profile/sync/sync.h"
#include "tensor/device/card/model.h"
#include "tensor/base/env.h"

/* A run is n calls and the wait for what they queued. Without n, n grows until a run takes RUN_S;
 * there are RUNS of them, fewer (at least LEAST) when they would take longer than ALL_S. */
static const double run_s = 5e-3, all_s = 1.0;
enum { MOST_GIVEN = 1000000000 }; /* maximum calls per run that may be asked for */
enum { RUNS = 11, LEAST = 3, MOST_CALLS = 1000000 };
/* Calls of a run where a card is modelled, on every machine: the processor takes longer for them
 * than the clock says. Where ops are counted, one run says all. */
enum { MODELLED_CALLS = 10 };
enum { MOST_NAME = 200 }; /* bytes of a name in a comparison */

typedef struct figures { /* seconds per call */
    double time, host, device;
} figures;

typedef struct timing {
    const char *name;
    int key, fn;                   /* stack indices */
    lua_Integer n;                 /* calls per run */
    bool fixed;                    /* n was given */
    bool print;                    /* print now; else the figures print as their text */
    bool uses_device, sim;         /* sim: it took part */
    char at_least[GP_BOUNDS_TEXT]; /* ops whose times are bounds */
    int runs, device_runs; /* device_runs: others, that gave the device's time; 0: the same */
    figures run[RUNS];
    figures median;
    double low, high; /* quartiles of time */
} timing;

/* Waits for dev, or for every device. Raises. */
static void wait_all(lua_State *L, gp_device *dev) {
    gp_lua_enter(L);
    gp_sync_quiet(1);
    bool ok = gp_wait_device(dev, GP_WHY_explicit, "timeit");
    gp_sync_quiet(-1);
    if (!ok) gp_lua_raise(L);
}

/* Counting costs an op on a card two events, as long as its launch again: the runs that give time
 * and host are not counted. */
static void count(bool *counting, bool on) {
    if (*counting != on) gp_busy_on(*counting = on);
}

/* One run of n calls. Waits for a full queue are the device's time, not the host's. */
static figures run_once(lua_State *L, gp_device *dev, int fn, lua_Integer n) {
    gp_busy_ns(true);
    uint64_t stalled = gp_sync_stalled_ns(), t0 = gp_now_ns();
    for (lua_Integer i = 0; i < n; i++) {
        lua_pushvalue(L, fn);
        lua_call(L, 0, 0);
    }
    uint64_t launched = gp_now_ns();
    wait_all(L, dev);
    uint64_t t1 = gp_now_ns();
    double each = 1e-9 / (double)n;
    return (figures){.time = (double)(t1 - t0) * each,
                     .host = (double)(launched - t0 - (gp_sync_stalled_ns() - stalled)) * each,
                     .device = (double)gp_busy_ns(true) * each};
}

/* Makes first calls, which are not timed, and chooses the number of calls per run: by the second,
 * as the first one may load code, make plans and allocate memory. */
static void warm_up(lua_State *L, gp_device *dev, timing *t, bool *counting) {
    count(counting, true);
    gp_busy_sim();
    uint64_t began = gp_real_ns();
    figures f = run_once(L, dev, t->fn, 1);
    double took = 1e-9 * (double)(gp_real_ns() - began);
    t->uses_device = f.device > 0, t->sim = gp_busy_sim();
    count(counting, gp_model_card() != NULL);
    bool modelled = gp_model_card() && (f.device > 0 || gp_clock_op_ns());
    if (!t->fixed && modelled) {
        t->n = MODELLED_CALLS;
    } else if (!t->fixed) {
        t->n = 1;
        if (f.time < all_s) f = run_once(L, dev, t->fn, 1);
        while (f.time * (double)t->n < run_s && t->n < MOST_CALLS) {
            double want = 1.2 * run_s / (f.time > 1e-9 ? f.time : 1e-9), most = (double)t->n * 10;
            t->n = (lua_Integer)fmin(fmin(ceil(want), most), MOST_CALLS);
            f = run_once(L, dev, t->fn, t->n);
        }
    }
    double runs = all_s / ((modelled ? took : f.time) * (double)t->n + 1e-9);
    t->runs = modelled && gp_clock_op_ns() ? 1 : (int)fmin(fmax(runs, LEAST), RUNS);
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* The q-quantile of field `offset` of the first n runs. */
static double quantile_of(const timing *t, int n, size_t offset, double q) {
    double v[RUNS];
    for (int i = 0; i < n; i++) v[i] = *(const double *)((const char *)&t->run[i] + offset);
    qsort(v, (size_t)n, sizeof *v, ascending);
    double at = q * (n - 1);
    int lo = (int)at;
    return lo + 1 < n ? v[lo] + (at - lo) * (v[lo + 1] - v[lo]) : v[lo];
}
static double quantile(const timing *t, size_t offset, double q) {
    return quantile_of(t, t->runs, offset, q);
}

static void sum_up(timing *t) {
    t->median.time = quantile(t, offsetof(figures, time), 0.5);
    t->median.host = quantile(t, offsetof(figures, host), 0.5);
    t->median.device =
        quantile_of(t, t->runs < LEAST ? t->runs : LEAST, offsetof(figures, device), 0.5);
    t->low = quantile(t, offsetof(figures, time), 0.25);
    t->high = quantile(t, offsetof(figures, time), 0.75);
}

static void stop_counting(void *owner) {
    bool *counting = owner;
    if (*counting) gp_busy_on(false);
    *counting = false;
}

/* Whether device time is counted, which it is not any more when the C function that called this
 * returns or raises. */
static bool *push_guard(lua_State *L) {
    static const gp_owner_type type = {"gpush.busy", stop_counting};
    bool *counting = gp_lua_push_owner(L, &type, sizeof *counting);
    *counting = false;
    lua_toclose(L, -1);
    return counting;
}

/* The devices' time of the functions, from runs of their own; a modelled card's is known already.
 */
static void measure_devices(lua_State *L, gp_device *dev, timing *t, int n, bool *counting) {
    if (gp_model_card()) return;
    count(counting, true);
    for (int turn = 0; turn < LEAST; turn++)
        for (int i = 0; i < n; i++)
            if (t[i].uses_device) {
                t[i].run[turn].device = run_once(L, dev, t[i].fn, t[i].n).device;
                t[i].device_runs = LEAST;
            }
    count(counting, false);
}

/* Times the functions in turn, so that what disturbs the machine disturbs all of them; every second
 * time from the last to the first, as a scheduler that shares the processor can be in step. */
static void measure(lua_State *L, gp_device *dev, timing *t, int n) {
    int turns = 0;
    bool *counting = push_guard(L);
    wait_all(L, NULL);
    for (int i = 0; i < n; i++) {
        warm_up(L, dev, &t[i], counting);
        if (t[i].runs > turns) turns = t[i].runs;
    }
    for (int turn = 0; turn < turns; turn++)
        for (int k = 0; k < n; k++) {
            timing *each = &t[turn % 2 ? n - 1 - k : k];
            if (turn >= each->runs) continue;
            uint64_t mark = gp_model_mark();
            each->run[turn] = run_once(L, dev, each->fn, each->n);
            gp_model_bounds(mark, each->at_least);
        }
    measure_devices(L, dev, t, n, counting);
    for (int i = 0; i < n; i++) sum_up(&t[i]);
}

/* ---- Lua interface ---- */

/* The function at idx; a string is compiled to one. */
static void check_function(lua_State *L, int idx, const char *what) {
    if (lua_type(L, idx) == LUA_TSTRING) {
        lua_getglobal(L, "load"); /* the state's own load: with tensor syntax where enabled */
        lua_pushvalue(L, idx);
        lua_pushfstring(L, "=%s", what);
        lua_call(L, 2, 2);
        if (lua_isnil(L, -2)) lua_error(L);
        lua_pop(L, 1);
        lua_replace(L, idx);
    } else if (!lua_isfunction(L, idx)) {
        bool tensor = gp_lua_totensor(L, idx) != NULL; /* it is computed before the call */
        luaL_error(L, "%s: expected a function or text, got %s", what,
                   tensor ? "a tensor, which is computed already: function() return … end is timed"
                          : luaL_typename(L, idx));
    }
}

/* The arguments n, device and print, from idx on. */
static void check_opts(lua_State *L, int idx, const char *what, timing *t, gp_device **dev) {
    *dev = NULL;
    if (!lua_isnoneornil(L, idx)) {
        t->n = lua_tointeger(L, idx);
        t->fixed = true;
        if (t->n < 1 || t->n > MOST_GIVEN)
            luaL_error(L, "%s: argument 'n': expected 1 to %I calls, got %I", what,
                       (LUAI_UACINT)MOST_GIVEN, (LUAI_UACINT)t->n);
    }
    if (!lua_isnoneornil(L, idx + 1) && !(*dev = gp_device_get(lua_tostring(L, idx + 1))))
        gp_lua_raise(L);
    t->print = lua_toboolean(L, idx + 2);
}

/* Seconds per call: time (median), spread (quartile distance), min, max, host, device (absent: none
 * was used); n calls per run, runs, device_runs; kind of the times; modelled: what says that the
 * device is one; at_least: the ops whose times are bounds, which nobody measured on that card. */
static void push_figures(lua_State *L, const timing *t) {
    char kind[GP_KIND_TEXT];
    lua_createtable(L, 0, 12);
    lua_pushstring(L, gp_kind_now(t->sim, kind));
    lua_setfield(L, -2, "kind");
    set_number(L, "time", t->median.time);
    set_number(L, "spread", t->high - t->low);
    set_number(L, "min", quantile(t, offsetof(figures, time), 0));
    set_number(L, "max", quantile(t, offsetof(figures, time), 1));
    set_number(L, "host", t->median.host);
    if (t->median.device > 0) set_number(L, "device", t->median.device);
    if (t->median.device > 0 && gp_model_card()) {
        lua_pushstring(L, gp_model_label());
        lua_setfield(L, -2, "modelled");
        if (*t->at_least) {
            lua_pushstring(L, t->at_least);
            lua_setfield(L, -2, "at_least");
        }
    }
    lua_pushinteger(L, t->n);
    lua_setfield(L, -2, "n");
    lua_pushinteger(L, t->runs);
    lua_setfield(L, -2, "runs");
    if (t->device_runs) lua_pushinteger(L, t->device_runs), lua_setfield(L, -2, "device_runs");
}

static char *spread_text(const timing *t, char *buf, size_t n) {
    snprintf(buf, n, "%.1f%%", t->median.time > 0 ? 100 * (t->high - t->low) / t->median.time : 0);
    return buf;
}

static char *device_text(const timing *t, char *buf, size_t n) {
    if (t->median.device > 0) return gp_time_text(t->median.device * 1e9, buf, n);
    snprintf(buf, n, "-");
    return buf;
}

/* Writes the text line by line, each folded to the terminal. */
static int l_text(lua_State *L) {
    const char *text = lua_tostring(L, lua_upvalueindex(1));
    char **folded = gp_lua_push_block(L), line[400];
    size_t size;
    FILE *f = open_memstream(folded, &size);
    for (size_t n; f && *text; text += n + (text[n] == '\n')) {
        n = strcspn(text, "\n");
        snprintf(line, sizeof line, "%.*s", (int)n, text);
        gp_fit_fold(f, line, 0, gp_fit_columns());
    }
    if (!f || fclose(f) || !*folded) return luaL_error(L, "out of memory");
    lua_pushlstring(L, *folded, size ? size - 1 : 0); /* without the last line's newline */
    return 1;
}

/* Takes the figures and their text from the top of the stack: the figures print as this text. If
 * asked for, prints it now, and the prompt does not echo the figures. */
static void report(lua_State *L, bool now) {
    lua_createtable(L, 0, 2);
    lua_insert(L, -2);
    lua_pushcclosure(L, l_text, 1);
    lua_setfield(L, -2, "__tostring");
    if (now) {
        lua_pushboolean(L, false);
        lua_setfield(L, -2, "__echo");
    }
    lua_setmetatable(L, -2);
    if (!now) return;
    puts(luaL_tolstring(L, -1, NULL));
    fflush(stdout);
    lua_pop(L, 1);
}

static const char OTHERS[] = "; device: median of 3 other runs";
_Static_assert(LEAST == 3, "OTHERS says so");

/* The kind of its times, which of them are bounds, and whether the device's are of other runs. */
static char *kind_text(const timing *t, char *buf, size_t n) {
    char kind[GP_KIND_TEXT];
    snprintf(buf, n, "%s%s%s%s", gp_kind_now(t->sim, kind),
             *t->at_least ? "; at least, as nobody measured " : "", t->at_least,
             t->device_runs ? OTHERS : "");
    return buf;
}

/* timeit(fn or text [, {n = , device = , print = false}]): the time of a call, the wait for the
 * devices included. */
static int l_timeit(lua_State *L) {
    timing t = {.name = "timeit", .fn = 1};
    gp_device *dev;
    char a[32], b[32], c[32], d[32], text[400];
    check_function(L, 1, "timeit");
    check_opts(L, 2, "timeit", &t, &dev);
    measure(L, dev, &t, 1);
    push_figures(L, &t);
    lua_pushfstring(L, "%s a call, spread %s; host %s, device %s (median of %d runs of %I; %s)",
                    gp_time_text(t.median.time * 1e9, a, sizeof a), spread_text(&t, b, sizeof b),
                    gp_time_text(t.median.host * 1e9, c, sizeof c), device_text(&t, d, sizeof d),
                    t.runs, (lua_Integer)t.n, kind_text(&t, text, sizeof text));
    report(L, t.print);
    return 1;
}

static int by_time(const void *a, const void *b) {
    double x = ((const timing *)a)->median.time, y = ((const timing *)b)->median.time;
    return x < y ? -1 : x > y;
}

/* Adds of what kind the times are: one line for all, or one for each where they differ; and whose
 * are bounds. */
static void add_kinds(luaL_Buffer *text, const timing *t, int n, int wide) {
    char name[MOST_NAME + 1], kind[GP_KIND_TEXT], first[GP_KIND_TEXT], line[GP_KIND_TEXT + 16];
    bool differ = false, others = t[0].device_runs;
    gp_kind_now(t[0].sim, first);
    for (int i = 1; i < n; i++)
        differ |= strcmp(gp_kind_now(t[i].sim, kind), first), others |= t[i].device_runs;
    for (int i = 0; i < n; i++) {
        snprintf(name, sizeof name, "%s", differ ? t[i].name : "times");
        gp_fit_shorten(name, wide);
        snprintf(line, sizeof line, ": %s", gp_kind_now(t[i].sim, kind));
        if (differ || !i)
            luaL_addchar(text, '\n'), luaL_addstring(text, name), luaL_addstring(text, line);
    }
    if (others) luaL_addstring(text, OTHERS);
    for (int i = 0; i < n; i++) {
        if (!*t[i].at_least) continue;
        snprintf(name, sizeof name, "%s", t[i].name);
        gp_fit_shorten(name, wide);
        luaL_addchar(text, '\n'), luaL_addstring(text, name);
        luaL_addstring(text, ": at least, as nobody measured ");
        luaL_addstring(text, t[i].at_least);
    }
}

/* Why the times have no ratios: of some kinds, and of bounds, nothing follows. NULL: they have. */
static const char *not_compared(const timing *t, int n) {
    char first[GP_KIND_TEXT], kind[GP_KIND_TEXT];
    gp_kind_now(t[0].sim, first);
    for (int i = 1; i < n; i++)
        if (!gp_kinds_compare(first, gp_kind_now(t[i].sim, kind)))
            return "\nno ratios: times of these kinds are not compared";
    for (int i = 0; i < n && n > 1; i++)
        if (*t[i].at_least) return "\nno ratios: of the least that a card can take nothing follows";
    return NULL;
}

/* Whether t took longer than `to` in nearly each of the runs they made in turn: in at least 10 of
 * 11, or 3 of 3 (a sign test). */
static bool steadily_slower(const timing *t, const timing *to) {
    int turns = t->runs < to->runs ? t->runs : to->runs, slower = 0;
    for (int i = 0; i < turns; i++) slower += t->run[i].time > to->run[i].time;
    return slower >= turns - turns / 8;
}

/* Whether a time differs from that of the fastest, `to`, by less than 5 % or their spread, as
 * scripts/labs/verdict.lua decides it, or is not the longer one in nearly each run. */
static bool unclear(const timing *t, const timing *to) {
    static const double least = 1.05;
    double low = t->median.time - (t->high - t->low), min = quantile(t, offsetof(figures, time), 0);
    double high = to->median.time + (to->high - to->low);
    if (low < min) low = min;
    return t != to &&
           (t->median.time < least * to->median.time || low <= high || !steadily_slower(t, to));
}

static const char *ratio_text(const timing *t, const timing *to, bool compared, char buf[32]) {
    if (compared) snprintf(buf, 32, "%.2fx", t->median.time / to->median.time);
    return !compared ? "-" : unclear(t, to) ? "unclear" : buf;
}

/* Pushes the table of the n timings as text. */
static void push_comparison(lua_State *L, const timing *t, int n) {
    enum { LEAST = 5, NUMBERS = 51 }; /* of a name; columns of the others */
    int wide = LEAST, columns = gp_fit_columns(), most = columns ? columns - NUMBERS : MOST_NAME;
    char a[32], b[32], c[32], d[32], e[32], line[256], name[MOST_NAME + 1];
    const char *why = not_compared(t, n);
    bool vague = false;
    luaL_Buffer text;
    if (most < LEAST || most > MOST_NAME) most = most < LEAST ? LEAST : MOST_NAME;
    for (int i = 0; i < n; i++)
        if (gp_fit_width(t[i].name) > wide) wide = gp_fit_width(t[i].name);
    if (wide > most) wide = most;
    luaL_buffinit(L, &text);
    snprintf(line, sizeof line, "  %9s  %7s  %9s  %9s  %7s", "time", "spread", "host", "device",
             "ratio");
    for (int k = 0; k < wide; k++) luaL_addchar(&text, ' ');
    luaL_addstring(&text, line);
    for (int i = 0; i < n; i++) {
        snprintf(line, sizeof line, "  %9s  %7s  %9s  %9s  %7s",
                 gp_time_text(t[i].median.time * 1e9, a, sizeof a), spread_text(&t[i], b, sizeof b),
                 gp_time_text(t[i].median.host * 1e9, c, sizeof c), device_text(&t[i], d, sizeof d),
                 ratio_text(&t[i], &t[0], !why, e));
        vague |= !why && unclear(&t[i], &t[0]);
        luaL_addchar(&text, '\n');
        snprintf(name, sizeof name, "%s", t[i].name);
        gp_fit_shorten(name, wide);
        luaL_addstring(&text, name);
        for (int k = gp_fit_width(name); k < wide; k++) luaL_addchar(&text, ' ');
        luaL_addstring(&text, line);
    }
    if (why) luaL_addstring(&text, why);
    if (vague)
        luaL_addstring(&text, "\nunclear: the times differ by less than 5 % or their spread");
    add_kinds(&text, t, n, wide);
    luaL_pushresult(&text);
}

/* Pushes for each function of the table at 1 its key, its name and the function; returns their
 * number. */
static int push_functions(lua_State *L) {
    int n = 0;
    for (lua_pushnil(L); lua_next(L, 1);) {
        luaL_checkstack(L, 8, "too many functions");
        check_function(L, lua_gettop(L), "compare");
        luaL_tolstring(L, -2, NULL);
        lua_insert(L, -2);
        lua_pushvalue(L, -3); /* the key, to go on from */
        n++;
    }
    return n;
}

/* compare({name = fn, ...} [, {n = , device = , print = false}]): their figures, and the ratio to
 * the fastest, where all times are of kinds that may be compared, and none is a bound; unclear: the
 * difference is less than 5 % or the times' spread. */
static int l_compare(lua_State *L) {
    timing common = {.n = 0};
    gp_device *dev;
    check_opts(L, 2, "compare", &common, &dev);
    int base = lua_gettop(L) + 1, n = push_functions(L);
    if (!n) return luaL_error(L, "compare: expected functions: compare{cpu = f, gpu = g}");
    timing *t = lua_newuserdatauv(L, (size_t)n * sizeof *t, 0);
    for (int i = 0; i < n; i++) {
        t[i] = common;
        t[i].key = base + 3 * i;
        t[i].name = lua_tostring(L, t[i].key + 1);
        t[i].fn = t[i].key + 2;
    }
    measure(L, dev, t, n);
    qsort(t, (size_t)n, sizeof *t, by_time);
    lua_createtable(L, 0, n);
    for (int i = 0; i < n; i++) {
        lua_pushvalue(L, t[i].key);
        push_figures(L, &t[i]);
        if (!not_compared(t, n)) set_number(L, "ratio", t[i].median.time / t[0].median.time);
        if (unclear(&t[i], &t[0])) lua_pushboolean(L, true), lua_setfield(L, -2, "unclear");
        lua_settable(L, -3);
    }
    push_comparison(L, t, n);
    report(L, common.print);
    return 1;
}

/* clock(): seconds since some fixed moment, on a monotonic clock. Where the host's time is counted
 * its own is, too, so that a loop until some moment ends. */
static int l_clock(lua_State *L) {
    gp_clock_work((uint64_t)(gp_host_figure[GP_HOST_call] * 1e9 + 0.5));
    return lua_pushnumber(L, gp_now()), 1;
}

/* is_terminal(file): whether a file of Lua's io library is a terminal with more abilities than
 * printing. */
static int l_is_terminal(lua_State *L) {
    luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);
    bool able = gp_env_text(GP_ENV_TERM) && !gp_env_is(GP_ENV_TERM, "dumb");
    return lua_pushboolean(L, able && s->closef && isatty(fileno(s->f))), 1;
}

void gp_lua_open_time(lua_State *L) {
    static const gp_lua_function functions[] = {
        {"timeit", "value fn, int? n, device? device, bool print=false", l_timeit},
        {"compare", "table functions, int? n, device? device, bool print=false", l_compare},
        {"clock", "", l_clock},
        {"is_terminal", "value file", l_is_terminal},
        {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
}
