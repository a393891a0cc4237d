/* Reads torch.profiler's traces: the events of a Chrome trace, as they are. Sources of the names:
 * Kineto's output_json.cpp and ActivityType.cpp, PyTorch's profiler_kineto.cpp; the traces of
 * PyTorch 1.12 to 2.5 that HolisticTraceAnalysis tests with. */
#include "profile/load/kineto/fields.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/load/input.h"
#include "profile/show/waves.h"
#include "tensor/io/file.h"

enum { CHECK = 1 << 13, AHEAD = 1 << 15, THREADS = 4096, TIME_BITS = 61, DURATION_BITS = 58 };

static bool no_memory(kineto *k) { return gp_json_fail(k->j, "out of memory"); }

static const struct {
    const char *name;
    kineto_kind kind;
} categories[] = {{"cpu_op", KINETO_OP},
                  {"cuda_runtime", KINETO_CALL},
                  {"kernel", KINETO_KERNEL},
                  {"python_function", KINETO_PYTHON},
                  {"gpu_memcpy", KINETO_COPY},
                  {"gpu_memset", KINETO_COPY},
                  {"user_annotation", KINETO_REGION},
                  {"cuda_driver", KINETO_CALL},
                  {"cuda_sync", KINETO_SYNC},
                  {"cpu_instant_event", KINETO_MEMORY},
                  {"Operator", KINETO_OP},
                  {"Runtime", KINETO_CALL},
                  {"Kernel", KINETO_KERNEL},
                  {"Memcpy", KINETO_COPY},
                  {"Memset", KINETO_COPY}};

static kineto_kind kind_of(const gp_json_text *cat) {
    for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
        if (gp_json_is(cat, categories[i].name, strlen(categories[i].name)))
            return categories[i].kind;
    static const char *const calls[] = {"_runtime", "_driver"}; /* of any other device */
    for (size_t i = 0; cat->p && i < sizeof calls / sizeof *calls; i++) {
        size_t n = strlen(calls[i]);
        if (cat->n > n && !memcmp(cat->p + cat->n - n, calls[i], n)) return KINETO_CALL;
    }
    return KINETO_OTHER;
}

/* ---- threads ---- */

/* The thread's index, -1 after a failure. */
static int thread_of(kineto *k, const gp_json_text *pid, const gp_json_text *tid) {
    const char *p = gp_load_intern_text(k->j, k->names, pid),
               *t = p ? gp_load_intern_text(k->j, k->names, tid) : NULL;
    if (!t) return -1;
    for (int i = 0; i < k->nthreads; i++)
        if (k->thread[i].tid == t && k->thread[i].pid == p) return i;
    if (k->nthreads == THREADS) return gp_json_fail(k->j, "more than %d threads", THREADS), -1;
    if (k->nthreads == k->thread_capacity) {
        int capacity = k->thread_capacity ? k->thread_capacity * 2 : 16;
        kineto_thread *more = realloc(k->thread, (size_t)capacity * sizeof *more);
        if (!more) return no_memory(k), -1;
        k->thread = more;
        k->thread_capacity = capacity;
    }
    k->thread[k->nthreads] = (kineto_thread){.pid = p, .tid = t, .main_of_process = p == t};
    return k->nthreads++;
}

/* ---- events ---- */

static kineto_event *new_event(kineto *k) {
    if (k->n == k->capacity) {
        int capacity = k->capacity ? k->capacity * 2 : 1 << 12;
        kineto_event *more =
            capacity < INT_MAX / 4 ? realloc(k->event, (size_t)capacity * sizeof *more) : NULL;
        if (!more) return no_memory(k), NULL;
        k->event = more;
        k->capacity = capacity;
    }
    return &k->event[k->n++];
}

static int small(int64_t v) { return v < -1 || v > INT_MAX ? KINETO_NONE : (int)v; }

/* The stream and the device of device events are arguments, or the row's numbers. */
static void set_stream(kineto_event *e, const kineto_fields *f) {
    int64_t device = f->device, stream = f->stream;
    if (device == KINETO_NONE) gp_json_text_int(&f->pid, &device);
    if (stream == KINETO_NONE) gp_json_text_int(&f->tid, &stream);
    e->device = device < 0 ? KINETO_NONE : small(device);
    e->stream = small(stream);
}

static bool on_device(kineto_kind kind) {
    return kind == KINETO_KERNEL || kind == KINETO_COPY || kind == KINETO_SYNC;
}

static bool set_host(kineto *k, kineto_event *e, const kineto_fields *f) {
    if ((e->thread = thread_of(k, &f->pid, &f->tid)) < 0) return false;
    kineto_thread *t = &k->thread[e->thread];
    t->events++;
    if (e->kind == KINETO_REGION && gp_kineto_is_step(e->name)) t->has_steps = true;
    if (e->kind == KINETO_CALL) k->has_device = true;
    if (e->kind == KINETO_CALL && !strncmp(e->name, "hip", 3)) k->hip = true;
    if (e->kind == KINETO_OP && f->dims && f->types) {
        e->shapes = kineto_shapes_of(k, f);
        if (e->shapes) k->has_shapes = true;
    }
    if (e->kind == KINETO_PYTHON) e->stack = gp_kineto_frame(k, e->name, strlen(e->name));
    if (f->from.n) e->from = gp_kineto_line(k, f->from.p, f->from.n), k->has_lines = true;
    if (e->kind != KINETO_PYTHON && f->stack.n)
        e->stack = gp_kineto_stack(k, f->stack.p, f->stack.n);
    if (e->stack) k->has_stacks = true;
    return !k->j->failed;
}

static bool set_memory(kineto *k, kineto_event *e, const kineto_fields *f) {
    e->bytes = f->memory;
    e->at = f->total < 0 ? 0 : f->total;
    e->device = f->type == 0 ? -1 : small(f->id);
    k->has_memory = true;
    k->has_device |= e->device >= 0;
    return true;
}

static int32_t counted(int64_t v) { return v < 0 || v > INT32_MAX ? -1 : (int32_t)v; }

static bool set_waves(kineto *k, kineto_event *e, const kineto_fields *f) {
    e->at = f->blocks;
    bool known = f->occupancy >= 0 && f->occupancy <= 100 * 1000000;
    e->occupancy = known ? (int8_t)(f->occupancy / 1000000) : -1;
    gp_geometry g = {.registers = counted(f->registers), .shared = counted(f->shared)};
    for (int i = 0; i < 3; i++) g.grid[i] = counted(f->grid[i]), g.block[i] = counted(f->block[i]);
    if (g.grid[0] < 0 && g.registers < 0) return true;
    e->shapes = gp_intern_add(k->names, &g, sizeof g);
    return e->shapes || no_memory(k);
}

static bool in_range(const kineto_fields *f) {
    int64_t most = (int64_t)1 << TIME_BITS;
    return f->has_ts && f->ts >= -most && f->ts <= most && f->dur <= (int64_t)1 << DURATION_BITS;
}

/* The field of f that is missing, of another type than it should be, or out of range; NULL: none.
 */
static const char *wrong_field(const kineto_fields *f) {
    if (f->wrong) return f->wrong;
    if (!f->has_ts) return "ts";
    if (!in_range(f)) return "ts and dur";
    return !f->name.p ? "name" : !f->pid.p ? "pid" : !f->tid.p ? "tid" : NULL;
}

static bool leave_out(kineto *k, const char *wrong) {
    if (!k->wrong++) k->wrong_field = wrong;
    return true;
}

/* Adds an event of a kind that is read. */
static bool add_event(kineto *k, const kineto_fields *f, kineto_kind kind) {
    const char *wrong = wrong_field(f);
    if (wrong) return leave_out(k, wrong);
    const char *name = gp_load_intern_text(k->j, k->names, &f->name);
    kineto_event *e = name ? new_event(k) : NULL;
    if (!e) return false;
    if (kind == KINETO_OP && gp_kineto_is_region(name)) kind = KINETO_REGION;
    bool names = kind == KINETO_REGION || kind == KINETO_OP;
    if (names && gp_kineto_is_collective(name)) kind = KINETO_COLLECTIVE;
    *e = (kineto_event){.t0 = f->ts,
                        .dur = f->dur < 0 ? 0 : f->dur,
                        .name = name,
                        .correlation = f->correlation,
                        .external = f->external,
                        .bytes = f->bytes,
                        .device = KINETO_NONE,
                        .stream = KINETO_NONE,
                        .kind = (uint8_t)kind};
    k->clamped += f->dur < 0;
    if (kind == KINETO_KERNEL && !set_waves(k, e, f)) return false;
    if (kind == KINETO_SYNC) e->bytes = f->waits_for, e->at = f->record;
    if (kind == KINETO_COLLECTIVE)
        return e->device = -1, (e->thread = thread_of(k, &f->pid, &f->tid)) >= 0;
    if (on_device(kind)) return set_stream(e, f), true;
    if (kind == KINETO_MEMORY) set_memory(k, e, f);
    return set_host(k, e, f);
}

/* Notes whose runtime a call is of, by its category ("xpu_runtime"). */
static bool set_maker(kineto *k, const gp_json_text *cat) {
    enum { FITS = 6 }; /* in a device's name */
    const char *end = memchr(cat->p, '_', cat->n);
    if (k->maker || !end) return true;
    gp_json_text maker = {.p = cat->p, .n = (size_t)(end - cat->p)};
    if (!maker.n || maker.n > FITS) maker = (gp_json_text){.p = "device", .n = FITS};
    return (k->maker = gp_load_intern_text(k->j, k->names, &maker)) != NULL;
}

/* The names of threads. */
static bool add_name(kineto *k, const kineto_fields *f) {
    if (!GP_JSON_IS(&f->name, "thread_name") || !f->label.p || !f->pid.p || !f->tid.p) return true;
    int i = thread_of(k, &f->pid, &f->tid);
    return i >= 0 && (k->thread[i].name = gp_load_intern_text(k->j, k->names, &f->label)) != NULL;
}

static bool ignore(kineto *k, const kineto_fields *f) {
    const gp_json_text *cat = &f->cat;
    if (GP_JSON_IS(cat, "Trace")) { /* the whole recording */
        k->has_end = in_range(f) && f->dur > 0;
        k->end = k->has_end ? f->ts + f->dur : 0;
        return true;
    }
    if (!k->ignored++ && cat->p) k->ignored_kind = gp_load_intern_text(k->j, k->names, cat);
    return !k->j->failed;
}

static bool add(kineto *k, const kineto_fields *f) {
    if (!f->ph.p) return leave_out(k, f->wrong ? f->wrong : "ph");
    if (GP_JSON_IS(&f->ph, "M")) return add_name(k, f);
    bool instant = GP_JSON_IS(&f->ph, "i");
    if (!instant && !GP_JSON_IS(&f->ph, "X")) return true; /* arrows and counters */
    kineto_kind kind = kind_of(&f->cat);
    if (instant && (kind != KINETO_MEMORY || !GP_JSON_IS(&f->name, "[memory]"))) return true;
    if (!instant && kind == KINETO_MEMORY) kind = KINETO_OTHER;
    if (kind == KINETO_CALL && !set_maker(k, &f->cat)) return false;
    return kind == KINETO_OTHER ? ignore(k, f) : add_event(k, f, kind);
}

/* Whether more of the text is there, or all of it, of which the reader goes on from here. */
static bool look_ahead(gp_json *j) {
    if (j->end - j->at >= AHEAD) return true;
    while (gp_input_go_on(j) && !gp_input_is_over(j) && !gp_json_peek(j) && j->at == j->end) {
    }
    return !j->failed;
}

/* An event, which is longer than what is there ahead of the reader where it ends early. */
static bool read_event(kineto *k) {
    kineto_fields f;
    for (const char *at = k->j->at; !kineto_read_fields(k, &f); at = k->j->at)
        if (!gp_input_again(k->j, at)) return false;
    return add(k, &f);
}

static bool read_events(kineto *k) {
    int n = 0;
    if (!gp_json_open(k->j, '[')) return false;
    for (bool first = true; look_ahead(k->j) && gp_json_more(k->j, ']', &first);) {
        if (!read_event(k)) return false;
        k->events++;
        if (++n % CHECK == 0 && gp_file_stopped("profile.load")) return k->j->failed = true, false;
    }
    return !k->j->failed;
}

/* ---- the file ---- */

static bool read_rank(kineto *k) {
    gp_json_text key;
    if (gp_json_peek(k->j) != '{') return gp_json_skip(k->j);
    gp_json_open(k->j, '{');
    for (bool first = true; gp_json_more(k->j, '}', &first);) {
        int64_t rank = -1;
        if (!gp_json_key(k->j, &key)) return false;
        if (!GP_JSON_IS(&key, "rank") ? !gp_json_skip(k->j) : !kineto_read_int(k, &rank))
            return false;
        if (rank >= 0 && rank < 1 << 24) k->rank = (int)rank;
    }
    return !k->j->failed;
}

/* A device's name, of which the first one's is kept. */
static bool read_device_name(kineto *k) {
    gp_json_text name = {0};
    if (!kineto_read_text(k, &name) || !name.p) return !k->j->failed;
    const char *text = gp_load_intern_text(k->j, k->names, &name);
    if (!k->device) k->device = text;
    k->other_devices |= text && text != k->device;
    return text != NULL;
}

static bool read_devices(kineto *k) {
    gp_json_text key;
    if (gp_json_peek(k->j) != '[') return gp_json_skip(k->j);
    gp_json_open(k->j, '[');
    for (bool first = true; gp_json_more(k->j, ']', &first);) {
        k->has_device = true;
        if (gp_json_peek(k->j) != '{') return gp_json_skip(k->j);
        gp_json_open(k->j, '{');
        for (bool begun = true; gp_json_more(k->j, '}', &begun);)
            if (!gp_json_key(k->j, &key) ||
                !(GP_JSON_IS(&key, "name") ? read_device_name(k) : gp_json_skip(k->j)))
                return false;
        if (k->j->failed) return false;
    }
    return k->has_list = !k->j->failed;
}

/* What nsys.c says of the trace that it made. */
static bool read_writer(kineto *k) {
    gp_json_text name = {0};
    if (!kineto_read_text(k, &name)) return false;
    if (name.p) k->writer = gp_load_intern_text(k->j, k->names, &name);
    return !k->j->failed;
}

static bool read_value(kineto *k, const gp_json_text *key) {
    if (GP_JSON_IS(key, "distributedInfo")) return read_rank(k);
    if (GP_JSON_IS(key, "deviceProperties")) return read_devices(k);
    if (GP_JSON_IS(key, "writer")) return read_writer(k);
    if (GP_JSON_IS(key, "gpush_starved_ns")) return kineto_read_int(k, &k->starved);
    if (GP_JSON_IS(key, "gpush_usual_step_ns")) return kineto_read_int(k, &k->usual);
    if (GP_JSON_IS(key, "gpush_beside_ns")) return kineto_read_int(k, &k->beside);
    if (GP_JSON_IS(key, "baseTimeNanoseconds"))
        return k->has_base = true, kineto_read_int(k, &k->base);
    return gp_json_skip(k->j);
}

/* A key and its value, but for the events'. */
static bool read_top(kineto *k, bool *events) {
    gp_json_text key;
    if (!gp_json_key(k->j, &key)) return false;
    *events = GP_JSON_IS(&key, "traceEvents");
    return *events || read_value(k, &key);
}

static bool read_file(kineto *k, bool *found) {
    bool events;
    *found = gp_json_peek(k->j) == '[';
    if (*found) return read_events(k) && gp_json_done(k->j);
    if (!gp_json_open(k->j, '{')) return false;
    for (bool first = true; look_ahead(k->j) && gp_json_more(k->j, '}', &first);) {
        for (const char *at = k->j->at; !read_top(k, &events); at = k->j->at)
            if (!gp_input_again(k->j, at)) return false;
        *found |= events;
        if (events && !read_events(k)) return false;
    }
    return look_ahead(k->j) && gp_json_done(k->j);
}

/* A region that was open when the recording ended may have an end long after it. */
static void end_regions(kineto *k) {
    for (int i = 0; k->has_end && i < k->n; i++) {
        kineto_event *e = &k->event[i];
        bool after = e->t0 < k->end && e->t0 + e->dur > k->end;
        if (after && e->kind == KINETO_REGION) e->dur = k->end - e->t0;
    }
}

/* When the recorded program goes on after the profiler has begun to record: in its own frames,
 * which Python's others enclose, it loads modules for a second and more. INT64_MIN: it is not
 * there. */
static int64_t end_of_start(const kineto *k) {
    int64_t begin = INT64_MAX, end = INT64_MIN, step = INT64_MAX;
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        if (e->kind != KINETO_PYTHON || !gp_kineto_is_profiling(e->name) || e->t0 >= begin)
            continue;
        begin = e->t0, end = e->t0 + e->dur;
    }
    for (int i = 0; i < k->n; i++) {
        const kineto_event *e = &k->event[i];
        bool is_step = e->kind == KINETO_REGION && gp_kineto_is_step(e->name);
        if (is_step && e->t0 > begin && e->t0 < end && e->t0 < step) step = e->t0;
        if (e->t0 < begin && e->t0 + e->dur <= begin) return INT64_MIN; /* the program ran before */
    }
    if (step < end) end = step;
    for (int i = 0; i < k->n; i++)
        if (k->event[i].kind != KINETO_PYTHON && k->event[i].t0 < end) return INT64_MIN;
    return end;
}

/* Leaves the profiler's start out: what began before that is over begins at its end. Of the
 * functions that ran, the trace has the line at which it began, which is where they are no more. */
static void leave_out_start(kineto *k) {
    int64_t from = k->has_stacks ? end_of_start(k) : INT64_MIN;
    for (int i = 0; i < k->n; i++) {
        kineto_event *e = &k->event[i];
        if (e->t0 >= from) continue;
        int64_t end = e->t0 + e->dur;
        e->t0 = from, e->dur = end > from ? end - from : 0;
        if (e->kind == KINETO_PYTHON && e->stack) e->stack = gp_kineto_without_line(k, e->stack);
    }
}

bool gp_kineto_read(kineto *k) {
    bool found, ok;
    k->rank = -1;
    ok = read_file(k, &found);
    if (!ok && (!k->j->ended || !k->n)) return false;
    if (!ok) { /* what came before the file's end is there */
        k->cut = gp_json_byte(k->j);
        k->j->failed = false;
        gp_error_clear();
    }
    if (k->j->cut_at) k->cut = k->j->cut_at;
    if (!k->n && gp_load_refuse(k->j, true)) return false;
    if (!found)
        return gp_json_fail(k->j, "neither a profile of gpush's nor a trace: no traceEvents");
    end_regions(k);
    leave_out_start(k);
    if (!gp_kineto_collectives(k)) return false;
    if (k->base < 0 || k->base > (int64_t)1 << TIME_BITS) k->base = 0, k->has_base = false;
    if (!k->n && k->wrong)
        return gp_json_fail(k->j, "no event that can be read: %d of %d have no valid %s", k->wrong,
                            k->events, k->wrong_field);
    if (!k->n && k->writer && k->cut)
        return gp_json_fail(k->j,
                            "no event that gpush reads from %s before it is cut, at byte %lld",
                            k->writer, (long long)k->cut);
    char others[200] = "";
    if (k->ignored && k->ignored_kind)
        snprintf(others, sizeof others, ": %d of others, as %s", k->ignored, k->ignored_kind);
    return k->n || (k->writer ? gp_json_fail(k->j, "no event that gpush reads from %s", k->writer)
                              : gp_json_fail(k->j,
                                             "no event of the kinds that torch.profiler "
                                             "writes%s",
                                             others));
}

void gp_kineto_free(kineto *k) {
    free(k->event);
    free(k->thread);
    k->event = NULL;
    k->thread = NULL;
}
