/* Captures on devices with graphs: runs of calls become one graph each; a call that differs from
 * replay to replay, or that a graph cannot hold, is launched between them. */
#include <stdlib.h>
#include <string.h>

#include "tensor/autocast.h"
#include "tensor/capture/list.h"
#include "tensor/device/device.h"
#include "tensor/memory/alloc.h"

/* ---- whether there can be graphs ---- */

/* An input is copied to an address of the graphs': it must be whole, alone there, and only read. */
static bool copies_inputs(const gp_capture *k) {
    for (int i = 0; i < k->ninputs; i++) {
        const gp_capture_slot *s = &k->slot[k->input_slot[i]];
        if (!k->like[i].a.contiguous || s->written || s->pinned) return false;
        for (int j = 0; j < i; j++)
            if (k->input_slot[i] == k->input_slot[j]) return false;
    }
    return true;
}

/* A result that is a view of an input shares its memory. */
static bool gives_no_inputs(const gp_capture *k) {
    for (int i = 0; i < k->nresults; i++)
        if (k->result[i].how == GP_GIVE_ARRAY && k->slot[k->result[i].slot].kind == GP_SLOT_INPUT)
            return false;
    for (int i = 0; i < k->nleaves; i++)
        if (k->leaf[i].after.how == GP_GIVE_ARRAY &&
            k->slot[k->leaf[i].after.slot].kind == GP_SLOT_INPUT)
            return false;
    return true;
}

/* Whether graphs save launches: each input and each result is a copy, and the rest one at least.
 * Branches of forks run in parallel, however few they are. */
static bool saves_launches(const gp_capture *k) {
    int copies = k->ninputs;
    for (int i = 0; i < k->ndynamic; i++) {
        const gp_capture_slot *s = &k->slot[k->dynamic[i]];
        copies += s->kind == GP_SLOT_GIVEN && s->result;
    }
    return k->nlanes > 1 || k->ncalls > copies + 1;
}

/* ---- making them ---- */

static bool begin_segment(gp_capture_graphs *g, int first, int *capacity) {
    if (g->nsegments == *capacity) {
        int more = *capacity ? 2 * *capacity : 16;
        gp_segment *to = realloc(g->segment, (size_t)more * sizeof *to);
        if (!to) return gp_fail("capture: out of memory");
        g->segment = to;
        *capacity = more;
    }
    g->segment[g->nsegments++] = (gp_segment){.first = first};
    return true;
}

/* Call i begins the next part of the graph from call `first` on, where a part begins. */
static bool begin_part(const gp_capture *k, gp_stream *s, int i, int first) {
    int at = 0, n = 0, after[GP_CAPTURE_LANES];
    while (k->part[at].first + k->part[at].n <= i) at++;
    const gp_capture_span *e = &k->part[at];
    if (i != first && i != e->first) return true;
    for (int l = 0; l < GP_CAPTURE_LANES; l++)
        if (e->after[l] >= 0) after[n++] = e->after[l];
    return s->dev->vt->graph_part(s, at, e->lane, after, n);
}

/* The graph of n calls, or NULL. lanes: those of forks are branches of it. */
static void *graph_of(const gp_replay_values *v, gp_stream *s, int first, int n, bool lanes) {
    const gp_device_vt *vt = s->dev->vt;
    bool ok = vt->graph_begin(s);
    if (!ok) return NULL;
    for (int i = first; ok && i < first + n; i++)
        ok = (!lanes || begin_part(v->capture, s, i, first)) && gp_capture_launch(v, i, s);
    void *graph = vt->graph_end(s);
    if (graph && !ok) vt->graph_free(s, graph), graph = NULL;
    return graph;
}

/* Whether call i can be in a graph: it is tried. */
static bool fits(const gp_replay_values *v, gp_stream *s, int i) {
    const gp_recorded *r = v->capture->call[i];
    if (r->draws || r->seed || r->nnumbers) return false;
    void *graph = graph_of(v, s, i, 1, false);
    if (graph) s->dev->vt->graph_free(s, graph);
    return graph != NULL;
}

static bool make_segments(gp_capture *k, gp_capture_graphs *g) {
    gp_replay_values v = {.capture = k, .address = g->address};
    int capacity = 0;
    bool was = false, branches = k->nlanes > 1 && g->stream->dev->vt->graph_part;
    for (int i = 0; i < k->ncalls; i++) {
        bool now = fits(&v, g->stream, i);
        if ((!i || now != was) && !begin_segment(g, i, &capacity)) return false;
        g->segment[g->nsegments - 1].n++;
        was = now;
        if (now) g->segment[g->nsegments - 1].graph = k; /* made below */
    }
    for (int i = 0; i < g->nsegments; i++) {
        gp_segment *s = &g->segment[i];
        if (!s->graph) continue;
        s->graph = branches ? graph_of(&v, g->stream, s->first, s->n, true) : NULL;
        if (!s->graph) s->graph = graph_of(&v, g->stream, s->first, s->n, false);
    }
    return true;
}

static bool make_storages(gp_capture *k, gp_capture_graphs *g) {
    size_t n = (size_t)k->ndynamic + 1;
    g->own = calloc(n, sizeof *g->own);
    g->address = calloc(n, sizeof *g->address);
    if (!g->own || !g->address) return gp_fail("capture: out of memory");
    for (int i = 0; i < k->ndynamic; i++) {
        if (!(g->own[i] = gp_storage_new(g->stream, k->slot[k->dynamic[i]].bytes))) return false;
        g->address[i] = g->own[i]->data;
    }
    return true;
}

void gp_capture_graphs_free(gp_capture *k) {
    gp_capture_graphs *g = k->graphs;
    if (!g) return;
    k->graphs = NULL;
    for (int i = 0; i < g->nsegments; i++)
        if (g->segment[i].graph) g->stream->dev->vt->graph_free(g->stream, g->segment[i].graph);
    for (int i = 0; g->own && i < k->ndynamic; i++)
        if (g->own[i]) gp_storage_unref(g->own[i]);
    free(g->segment);
    free(g->own);
    free(g->address);
    free(g);
}

static bool make(gp_capture *k, gp_stream *s) {
    k->no_graphs = true;
    if (!saves_launches(k) || !copies_inputs(k) || !gives_no_inputs(k)) return false;
    gp_capture_graphs *g = k->graphs = calloc(1, sizeof *g);
    if (!g) return false;
    g->stream = s;
    bool some = false, ok = make_storages(k, g) && make_segments(k, g);
    for (int i = 0; ok && i < g->nsegments; i++) some |= g->segment[i].graph != NULL;
    gp_error_clear(); /* calls run without graphs all the same */
    if (some) return true;
    gp_capture_graphs_free(k);
    return false;
}

/* ---- replays ---- */

/* Whether nobody holds what the last replay gave as gradients, other than their leaves. */
static bool gradients_free(const gp_capture *k, gp_leaf *const *leaf) {
    for (int i = 0; i < k->nleaves; i++) {
        const gp_capture_output *after = &k->leaf[i].after;
        if (after->how != GP_GIVE_ARRAY) continue;
        const gp_storage *st = k->graphs->own[k->slot[after->slot].dynamic];
        const gp_tensor *g = leaf[i]->grad;
        bool there = g && g->storage == st;
        if (there && g->refs > 1) return false;
        if (atomic_load(&st->refs) > 1 + there) return false;
    }
    return true;
}

bool gp_capture_graphs_ready(gp_capture *k, gp_stream *s, gp_leaf *const *leaf) {
    if (!s->dev->vt->graph_begin || GP_HOOK(op_begin)) return false;
    if (!k->graphs && (k->no_graphs || !make(k, s))) return false;
    return k->graphs->stream == s && gradients_free(k, leaf);
}

bool gp_capture_graphs_launch(const gp_replay_values *v) {
    gp_capture_graphs *g = v->capture->graphs;
    gp_stream *s = g->stream;
    void (*hook)(gp_stream *) = GP_HOOK(launch);
    bool ok = true;
    for (int i = 0; ok && i < g->nsegments; i++) {
        const gp_segment *part = &g->segment[i];
        for (int c = 0; ok && c < (part->graph ? 1 : part->n); c++) {
            if (s->dev->vt->full(s) && !gp_wait_not_full(s)) return false;
            if (hook) hook(s);
            ok = part->graph ? s->dev->vt->graph_launch(s, part->graph)
                             : gp_capture_launch(v, part->first + c, s);
        }
    }
    return ok;
}

/* Bytes of a storage as a tensor, which takes over the reference. */
static gp_tensor *bytes_of(gp_storage *st, size_t bytes, size_t offset) {
    gp_tensor *t =
        gp_tensor_wrap(gp_storage_ref(st), GP_u8, &(gp_shape){.ndim = 1, .dim = {(int64_t)bytes}});
    if (t) t->a.data += offset;
    return t;
}

bool gp_capture_graphs_copy(gp_storage *to, gp_storage *from, size_t bytes, size_t from_offset) {
    gp_call c;
    gp_tensor *src = bytes_of(from, bytes, from_offset), *dst = src ? bytes_of(to, bytes, 0) : NULL;
    bool ok = dst != NULL;
    if (ok) {
        gp_call_begin(&c, GP_OP(copy));
        gp_call_tensor(&c, src);
        c.into = dst;
        gp_no_grad++;
        gp_autocast_pause();
        gp_tensor *out = gp_call_one(&c);
        gp_autocast_resume();
        gp_no_grad--;
        ok = out != NULL;
        gp_tensor_unref(out);
    }
    gp_tensor_unref(src);
    gp_tensor_unref(dst);
    return ok;
}

bool gp_capture_graphs_done(const gp_capture *k) {
    const gp_capture_graphs *g = k->graphs;
    if (!g) return true;
    g->stream->dev->vt->busy(g->stream);
    return atomic_load_explicit(&g->stream->completed, memory_order_acquire) >= g->upto;
}
