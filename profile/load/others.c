/* Traces of rocprofv3, JAX and TensorFlow, read by SQLite's functions for JSON. What they do not
 * say is left out: JAX's events of devices do not name the calls that launched them in all
 * versions, and rocprofv3 writes the calls only with --hip-trace, copies with --memory-copy-trace.
 */
#include "profile/load/others.h"

#include <stdlib.h>
#include <string.h>

#include "profile/load/database.h"
#include "tensor/base/error.h"

enum {
    LOOK = 1 << 16, /* bytes in which names are looked for */
    LEVELS = 64
}; /* of brackets within each other; the formats have fewer */

static bool contains(const char *text, size_t n, const char *word) {
    return memmem(text, n < LOOK ? n : LOOK, word, strlen(word)) != NULL;
}

/* ---- rocprofv3 ---- */

static bool is_rocprof(const char *text, size_t n) {
    return contains(text, n, "\"rocprofiler-sdk-tool\"") && !contains(text, n, "\"traceEvents\"");
}

/* clang-format off */
#define PART(name) "json_each((SELECT value FROM part WHERE key = '" name "'))"
#define GET(path) "json_extract(value, '$." path "')"

static const char *const rocprof_tables[] = {
    "CREATE TABLE part AS SELECT key, value"
    " FROM json_each(?2, '$.\"rocprofiler-sdk-tool\"[' || ?1 || ']')",
    "INSERT INTO part SELECT 'records.' || key, value FROM " PART("buffer_records"),
    "CREATE TABLE symbol AS SELECT " GET("kernel_id") " AS id,"
    " coalesce(nullif(" GET("formatted_kernel_name") ", 0), " GET("kernel_name") ") AS name"
    " FROM " PART("kernel_symbols"),
    "CREATE TABLE agent AS SELECT " GET("id.handle") " AS handle, row_number() OVER (ORDER BY "
    GET("node_id") ") - 1 AS device, " GET("product_name") " AS name FROM " PART("agents")
    " WHERE " GET("type") " = 2",
    /* Those that ran kernels and are not in the list come after the others. */
    "INSERT INTO agent SELECT handle, (SELECT count(*) FROM agent) - 1 + row_number() OVER"
    " (ORDER BY handle), NULL FROM (SELECT DISTINCT " GET("dispatch_info.agent_id.handle")
    " AS handle FROM " PART("records.kernel_dispatch") ") WHERE handle NOT IN"
    " (SELECT handle FROM agent)",
    "CREATE TABLE operation AS SELECT b.key AS kind, o.key AS operation, o.value AS name FROM"
    " json_each((SELECT value FROM part WHERE key = 'strings'), '$.buffer_records') b,"
    " json_each(b.value, '$.operations') o",
    "CREATE TABLE marker AS SELECT " GET("key") " AS key, " GET("value") " AS text FROM"
    " json_each((SELECT value FROM part WHERE key = 'strings'), '$.marker_api')",
};

/* A list of records, with the columns that all have, and more. */
#define RECORDS(name, more) "(SELECT " GET("start_timestamp") " AS start, " \
    GET("end_timestamp") " AS end, " GET("correlation_id.internal") " AS correlation, " \
    GET("kind") " AS kind, " GET("operation") " AS operation, " GET("thread_id") " AS thread" more \
    " FROM " PART("records." name) ") r"
#define PID "(SELECT json_extract(value, '$.pid') FROM part WHERE key = 'metadata')"
#define OPERATION \
    "(SELECT name FROM operation o WHERE o.kind = r.kind AND o.operation = r.operation)"
#define SIDES ", " GET("src_agent_id.handle") " AS source, " GET("dst_agent_id.handle") \
    " AS target, " GET("bytes") " AS bytes"

static const gp_database_part rocprof_devices = {
    NULL, "SELECT device, name FROM agent WHERE name IS NOT NULL", NULL};

static const gp_database_part rocprof_parts[] = {
    {NULL,
     "SELECT 'kernel', coalesce(s.name, 'kernel'), a.device, r.queue, r.start, r.end, a.device,"
     " r.queue, r.correlation, NULL FROM "
     RECORDS("kernel_dispatch", ", " GET("dispatch_info.agent_id.handle") " AS agent, "
             GET("dispatch_info.queue_id.handle") " AS queue, " GET("dispatch_info.kernel_id")
             " AS kernel")
     " JOIN agent a ON a.handle = r.agent LEFT JOIN symbol s ON s.id = r.kernel", NULL},
    {NULL,
     "SELECT 'gpu_memcpy', 'Memcpy ' || CASE WHEN " OPERATION " LIKE '%HOST_TO_DEVICE'"
     " THEN 'HtoD (Host -> Device)' WHEN " OPERATION " LIKE '%DEVICE_TO_HOST'"
     " THEN 'DtoH (Device -> Host)' ELSE 'DtoD (Device -> Device)' END, a.device, 1000, r.start,"
     " r.end, a.device, 1000, r.correlation, r.bytes FROM " RECORDS("memory_copy", SIDES)
     " JOIN agent a ON a.handle = CASE WHEN r.target IN (SELECT handle FROM agent) THEN r.target"
     " ELSE r.source END", NULL},
    {NULL,
     "SELECT 'cuda_runtime', coalesce(" OPERATION ", 'call'), " PID ", r.thread, r.start, r.end,"
     " NULL, NULL, r.correlation, NULL FROM " RECORDS("hip_api", ""), NULL},
    {NULL,
     "SELECT 'user_annotation', m.text, " PID ", r.thread, r.start, r.end, NULL, NULL, NULL, NULL"
     " FROM " RECORDS("marker_api", "") " JOIN marker m ON m.key = r.correlation"
     " WHERE r.end > r.start", NULL},
};
/* clang-format on */

/* ---- JAX, TensorFlow ---- */

static bool is_jax(const char *text, size_t n) {
    return contains(text, n, "\"traceEvents\"") && !contains(text, n, "\"schemaVersion\"") &&
           (contains(text, n, "\"/device:") || contains(text, n, "\"/host:CPU\""));
}

/* clang-format off */
/* A time in ns; NULL where it is no number. */
#define NS(us) "CASE WHEN typeof(" us ") IN ('integer', 'real') THEN" \
    " cast(round(1000 * (" us ")) AS INTEGER) END"

/* Streams of a GPU by their numbers, and what a TPU runs, one op after another. Other lines of a
 * device say the same again: of a GPU also "XLA Ops", which is derived from its streams. */
static const char *const jax_tables[] = {
    "CREATE TABLE event AS SELECT " GET("ph") " AS ph, " GET("pid") " AS pid, " GET("tid")
    " AS tid, " GET("name") " AS name, " NS(GET("ts")) " AS start, "
    NS(GET("ts")) " + CASE WHEN " GET("dur") " IS NULL THEN 0 ELSE " NS(GET("dur")) " END AS end, "
    GET("args.name") " AS label, " GET("args.memcpy_details") " AS details,"
    " nullif(cast(" GET("args.correlation_id") " AS INTEGER), 0) AS correlation"
    " FROM json_each(?2, '$.traceEvents') WHERE ?1 IS NOT NULL AND json_type(value) = 'object'",
    "CREATE TABLE device AS SELECT DISTINCT pid, label,"
    " cast(substr(label, length(rtrim(label, '0123456789')) + 1) AS INTEGER) AS number FROM event"
    " WHERE ph = 'M' AND name = 'process_name' AND label GLOB '/device:[GT]PU:*'",
    "CREATE TABLE stream AS SELECT DISTINCT e.pid, e.tid,"
    " CASE WHEN e.label = 'XLA Ops' THEN 0 ELSE cast(substr(e.label, 9) AS INTEGER) END AS number"
    " FROM event e JOIN device d ON d.pid = e.pid WHERE e.ph = 'M' AND e.name = 'thread_name'"
    " AND CASE WHEN d.label GLOB '/device:TPU:*' THEN e.label = 'XLA Ops'"
    " ELSE e.label GLOB 'Stream #[0-9]*' END",
    "CREATE TABLE work AS SELECT e.*, d.number AS device, s.number AS stream,"
    " CASE WHEN e.name GLOB 'Memset*' THEN 'gpu_memset' WHEN e.name GLOB 'Memcpy*' THEN"
    " 'gpu_memcpy' ELSE 'kernel' END AS cat FROM event e JOIN device d ON d.pid = e.pid"
    " JOIN stream s ON s.pid = e.pid AND s.tid = e.tid WHERE e.ph = 'X'",
    "CREATE TABLE host AS SELECT *, name GLOB 'cu[A-Z]*' OR name GLOB 'cuda[A-Z]*'"
    " OR name GLOB 'hip[A-Z]*' AS call FROM event"
    " WHERE ph = 'X' AND pid NOT IN (SELECT pid FROM device)",
};

/* A side of a copy: kind_src:device kind_dst:pageable. */
#define SIDE(which) "CASE WHEN details LIKE '%kind_" which ":pageable%' THEN 'Pageable'" \
    " WHEN details LIKE '%kind_" which ":pinned%' THEN 'Pinned'" \
    " WHEN details LIKE '%kind_" which ":device%' THEN 'Device' ELSE 'Unknown' END"

static const gp_database_part jax_devices = {NULL, "SELECT number, label FROM device", NULL};

static const gp_database_part jax_parts[] = {
    {NULL,
     "SELECT cat, CASE cat WHEN 'gpu_memcpy' THEN 'Memcpy ' || substr(name, 7, 1) || 'to' ||"
     " substr(name, 9, 1) || ' (' || " SIDE("src") " || ' -> ' || " SIDE("dst") " || ')'"
     " WHEN 'gpu_memset' THEN 'Memset' ELSE name END, device, stream, start, end, device, stream,"
     " correlation, CASE WHEN cat <> 'kernel' AND instr(details, 'size:') > 0 THEN"
     " cast(substr(details, instr(details, 'size:') + 5) AS INTEGER) END FROM work", NULL},
    {NULL,
     "SELECT CASE WHEN call THEN 'cuda_runtime' ELSE 'user_annotation' END, name, pid, tid, start,"
     " end, NULL, NULL, CASE WHEN call THEN correlation END, NULL FROM host"
     " WHERE name NOT GLOB '$*'", NULL},
};
/* clang-format on */

/* ---- both ---- */

/* A text up to a place, and what closes it there. */
typedef struct whole {
    size_t n;
    int depth;
    char close[LEVELS]; /* the outermost first */
} whole;

/* Where the text ends early: how much of it is whole, up to the last list that begins or ends, or
 * element of a list; an element that is cut is left out. depth 0: it does not end early. */
static whole whole_part(const char *text, size_t n) {
    whole w = {.n = 0}, open = {.n = 0};
    for (size_t i = 0; i < n; i++) {
        char c = text[i];
        bool ends = c == '}' || c == ']';
        if (c == '"')
            while (++i < n && text[i] != '"') i += text[i] == '\\';
        else if (c == '{' || c == '[') {
            if (open.depth == LEVELS) return (whole){.n = 0};
            open.close[open.depth++] = c == '{' ? '}' : ']';
        } else if (ends && (!open.depth || open.close[--open.depth] != c)) return (whole){.n = 0};
        bool in_list = open.depth && open.close[open.depth - 1] == ']';
        open.n = i + (c != ',');
        if (c == '[' || c == ']' || (in_list && (ends || c == ','))) w = open;
    }
    return open.depth ? w : (whole){.n = 0};
}

char *gp_load_close_cut(const char *text, size_t n, size_t *size) {
    whole w = whole_part(text, n);
    char *made = w.depth ? malloc(w.n + (size_t)w.depth + 1) : NULL;
    if (!made) return NULL;
    memcpy(made, text, *size = w.n);
    while (w.depth) made[(*size)++] = w.close[--w.depth];
    made[*size] = 0;
    return made;
}

bool gp_load_is_other(const char *text, size_t n) { return is_rocprof(text, n) || is_jax(text, n); }

static bool write_rocprof(gp_database *d, int which, int *processes) {
    int64_t unused;
    *processes = gp_database_numbers(
        d, "SELECT key FROM json_each(?2, '$.\"rocprofiler-sdk-tool\"')", 0, &unused);
    if (*processes < 0) return false;
    for (size_t i = 0; i < sizeof rocprof_tables / sizeof *rocprof_tables; i++)
        if (!gp_database_run(d, rocprof_tables[i], which)) return false;
    return gp_database_trace(d, "rocprofv3's trace", which, which, &rocprof_devices, rocprof_parts,
                             sizeof rocprof_parts / sizeof *rocprof_parts);
}

static bool write_jax(gp_database *d) {
    for (size_t i = 0; i < sizeof jax_tables / sizeof *jax_tables; i++)
        if (!gp_database_run(d, jax_tables[i], 0)) return false;
    return gp_database_trace(d, "JAX's or TensorFlow's trace", 0, 0, &jax_devices, jax_parts,
                             sizeof jax_parts / sizeof *jax_parts);
}

char *gp_load_other(const char *file, const char *text, size_t n, uint64_t max, int which,
                    size_t *made, int *processes) {
    gp_database *d = gp_database_open(file, text, n, max);
    if (!d) return NULL;
    *processes = 1;
    bool ok = is_rocprof(text, n) ? write_rocprof(d, which, processes) : write_jax(d);
    return gp_database_close(d, ok ? made : NULL);
}
