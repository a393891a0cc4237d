/* What a profile's record says when it is replayed: what dominated, what each wait costs, the
 * critical path, and why the devices were idle. Lists for scripts/lua/profile/whatif.lua and
 * verdict.lua. */
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/api/profile/profile.h"
#include "bindings/fields.h"
#include "profile/load/reader.h"
#include "profile/replay/verdict/verdict.h"
#include "profile/sync/sync.h"
#include "profile/show/waves.h"

/* (prof, rank, what) -> the timelines, which the other functions do not make again as long as that
 * is held; what: as gp_lua_push_job's. */
static int l_job(lua_State *L) {
    gp_lua_push_job(L, 2, luaL_optstring(L, 3, "profile"));
    return 1;
}

/* ---- waits, the path, idle time ---- */

static void set_line(lua_State *L, const gp_rec *r) {
    if (!r || !r->file) return;
    set_text(L, "file", r->file);
    set_int(L, "line", (uint64_t)r->line);
}

/* Pushes a list of a table for each of the job's ranks, with its number and when it ended. */
static void push_ranks(lua_State *L, const gp_job *job) {
    lua_createtable(L, job->n, 0);
    for (int i = 0; i < job->n; i++) {
        const gp_timeline *t = job->rank[i];
        lua_createtable(L, 0, 12);
        set_int(L, "rank", t->rank < 0 ? (uint64_t)t->p->rank : (uint64_t)t->rank);
        set_int(L, "wall", t->t1 - t->p->t0);
        lua_rawseti(L, -2, i + 1);
    }
}

static const char *wait_advice(const gp_prof *p, const gp_rec *wait) {
    return p->foreign ? gp_load_advice(wait->name)
                      : gp_sync_advice((gp_why)wait->why, wait->name, wait->form);
}

/* Whether a wait was for a copy which, from pinned memory, takes less by what is not known. */
static bool may_save_more(const gp_prof *p, const gp_rec *wait) {
    return gp_wait_is_pageable(wait) && !gp_copies_are_modelled(p);
}

static void push_saving(lua_State *L, const gp_prof *p, const gp_saving *s) {
    lua_createtable(L, 0, 10);
    set_line(L, s->rec);
    set_text(L, "why", gp_why_name((gp_why)s->rec->why));
    set_text(L, "what", s->rec->name);
    set_text(L, "advice", wait_advice(p, s->rec));
    set_int(L, "count", s->times);
    set_int(L, "waited", s->waited);
    set_int(L, "saves", s->saved);
    if (s->at_most > s->saved) set_int(L, "at_most", s->at_most);
    lua_pushboolean(L, may_save_more(p, s->rec)), lua_setfield(L, -2, "more");
    lua_pushboolean(L, s->mixed), lua_setfield(L, -2, "mixed");
}

/* (prof, rank) -> list of {file, line, why, what, count, waited, saves, at_most, more, mixed}, with
 * a list of {rank, wall, saves} as ranks; what all together save, and at most save. more: it may
 * save more; mixed: the line has waited for something else, too */
static int l_savings(lua_State *L) {
    const gp_prof *p = gp_lua_check_prof(L, 1);
    gp_job *job = gp_lua_push_job(L, 2, "profile.savings");
    void **list = gp_lua_push_block(L), **of_rank = gp_lua_push_block(L);
    int n;
    gp_saving all = {0};
    uint64_t *rank = *of_rank = calloc((size_t)job->n, sizeof *rank);
    if (!rank) return luaL_error(L, "profile: out of memory");
    gp_saving *s = *list = gp_savings(job, &n, &all, rank);
    if (!s) return gp_lua_raise(L);
    lua_createtable(L, n, 1);
    for (int i = 0; i < n; i++) push_saving(L, p, &s[i]), lua_rawseti(L, -2, i + 1);
    push_ranks(L, job);
    for (int i = 0; i < job->n; i++) {
        lua_rawgeti(L, -1, i + 1);
        set_int(L, "saves", rank[i]);
        lua_pop(L, 1);
    }
    lua_setfield(L, -2, "ranks");
    gp_lua_set_assumed(L, p);
    lua_pushinteger(L, (lua_Integer)all.saved);
    return lua_pushinteger(L, (lua_Integer)(all.at_most > all.saved ? all.at_most : all.saved)), 3;
}

static void push_part(lua_State *L, const gp_job *job, const gp_path_part *part, gp_path_by by) {
    static const char *const kinds[] = {"script", "host", "device", "latency", "wait", "loader"};
    const gp_timeline *t = job->rank[part->rank];
    char name[200];
    lua_createtable(L, 0, 6);
    if (by == GP_PATH_BY_RANK)
        set_int(L, "rank", t->rank < 0 ? (uint64_t)t->p->rank : (uint64_t)t->rank);
    else set_text(L, "kind", kinds[part->kind]);
    if (part->rec && by == GP_PATH_BY_OP)
        set_text(L, "name", gp_rec_name(part->rec, name, sizeof name));
    if (by == GP_PATH_BY_LINE) set_line(L, part->rec);
    set_int(L, "count", part->times);
    set_int(L, "ns", part->ns);
}

/* (prof, rank, by) -> list of {kind, name, file, line, rank, count, ns}; the wall time that they
 * add up to; and how many ranks there are */
static int l_critical_path(lua_State *L) {
    static const char *const groups[] = {"op", "line", "rank", NULL};
    const gp_job *job = gp_lua_push_job(L, 2, "profile.critical_path");
    gp_path_by by = (gp_path_by)luaL_checkoption(L, 3, "op", groups);
    void **list = gp_lua_push_block(L);
    int n;
    gp_path_part *part = *list = gp_critical_path(job, by, &n);
    if (!part) return gp_lua_raise(L);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) push_part(L, job, &part[i], by), lua_rawseti(L, -2, i + 1);
    gp_lua_set_assumed(L, job->rank[0]->p);
    lua_pushinteger(L, (lua_Integer)(gp_job_end(job) - job->rank[0]->p->t0));
    return lua_pushinteger(L, job->n), 3;
}

/* Sets the fields of the table on the stack. */
static void set_idle(lua_State *L, const gp_timeline *t, const gp_idle *idle) {
    set_int(L, "kernels", idle->kernels);
    set_int(L, "copies", idle->copies);
    set_int(L, "waiting", idle->waiting);
    set_int(L, "loader", idle->loader);
    set_int(L, "latency", idle->latency);
    set_int(L, "op", idle->op);
    set_int(L, "script", idle->script);
    set_int(L, "most", (uint64_t)idle->most);
    lua_pushnumber(L, idle->depth);
    lua_setfield(L, -2, "depth");
    gp_busy *busy = lua_newuserdatauv(L, ((size_t)t->nstreams + 1) * sizeof *busy, 0);
    lua_insert(L, -2);
    gp_streams_busy(t, busy);
    lua_createtable(L, t->nstreams, 0);
    for (int i = 0; i < t->nstreams; i++) {
        lua_createtable(L, 0, 3);
        set_text(L, "device", t->stream[i]->dev->name);
        set_int(L, "stream", (uint64_t)t->stream[i]->index);
        set_int(L, "busy", busy[i].ns);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "streams");
    lua_remove(L, -2);
}

/* (prof, rank) -> list of {rank, wall, kernels, copies, waiting, loader, latency, op, script,
 * depth, most, streams} */
static int l_idle(lua_State *L) {
    const gp_job *job = gp_lua_push_job(L, 2, "profile.idle");
    push_ranks(L, job);
    for (int i = 0; i < job->n; i++) {
        gp_idle idle;
        if (!gp_idle_times(job->rank[i], &idle)) return gp_lua_raise(L);
        lua_rawgeti(L, -1, i + 1);
        set_idle(L, job->rank[i], &idle);
        lua_pop(L, 1);
    }
    return 1;
}

/* ---- the verdict ---- */

/* Sets the fields that say where most of a cause was. */
static void set_most(lua_State *L, const gp_worth *w) {
    set_line(L, w->most);
    if (w->most) set_text(L, "name", w->most->name);
    if (w->most && w->most->kind == GP_REC_SAMPLE)
        lua_pushboolean(L, true), lua_setfield(L, -2, "sampled");
    if (w->before) set_text(L, "before", w->before->name);
    if (w->before && w->before->file) {
        set_text(L, "before_file", w->before->file);
        set_int(L, "before_line", (uint64_t)w->before->line);
    }
    if (!w->most && !w->before) return;
    set_int(L, "most", w->most_ns);
    set_int(L, "most_times", w->most_times);
    set_int(L, "once", w->once);
}

/* Sets the fields that say how much of it came once, and was queued before the record. */
static void set_extra(lua_State *L, const gp_worth *w) {
    set_int(L, "extra", w->extra);
    set_int(L, "extras", (uint64_t)w->extras);
    set_int(L, "in_steps", (uint64_t)w->in_steps);
    set_int(L, "parts", w->parts);
    set_int(L, "of_step", w->of_step);
    set_int(L, "step", (uint64_t)w->step);
    set_int(L, "steps", (uint64_t)w->steps);
    set_int(L, "last_step", (uint64_t)w->last_step);
    set_int(L, "earlier", w->earlier);
}

/* Of kernels whose blocks are known, their time, and that of those with less than one for two
 * multiprocessors. */
static void set_small(lua_State *L, const gp_prof *p) {
    gp_wave all = gp_waves_all(p);
    if (all.ns <= 0) return;
    set_int(L, "filled", (uint64_t)all.ns);
    set_int(L, "small", (uint64_t)all.small);
}

/* What to do about copies, by where most of them go; NULL: as cause.def has it for all. */
static const char *copies_advice(const gp_prof *p, const gp_rec *most) {
    static const char *const text[][2] = {
#define COPIES(direction, advice, torch) [GP_COPY_##direction] = {advice, torch},
#include "profile/replay/cause.def"
        [GP_COPY_H2D] = {NULL, NULL},
    };
    return text[gp_copy_direction(most->name)][p->foreign];
}

/* By cause: its label, what to do about it, and what in PyTorch. */
static const char *const cause_text[][3] = {
#define CAUSE(name, label, advice, torch) {label, advice, torch},
#include "profile/replay/cause.def"
};

/* () -> list of {cause, label, advice, torch}. */
static int l_causes(lua_State *L) {
    lua_createtable(L, GP_CAUSES, 0);
    for (int cause = 0; cause < GP_CAUSES; cause++) {
        lua_createtable(L, 0, 4);
        set_text(L, "cause", gp_cause_name((gp_cause)cause));
        set_text(L, "label", cause_text[cause][0]);
        set_text(L, "advice", cause_text[cause][1]);
        set_text(L, "torch", cause_text[cause][2]);
        lua_rawseti(L, -2, cause + 1);
    }
    return 1;
}

/* The label and the advice of a cause; that of waits is the advice of the line that waited most. */
static void set_texts(lua_State *L, const gp_prof *p, gp_cause cause, const gp_worth *w) {
    const char *advice = cause_text[cause][p->foreign ? 2 : 1];
    bool waits = cause == GP_CAUSE_waits || (cause == GP_CAUSE_synchronize && p->foreign);
    if (waits && w->most && *wait_advice(p, w->most)) advice = wait_advice(p, w->most);
    if (cause == GP_CAUSE_copies && w->most && copies_advice(p, w->most))
        advice = copies_advice(p, w->most);
    bool script = cause == GP_CAUSE_script && w->most && w->most->kind == GP_REC_SAMPLE;
    const char *library = script && p->foreign ? gp_load_library_advice(w->most->name) : NULL;
    if (library) set_text(L, "library", library);
    if (cause == GP_CAUSE_launches && p->foreign && w->most)
        set_text(L, "reads", gp_load_reads(w->most->name));
    lua_pushboolean(L, cause == GP_CAUSE_waits && w->most && may_save_more(p, w->most));
    lua_setfield(L, -2, "more");
    set_text(L, "cause", gp_cause_name(cause));
    set_text(L, "label", cause_text[cause][0]);
    set_text(L, "advice", advice);
}

/* What scripts/lua/data/workers.lua decides by, in seconds. */
static void set_pass(lua_State *L, const gp_job *job, const gp_worth *w) {
    const gp_timeline *t = job->rank[0];
    for (int i = 1; i < job->n; i++)
        if (job->rank[i]->rank == w->rank) t = job->rank[i];
    gp_pass pass = gp_loader_pass(t);
    if (!pass.computed || !pass.step || !t->p->processors) return;
    lua_createtable(L, 0, 7);
    set_int(L, "workers", (uint64_t)pass.workers);
    set_int(L, "processors", (uint64_t)t->p->processors);
    set_int(L, "batches", (uint64_t)pass.batches);
    lua_pushnumber(L, (double)pass.busy * 1e-9), lua_setfield(L, -2, "busy");
    lua_pushnumber(L, (double)pass.computed * 1e-9), lua_setfield(L, -2, "computed");
    lua_pushnumber(L, (double)pass.step * 1e-9), lua_setfield(L, -2, "step");
    lua_pushnumber(L, pass.share), lua_setfield(L, -2, "share");
    lua_setfield(L, -2, "pass");
}

/* (prof, rank) -> list of {cause, label, ns, times, worth, more, at_most, rank, advice, reads,
 * file, line, name, sampled, library, before, before_file, before_line, most, most_times, once,
 * extra, extras, in_steps, parts, of_step, step, steps, last_step, earlier, between, optimizer,
 * filled, small, pass},
 * rank where there are several, sampled where name is a function of the script's, or what a library
 * does for it, with advice on that as library, one for each cause that the record knows, in the
 * order of cause.def; with wall, work, queued, calls, launched, launches, replayed, longer,
 * blocked, busy, profiler (its own time), slowed (by how much the recording slowed the program),
 * usual, beside and frames (as gp_prof's), sampled (whether samples of the script were taken),
 * devices (the worth of kernels, copies, collectives and delays together), all_waits (that of waits
 * and synchronize together), vague (what those are worth is not known), paced (nor how long worker
 * processes took for batches) and, where the record does not tell, untold */
static int l_verdict(lua_State *L) {
    static const char *const why[] = {"",      "empty", "dropped",  "cut",   "device",
                                      "calls", "work",  "launched", "orders"};
    const gp_prof *p = gp_lua_check_prof(L, 1);
    gp_job *job = gp_lua_push_job(L, 2, "profile.verdict");
    gp_verdict v;
    if (!gp_verdict_of(job, &v)) return gp_lua_raise(L);
    lua_createtable(L, GP_CAUSES, 8);
    for (int cause = 0, n = 0; cause < GP_CAUSES; cause++) {
        const gp_worth *w = &v.of[cause];
        if (!w->ns) continue;
        lua_createtable(L, 0, 22);
        set_texts(L, p, (gp_cause)cause, w);
        set_int(L, "ns", w->ns);
        set_int(L, "times", w->times);
        set_int(L, "worth", w->worth);
        set_int(L, "at_most", w->at_most);
        if (job->n > 1) set_int(L, "rank", (uint64_t)w->rank);
        set_most(L, w);
        set_extra(L, w);
        if (cause == GP_CAUSE_script) set_int(L, "between", w->between);
        if (cause == GP_CAUSE_launches) set_int(L, "optimizer", w->optimizer);
        if (cause == GP_CAUSE_kernels) set_small(L, p);
        if (cause == GP_CAUSE_loader) set_pass(L, job, w);
        lua_rawseti(L, -2, ++n);
    }
    set_int(L, "wall", v.wall);
    set_int(L, "work", v.work);
    set_int(L, "queued", v.queued);
    set_int(L, "calls", v.calls);
    set_int(L, "launched", v.launched);
    set_int(L, "launches", v.launches);
    set_int(L, "replayed", v.replayed);
    set_int(L, "longer", v.longer);
    set_int(L, "blocked", v.blocked);
    set_int(L, "devices", v.devices);
    set_int(L, "all_waits", v.all_waits);
    set_int(L, "profiler", v.profiler);
    set_int(L, "slowed", v.slowed);
    set_int(L, "usual", p->usual);
    set_int(L, "beside", p->beside);
    set_int(L, "frames", p->frames);
    set_int(L, "busy", v.idle.kernels + v.idle.copies);
    lua_pushboolean(L, v.vague), lua_setfield(L, -2, "vague");
    lua_pushboolean(L, v.paced), lua_setfield(L, -2, "paced");
    lua_pushboolean(L, p->period > 0), lua_setfield(L, -2, "sampled");
    if (v.untold) set_text(L, "untold", why[v.untold]);
    gp_lua_set_assumed(L, p);
    return 1;
}

/* (prof, name, ...) -> how far off predictions of those kinds, or without those causes, were; ""
 * where none is named. prof: what they are from; nil */
static int l_accuracy(lua_State *L) {
    static const char *const names[] = {
#define ACCURACY(kind, ...) #kind,
#include "profile/replay/accuracy.def"
    };
    char text[400];
    uint32_t kinds = 0;
    const gp_prof *p = lua_isnil(L, 1) ? NULL : gp_lua_check_prof(L, 1);
    for (int i = 2; i <= lua_gettop(L); i++) {
        const char *name = luaL_checkstring(L, i);
        for (int k = 0; k < GP_ACCURACIES; k++)
            if (!strcmp(name, names[k])) kinds |= 1u << k;
        for (int k = 0; k < GP_CAUSES; k++)
            if (!strcmp(name, gp_cause_name((gp_cause)k)))
                kinds |= 1u << gp_cause_accuracy((gp_cause)k);
    }
    lua_pushstring(L, gp_accuracy_text(p, kinds, text, sizeof text));
    return 1;
}

/* ---- what kernels are ---- */

static bool is_product(uint8_t family) {
    return family == GP_FAMILY_product || family == GP_FAMILY_conv ||
           family == GP_FAMILY_conv_grad || family == GP_FAMILY_attention ||
           family == GP_FAMILY_attention_grad || family == GP_FAMILY_rnn ||
           family == GP_FAMILY_rnn_grad;
}

/* (name of an own record's kernel) -> "product", "elementwise", "fused", "other" */
static int l_kernel_kind(lua_State *L) {
    const char *name = luaL_checkstring(L, 1);
    const gp_op *op = gp_op_find(name);
    const char *kind = "other";
    if (!strcmp(name, "fused")) kind = "fused";
    else if (op && op->ntensors && op->formula) kind = "elementwise";
    else if (op && is_product(op->cost.family)) kind = "product";
    lua_pushstring(L, kind);
    return 1;
}

/* (prof) -> ns of its products, where their costs are on the record; and of those in 16 bits or
 * fewer */
static int l_products(lua_State *L) {
    const gp_job *job = gp_lua_push_job(L, 0, "profile.verdict");
    uint64_t all = 0, low = 0;
    for (int r = 0; r < job->n; r++) {
        for (int i = 0; i < job->rank[r]->ncommands; i++) {
            const gp_command *c = &job->rank[r]->command[i];
            const gp_cost *cost = c->op && c->op->kind == GP_REC_OP ? c->op->cost : NULL;
            if (!cost || !is_product(cost->family)) continue;
            all += c->end - c->rec->t0;
            if (gp_dtype_size((gp_dtype)cost->dtype) <= 2) low += c->end - c->rec->t0;
        }
    }
    lua_pushinteger(L, (lua_Integer)all);
    return lua_pushinteger(L, (lua_Integer)low), 2;
}

void gp_lua_set_replay(lua_State *L) {
    static const luaL_Reg lists[] = {{"savings", l_savings},
                                     {"critical_path", l_critical_path},
                                     {"idle", l_idle},
                                     {"verdict", l_verdict},
                                     {"causes", l_causes},
                                     {"accuracy", l_accuracy},
                                     {"job", l_job},
                                     {"products", l_products},
                                     {"kernel_kind", l_kernel_kind},
                                     {NULL, NULL}};
    luaL_newlib(L, lists);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.replay");
}
