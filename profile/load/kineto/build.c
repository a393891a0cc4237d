/* Makes a record of a trace of torch.profiler: who enclosed, queued and waited for what, which the
 * trace says only by times and correlation ids. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/kineto/builder.h"
#include "profile/load/devices.h"
#include "profile/show/usage.h"
#include "profile/show/waves.h"

typedef kineto_builder builder;

static bool no_memory(builder *b) { return kineto_no_memory(b); }
static int64_t end_of(const kineto_event *e) { return kineto_end(e); }
static bool is_work(const kineto_event *e) {
    return e->kind == KINETO_KERNEL || e->kind == KINETO_COPY || e->kind == KINETO_COLLECTIVE;
}

/* ---- devices and streams ---- */

gp_device *kineto_device_at(builder *b, int device) {
    char name[16];
    if (device == -1) return gp_loaded_device(b->p->devices, "cpu", true, 0, "cpu");
    if (device < 0) device = 0;
    bool known = device < (int)(sizeof b->device / sizeof *b->device);
    if (known && b->device[device]) return b->device[device];
    if (b->several) snprintf(name, sizeof name, "r%d/%s:%d", b->rank, b->kind, device);
    else snprintf(name, sizeof name, "%s:%d", b->kind, device);
    gp_device *dev = gp_loaded_device(b->p->devices, b->kind, false, device, name);
    if (!dev) gp_json_fail(b->k->j, "more than %d devices, or out of memory", GP_LOADED_MAX);
    return known ? (b->device[device] = dev) : dev;
}

gp_stream *kineto_stream_at(builder *b, int device, int stream) {
    gp_device *dev = kineto_device_at(b, device);
    gp_stream *s = dev ? gp_loaded_stream(b->p->devices, dev, stream < -1 ? 0 : stream) : NULL;
    if (dev && !s) gp_json_fail(b->k->j, "more than %d streams, or out of memory", GP_LOADED_MAX);
    return s;
}

/* ---- correlation ---- */

/* Notes when each op ran first, and when the last of them was over; without any nothing is. */
static void note_ops(builder *b) {
    const kineto *k = b->k;
    int64_t last = INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        bool queues = e->kind == KINETO_CALL && kineto_map_get(&b->work, e->correlation) >= 0;
        bool syncs = e->kind == KINETO_CALL && gp_kineto_awaited(e->name) == KINETO_DEVICE;
        if (syncs && e->t0 > b->last_sync) b->last_sync = e->t0;
        b->has_ops |= e->kind == KINETO_OP;
        b->runs |= queues || e->kind == KINETO_OP;
        if (queues && e->t0 > last) last = e->t0;
        if (e->kind != KINETO_OP) continue;
        if (end_of(e) > last) last = end_of(e);
        int64_t name = (int64_t)(uintptr_t)e->name;
        int before = kineto_map_get(&b->first, name);
        if (before < 0) kineto_map_add(&b->first, name, i);
        else if (e->t0 < k->event[before].t0) *kineto_map_at(&b->first, name) = i + 1;
    }
    if (b->runs) b->last_op = last;
}

/* Whether two processes' calls have one id, as where traces were joined into one file: then it is
 * not known which of them queued a kernel. */
static bool are_joined(const builder *b, const kineto_event *e) {
    int i = e->kind == KINETO_CALL ? kineto_map_get(&b->calls, e->correlation) : -1;
    const kineto_thread *thread = b->k->thread;
    return i >= 0 && thread[b->k->event[i].thread].pid != thread[e->thread].pid;
}

static bool make_maps(builder *b) {
    const kineto *k = b->k;
    if (!kineto_map_new(&b->calls, k->n) || !kineto_map_new(&b->work, k->n) ||
        !kineto_map_new(&b->syncs, k->n) || !kineto_map_new(&b->ops, k->n) ||
        !kineto_map_new(&b->first, k->n))
        return no_memory(b);
    b->last_op = INT64_MAX, b->last_sync = INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        if (are_joined(b, e))
            return gp_json_fail(k->j, "two processes' calls have one correlation id: it joins "
                                      "traces of several ranks; name the file of each instead");
        if (e->kind == KINETO_CALL) kineto_map_add(&b->calls, e->correlation, i);
        if (e->kind == KINETO_SYNC) kineto_map_add(&b->syncs, e->correlation, i);
        if (is_work(e)) kineto_map_add(&b->work, e->correlation, i);
        b->has_work |= is_work(e) && e->kind != KINETO_COLLECTIVE;
    }
    note_ops(b);
    for (int i = 0; i < k->n; i++) { /* external ids of older versions are correlation ids */
        const kineto_event *e = &k->event[i];
        bool lost = is_work(e) && kineto_map_get(&b->calls, e->correlation) < 0;
        if (lost && e->external != e->correlation) kineto_map_add(&b->ops, e->external, i);
    }
    return true;
}

/* ---- the host ---- */

gp_rec *kineto_append(builder *b, gp_track *t, const kineto_event *e, gp_rec_kind kind) {
    gp_rec *r = gp_track_append(t);
    if (!r) return no_memory(b), NULL;
    *r = (gp_rec){.t0 = (uint64_t)(e->t0 + b->shift),
                  .t1 = (uint64_t)(end_of(e) + b->shift),
                  .name = e->name,
                  .kind = (uint8_t)kind};
    if (r->t1 > b->p->t1) b->p->t1 = r->t1;
    return r;
}

/* The track of a thread; the first of a profile is there already. */
static gp_track *new_track(builder *b, const kineto_thread *t) {
    char name[200];
    gp_prof *p = b->p;
    gp_track *track = p->host->first || p->host->name ? gp_prof_add_host(p) : p->host;
    if (!track) return NULL;
    int64_t id; /* of 32 bits without a sign, which older versions wrote with one */
    gp_json_text tid = {.p = t->tid, .n = strlen(t->tid)};
    if (gp_json_text_int(&tid, &id) && id < 0 && id >= INT32_MIN)
        snprintf(name, sizeof name, "thread %u", (unsigned)id);
    else snprintf(name, sizeof name, "thread %s", t->tid);
    track->name = t->name ? t->name : gp_intern_add(p->names, name, strlen(name));
    track->rank = b->rank;
    b->depth = 0;
    b->last = NULL;
    b->copy = NULL;
    b->number = NULL;
    b->printing = 0;
    b->at = b->step_end = b->last_end = INT64_MIN;
    b->script = NULL, b->function = NULL, b->library = NULL, b->script_ns = 0;
    b->op = b->op_before = NULL;
    return track->name ? track : NULL;
}

/* The events of one thread, from order[i] on; *i becomes the next thread's first. */
static bool add_thread(builder *b, int *i) {
    const kineto *k = b->k;
    int thread = k->event[b->order[*i]].thread;
    if (!(b->track = new_track(b, &k->thread[thread]))) return no_memory(b);
    b->is_main = *i == 0;
    for (; *i < k->n; (*i)++) {
        kineto_event *e = &k->event[b->order[*i]];
        if (!gp_kineto_on_host(e) || e->thread != thread) break;
        if (gp_prof_stops((uint64_t)*i)) return gp_json_fail(k->j, "interrupted");
        if (!kineto_add_host(b, e)) return false;
        uint64_t end = (uint64_t)(end_of(e) + b->shift);
        if (end > b->p->done) b->p->done = end;
    }
    return kineto_end_host(b);
}

/* ---- the devices ---- */

/* gp_kineto_exchanges, which is asked once for most names. */
static bool exchanges(builder *b, const char *name) {
    struct kineto_named *n = &b->named[(uintptr_t)name / 16 % (sizeof b->named / sizeof *b->named)];
    if (n->name != name) *n = (struct kineto_named){name, gp_kineto_exchanges(name)};
    return n->exchanges;
}

static bool add_work(builder *b, gp_track *t, const kineto_event *e) {
    int i = kineto_map_get(&b->calls, e->correlation);
    bool by_op = i < 0 && e->external != e->correlation;
    gp_rec *r = kineto_append(b, t, e, e->kind == KINETO_COPY ? GP_REC_MOVED : GP_REC_KERNEL);
    if (!r || !(r->where = kineto_stream_at(b, e->device, e->stream))) return false;
    const kineto_event *from = i < 0 ? NULL : &b->k->event[i];
    if (by_op && (i = kineto_map_get(&b->ops, e->external)) >= 0) from = &b->k->event[i];
    if (from) r->id = (uint64_t)from->at;
    r->bytes = e->bytes ? e->bytes : from && e->kind == KINETO_COPY ? from->bytes : 0;
    if (r->kind == GP_REC_MOVED) return true;
    r->kernel = e->name;
    r->collective = exchanges(b, e->name);
    if (from) r->name = from->kind == KINETO_OP ? from->name : from->op ? from->op : r->name;
    if (gp_rec_is_collective(r)) return true; /* which have few blocks, however much they send */
    return gp_waves_add(b->p, e->name, (uint64_t)e->dur, e->at, e->occupancy,
                        (const gp_geometry *)(const void *)e->shapes) ||
           no_memory(b);
}

/* Ops whose id work needs: the map leads to them once they have one. */
static void find_ops(builder *b) {
    for (int i = 0; i < b->k->n; i++) {
        const kineto_event *e = &b->k->event[i];
        if (e->kind == KINETO_OP && e->at) *kineto_map_at(&b->ops, e->external) = i + 1;
    }
}

static bool add_all(builder *b) {
    const kineto *k = b->k;
    int i = 0;
    while (i < k->n && gp_kineto_on_host(&k->event[b->order[i]]))
        if (!add_thread(b, &i)) return false;
    find_ops(b);
    gp_track *t = i < k->n ? gp_prof_add_worker(b->p) : NULL;
    if (i < k->n && !t) return no_memory(b);
    if (t) t->rank = b->rank;
    for (; i < k->n; i++) {
        const kineto_event *e = &k->event[b->order[i]];
        if (gp_prof_stops((uint64_t)i)) return gp_json_fail(k->j, "interrupted");
        if (is_work(e) && !add_work(b, t, e)) return false;
    }
    return gp_kineto_orders(b->k, b->p, t, b->shift);
}

bool gp_kineto_build(kineto *k, gp_prof *p, int rank, bool several, int64_t shift, uint64_t *ids) {
    builder *b = calloc(1, sizeof *b);
    if (!b) return gp_json_fail(k->j, "out of memory");
    b->k = k;
    b->p = p;
    b->rank = rank;
    b->several = several;
    b->shift = shift;
    b->ids = ids;
    const char *device = k->device ? k->device : "";
    b->kind = k->hip || strstr(device, "AMD") ? "hip"
              : strstr(device, "/device:TPU") ? "tpu"
              : k->maker                      ? k->maker
                                              : "cuda";
    bool sorted = gp_kineto_sort(k, &b->order, &b->thread) && gp_kineto_polls(k, b->order);
    if (!sorted) no_memory(b);
    bool ok = sorted && make_maps(b) && add_all(b);
    p->opts.shapes |= k->has_shapes;
    if (k->has_stacks) p->opts.stack = GP_STACK_DEPTH;
    p->opts.memory |= k->has_memory;
    kineto_map_free(&b->calls);
    kineto_map_free(&b->work);
    kineto_map_free(&b->syncs);
    kineto_map_free(&b->ops);
    kineto_map_free(&b->first);
    free(b->order);
    free(b->thread);
    free(b);
    return ok;
}
