/* What a rank calls, as the others compare it and as messages show it. */
#include <stdio.h>
#include <string.h>

#include "tensor/dist/world.h"
#include "tensor/base/error.h"

const char *gp_dist_name(const gp_dist_call *d) { return d->call ? d->call->name : "dist.init"; }

void gp_dist_fill(const gp_dist_call *d, gp_header *h) {
    const gp_call *c = d->call;
    *h = (gp_header){.line = c->loc.line, .root = d->root};
    if (d->root >= 0) h->root = gp_group_at(d->group)->all[d->root];
    const char *file = c->loc.file ? c->loc.file : "?";
    size_t n = strlen(file);
    snprintf(h->name, sizeof h->name, "%s", c->name);
    snprintf(h->how, sizeof h->how, "%s", d->how);
    snprintf(h->file, sizeof h->file, "%s", n < sizeof h->file ? file : file + n - 79);
    snprintf(h->device, sizeof h->device, "%s", c->stream->dev->name);
    h->dtype = d->x->dtype;
    h->ndim = d->x->ndim;
    for (int i = 0; i < h->ndim; i++) h->dim[i] = d->x->dim[i];
}

/* FNV-1a, with the upper half's bits brought down. */
static uint64_t mix(uint64_t hash, int64_t n) {
    hash = (hash ^ (uint64_t)n) * 0x100000001b3u;
    return hash ^ hash >> 32;
}

static uint64_t mix_text(uint64_t hash, const char *text) {
    while (*text) hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return hash * 0x100000001b3u; /* the end counts */
}

uint64_t gp_dist_hash(const gp_dist_call *d) {
    const gp_array *a = d->x;
    uint64_t x = mix_text(mix_text(0xcbf29ce484222325u, d->call->name), d->how);
    x = mix(mix(mix(x, d->root), a->dtype), a->ndim);
    for (int i = 0; i < a->ndim; i++) x = mix(x, a->dim[i]);
    return x;
}

/* "dist.all_reduce(sum) of f32 2x3 at train.lua:7"; with_device: "of f32 2x3 on sim:0 at". */
static void describe(const gp_header *h, bool with_device, char *text, size_t size) {
    char shape[160];
    gp_shape s = {.ndim = h->ndim};
    memcpy(s.dim, h->dim, sizeof s.dim);
    int n = snprintf(text, size, "%s", h->name);
    if (*h->how) n += snprintf(text + n, size - (size_t)n, "(%s)", h->how);
    if (h->root >= 0) n += snprintf(text + n, size - (size_t)n, " with root %d", h->root);
    snprintf(text + n, size - (size_t)n, " of %s %s%s%s at %s:%d",
             gp_dtype_name((gp_dtype)h->dtype), gp_shape_text(&s, shape, sizeof shape),
             with_device ? " on " : "", with_device ? h->device : "", h->file, h->line);
}

/* Whether both are on cpu, on sim or on cards, of which each rank has its own. */
static bool same_kind(const gp_header *a, const gp_header *b) {
    size_t n = strcspn(a->device, ":");
    return n == strcspn(b->device, ":") && !strncmp(a->device, b->device, n);
}

bool gp_dist_fail_differ(const gp_dist_call *d, int rank_a, const gp_header *a, int rank_b,
                         const gp_header *b) {
    char one[400], other[400];
    bool devices = !same_kind(a, b);
    describe(a, devices, one, sizeof one);
    describe(b, devices, other, sizeof other);
    return gp_fail("%s: ranks differ: rank %d calls %s, rank %d %s", gp_dist_name(d), rank_a, one,
                   rank_b, other);
}

static bool is_same(const gp_header *a, const gp_header *b) {
    return !strcmp(a->name, b->name) && !strcmp(a->how, b->how) && a->root == b->root &&
           a->dtype == b->dtype && a->ndim == b->ndim &&
           !memcmp(a->dim, b->dim, (size_t)a->ndim * sizeof *a->dim);
}

bool gp_dist_compare(const gp_dist_call *d, const gp_header *all) {
    const gp_process_group *g = gp_group_at(d->group);
    for (int r = 1; r < g->n; r++)
        if (!is_same(&all[0], &all[r]))
            return gp_dist_fail_differ(d, g->all[0], &all[0], g->all[r], &all[r]);
    return true;
}
