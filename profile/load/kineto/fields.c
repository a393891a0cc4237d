/* Reads the object of an event in a trace. A value of another type than it should have is read
 * over, and noted. */
#include "profile/load/kineto/fields.h"

#include <string.h>

#include "tensor/base/error.h"

static bool no_memory(kineto *k) { return gp_json_fail(k->j, "out of memory"); }

/* A process's or thread's number, or its name, as a text. */
static bool read_number_text(kineto *k, gp_json_text *t) {
    if (gp_json_peek(k->j) == '"') return gp_json_string(k->j, t);
    t->p = k->j->at;
    t->escaped = false;
    if (!gp_json_skip(k->j)) return false;
    t->n = (size_t)(k->j->at - t->p);
    return true;
}

bool kineto_read_int(kineto *k, int64_t *to) {
    gp_json_text t;
    if (!read_number_text(k, &t)) return false;
    gp_json_text_int(&t, to);
    return true;
}

/* A number in millionths; anything else is read over. */
static bool read_micro(kineto *k, int64_t *to) {
    char first = gp_json_peek(k->j);
    return first >= '0' && first <= '9' ? gp_json_micro(k->j, to) : gp_json_skip(k->j);
}

/* The same, also below 0; of anything else, and out of range, f->wrong is its name. */
static bool read_time(kineto *k, const char *name, kineto_fields *f, int64_t *to) {
    gp_json before = *k->j;
    if (gp_json_milli(k->j, to) || k->j->ended) return !k->j->failed;
    *k->j = before;
    gp_error_clear();
    f->wrong = name;
    return gp_json_skip(k->j);
}

static bool read_here(kineto *k, const char **to) {
    gp_json_peek(k->j);
    *to = k->j->at;
    return gp_json_skip(k->j);
}

bool kineto_read_text(kineto *k, gp_json_text *to) {
    return gp_json_peek(k->j) == '"' ? gp_json_string(k->j, to) : gp_json_skip(k->j);
}

/* Up to three whole numbers in a list; anything else is read over. */
static bool read_dims_of_launch(kineto *k, int64_t to[3]) {
    if (gp_json_peek(k->j) != '[') return gp_json_skip(k->j);
    gp_json_open(k->j, '[');
    int n = 0;
    for (bool first = true; gp_json_more(k->j, ']', &first); n++)
        if (!(n < 3 ? kineto_read_int(k, &to[n]) : gp_json_skip(k->j))) return false;
    return !k->j->failed;
}

static bool read_arg(kineto *k, const gp_json_text *key, kineto_fields *f) {
    switch (key->n) {
    case 4:
        if (GP_JSON_IS(key, "grid")) return read_dims_of_launch(k, f->grid);
        if (GP_JSON_IS(key, "name")) return kineto_read_text(k, &f->label);
        if (GP_JSON_IS(key, "size")) return kineto_read_int(k, &f->bytes);
        break;
    case 5:
        if (GP_JSON_IS(key, "bytes")) return kineto_read_int(k, &f->bytes);
        if (GP_JSON_IS(key, "Bytes")) return kineto_read_int(k, &f->memory);
        if (GP_JSON_IS(key, "block")) return read_dims_of_launch(k, f->block);
        break;
    case 6:
        if (GP_JSON_IS(key, "stream")) return kineto_read_int(k, &f->stream);
        if (GP_JSON_IS(key, "device")) return kineto_read_int(k, &f->device);
        break;
    case 8:
        if (GP_JSON_IS(key, "CallFrom")) return kineto_read_text(k, &f->from);
        break;
    case 9:
        if (GP_JSON_IS(key, "Device Id")) return kineto_read_int(k, &f->id);
        break;
    case 10:
        if (GP_JSON_IS(key, "Input Dims")) return read_here(k, &f->dims);
        if (GP_JSON_IS(key, "Input type")) return read_here(k, &f->types);
        if (GP_JSON_IS(key, "Call stack")) return kineto_read_text(k, &f->stack);
        break;
    case 11:
        if (GP_JSON_IS(key, "correlation")) return kineto_read_int(k, &f->correlation);
        if (GP_JSON_IS(key, "External id")) return kineto_read_int(k, &f->external);
        if (GP_JSON_IS(key, "external id")) return kineto_read_int(k, &f->external);
        if (GP_JSON_IS(key, "Device Type")) return kineto_read_int(k, &f->type);
        break;
    case 13:
        if (GP_JSON_IS(key, "blocks per SM")) return read_micro(k, &f->blocks);
        if (GP_JSON_IS(key, "shared memory")) return kineto_read_int(k, &f->shared);
        break;
    case 20:
        if (GP_JSON_IS(key, "registers per thread")) return kineto_read_int(k, &f->registers);
        break;
    case 25:
        if (GP_JSON_IS(key, "est. achieved occupancy %")) return read_micro(k, &f->occupancy);
        break;
    case 14:
        if (GP_JSON_IS(key, "wait_on_stream")) return kineto_read_int(k, &f->waits_for);
        break;
    case 33:
        if (GP_JSON_IS(key, "wait_on_cuda_event_record_corr_id"))
            return kineto_read_int(k, &f->record);
        break;
    case 15:
        if (GP_JSON_IS(key, "Total Allocated")) return kineto_read_int(k, &f->total);
        break;
    default: break;
    }
    return gp_json_skip(k->j);
}

static bool read_args(kineto *k, kineto_fields *f) {
    gp_json_text key;
    char open = gp_json_peek(k->j);
    if (open != '{' && open != 'n') f->wrong = "args"; /* null: there are none */
    if (open != '{') return gp_json_skip(k->j);
    gp_json_open(k->j, '{');
    for (bool first = true; gp_json_more(k->j, '}', &first);)
        if (!gp_json_key(k->j, &key) || !read_arg(k, &key, f)) return false;
    return !k->j->failed;
}

static bool read_field(kineto *k, const gp_json_text *key, kineto_fields *f) {
    switch (key->n) {
    case 2:
        if (GP_JSON_IS(key, "ph")) return kineto_read_text(k, &f->ph);
        if (GP_JSON_IS(key, "ts")) return f->has_ts = true, read_time(k, "ts", f, &f->ts);
        break;
    case 3:
        if (GP_JSON_IS(key, "cat")) return kineto_read_text(k, &f->cat);
        if (GP_JSON_IS(key, "dur")) return f->has_dur = true, read_time(k, "dur", f, &f->dur);
        if (GP_JSON_IS(key, "pid")) return read_number_text(k, &f->pid);
        if (GP_JSON_IS(key, "tid")) return read_number_text(k, &f->tid);
        break;
    case 4:
        if (GP_JSON_IS(key, "name")) return kineto_read_text(k, &f->name);
        if (GP_JSON_IS(key, "args")) return read_args(k, f);
        break;
    default: break;
    }
    return gp_json_skip(k->j);
}

/* ---- shapes ---- */

static bool dtype_of(const gp_json_text *t, gp_dtype *dtype) {
    static const struct {
        const char *torch;
        gp_dtype dtype;
    } types[] = {{"float", GP_f32},        {"double", GP_f64},
                 {"c10::Half", GP_f16},    {"c10::BFloat16", GP_bf16},
                 {"long int", GP_i64},     {"long", GP_i64},
                 {"int", GP_i32},          {"short", GP_i16},
                 {"short int", GP_i16},    {"signed char", GP_i8},
                 {"unsigned char", GP_u8}, {"bool", GP_bool}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (gp_json_is(t, types[i].torch, strlen(types[i].torch)))
            return *dtype = types[i].dtype, true;
    return false;
}

/* Reads the dims of one argument into s; what is no list of integers is read over. */
static bool read_dims(gp_json *j, gp_load_shapes *s) {
    if (gp_json_peek(j) != '[') return gp_json_skip(j);
    gp_json_open(j, '[');
    for (bool first = true; gp_json_more(j, ']', &first);) {
        int64_t dim;
        if (gp_json_peek(j) == '[' || gp_json_peek(j) == '"') {
            if (!gp_json_skip(j)) return false;
        } else if (!gp_json_int(j, &dim)) {
            return false;
        } else if (s) {
            gp_load_add_dim(s, dim);
        }
    }
    return !j->failed;
}

const char *kineto_shapes_of(kineto *k, const kineto_fields *f) {
    gp_json dims = *k->j, types = *k->j;
    gp_load_shapes s;
    s.n = s.last = s.tensors = 0;
    dims.at = f->dims, types.at = f->types;
    if (*dims.at != '[' || *types.at != '[') return NULL;
    gp_json_open(&dims, '[');
    gp_json_open(&types, '[');
    for (bool a = true, b = true; gp_json_more(&dims, ']', &a) && gp_json_more(&types, ']', &b);) {
        gp_json_text type;
        gp_dtype dtype;
        if (gp_json_peek(&types) != '"') return NULL;
        gp_json_string(&types, &type);
        bool adds = dtype_of(&type, &dtype) && gp_load_add_tensor(&s, dtype);
        if (!read_dims(&dims, adds ? &s : NULL)) return gp_error_clear(), NULL;
    }
    const char *kept = gp_load_intern_shapes(k->names, &s);
    if (!kept) no_memory(k);
    return kept;
}

/* ---- the event ---- */

bool kineto_read_fields(kineto *k, kineto_fields *f) {
    static const kineto_fields none = {.correlation = -1,
                                       .external = -1,
                                       .device = KINETO_NONE,
                                       .stream = KINETO_NONE,
                                       .total = -1,
                                       .id = KINETO_NONE,
                                       .waits_for = KINETO_NONE,
                                       .record = -1,
                                       .blocks = -1,
                                       .occupancy = -1,
                                       .registers = -1,
                                       .shared = -1,
                                       .grid = {-1, -1, -1},
                                       .block = {-1, -1, -1}};
    gp_json_text key;
    *f = none;
    char first = gp_json_peek(k->j);
    if (first && strchr("[\"-0123456789tfnNI", first)) /* no object */
        return f->wrong = "fields", gp_json_skip(k->j);
    if (!gp_json_open(k->j, '{')) return false;
    for (bool begun = true; gp_json_more(k->j, '}', &begun);)
        if (!gp_json_key(k->j, &key) || !read_field(k, &key, f)) return false;
    return !k->j->failed;
}
