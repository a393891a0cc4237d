/* What a profile's record would be: predictions by replays. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/api/profile/profile.h"
#include "profile/replay/job.h"
#include "profile/replay/on_card.h"
#include "profile/replay/replay.h"
#include "profile/sync/sync.h"
#include "profile/show/table.h"
#include "profile/show/usage.h"

enum { LINES = 32, SCALES = 32, TEXT = 600, MOST_WITHOUT = 1000 };

/* ---- whatif's options ---- */

/* What the options say, whose texts lie in Lua's arguments. */
typedef struct options {
    gp_whatif w;
    gp_card card;
    gp_network network;
    gp_whatif_line line[LINES];
    gp_whatif_scale scale[SCALES];
    char file[LINES][256];
    char text[TEXT]; /* for people */
    size_t len;
} options;

__attribute__((format(printf, 2, 3))) static void say(options *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    size_t left = sizeof o->text - o->len;
    int n = vsnprintf(o->text + o->len, left, fmt, ap);
    va_end(ap);
    o->len += n < 0 ? 0 : (size_t)n < left ? (size_t)n : left - 1;
}

/* "train.lua:40", or the name of a cause, or "all", or what waited. */
static bool read_without(options *o, const char *text) {
    const char *colon = strrchr(text, ':');
    say(o, "%swithout %s", o->len ? ", " : "", text);
    for (int why = 0; why < GP_WHYS; why++)
        if (!strcmp(text, gp_why_name((gp_why)why))) return o->w.without_whys |= 1u << why, true;
    for (int cause = 0; cause < GP_CAUSES; cause++)
        if (!strcmp(text, gp_cause_name((gp_cause)cause)))
            return o->w.without_causes |= 1u << cause, true;
    if (!strcmp(text, "all")) {
        for (int why = 0; why < GP_WHYS; why++)
            if (gp_sync_watched((gp_why)why)) o->w.without_whys |= 1u << why;
        return true;
    }
    char *end = NULL;
    long line = colon ? strtol(colon + 1, &end, 10) : 0;
    size_t len = colon ? (size_t)(colon - text) : 0;
    if (o->w.nwithout == LINES) return gp_fail("whatif: without: more than %d lines", LINES);
    if (line < 1 || !len || len >= sizeof o->file[0]) {
        o->line[o->w.nwithout++] = (gp_whatif_line){.what = text};
        return true;
    }
    memcpy(o->file[o->w.nwithout], text, len);
    o->file[o->w.nwithout][len] = 0;
    o->line[o->w.nwithout] =
        (gp_whatif_line){o->file[o->w.nwithout], *end == '+' ? -(int)line : (int)line, NULL};
    o->w.nwithout++;
    return true;
}

static void check_without(lua_State *L, int i, options *o) {
    if (lua_isnoneornil(L, i)) return;
    int type = lua_type(L, i);
    if (type == LUA_TSTRING) {
        if (!read_without(o, lua_tostring(L, i))) gp_lua_raise(L);
        return;
    }
    if (type != LUA_TTABLE)
        luaL_error(L,
                   "whatif: without: expected a line such as \"train.lua:40\", a cause, or a "
                   "list of them, got %s",
                   luaL_typename(L, i));
    lua_Integer n = luaL_len(L, i);
    if (n > MOST_WITHOUT) luaL_error(L, "whatif: without: cannot have %I entries", (LUAI_UACINT)n);
    for (lua_Integer k = 1; k <= n; k++) {
        if (lua_geti(L, i, k) != LUA_TSTRING)
            luaL_error(L, "whatif: without[%I]: expected a text, got %s", (LUAI_UACINT)k,
                       luaL_typename(L, -1));
        if (!read_without(o, lua_tostring(L, -1))) gp_lua_raise(L);
        lua_pop(L, 1);
    }
}

static void check_scale(lua_State *L, int i, options *o) {
    if (lua_isnoneornil(L, i)) return;
    if (!lua_istable(L, i))
        luaL_error(L, "whatif: scale: expected factors by op, as in {conv2d = 0.5}, got %s",
                   luaL_typename(L, i));
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING || lua_type(L, -1) != LUA_TNUMBER)
            luaL_error(L, "whatif: scale: expected factors by op, as in {conv2d = 0.5}");
        double by = lua_tonumber(L, -1);
        if (!(by >= 0 && by <= 1e6))
            luaL_error(L, "whatif: scale: %s: expected a factor from 0 to 1e6, got %f",
                       lua_tostring(L, -2), by);
        if (o->w.nscale == SCALES) luaL_error(L, "whatif: scale: more than %d ops", SCALES);
        o->scale[o->w.nscale++] = (gp_whatif_scale){lua_tostring(L, -2), by};
        say(o, "%s%s x %g", o->len ? ", " : "", lua_tostring(L, -2), by);
    }
}

/* ---- what the options must find ---- */

static bool has_op(const gp_track *t, const char *name) {
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if ((r->kind == GP_REC_OP || r->kind == GP_REC_KERNEL || r->kind == GP_REC_MOVED) &&
                !strcmp(r->name, name))
                return true;
    }
    return false;
}

static bool has_wait(const gp_prof *p, const gp_whatif_line *line) {
    for (const gp_track *t = p->host; t; t = p->foreign || p->ranks > 1 ? t->next : NULL) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->kind == GP_REC_WAIT && gp_whatif_line_is(line, r)) return true;
    }
    return false;
}

static bool has_dim(const gp_prof *p, int64_t dim) {
    gp_cursor at = gp_first(p->host);
    for (gp_rec *r; (r = gp_next(&at));)
        if (r->kind == GP_REC_OP && gp_rec_has_dim(r->shapes, dim)) return true;
    return false;
}

static bool has_loader(const gp_track *t) {
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (gp_is_made(r)) return true;
    }
    return false;
}

/* Raises where a part of the options changes nothing: a wrong name would look like no gain. Of a
 * loaded trace's ops a replay knows only what devices ran. */
static void check_found(lua_State *L, const gp_prof *p, const options *o) {
    for (int i = 0; i < o->w.nscale; i++)
        if ((p->foreign || !has_op(p->host, o->scale[i].op)) && !has_op(p->workers, o->scale[i].op))
            luaL_error(L, "whatif: scale: no op '%s' is on the record: see prof:table()",
                       o->scale[i].op);
    if (o->w.batch && (p->foreign || !has_dim(p, o->w.batch)))
        luaL_error(L,
                   "whatif: batch: no op on the record has a shape with a dim of %d (expected a "
                   "profile of profile.run{shapes = true})",
                   (int)o->w.batch);
    if (o->w.workers && (p->foreign || !has_loader(p->host)))
        luaL_error(L, "whatif: workers: no batch of a data.Loader is on the record");
    if (o->w.workers && p->modelled && !p->processors && p->host && has_loader(p->host->next))
        luaL_error(L,
                   "whatif: workers: where sim.host counts the host's time, the record does not "
                   "say when workers made batches: run it with workers = %d instead, which "
                   "takes as long everywhere",
                   o->w.workers);
    for (int i = 0; i < o->w.nwithout; i++) {
        if (has_wait(p, &o->line[i])) continue;
        if (o->line[i].what)
            luaL_error(
                L,
                "whatif: without: expected a line such as \"train.lua:40\", \"all\", or a "
                "cause (\"item\", \"print\" …; \"loader\", \"launches\" …, as in "
                "prof:verdict()), or what waited, and there is no wait of '%s' on the record: "
                "see prof:savings()",
                o->line[i].what);
        else
            luaL_error(L, "whatif: without: no wait at %s:%s is on the record: see prof:savings()",
                       o->line[i].file, gp_line_text(o->line[i].line, (char[13]){0}));
    }
}

/* Reads the card at i and says it; raises where the record does not have what it needs. */
static void check_device(lua_State *L, const char *what, const gp_prof *p, int i, options *o) {
    if (lua_isnoneornil(L, i)) return;
    gp_lua_check_card(L, what, i, &o->card);
    double share;
    bool scales = gp_on_card_scales(p);
    if (!gp_on_card_knows(p, &o->card, what, &share)) gp_lua_raise(L);
    if (!p->workers)
        luaL_error(L, "%s: no device ran anything%s (expected a record of sim or cuda)", what,
                   p->dropped ? " that is on the record, from which events were dropped" : "");
    o->w.card = &o->card, o->w.card_share = share;
    say(o, "%son a modelled %s", o->len ? ", " : "", o->card.name);
    if (scales) say(o, ", by what each op reached of its bound on the record's %s", p->card->name);
    else if (p->foreign)
        say(o, ", at least: by the best of its data sheet, as the record's card is not known");
    if (share < 1)
        say(o, " (%.0f %% of the kernels' time; the others %s)", 100 * share,
            scales ? "at least, as their cost is not known" : "take what they took");
}

/* ---- networks ---- */

/* The timelines of a profile's ranks, or of that one; -1: of all. */
typedef struct kept_job {
    gp_job *job;
    lua_Integer rank;
} kept_job;

static void release_job(void *owner) {
    kept_job *kept = owner;
    gp_job_free(kept->job);
    kept->job = NULL;
}

gp_job *gp_lua_push_job(lua_State *L, int i, const char *what) {
    static const gp_owner_type type = {"gpush.profile.job", release_job};
    const gp_prof *p = gp_lua_check_prof(L, 1);
    lua_Integer rank = i ? luaL_optinteger(L, i, -1) : -1;
    if (i && !lua_isnoneornil(L, i) && (rank < 0 || rank > INT_MAX)) {
        gp_fail("%s: rank: expected a rank's number, from 0, got %lld", what, (long long)rank);
        gp_lua_raise(L);
    }
    gp_lua_push_kept(L, "gpush.profile.jobs");
    lua_pushvalue(L, 1);
    kept_job *kept = lua_rawget(L, -2) == LUA_TUSERDATA ? lua_touserdata(L, -1) : NULL;
    if (kept && kept->rank == rank) return lua_remove(L, -2), kept->job;
    lua_pop(L, 1);
    kept = gp_lua_push_owner(L, &type, sizeof *kept);
    kept->rank = rank;
    kept->job = rank < 0 ? gp_job_new(p) : gp_job_of_rank(p, (int)rank, what);
    if (!kept->job) gp_lua_raise(L);
    lua_pushvalue(L, 1), lua_pushvalue(L, -2), lua_rawset(L, -4);
    lua_remove(L, -2);
    return kept->job;
}

/* The positive number of that field of the table at i; `least` is allowed, too. */
static double network_figure(lua_State *L, int i, const char *name, double least) {
    int type = lua_getfield(L, i, name);
    double v = type == LUA_TNUMBER ? lua_tonumber(L, -1) : -1;
    if (!(v >= least && v <= 1e30))
        luaL_error(L, "profile.on: network: %s: expected %s, got %s", name,
                   least > 0 ? "bytes a second" : "seconds, 0 or more",
                   luaL_tolstring(L, -1, NULL));
    return lua_pop(L, 1), v;
}

/* {latency =, bandwidth =} */
static void read_own_network(lua_State *L, int i, gp_network *n) {
    for (lua_pushnil(L); lua_next(L, i); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
        if (strcmp(key, "latency") != 0 && strcmp(key, "bandwidth") != 0)
            luaL_error(L, "profile.on: network: unknown field '%s' (expected latency, bandwidth)",
                       luaL_tolstring(L, -2, NULL));
    }
    n->latency = network_figure(L, i, "latency", 0);
    n->bandwidth = network_figure(L, i, "bandwidth", 1);
    snprintf(n->name, sizeof n->name, "given");
}

static void read_network(lua_State *L, int i, const gp_job *job, gp_network *n) {
    const char *name = lua_tostring(L, i);
    if (lua_type(L, i) == LUA_TTABLE) read_own_network(L, i, n);
    else if (lua_type(L, i) != LUA_TSTRING)
        luaL_error(L,
                   "profile.on: network: expected a name such as \"400Gb\", \"measured\", or "
                   "{latency =, bandwidth =}, got %s",
                   luaL_typename(L, i));
    else if (!(strcmp(name, "measured") ? gp_network_find(n, name) : gp_job_measure(job, n)))
        luaL_error(L, "profile.on: network: %s", gp_error());
}

static void read_algorithm(lua_State *L, int i, const gp_job *job, options *o) {
    gp_network *n = &o->network;
    n->algorithm = o->w.card ? GP_ALGORITHM_FASTEST : gp_network_recorded(job->rank[0]);
    if (!lua_isnil(L, i)) n->algorithm = gp_algorithm_named(lua_tostring(L, i));
    if (n->algorithm == GP_ALGORITHMS) luaL_error(L, "profile.on: algorithm: %s", gp_error());
}

/* Whether a collective of the job takes another time on the network. */
static bool has_collective(const gp_job *job, const gp_network *n) {
    uint64_t ns;
    for (int r = 0; r < job->n; r++)
        for (int i = 0; i < job->rank[r]->ncommands; i++)
            if (gp_network_time(n, job->rank[r]->p, &job->rank[r]->command[i], &ns)) return true;
    return false;
}

/* Reads ranks, network and algorithm, which begin at i, and says them. */
static void check_network(lua_State *L, const gp_prof *p, int i, options *o) {
    gp_network *n = &o->network;
    if (lua_isnil(L, i + 1)) {
        if (lua_isnil(L, i) && lua_isnil(L, i + 2)) return;
        luaL_error(L,
                   "profile.on: %s: expected a network, too, as in {ranks = 8, network = "
                   "\"400Gb\"}",
                   lua_isnil(L, i) ? "algorithm" : "ranks");
    }
    lua_Integer ranks = luaL_optinteger(L, i, gp_job_size(p));
    if (ranks < 1 || ranks > 1 << 20)
        luaL_error(L, "profile.on: ranks: expected 1 to %d, got %I", 1 << 20, (LUAI_UACINT)ranks);
    const gp_job *job = gp_lua_push_job(L, 0, "profile.on");
    n->ranks = (int)ranks;
    read_network(L, i + 1, job, n);
    read_algorithm(L, i + 2, job, o);
    if (!has_collective(job, n))
        luaL_error(L, "profile.on: network: no collective of several ranks with its cost is on the "
                      "record (expected a profile of profile.run{flops = true} in a job of two "
                      "or more)");
    o->w.network = n;
    say(o, "%s%d ranks on a modelled network (%s: %.4g us, %.4g GB/s; %s)", o->len ? ", " : "",
        n->ranks, n->name, n->latency * 1e6, n->bandwidth * 1e-9, gp_algorithm_name(n->algorithm));
}

static bool is_on_device(const gp_rec *r) {
    return gp_rec_is_work(r) && gp_rec_is_collective(r) && !gp_rec_runs_on_host(r);
}

/* What a replay of p has to assume. */
static void say_assumed(const gp_prof *p, options *o) {
    if (p->unknown_orders)
        say(o,
            "; no stream is taken to wait for another%s: the trace has calls for that (%d), which "
            "do not say for what",
            gp_count_recs(p->workers, is_on_device)
                ? ", but for a collective where what it ran began just after that, and a "
                  "collective for what it may send"
                : "",
            p->unknown_orders);
    if (p->guessed_orders)
        say(o,
            "; where a stream waits for an event that the trace does not name (%d), it is taken to "
            "be the last one recorded",
            p->guessed_orders);
    if (p->no_clock)
        say(o, "; the ranks' files have no common clock: each is taken to begin with the first");
    int batches = gp_count_recs(p->host, gp_awaits_workers);
    if (batches)
        say(o,
            "; batches that the host waited for (%d) are taken to come when they came, however "
            "early it asks: what the DataLoader's workers did is not on the record",
            batches);
}

/* {from, to}: samples of a batch. */
static void check_batch(lua_State *L, int i, options *o) {
    if (lua_isnoneornil(L, i)) return;
    int64_t of[2] = {0, 0};
    for (int k = 0; lua_istable(L, i) && luaL_len(L, i) == 2 && k < 2; k++) {
        lua_geti(L, i, k + 1);
        of[k] = lua_isinteger(L, -1) ? lua_tointeger(L, -1) : 0;
        lua_pop(L, 1);
    }
    if (of[0] < 1 || of[1] < 1 || of[1] > INT_MAX)
        luaL_error(L, "whatif: batch: expected the samples of a batch as they are and as they "
                      "would be, as in {32, 64}");
    o->w.batch = of[0], o->w.into = of[1];
    say(o, "%sbatches of %d in place of %d", o->len ? ", " : "", (int)of[1], (int)of[0]);
}

static void check_workers(lua_State *L, int i, options *o) {
    lua_Integer n = luaL_optinteger(L, i, 0);
    if (lua_isnoneornil(L, i)) return;
    if (n < 1 || n > GP_WHATIF_WORKERS)
        luaL_error(L, "whatif: workers: expected 1 to %d, got %I", GP_WHATIF_WORKERS,
                   (LUAI_UACINT)n);
    o->w.workers = (int)n;
    say(o, "%s%d worker%s of each loader", o->len ? ", " : "", (int)n, n == 1 ? "" : "s");
}

/* Reads and says the changes of the host, of copies, batches and loaders. */
static void check_rest(lua_State *L, options *o) {
    o->w.host = luaL_optnumber(L, 4, 1), o->w.overlap = lua_toboolean(L, 5);
    if (!(o->w.host >= 0 && o->w.host <= 1e6))
        luaL_error(L, "whatif: host: expected a factor from 0 to 1e6, got %f", o->w.host);
    if (o->w.host != 1) say(o, "%shost x %g", o->len ? ", " : "", o->w.host);
    if (o->w.overlap) say(o, "%scopies beside kernels", o->len ? ", " : "");
    check_batch(L, 6, o);
    check_workers(L, 7, o);
}

/* whatif's options, or on's: without, scale, host, overlap, batch, workers, card, ranks, network
 * and algorithm from 2 on. what: names the card's argument in messages. */
static int predict(lua_State *L, const char *what) {
    options *o = lua_newuserdatauv(L, sizeof *o, 0);
    gp_prof *p = gp_lua_check_prof(L, 1);
    memset(o, 0, sizeof *o);
    o->w = (gp_whatif){.without = o->line, .scale = o->scale};
    check_without(L, 2, o);
    check_scale(L, 3, o);
    check_rest(L, o);
    check_device(L, what, p, 8, o);
    check_network(L, p, 9, o);
    check_found(L, p, o);
    if (!o->len) say(o, "nothing changed");
    say_assumed(p, o);
    gp_prof **box = gp_lua_push_prof(L);
    gp_lua_enter(L);
    *box = gp_prof_predict(p, &o->w, o->text);
    return *box ? 1 : gp_lua_raise(L);
}

/* prof:whatif{without =, scale =, host =, overlap =, batch =, workers =, device =} -> a profile,
 * predicted */
static int l_whatif(lua_State *L) {
    lua_settop(L, 11);
    return predict(L, "whatif: device");
}

/* prof:on(card, ranks, network, algorithm) -> the profile as it would be there, predicted */
static int l_on(lua_State *L) {
    lua_settop(L, 5);
    if (lua_isnil(L, 2) && lua_isnil(L, 4))
        return luaL_error(L, "profile.on: expected a card, or a network");
    for (int i = 0; i < 6; i++) lua_pushnil(L), lua_insert(L, 2);
    return predict(L, "profile.on: card");
}

void gp_lua_set_assumed(lua_State *L, const gp_prof *p) {
    options o = {.len = 0};
    say_assumed(p, &o);
    if (!o.len) return;
    lua_pushstring(L, o.text + 2);
    lua_setfield(L, -2, "assumed");
}

void gp_lua_set_whatif(lua_State *L) {
    static const gp_lua_function methods[] = {
        {"profile.whatif",
         "self profile, any? without, any? scale, number? host, bool? overlap, any? batch, "
         "int? workers, any? device",
         l_whatif},
        {"profile.on", "self profile, any? card, int? ranks, any? network, str? algorithm", l_on},
        {NULL, NULL, NULL}};
    gp_lua_set_functions(L, methods);
}
