/* Loads profiles from files. */
#include "profile/load/load.h"

#include <stdlib.h>
#include <string.h>

#include "profile/load/input.h"
#include "profile/load/devices.h"
#include "profile/load/nsys.h"
#include "profile/load/others.h"
#include "profile/load/reader.h"

/* ---- texts, stacks, shapes ---- */

const char *gp_load_intern_text(gp_json *j, gp_intern *names, const gp_json_text *t) {
    const char *kept = NULL;
    if (!t->escaped) {
        kept = gp_intern_add(names, t->p, t->n);
    } else {
        char *plain = malloc(t->n);
        if (plain) kept = gp_intern_add(names, plain, gp_json_unescape(t, plain));
        free(plain);
    }
    if (!kept) gp_json_fail(j, "out of memory");
    return kept;
}

const char *gp_load_intern(gp_json *j, gp_intern *names) {
    gp_json_text t;
    return gp_json_string(j, &t) ? gp_load_intern_text(j, names, &t) : NULL;
}

const gp_stack *gp_load_intern_stack(gp_intern *names, const gp_load_stack *s) {
    return gp_intern_add(names, s, sizeof(gp_stack) + (size_t)s->n * sizeof(gp_frame));
}

bool gp_load_add_tensor(gp_load_shapes *s, gp_dtype dtype) {
    if (s->tensors == GP_MAX_ARGS) return false;
    s->tensors++;
    s->last = s->n;
    s->bytes[s->n++] = (char)dtype;
    s->bytes[s->n++] = 0;
    return true;
}

bool gp_load_add_dim(gp_load_shapes *s, int64_t dim) {
    if (!s->tensors || s->bytes[s->last + 1] == GP_MAX_DIM) return false;
    memcpy(s->bytes + s->n, &dim, sizeof dim);
    s->n += (int)sizeof dim;
    s->bytes[s->last + 1]++;
    return true;
}

const char *gp_load_intern_shapes(gp_intern *names, const gp_load_shapes *s) {
    return gp_intern_add(names, s->bytes, (size_t)s->n);
}

/* ---- files ---- */

static gp_prof *new_profile(void) {
    static const gp_loaded loaded = {gp_loaded_devices_free, gp_load_advice};
    gp_prof *p = gp_prof_new(&(gp_prof_opts){.limit = UINT64_MAX / 2});
    if (p) p->devices = gp_loaded_devices_new(), p->loaded = &loaded;
    if (p && p->devices) return p;
    gp_prof_free(p);
    return gp_fail_null("profile.load: out of memory");
}

/* Whether the object begins with what save.c writes; j is then past it, and else where it was. */
static bool is_own(gp_json *j) {
    gp_json_text key, value;
    gp_json at = *j;
    bool first = true;
    if (!gp_json_open(&at, '{') || !gp_json_more(&at, '}', &first) || !gp_json_key(&at, &key) ||
        !GP_JSON_IS(&key, "gpush") || !gp_json_string(&at, &value) ||
        !GP_JSON_IS(&value, "profile"))
        return gp_error_clear(), false;
    *j = at;
    return true;
}

/* *sum + v, where that is small enough for sums of a few such sums. */
static bool add(uint64_t *sum, uint64_t v) {
    return !__builtin_add_overflow(*sum, v, sum) && *sum <= UINT64_MAX / 16;
}

/* Whether the memory in use after a change is less than half of what 64 bits hold: before it, too.
 */
static bool is_level(int64_t level) { return level <= INT64_MAX / 2 && level >= -(INT64_MAX / 2); }

/* Whether the sums that readers of the record make fit in 64 bits: of durations, of bytes, and of
 * all threads' times. */
static bool sums_fit(const gp_prof *p) {
    uint64_t durations = 0, bytes = 0, times = 0;
    for (const gp_track *lists[] = {p->host, p->workers}, **l = lists; l < lists + 2; l++)
        for (const gp_track *t = *l; t; t = t->next) {
            gp_cursor at = gp_first(t);
            if (!add(&times, p->t1 - p->t0)) return false;
            for (gp_rec *r; (r = gp_next(&at));) {
                uint64_t size = r->bytes < 0 ? 0 - (uint64_t)r->bytes : (uint64_t)r->bytes;
                if (!add(&durations, gp_rec_end(p, r) - r->t0)) return false;
                if (r->kind != GP_REC_OP && !add(&bytes, size)) return false;
                if (r->kind == GP_REC_ALLOC && !is_level((int64_t)r->id)) return false;
            }
        }
    return true;
}

static bool read_files(gp_json *j, int n, gp_prof *p) {
    int own = 0;
    for (int i = 0; i < n; i++)
        if (is_own(&j[i])) own++;
        else if (gp_load_refuse(&j[i], false)) return false;
    for (int i = 0; own && i < n; i++)
        if (!gp_input_all(&j[i])) return false;
    if (own && own < n)
        return gp_json_fail(&j[0], "profiles that gpush saved and other programs' traces are not "
                                   "joined");
    if (!own) return gp_load_ranks(j, n, p);
    return n > 1 ? gp_load_own_ranks(j, n, p) : gp_load_own(j, p, false) && gp_json_done(j);
}

/* The texts of the files, several of one that has several processes. */
typedef struct texts {
    gp_json *j;
    int n, capacity;
} texts;

static bool keep(texts *t, gp_json *j) {
    if (t->n == t->capacity) {
        int capacity = 2 * t->capacity + 4;
        gp_json *more = realloc(t->j, (size_t)capacity * sizeof *more);
        if (!more) return gp_input_close(j), gp_fail("profile.load: out of memory");
        t->j = more, t->capacity = capacity;
    }
    t->j[t->n++] = *j;
    return true;
}

/* cut_at: as gp_json's. */
static bool keep_text(texts *t, char *text, size_t size, const char *file, int64_t cut_at) {
    if (!text) return false;
    gp_json j = {.start = text, .at = text, .end = text + size, .file = file, .cut_at = cut_at};
    return keep(t, &j);
}

/* j: the file's beginning. */
static bool read_other(texts *t, gp_json *j, uint64_t max) {
    bool ok = gp_input_all(j);
    size_t made = 0, n = (size_t)(j->end - j->start);
    int64_t cut_at = 0;
    char *closed = ok ? gp_load_close_cut(j->start, n, &made) : NULL;
    if (closed) cut_at = (int64_t)n, n = made;
    for (int i = 0, processes = 1; ok && i < processes; i++) {
        char *trace =
            gp_load_other(j->file, closed ? closed : j->start, n, max, i, &made, &processes);
        gp_json whole = *j;
        if (!trace) gp_json_skip(&whole); /* which says where the text is no JSON */
        ok = keep_text(t, trace, made, j->file, cut_at);
    }
    free(closed);
    gp_input_close(j);
    return ok;
}

static bool read_text(texts *t, const char *file, uint64_t max) {
    size_t size = 0;
    if (gp_load_is_database(file)) {
        int processes = 1;
        for (int i = 0; i < processes; i++) {
            char *text = gp_load_nsys(file, max, i, &size, &processes);
            if (!keep_text(t, text, size, file, 0)) return false;
        }
        return true;
    }
    gp_json j = {0};
    if (!gp_input_open(&j, file, max)) return gp_input_close(&j), false;
    if (gp_load_is_other(j.start, (size_t)(j.end - j.start))) return read_other(t, &j, max);
    return keep(t, &j);
}

gp_prof *gp_prof_load(const char *const *files, int n, uint64_t max) {
    texts t = {0};
    gp_prof *p = new_profile();
    bool ok = p != NULL;
    for (int i = 0; ok && i < n; i++) ok = read_text(&t, files[i], max);
    ok = ok && read_files(t.j, t.n, p);
    if (ok && !sums_fit(p))
        ok = gp_fail("profile.load: %s: times or sizes whose sums do not fit in 64 bits", files[0]);
    for (int i = 0; i < t.n; i++) gp_input_close(&t.j[i]);
    free(t.j);
    if (!ok) gp_prof_free(p), p = NULL;
    return p;
}
