/* Reads a profile that gpush saved; save.c describes the file. Every number is checked: the file
 * may be another's. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/devices.h"
#include "profile/load/reader.h"
#include "tensor/io/file.h"
#include "tensor/base/safe_text.h"

enum { TIME_BITS = 61 };
enum { CHECK = 1 << 14 }; /* events between checks for Ctrl-C */

typedef struct list {
    const void **p;
    int n, capacity;
} list;

typedef struct reader {
    gp_json *j;
    gp_prof *p;
    list texts, devices, streams, stacks, shapes, costs;
    list regions; /* the present thread's events: a region, or NULL */
    uint64_t events;
    int nhosts;
    bool joins; /* one of several ranks: p may have others' threads */
} reader;

static bool no_memory(reader *r) { return gp_json_fail(r->j, "out of memory"); }

static bool push(reader *r, list *l, const void *p) {
    if (l->n == l->capacity) {
        int capacity = l->capacity ? l->capacity * 2 : 64;
        const void **more =
            l->capacity > INT_MAX / 4 ? NULL : realloc(l->p, (size_t)capacity * sizeof *more);
        if (!more) return no_memory(r);
        l->p = more;
        l->capacity = capacity;
    }
    l->p[l->n++] = p;
    return true;
}

/* ---- numbers ---- */

/* An entry of l by its number; NULL for 0. */
static bool read_entry(reader *r, const list *l, const void **to) {
    int64_t i;
    if (!gp_load_range(r->j, 0, l->n, &i)) return false;
    *to = i ? l->p[i - 1] : NULL;
    return true;
}

/* ---- what events refer to ---- */

static bool read_text(reader *r) {
    const char *text = gp_load_intern(r->j, r->p->names);
    return text && push(r, &r->texts, text);
}

/* Whether the text is a word that any terminal shows as it is. */
static bool is_word(const char *text) {
    for (; *text; text++)
        if (*text <= ' ' || *text > '~') return false;
    return true;
}

static bool read_device(reader *r) {
    const void *kind;
    gp_json_text name;
    int64_t index;
    bool on_host;
    char text[16];
    if (!gp_json_open(r->j, '[') || !read_entry(r, &r->texts, &kind) || !gp_json_next(r->j) ||
        !gp_json_string(r->j, &name) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, 0, INT_MAX, &index) || !gp_json_next(r->j) ||
        !gp_json_bool(r->j, &on_host) || !gp_json_close(r->j))
        return false;
    if (!kind || name.n >= sizeof text || name.escaped)
        return gp_json_fail(r->j, "a device without a kind or with a name of more than %zu bytes",
                            sizeof text - 1);
    int at = r->joins ? snprintf(text, sizeof text, "r%d/", r->p->rank) : 0;
    if ((size_t)at + name.n >= sizeof text) return gp_json_fail(r->j, "a name that is too long");
    memcpy(text + at, name.p, name.n);
    text[at + (int)name.n] = 0;
    if (!is_word(kind) || !is_word(text))
        return gp_json_fail(r->j, "a device whose kind or name is no word");
    gp_device *dev = gp_loaded_device(r->p->devices, kind, on_host, (int)index, text);
    if (!dev) return gp_json_fail(r->j, "more than %d devices, or out of memory", GP_LOADED_MAX);
    return push(r, &r->devices, dev);
}

static bool read_stream(reader *r) {
    const void *dev;
    int64_t index;
    if (!gp_json_open(r->j, '[') || !read_entry(r, &r->devices, &dev) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, -1, INT_MAX, &index) || !gp_json_close(r->j))
        return false;
    if (!dev) return gp_json_fail(r->j, "a stream without a device");
    gp_stream *s = gp_loaded_stream(r->p->devices, (gp_device *)dev, (int)index);
    if (!s) return gp_json_fail(r->j, "more than %d streams, or out of memory", GP_LOADED_MAX);
    return push(r, &r->streams, s);
}

static bool read_frame(reader *r, gp_frame *to) {
    const void *file, *function;
    int64_t line;
    if (!read_entry(r, &r->texts, &file) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, -INT_MAX, INT_MAX, &line) || !gp_json_next(r->j) ||
        !read_entry(r, &r->texts, &function))
        return false;
    if (!file) return gp_json_fail(r->j, "a frame without a file");
    *to = (gp_frame){.file = file, .function = function, .line = (int)line};
    return true;
}

static bool read_stack(reader *r) {
    gp_load_stack s;
    const void *module;
    memset(&s, 0, sizeof s); /* padding is interned with the rest */
    bool first = true;
    if (!gp_json_open(r->j, '[') || !gp_json_more(r->j, ']', &first))
        return gp_json_fail(r->j, "a stack without its module");
    if (!read_entry(r, &r->texts, &module)) return false;
    s.module = module;
    while (gp_json_more(r->j, ']', &first)) {
        if (s.n == GP_STACK_DEPTH) return gp_json_fail(r->j, "more than %d frames", s.n);
        if (!read_frame(r, &s.frame[s.n++])) return false;
    }
    const gp_stack *kept = r->j->failed ? NULL : gp_load_intern_stack(r->p->names, &s);
    return kept ? push(r, &r->stacks, kept) : no_memory(r);
}

static bool read_dtype(reader *r, gp_load_shapes *s) {
    gp_json_text text;
    char name[16] = "";
    gp_dtype dtype;
    if (!gp_json_string(r->j, &text)) return false;
    if (text.n < sizeof name && !text.escaped) memcpy(name, text.p, text.n);
    if (!gp_dtype_parse(name, &dtype))
        return gp_json_fail(r->j, "a dtype that gpush does not have");
    return gp_load_add_tensor(s, dtype) || gp_json_fail(r->j, "more tensors than an op takes");
}

static bool read_shapes(reader *r) {
    gp_load_shapes s = {0};
    if (!gp_json_open(r->j, '[')) return false;
    for (bool first = true; gp_json_more(r->j, ']', &first);) {
        int64_t dim;
        if (gp_json_peek(r->j) == '"') {
            if (!read_dtype(r, &s)) return false;
        } else if (!gp_json_int(r->j, &dim)) {
            return false;
        } else if (!gp_load_add_dim(&s, dim)) {
            return gp_json_fail(r->j, "more dimensions than a tensor has, or before its dtype");
        }
    }
    const char *kept = r->j->failed ? NULL : gp_load_intern_shapes(r->p->names, &s);
    return kept ? push(r, &r->shapes, kept) : no_memory(r);
}

/* A file from before there were families has none, and its costs are of none. */
static bool read_family(reader *r, gp_cost *cost) {
    bool first = false;
    gp_json_text text;
    if (!gp_json_more(r->j, ']', &first)) return !r->j->failed;
    if (!gp_json_string(r->j, &text) || !gp_json_close(r->j)) return false;
    for (int i = 0; i < GP_FAMILIES; i++)
        if (gp_json_is(&text, gp_family_names[i], strlen(gp_family_names[i])))
            cost->family = (uint8_t)i;
    return true;
}

static bool read_cost(reader *r) {
    gp_cost cost;
    gp_dtype dtype;
    gp_json_text text;
    int64_t bytes, ops, passes, unit, most = (int64_t)1 << 62;
    char name[16] = "";
    memset(&cost, 0, sizeof cost); /* padding is interned with the rest */
    if (!gp_json_open(r->j, '[') || !gp_load_range(r->j, 0, most, &bytes) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, 0, most, &ops) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, 0, UINT32_MAX, &passes) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, 0, GP_UNIT_MATRIX, &unit) || !gp_json_next(r->j) ||
        !gp_json_string(r->j, &text) || !read_family(r, &cost))
        return false;
    if (text.n < sizeof name && !text.escaped) memcpy(name, text.p, text.n);
    if (!gp_dtype_parse(name, &dtype))
        return gp_json_fail(r->j, "a dtype that gpush does not have");
    cost.bytes = (double)bytes, cost.ops = (double)ops, cost.passes = (uint32_t)passes;
    cost.unit = (uint8_t)unit, cost.dtype = (uint8_t)dtype;
    const gp_cost *kept = gp_intern_add(r->p->names, &cost, sizeof cost);
    return kept ? push(r, &r->costs, kept) : no_memory(r);
}

static bool read_waves(reader *r) {
    const void *kernel;
    if (!gp_json_open(r->j, '[') || !read_entry(r, &r->texts, &kernel)) return false;
    if (!kernel) return gp_json_fail(r->j, "how a kernel without a name fills a device");
    return gp_load_waves(r->j, r->p, kernel);
}

/* Ids are any: a replay looks for those that are there. */
static bool read_order(reader *r) {
    const void *s, *first;
    int64_t after, id, t;
    gp_stream_order o = {0};
    if (!gp_json_open(r->j, '[') || !read_entry(r, &r->streams, &s) || !gp_json_next(r->j) ||
        !read_entry(r, &r->streams, &first) || !gp_json_next(r->j) || !gp_json_int(r->j, &after) ||
        !gp_json_next(r->j) || !gp_json_int(r->j, &id) || !gp_json_next(r->j) ||
        !gp_load_range(r->j, 0, (int64_t)1 << TIME_BITS, &t) || !gp_json_next(r->j) ||
        !gp_json_bool(r->j, &o.done) || !gp_json_close(r->j))
        return false;
    if (!s || !first) return gp_json_fail(r->j, "an order without its streams");
    o.s = (gp_stream *)s, o.first = (gp_stream *)first;
    o.after = (uint64_t)after, o.id = (uint64_t)id, o.t = r->p->t0 + (uint64_t)t;
    return gp_prof_add_order(r->p, &o) || no_memory(r);
}

/* ---- events ---- */

enum {
    KIND,
    START,
    DURATION,
    NAME,
    ID,
    FILE_,
    LINE,
    WHERE,
    BYTES,
    STACK,
    MORE,
    WHY,
    FLAGS,
    FIELDS
};

static bool read_numbers(reader *r, int64_t v[FIELDS]) {
    int n = 0;
    memset(v, 0, FIELDS * sizeof *v);
    if (!gp_json_open(r->j, '[')) return false;
    for (bool first = true; gp_json_more(r->j, ']', &first); n++) {
        if (n == FIELDS) return gp_json_fail(r->j, "an event of more than %d numbers", n);
        if (!gp_json_int(r->j, &v[n])) return false;
    }
    if (r->j->failed) return false;
    return n > NAME ||
           gp_json_fail(r->j, "an event of %d numbers: expected %d or more", n, NAME + 1);
}

static const void *entry(const list *l, int64_t i) {
    return i > 0 && i <= l->n ? l->p[i - 1] : NULL;
}

/* Whether a number that refers to an entry of l does. */
static bool refers(const list *l, int64_t i) { return i >= 0 && i <= l->n; }

static bool on_worker(int64_t kind) {
    return kind == GP_REC_KERNEL || kind == GP_REC_MOVED || kind == GP_REC_HELD;
}
static bool on_stream(int64_t kind) {
    return on_worker(kind) || kind == GP_REC_WAIT || kind == GP_REC_COPY;
}
static bool in_region(int64_t kind) { return kind == GP_REC_REGION || kind == GP_REC_SWITCH; }

/* The entries that `where` of such an event is one of; NULL: of none. */
static const list *tracks_of(const reader *r, int64_t kind) {
    return on_stream(kind)        ? &r->streams
           : kind == GP_REC_ALLOC ? &r->devices
           : in_region(kind)      ? &r->regions
                                  : NULL;
}

static bool has_text(int64_t kind) {
    return kind == GP_REC_WAIT || kind == GP_REC_READ || kind == GP_REC_KERNEL ||
           kind == GP_REC_HELD || kind == GP_REC_CALL;
}

static bool check_times(reader *r, const int64_t *v, uint64_t before) {
    int64_t most = (int64_t)1 << TIME_BITS, start = v[START];
    if (start < -most || start > most || (int64_t)before + start <= 0 ||
        (int64_t)before + start > most)
        return gp_json_fail(r->j, "an event that starts out of range");
    return (v[DURATION] >= -1 && v[DURATION] <= most) ||
           gp_json_fail(r->j, "an event whose duration is out of range");
}

static bool check(reader *r, const int64_t *v, const gp_track *t, uint64_t before) {
    const list *tracks = tracks_of(r, v[KIND]);
    const list *more = has_text(v[KIND]) ? &r->texts : &r->shapes;
    if (v[KIND] < 0 || v[KIND] >= GP_REC_KINDS ||
        (v[KIND] != GP_REC_ALLOC && on_worker(v[KIND]) != t->worker))
        return gp_json_fail(r->j, "an event of a kind that this thread does not have");
    if (!check_times(r, v, before)) return false;
    if (!entry(&r->texts, v[NAME]) || !refers(&r->texts, v[FILE_]) ||
        !refers(&r->stacks, v[STACK]) || !refers(more, v[MORE]) ||
        (v[KIND] == GP_REC_OP && !refers(&r->costs, v[BYTES])))
        return gp_json_fail(r->j, "an event that refers to what is not there");
    if (v[KIND] == GP_REC_SAMPLE && (v[BYTES] < 1 || v[BYTES] > INT_MAX))
        return gp_json_fail(r->j, "a sample of %lld periods", (long long)v[BYTES]);
    if (tracks ? !refers(tracks, v[WHERE]) || (!in_region(v[KIND]) && !v[WHERE]) : v[WHERE] != 0)
        return gp_json_fail(r->j, "an event in a place that is not there");
    if (in_region(v[KIND]) && v[WHERE] && !entry(tracks, v[WHERE]))
        return gp_json_fail(r->j, "an event within one that is not a region");
    if (v[LINE] < (v[KIND] == GP_REC_ALLOC ? 0 : -INT_MAX) || v[LINE] > INT_MAX || v[WHY] < 0 ||
        v[WHY] >= GP_WHYS || v[FLAGS] < 0 || v[FLAGS] > 15)
        return gp_json_fail(r->j, "an event with a line, reason or flag out of range");
    return true;
}

static void fill(reader *r, const int64_t *v, uint64_t t0, gp_rec *rec) {
    const list *tracks = tracks_of(r, v[KIND]);
    *rec = (gp_rec){.t0 = t0,
                    .t1 = v[DURATION] < 0 ? 0 : t0 + (uint64_t)v[DURATION],
                    .id = (uint64_t)v[ID],
                    .name = entry(&r->texts, v[NAME]),
                    .file = entry(&r->texts, v[FILE_]),
                    .line = (int32_t)v[LINE],
                    .kind = (uint8_t)v[KIND],
                    .why = (uint8_t)v[WHY],
                    .inplace = v[FLAGS] & 1,
                    .failed = v[FLAGS] >> 1 & 1,
                    .replayed = v[FLAGS] >> 2 & 1,
                    .collective = v[FLAGS] >> 3 & 1,
                    .where = tracks ? (void *)entry(tracks, v[WHERE]) : NULL,
                    .bytes = v[BYTES],
                    .stack = entry(&r->stacks, v[STACK])};
    if (v[KIND] == GP_REC_OP) rec->cost = entry(&r->costs, v[BYTES]);
    if (rec->kind == GP_REC_REGION) rec->computed = rec->id, rec->id = 0;
    else if (gp_rec_has_why(rec)) rec->form = entry(&r->texts, v[MORE]);
    else if (has_text(v[KIND])) rec->kernel = entry(&r->texts, v[MORE]);
    else if (v[KIND] == GP_REC_ALLOC) rec->line = 0, rec->block = (void *)(uintptr_t)v[LINE];
    else rec->shapes = entry(&r->shapes, v[MORE]);
}

static bool read_event(reader *r, gp_track *t, uint64_t *before) {
    int64_t v[FIELDS];
    if (!read_numbers(r, v) || !check(r, v, t, *before)) return false;
    if (++r->events % CHECK == 0 && gp_file_stopped("profile.load"))
        return r->j->failed = true, false;
    gp_rec *rec = gp_track_append(t);
    if (!rec) return no_memory(r);
    *before += (uint64_t)v[START];
    fill(r, v, *before, rec);
    return push(r, &r->regions, rec->kind == GP_REC_REGION ? rec : NULL);
}

static bool read_events(reader *r, gp_track *t) {
    uint64_t before = r->p->t0;
    r->regions.n = 0;
    if (!gp_json_open(r->j, '[')) return false;
    for (bool first = true; gp_json_more(r->j, ']', &first);)
        if (!read_event(r, t, &before)) return false;
    return !r->j->failed;
}

/* ---- threads ---- */

/* The track of a thread; the first one's is there already. */
static gp_track *new_track(reader *r, bool host) {
    gp_track *first = r->p->host;
    if (host && !r->nhosts++ && !(r->joins && (first->first || first->name))) return first;
    return host ? gp_prof_add_host(r->p) : gp_prof_add_worker(r->p);
}

static bool read_thread(reader *r) {
    gp_json_text key;
    const void *name = NULL;
    int64_t rank = 0, dropped = 0;
    bool host = true, events = false;
    if (!gp_json_open(r->j, '{')) return false;
    for (bool first = true; gp_json_more(r->j, '}', &first);) {
        if (events) return gp_json_fail(r->j, "a thread with something after its events");
        if (!gp_json_key(r->j, &key)) return false;
        if (GP_JSON_IS(&key, "host")      ? !gp_json_bool(r->j, &host)
            : GP_JSON_IS(&key, "name")    ? !read_entry(r, &r->texts, &name)
            : GP_JSON_IS(&key, "rank")    ? !gp_load_range(r->j, 0, INT_MAX - 1, &rank)
            : GP_JSON_IS(&key, "dropped") ? !gp_load_range(r->j, 0, INT64_MAX, &dropped)
                                          : !(events = GP_JSON_IS(&key, "events")))
            return gp_json_fail(r->j, "a field that a thread does not have");
        if (!events) continue;
        gp_track *t = new_track(r, host);
        if (!t) return no_memory(r);
        t->name = name;
        t->rank = r->joins ? r->p->rank : (int)rank;
        t->dropped = (uint64_t)dropped;
        if (!read_events(r, t)) return false;
    }
    return !r->j->failed;
}

/* ---- the file ---- */

static bool each(reader *r, bool (*read)(reader *r)) {
    if (!gp_json_open(r->j, '[')) return false;
    for (bool first = true; gp_json_more(r->j, ']', &first);)
        if (!read(r)) return false;
    return !r->j->failed;
}

static bool read_list(reader *r, const gp_json_text *key, bool *known) {
    static const struct {
        const char *name;
        bool (*read)(reader *r);
    } lists[] = {{"texts", read_text},   {"devices", read_device}, {"streams", read_stream},
                 {"stacks", read_stack}, {"shapes", read_shapes},  {"costs", read_cost},
                 {"orders", read_order}, {"threads", read_thread}, {"waves", read_waves}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (!gp_json_is(key, lists[i].name, strlen(lists[i].name))) continue;
        *known = true;
        return each(r, lists[i].read);
    }
    *known = false;
    return true;
}

static bool read_field_text(reader *r, const gp_json_text *key) {
    const char **to = GP_JSON_IS(key, "started_file") ? &r->p->started.file
                      : GP_JSON_IS(key, "how")        ? &r->p->how
                      : GP_JSON_IS(key, "writer")     ? &r->p->writer
                      : GP_JSON_IS(key, "predicted")  ? &r->p->predicted
                      : GP_JSON_IS(key, "accuracy")   ? &r->p->accuracy
                      : GP_JSON_IS(key, "modelled")   ? &r->p->modelled
                      : GP_JSON_IS(key, "at_least")   ? &r->p->at_least
                                                      : NULL;
    if (!to) return gp_json_fail(r->j, "a field that a profile does not have");
    const char *text = gp_load_intern(r->j, r->p->names);
    char safe[1200];
    if (!text) return false;
    gp_safe_text(text, safe, sizeof safe); /* tables print it as it is */
    *to = gp_intern_add(r->p->names, safe, strlen(safe));
    return *to || no_memory(r);
}

static bool read_fields(reader *r) {
    gp_load_numbers n = {0};
    gp_json_text key;
    int64_t version = 0;
    for (bool first = false; gp_json_more(r->j, '}', &first);) {
        bool known;
        if (!gp_json_key(r->j, &key)) return false;
        if (GP_JSON_IS(&key, "version")) {
            if (!gp_json_int(r->j, &version)) return false;
            if (version != 2)
                return gp_json_fail(r->j, "a profile of version %lld: this gpush reads 2",
                                    (long long)version);
            continue;
        }
        if (GP_JSON_IS(&key, "card")) {
            if (!gp_load_card(r->j, r->p)) return false;
            continue;
        }
        if (!gp_load_number(r->j, &key, &n, r->p, &known)) return false;
        if (!known && r->joins && (!r->p->size || r->p->ranks > 1) && GP_JSON_IS(&key, "texts"))
            return gp_json_fail(r->j, "several profiles are joined where each is of one rank of a "
                                      "job, and this is not");
        if (!known && !read_list(r, &key, &known)) return false;
        if (!known && !read_field_text(r, &key)) return false;
    }
    if (r->j->failed) return false;
    if (!n.t0 || n.done > n.t1 || !version || !r->nhosts)
        return gp_json_fail(r->j, "a profile without its version, times or threads");
    return true;
}

bool gp_load_own(gp_json *j, gp_prof *p, bool joins) {
    reader r = {.j = j, .p = p, .joins = joins};
    bool ok = read_fields(&r);
    list *lists[] = {&r.texts, &r.devices, &r.streams, &r.stacks, &r.shapes, &r.costs, &r.regions};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) free(lists[i]->p);
    return ok;
}
