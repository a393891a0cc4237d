/* Nsight Systems' databases: kernels, copies, calls of CUDA, synchronizations, NVTX ranges, graphs.
 * The tables and columns are those of NVIDIA's "SQLite Export Schema Reference"; a table is in the
 * file only where the program had such events, and columns differ by version. */
#include "profile/load/nsys.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "profile/load/database.h"
#include "tensor/base/error.h"

bool gp_load_is_database(const char *file) {
    static const char magic[] = "SQLite format 3";
    char first[sizeof magic];
    struct stat st;
    if (stat(file, &st) || !S_ISREG(st.st_mode)) return false; /* of a pipe nothing may be read */
    FILE *f = fopen(file, "rbe");
    size_t n = f ? fread(first, 1, sizeof first, f) : 0;
    if (f) fclose(f);
    return n == sizeof magic && !memcmp(first, magic, sizeof magic);
}

/* ---- queries ---- */

/* clang-format off */
#define NAME(id) "(SELECT value FROM StringIds WHERE id = " id ")"
#define PROCESS(id) "(" id " >> 24 & 16777215)"
#define ON_DEVICE(t) t ".deviceId, " t ".streamId, " t ".start, " t ".end, " \
    t ".deviceId, " t ".streamId, " t ".correlationId, "
#define ON_HOST(t) PROCESS(t ".globalTid") ", " t ".globalTid & 16777215, " t ".start, " t ".end, "
#define WHERE(id) " WHERE " PROCESS(id) " = ?1"

/* A call's name without the version of its interface: cudaLaunchKernel_v7000. */
#define CALL "(SELECT CASE WHEN value GLOB '*_v[0-9]*'" \
    " THEN substr(rtrim(value, '0123456789'), 1, length(rtrim(value, '0123456789')) - 2)" \
    " ELSE value END FROM StringIds WHERE id = r.nameId)"

/* An NVTX range; an op of PyTorch's emit_nvtx is "aten::add, seq = 5". */
#define RANGES(text) \
    "SELECT CASE WHEN " text " GLOB '*::*' THEN 'cpu_op' ELSE 'user_annotation' END," \
    " CASE WHEN " text " GLOB '*::*, *' THEN substr(" text ", 1, instr(" text ", ', ') - 1)" \
    " ELSE " text " END, " ON_HOST("n") "NULL, NULL, NULL, NULL FROM NVTX_EVENTS n" \
    WHERE("n.globalTid") " AND n.end IS NOT NULL AND n.eventType IN (59, 60) AND " text \
    " IS NOT NULL"

static const gp_database_part parts[] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT 'kernel', coalesce(" NAME("k.demangledName") ", " NAME("k.shortName") ", 'kernel'), "
     ON_DEVICE("k") "NULL FROM CUPTI_ACTIVITY_KIND_KERNEL k" WHERE("k.globalPid"), NULL},
    {"CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
     "SELECT 'kernel', 'CUDA graph ' || g.graphId, " ON_DEVICE("g") "NULL"
     " FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE g" WHERE("g.globalPid"), NULL},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT 'gpu_memcpy', 'Memcpy ' || CASE m.copyKind WHEN 1 THEN 'HtoD' WHEN 2 THEN 'DtoH'"
     " WHEN 8 THEN 'DtoD' WHEN 9 THEN 'HtoH' WHEN 10 THEN 'PtoP' WHEN 11 THEN 'HtoD'"
     " WHEN 12 THEN 'DtoH' ELSE 'other' END || ' (' || CASE m.srcKind WHEN 0 THEN 'Pageable'"
     " WHEN 1 THEN 'Pinned' WHEN 2 THEN 'Device' WHEN 4 THEN 'Managed' ELSE 'Unknown' END || ' -> '"
     " || CASE m.dstKind WHEN 0 THEN 'Pageable' WHEN 1 THEN 'Pinned' WHEN 2 THEN 'Device'"
     " WHEN 4 THEN 'Managed' ELSE 'Unknown' END || ')', " ON_DEVICE("m") "m.bytes"
     " FROM CUPTI_ACTIVITY_KIND_MEMCPY m" WHERE("m.globalPid"), NULL},
    {"CUPTI_ACTIVITY_KIND_MEMSET",
     "SELECT 'gpu_memset', 'Memset', " ON_DEVICE("m") "m.bytes"
     " FROM CUPTI_ACTIVITY_KIND_MEMSET m" WHERE("m.globalPid"), NULL},
    {"CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
     "SELECT 'cuda_sync', CASE s.syncType WHEN 1 THEN 'Event Sync' WHEN 3 THEN 'Stream Sync'"
     " ELSE 'Context Sync' END, " ON_DEVICE("s") "NULL"
     " FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION s" WHERE("s.globalPid")
     " AND s.syncType IN (1, 3, 4)", NULL},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT CASE WHEN " CALL " GLOB 'cu[A-Z]*' THEN 'cuda_driver' ELSE 'cuda_runtime' END,"
     " coalesce(" CALL ", 'call'), " ON_HOST("r") "NULL, NULL, r.correlationId, NULL"
     " FROM CUPTI_ACTIVITY_KIND_RUNTIME r" WHERE("r.globalTid"), NULL},
    {"NVTX_EVENTS", RANGES("coalesce(n.text, " NAME("n.textId") ")"), RANGES("n.text")},
    {"ThreadNames",
     "SELECT 'thread_name', coalesce(" NAME("t.nameId") ", 'thread'), " PROCESS("t.globalTid")
     ", t.globalTid & 16777215, 0, 0, NULL, NULL, NULL, NULL FROM ThreadNames t"
     WHERE("t.globalTid"), NULL},
};

static const gp_database_part devices = {
    "TARGET_INFO_GPU",
    "SELECT id, coalesce(name, 'GPU') FROM TARGET_INFO_GPU WHERE ?1 IS NOT NULL ORDER BY id", NULL};

/* Processes with work on a device, or with calls, by number. */
static const char *const processes_by[][2] = {
    {"CUPTI_ACTIVITY_KIND_KERNEL",
     "SELECT DISTINCT " PROCESS("globalPid") " FROM CUPTI_ACTIVITY_KIND_KERNEL ORDER BY 1"},
    {"CUPTI_ACTIVITY_KIND_MEMCPY",
     "SELECT DISTINCT " PROCESS("globalPid") " FROM CUPTI_ACTIVITY_KIND_MEMCPY ORDER BY 1"},
    {"CUPTI_ACTIVITY_KIND_RUNTIME",
     "SELECT DISTINCT " PROCESS("globalTid") " FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY 1"},
    {"NVTX_EVENTS", "SELECT DISTINCT " PROCESS("globalTid") " FROM NVTX_EVENTS ORDER BY 1"},
};
/* clang-format on */

/* The processes by the first table that has any: how many, and number `which`; below 0 with a
 * message. */
static int find_process(const gp_database *d, int which, int64_t *process) {
    int n = 0;
    for (size_t i = 0; !n && i < sizeof processes_by / sizeof *processes_by; i++) {
        int there = gp_database_has(d, processes_by[i][0]);
        if (there < 0) return -1;
        if (there) n = gp_database_numbers(d, processes_by[i][1], which, process);
    }
    return n;
}

static bool write_trace(gp_database *d, const char *file, int which, int *processes) {
    int64_t process = 0;
    *processes = find_process(d, which, &process);
    if (*processes < 0) return false;
    if (!*processes)
        return gp_fail("profile.load: %s is a database without CUDA's events or NVTX ranges of "
                       "Nsight Systems: record with nsys profile --trace cuda,nvtx",
                       file);
    return gp_database_trace(d, "Nsight Systems' export", which, process, &devices, parts,
                             sizeof parts / sizeof *parts);
}

char *gp_load_nsys(const char *file, uint64_t max, int which, size_t *n, int *processes) {
    gp_database *d = gp_database_open(file, NULL, 0, max);
    if (!d) return NULL;
    bool ok = write_trace(d, file, which, processes);
    return gp_database_close(d, ok ? n : NULL);
}
