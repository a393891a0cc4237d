/* Lists of what the devices of a profile did and what the host's waits cost, for
 * scripts/lua/profile/usage.lua, which shows them as text. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/api/profile/profile.h"
#include "bindings/fields.h"
#include "profile/record/kind.h"
#include "profile/show/owners.h"
#include "profile/sync/sync.h"
#include "profile/show/usage.h"
#include "tensor/memory/alloc.h"

enum { DEPTH = 256 }; /* of nested regions */

static void release_usage(void *owner) {
    gp_usage **u = owner;
    gp_usage_free(*u);
    *u = NULL;
}

void gp_lua_push_kept(lua_State *L, const char *name) {
    if (!luaL_getsubtable(L, LUA_REGISTRYINDEX, name)) {
        lua_createtable(L, 0, 1);
        lua_pushstring(L, "kv"), lua_setfield(L, -2, "__mode");
        lua_setmetatable(L, -2);
    }
}

/* Pushes the usage of the profile at 1; Lua owns it. */
static const gp_usage *push_usage(lua_State *L) {
    static const gp_owner_type type = {"gpush.profile.usage", release_usage};
    const gp_prof *p = gp_lua_check_prof(L, 1);
    gp_lua_push_kept(L, "gpush.profile.usages");
    lua_pushvalue(L, 1);
    gp_usage **u = lua_rawget(L, -2) == LUA_TUSERDATA ? lua_touserdata(L, -1) : NULL;
    if (u) return lua_remove(L, -2), *u;
    lua_pop(L, 1);
    u = gp_lua_push_owner(L, &type, sizeof *u);
    if (!(*u = gp_usage_new(p))) gp_lua_raise(L);
    lua_pushvalue(L, 1), lua_pushvalue(L, -2), lua_rawset(L, -4);
    lua_remove(L, -2);
    return *u;
}

/* usage.of(prof) -> what the lists are made of: as long as it is held they need not make it again
 */
static int l_of(lua_State *L) { return push_usage(L), 1; }

/* ---- events ---- */

/* usage.events(prof, rank) -> list of those of that rank, as prof:events() has them */
static int l_events(lua_State *L) {
    const gp_prof *p = gp_lua_check_prof(L, 1);
    return gp_lua_push_events(L, p, (int)luaL_checkinteger(L, 2));
}

/* usage.met(prof) -> list of the collectives as events, each with its rank, when it was called, and
 * the name of what queued it (op), or its own, and the line of that */
static int l_met(lua_State *L) {
    const gp_usage *u = push_usage(L);
    lua_Integer n = 0;
    char name[200];
    lua_newtable(L);
    for (int i = 0; i < u->nwork; i++) {
        const gp_work *w = &u->work[i];
        if (w->rec->kind != GP_REC_KERNEL || !gp_rec_is_collective(w->rec)) continue;
        bool op = w->host && w->host->kind == GP_REC_OP;
        bool call = op || (w->host && w->host->kind == GP_REC_CALL);
        const gp_rec *by = op ? w->host : w->rec;
        gp_lua_may_stop(L, n);
        gp_lua_push_event(L, u->p, w->rec);
        set_text(L, "op", gp_rec_name(by, name, sizeof name));
        set_text(L, "file", by->file);
        if (by->file) set_int(L, "line", (uint64_t)by->line);
        set_int(L, "called", (call ? w->host : w->rec)->t0 - u->p->t0);
        set_int(L, "rank", (uint64_t)u->stream[w->stream].rank);
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* usage.ranks(prof) -> list of the ranks with events, from the lowest on */
static int l_ranks(lua_State *L) {
    const gp_prof *p = gp_lua_check_prof(L, 1);
    int last = -1, rank = 0;
    lua_newtable(L);
    for (lua_Integer n = 1; rank < INT_MAX; last = rank, n++) {
        rank = INT_MAX;
        for (const gp_track *lists[] = {p->host, p->workers}, **l = lists; l < lists + 2; l++)
            for (const gp_track *t = *l; t; t = t->next)
                if (t->first && t->rank > last && t->rank < rank) rank = t->rank;
        if (rank < INT_MAX) lua_pushinteger(L, rank), lua_rawseti(L, -2, n);
    }
    return 1;
}

/* ---- waits ---- */

/* The regions that are open at r, which begins after those before it. */
typedef struct regions {
    const gp_rec *open[DEPTH];
    int depth;
} regions;

static void pass(const gp_prof *p, regions *in, const gp_rec *r) {
    while (in->depth && gp_rec_end(p, in->open[in->depth - 1]) <= r->t0) in->depth--;
    if (r->kind == GP_REC_REGION && in->depth < DEPTH) in->open[in->depth++] = r;
}

/* What is known of a wait, or of a read that would be one. */
static void push_reason(lua_State *L, const gp_prof *p, const gp_track *t, const gp_rec *r,
                        const regions *in) {
    lua_createtable(L, 0, 14);
    set_text(L, "file", r->file);
    if (r->file) set_int(L, "line", (uint64_t)r->line);
    set_text(L, "why", gp_why_name((gp_why)r->why));
    set_text(L, "what", r->name);
    set_text(L, "region", in->depth ? in->open[in->depth - 1]->name : NULL);
    set_int(L, "rank", (uint64_t)t->rank);
    set_text(L, "thread", t->name);
    set_int(L, "start", r->t0 - p->t0);
    set_text(L, "advice",
             p->foreign ? p->loaded->advice(r->name)
                        : gp_sync_advice((gp_why)r->why, r->name, r->form));
}

static void set_cost(lua_State *L, const gp_usage *u, const gp_track *t, const gp_rec *r) {
    const gp_stream *s = r->where;
    set_text(L, "device", s->dev->name);
    if (s->index >= 0) set_int(L, "stream", (uint64_t)s->index);
    set_int(L, "stop", gp_rec_end(u->p, r) - u->p->t0);
    set_int(L, "drained", (uint64_t)r->bytes);
    set_int(L, "idle", gp_wait_cost_of(u, t->rank, r).idle);
}

/* The outermost op that a thread is in until `end`, and whether it has waited in it. */
typedef struct outer {
    uint64_t end;
    bool waited;
} outer;

/* Notes r; whether it is a further wait of an op that has waited, as for its copy and its stream.
 */
static bool waits_again(const gp_prof *p, outer *in, const gp_rec *r) {
    if (r->t0 >= in->end) *in = (outer){0};
    if (r->kind == GP_REC_OP && !in->end) in->end = gp_rec_end(p, r);
    bool again = r->kind == GP_REC_WAIT && in->waited;
    if (r->kind == GP_REC_WAIT && in->end) in->waited = true;
    return again;
}

/* Pushes a list of the events of that kind, WAIT or READ, in the order of threads and starts, but
 * for the profiler's own wait at the end. */
static lua_Integer push_waits(lua_State *L, const gp_usage *u, gp_rec_kind kind) {
    lua_newtable(L);
    lua_Integer n = 0;
    for (const gp_track *t = u->p->host; t; t = t->next) {
        regions in = {.depth = 0};
        outer op = {0};
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));) {
            pass(u->p, &in, r);
            bool again = waits_again(u->p, &op, r);
            if (r->kind != kind || (!u->p->foreign && !strcmp(r->name, "profile"))) continue;
            gp_lua_may_stop(L, n);
            push_reason(L, u->p, t, r, &in);
            if (kind == GP_REC_WAIT) set_cost(L, u, t, r);
            lua_pushboolean(L, again), lua_setfield(L, -2, "again");
            lua_rawseti(L, -2, ++n);
        }
    }
    return n;
}

/* usage.waits(prof) -> list; again: it is a further wait of one op; unknown: whether there were any
 * is not on the record */
static int l_waits(lua_State *L) {
    const gp_usage *u = push_usage(L);
    lua_Integer n = push_waits(L, u, GP_REC_WAIT);
    if (!n && !gp_waits_known(u->p)) lua_pushboolean(L, 1), lua_setfield(L, -2, "unknown");
    return 1;
}

/* Whether a device ran something: the host itself runs collectives such as gloo's. */
static bool has_device(const gp_usage *u) {
    for (int i = 0; i < u->nstreams; i++)
        if (!u->stream[i].stream->dev->vt->on_host) return true;
    return false;
}

/* usage.reads(prof) -> list of what would wait for a card; empty where a device ran something: then
 * what lies on the host lies there with a card, too; or may have, of a file that is cut */
static int l_reads(lua_State *L) {
    const gp_usage *u = push_usage(L);
    if (has_device(u) || u->p->cut) lua_newtable(L);
    else push_waits(L, u, GP_REC_READ);
    return 1;
}

/* ---- devices and queues ---- */

static void push_queue(lua_State *L, const gp_usage *u, int stream) {
    static const char *const quartiles[] = {"min", "q25", "median", "q75", "max"};
    const gp_usage_stream *s = &u->stream[stream];
    gp_queue q;
    if (!gp_queue_of(u, stream, &q)) gp_lua_raise(L);
    lua_createtable(L, 0, 16);
    set_text(L, "device", s->stream->dev->name);
    set_int(L, "stream", (uint64_t)s->stream->index);
    set_int(L, "rank", (uint64_t)s->rank);
    set_int(L, "work", (uint64_t)(s->to - s->from));
    set_int(L, "busy", q.busy);
    set_int(L, "host_wait", q.host_wait);
    set_int(L, "kernel_wait", q.kernel_wait);
    set_int(L, "other", q.other);
    set_int(L, "changes", (uint64_t)q.changes);
    set_number(L, "mean", q.mean);
    set_number(L, "std", q.deviation);
    for (int i = 0; i < 5; i++) set_number(L, quartiles[i], q.quartile[i]);
}

/* Sets the times at which the stream's queue changed, and its lengths from then on. */
static void set_changes(lua_State *L, const gp_usage *u, int stream) {
    gp_queue_change **list = gp_lua_push_block(L);
    int n;
    if (!(*list = gp_queue_changes(u, stream, &n))) {
        gp_lua_raise(L);
        return;
    }
    lua_createtable(L, n, 0);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushinteger(L, (lua_Integer)((*list)[i].t - u->p->t0));
        lua_rawseti(L, -3, i + 1);
        lua_pushinteger(L, (*list)[i].length);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -4, "lengths");
    lua_setfield(L, -3, "times");
    lua_pop(L, 1);
}

/* usage.queues(prof, series) -> list by rank, device and stream; series: with each change */
static int l_queues(lua_State *L) {
    bool series = lua_toboolean(L, 2);
    const gp_usage *u = push_usage(L);
    lua_createtable(L, u->nstreams, 0);
    for (int i = 0; i < u->nstreams; i++) {
        push_queue(L, u, i);
        if (series) set_changes(L, u, i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* usage.devices(prof) -> list by rank and device */
static int l_devices(lua_State *L) {
    const gp_usage *u = push_usage(L);
    gp_device_usage **list = gp_lua_push_block(L);
    uint64_t wall = u->p->t1 - u->p->t0;
    int n;
    if (!(*list = gp_device_usages(u, &n))) return gp_lua_raise(L);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        const gp_device_usage *d = &(*list)[i];
        lua_createtable(L, 0, 12);
        set_text(L, "device", d->dev->name);
        set_int(L, "rank", (uint64_t)d->rank);
        set_int(L, "streams", (uint64_t)d->streams);
        set_int(L, "span", d->span);
        set_int(L, "idle", d->idle);
        set_int(L, "compute", d->compute);
        set_int(L, "other", d->other);
        set_number(L, "busy", wall ? (double)(d->span - d->idle) / (double)wall : 0);
        set_int(L, "collective", d->collective);
        set_int(L, "beside", d->beside);
        set_int(L, "short", d->nshort);
        set_int(L, "kernels", d->nkernels);
        set_int(L, "kernel_time", d->kernels);
        set_int(L, "copies", d->ncopies);
        set_int(L, "copy_time", d->copies);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* usage.launches(prof) -> list by rank, device and call; call: nil of those that then waited */
static int l_launches(lua_State *L) {
    const gp_usage *u = push_usage(L);
    gp_launches **list = gp_lua_push_block(L);
    int n;
    if (!(*list = gp_launches_of(u, &n))) return gp_lua_raise(L);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        const gp_launches *l = &(*list)[i];
        lua_createtable(L, 0, 14);
        set_text(L, "device", l->dev->name);
        set_text(L, "call", *l->name ? l->name : NULL);
        set_int(L, "rank", (uint64_t)l->rank);
        set_int(L, "times", l->times);
        set_int(L, "work", l->work);
        set_int(L, "called", l->call);
        set_int(L, "called_most", l->call_most);
        set_int(L, "busy", l->busy);
        set_int(L, "delay", l->delay);
        set_int(L, "delay_median", l->delay_median);
        set_int(L, "delay_most", l->delay_most);
        set_int(L, "short", l->nshort);
        set_int(L, "slow", l->nslow);
        set_int(L, "late", l->nlate);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

/* ---- memory ---- */

static void release_owners(void *owner) {
    gp_owners **o = owner;
    gp_owners_free(*o);
    *o = NULL;
}

static void push_owner(lua_State *L, const gp_owner *o) {
    char name[200];
    lua_createtable(L, 0, 8);
    set_text(L, "device", o->dev->name);
    if (o->op) set_text(L, "name", gp_rec_name(o->op, name, sizeof name));
    if (o->op && o->op->file) set_text(L, "file", o->op->file), set_int(L, "line", o->op->line);
    set_int(L, "blocks", o->blocks);
    set_int(L, "allocated", (uint64_t)o->allocated);
    set_int(L, "peak", (uint64_t)o->peak);
    set_int(L, "kept", (uint64_t)o->kept);
}

static void push_owned_device(lua_State *L, const gp_owned_device *d) {
    lua_createtable(L, 0, 6);
    set_text(L, "device", d->dev->name);
    set_int(L, "before", (uint64_t)d->before);
    set_int(L, "before_at_peak", (uint64_t)d->old_at_peak);
    set_int(L, "before_freed", (uint64_t)d->old);
    set_int(L, "peak", (uint64_t)d->peak);
    set_int(L, "after", (uint64_t)d->after);
}

/* usage.memory(prof) -> list of owners in the order of their first allocation, with a list
 * `devices` */
static int l_memory(lua_State *L) {
    static const gp_owner_type type = {"gpush.profile.owners", release_owners};
    const gp_prof *p = gp_lua_check_prof(L, 1);
    gp_owners **box = gp_lua_push_owner(L, &type, sizeof *box);
    if (!(*box = gp_owners_new(p))) return gp_lua_raise(L);
    const gp_owners *o = *box;
    lua_createtable(L, o->n, 1);
    for (int i = 0; i < o->n; i++) {
        push_owner(L, &o->owner[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_createtable(L, o->ndevices, 0);
    for (int i = 0; i < o->ndevices; i++) {
        push_owned_device(L, &o->device[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "devices");
    return 1;
}

/* What is alive on a device, appended to the list on top. */
static void push_alive(gp_device *dev, void *ctx) {
    lua_State *L = ctx;
    gp_live_line **list = gp_lua_push_block(L);
    int n;
    int64_t small;
    *list = gp_alloc_live(dev, &n, &small);
    if (n < 0) gp_lua_raise(L);
    for (int i = 0; i < n + (small > 0); i++) {
        lua_createtable(L, 0, 5);
        set_text(L, "device", dev->name);
        if (i < n) set_text(L, "file", (*list)[i].made.file);
        if (i < n && (*list)[i].made.file) set_int(L, "line", (uint64_t)(*list)[i].made.line);
        if (i < n) set_int(L, "blocks", (uint64_t)(*list)[i].blocks);
        set_int(L, "bytes", (uint64_t)(i < n ? (*list)[i].bytes : small));
        lua_rawseti(L, -3, (lua_Integer)lua_rawlen(L, -3) + 1);
    }
    free(*list);
    *list = NULL;
    lua_pop(L, 1);
}

/* usage.alive() -> list of what is alive, by device and line; without blocks: the smaller ones */
static int l_alive(lua_State *L) {
    lua_settop(L, 0);
    lua_newtable(L);
    gp_lua_enter(L);
    gp_device_each(push_alive, L);
    return 1;
}

/* kind_now(device): of what kind times are that are taken now; device: the name of the one that did
 * the work, nil: the host. */
static int l_kind_now(lua_State *L) {
    char kind[GP_KIND_TEXT];
    return lua_pushstring(L, gp_kind_of_device(luaL_optstring(L, 1, NULL), kind)), 1;
}

/* not_compared(what, kind, other, its kind): why two things' numbers are not compared; nil where
 * they may be. kind nil: they are the machine's own. */
static int l_not_compared(lua_State *L) {
    const char *a = luaL_optstring(L, 2, NULL), *b = luaL_optstring(L, 4, NULL);
    if (gp_kinds_compare(a, b)) return 0;
    lua_pushfstring(L, "not compared: %s is %s, %s is %s", luaL_checkstring(L, 1),
                    a ? a : "measured", luaL_checkstring(L, 3), b ? b : "measured");
    return 1;
}

void gp_lua_set_usage(lua_State *L) {
    static const luaL_Reg lists[] = {{"kind_now", l_kind_now}, {"not_compared", l_not_compared},
                                     {"waits", l_waits},       {"reads", l_reads},
                                     {"queues", l_queues},     {"devices", l_devices},
                                     {"launches", l_launches}, {"memory", l_memory},
                                     {"alive", l_alive},       {"of", l_of},
                                     {"events", l_events},     {"met", l_met},
                                     {"ranks", l_ranks},       {NULL, NULL}};
    luaL_newlib(L, lists);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.usage");
}
