/* A profile's memory: its tracks, whose events lie in chunks, and its names. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/record/kind.h"
#include "profile/record/record.h"
#include "profile/show/waves.h"
#include "tensor/base/env.h"
#include "tensor/device/backends.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/card/model.h"
#include "tensor/base/error.h"
#include "tensor/base/ready.h"
#include "tensor/base/safe_text.h"

/* ---- tracks ---- */

static gp_track *new_track(gp_prof *p, bool worker) {
    gp_track *t = calloc(1, sizeof *t);
    if (!t) return NULL;
    t->prof = p;
    t->worker = worker;
    return t;
}

gp_rec *gp_track_more(gp_track *t) {
    uint64_t left = atomic_load(&t->prof->events_left), take;
    do {
        if (!left) return t->dropped++, NULL;
        take = left < GP_RECORD_CHUNK ? left : GP_RECORD_CHUNK;
    } while (!atomic_compare_exchange_weak(&t->prof->events_left, &left, left - take));
    gp_chunk *c = malloc(sizeof *c);
    if (!c) return t->dropped++, NULL;
    c->next = NULL;
    c->n = 1;
    c->cap = (int)take;
    if (t->last) t->last->next = c;
    else t->first = c;
    t->last = c;
    return c->rec;
}

bool gp_prof_add_order(gp_prof *p, const gp_stream_order *order) {
    if (p->norders == p->orders_capacity) {
        int capacity = p->orders_capacity ? 2 * p->orders_capacity : 64;
        gp_stream_order *more = realloc(p->orders, (size_t)capacity * sizeof *more);
        if (!more) return p->host->dropped++, false;
        p->orders = more, p->orders_capacity = capacity;
    }
    p->orders[p->norders++] = *order;
    return true;
}

/* Frees a list of tracks and their chunks. */
static void free_tracks(gp_track *t) {
    for (gp_track *next; t; t = next) {
        next = t->next;
        for (gp_chunk *c = t->first, *after; c; c = after) {
            after = c->next;
            free(c);
        }
        free(t->region);
        free(t);
    }
}

bool gp_prof_fail(const char *what) {
    return gp_fail("%s: %s", what, gp_thread_stopped() ? "interrupted" : "out of memory");
}

int gp_count_rank_recs(const gp_track *t, int rank, bool (*is)(const gp_rec *)) {
    int n = 0;
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        if (rank >= 0 && t->rank != rank) continue;
        for (gp_rec *r; (r = gp_next(&at));) n += is(r);
    }
    return n;
}

int gp_count_recs(const gp_track *t, bool (*is)(const gp_rec *)) {
    return gp_count_rank_recs(t, -1, is);
}

static bool is_kernel(const gp_rec *r) { return r->kind == GP_REC_KERNEL; }

/* By the name of a runtime's call. */
static bool launches_kernel(const gp_rec *r) {
    return r->kind == GP_REC_CALL && strstr(r->name, "LaunchKernel");
}

uint64_t gp_lost_launches(const gp_prof *p) {
    if (gp_count_recs(p->workers, is_kernel)) return 0;
    return (uint64_t)gp_count_recs(p->host, launches_kernel);
}

uint64_t gp_last_end(const gp_prof *p, const gp_track *t, int rank) {
    uint64_t end = p->t0;
    for (; t; t = t->next) {
        gp_cursor at = gp_first(t);
        if (rank >= 0 && t->rank != rank) continue;
        for (gp_rec *r; (r = gp_next(&at));)
            if (gp_rec_end(p, r) > end) end = gp_rec_end(p, r);
    }
    return end;
}

int64_t gp_track_number(const gp_track *t, const gp_rec *r) {
    int64_t n = 1;
    for (const gp_chunk *c = t->first; c; n += c->n, c = c->next)
        if (r >= c->rec && r < c->rec + c->n) return n + (r - c->rec);
    return 0;
}

/* ---- profiles ---- */

gp_prof *gp_prof_new(const gp_prof_opts *opts) {
    gp_prof *p = calloc(1, sizeof *p);
    if (!p) return NULL;
    p->opts = *opts;
    p->refs = 1;
    p->host = new_track(p, false);
    p->names = gp_intern_new();
    if (!p->host || !p->names) return gp_prof_free(p), NULL;
    atomic_store(&p->events_left, opts->limit ? opts->limit : (uint64_t)4 << 20);
    p->started = gp_srcloc_here();
    return p;
}

bool gp_prof_fail_running(const gp_prof *p) {
    char file[200];
    const gp_srcloc *at = &p->started;
    if (!at->file) return gp_fail("profile: one is running already");
    return gp_fail("profile: one is running already, begun at %s:%d; profile.stop() ends it, or a "
                   "schedule's close()",
                   gp_safe_text(at->file, file, sizeof file), at->line);
}

gp_track *gp_prof_add_worker(gp_prof *p) {
    gp_track *t = new_track(p, true);
    if (!t) return NULL;
    t->next = p->workers;
    return p->workers = t;
}

gp_track *gp_prof_add_host(gp_prof *p) {
    gp_track *t = new_track(p, false), **at = &p->host;
    while (*at) at = &(*at)->next;
    return *at = t;
}

bool gp_prof_note_model(gp_prof *p) {
    char text[96];
    gp_model_text(text, sizeof text);
    p->card = gp_intern_add(p->names, gp_model_card(), sizeof *p->card);
    p->modelled = gp_intern_add(p->names, text, strlen(text));
    p->mark = gp_model_mark();
    return p->card && p->modelled;
}

bool gp_prof_note_bounds(gp_prof *p, const char *list) {
    char own[GP_BOUNDS_TEXT] = "";
    if (!list) list = p->card ? gp_model_bounds(p->mark, own) : own;
    if (*list) p->at_least = gp_intern_add(p->names, list, strlen(list));
    return !*list || p->at_least || gp_fail("profile: out of memory");
}

/* The name of all cards of this machine; "" where they differ, or are more than fit. */
static const char *cuda_name(void) {
    static char lines[4096], name[128];
    if (!gp_cuda_opened() || *lines) return name;
    int n = gp_cuda_devices(lines, sizeof lines), same = 0;
    for (const char *line = lines; line; line = strchr(line + 1, '\n')) {
        const char *from = strstr(line, ", "), *to = from ? strstr(from, ", compute") : NULL;
        if (!to || to - from - 2 >= (ptrdiff_t)sizeof name) break;
        if (!same) memcpy(name, from + 2, (size_t)(to - from - 2));
        same += !strncmp(name, from + 2, (size_t)(to - from - 2));
    }
    if (same != n) *name = 0;
    return name;
}

/* Notes the card that this machine has, where it ran the profile's kernels. */
static bool note_cuda(gp_prof *p) {
    gp_card card;
    memset(&card, 0, sizeof card); /* padding is interned with the rest */
    if (p->modelled || !gp_card_of_device(cuda_name(), &card)) return true;
    p->card = gp_intern_add(p->names, &card, sizeof card);
    return p->card || gp_fail("profile: out of memory");
}

bool gp_prof_end_model(gp_prof *p) {
    if (p->modelled && !gp_clock_op_ns() && !gp_prof_has_sim(p)) p->modelled = NULL, p->card = NULL;
    return gp_prof_note_bounds(p, NULL) && note_cuda(p);
}

void gp_track_watch(gp_track *t) {
    if (!t) return;
    t->thread = (int)gettid();
    t->ready = gp_ready_of(0);
}

void gp_prof_note_starved(gp_prof *p) {
    gp_track *const lists[] = {p->host, p->workers};
    if (!p->processors || gp_env_is(GP_ENV_GPUSH_LOADED, "0")) return;
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
        for (const gp_track *t = lists[i]; t; t = t->next) {
            uint64_t now = t->thread ? gp_ready_of(t->thread) : 0;
            if (now > t->ready && now - t->ready > p->starved) p->starved = now - t->ready;
        }
    if ((double)p->starved < GP_STARVED * (double)(p->t1 - p->t0)) p->starved = 0;
}

gp_prof *gp_prof_derive(gp_prof *p, const char *predicted) {
    gp_prof *to = calloc(1, sizeof *to), *base = p->base ? p->base : p;
    if (!to) return NULL;
    to->opts = p->opts;
    to->t0 = p->t0;
    to->how = p->how, to->writer = p->writer;
    to->modelled = p->modelled, to->card = p->card, to->at_least = p->at_least;
    to->foreign = p->foreign, to->ranks = p->ranks, to->loaded = p->loaded;
    to->unpaired = p->unpaired, to->midway = p->midway;
    to->no_clock = p->no_clock;
    to->unknown_orders = p->unknown_orders, to->guessed_orders = p->guessed_orders;
    to->period = p->period, to->blocked = p->blocked;
    to->others = p->others, to->dropped = p->dropped, to->lost = p->lost;
    to->cost_begin = p->cost_begin, to->cost_end = p->cost_end;
    to->started = p->started, to->processors = p->processors, to->starved = p->starved;
    to->refs = 1;
    to->base = base, base->refs++;
    to->names = base->names;
    to->host = new_track(to, false);
    to->predicted = gp_intern_add(to->names, predicted, strlen(predicted));
    atomic_store(&to->events_left, UINT64_MAX / 2);
    if (!to->host || !to->predicted) return gp_prof_free(to), NULL;
    return to;
}

void gp_prof_free(gp_prof *p) {
    if (!p || --p->refs > 0) return;
    free_tracks(p->host);
    free_tracks(p->workers);
    free(p->orders);
    if (p->loaded) p->loaded->drop(p->devices);
    gp_waves_free(p->waves);
    if (p->base) gp_prof_free(p->base);
    else gp_intern_free(p->names);
    free(p);
}
