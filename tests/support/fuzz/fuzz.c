/* A harness for libFuzzer (scripts/dev/fuzz): one reader of foreign bytes, chosen by
 * --reader=NAME, gets each input as a file or as text, and what it returns is checked. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/module.h"
#include "bindings/rewrite/rewrite.h"
#include "profile/show/chrome_trace.h"
#include "profile/load/load.h"
#include "profile/replay/path.h"
#include "profile/replay/replay.h"
#include "profile/show/rows.h"
#include "profile/show/table.h"
#include "profile/show/usage.h"
#include "shell/editor/highlight.h"
#include "shell/editor/history.h"
#include "shell/kernel/kernel.h"
#include "shell/shell.h"
#include "tensor/base/error.h"
#include "tensor/io/npy.h"
#include "tensor/io/png.h"
#include "tensor/io/safetensors.h"

static lua_State *L;
static char path[64], history[64], saved[64]; /* of the input as a file; of the history's file; of
                                                 a profile that is saved */
static int file = -1;

/* Ends the run, so that the input is kept. */
#define EXPECT(what)                                                                               \
    do {                                                                                           \
        if (!(what)) fprintf(stderr, "expected: %s\n", #what), abort();                            \
    } while (0)

static void write_file(const uint8_t *data, size_t n) {
    EXPECT(!ftruncate(file, 0) && pwrite(file, data, n, 0) == (ssize_t)n);
    gp_error_clear();
}

/* ---- files ---- */

/* Reads a loaded tensor's elements: all of them lie in memory. */
static void touch(const gp_tensor *x) {
    const char *lo, *hi;
    EXPECT(x);
    gp_array_extent(&x->a, &lo, &hi);
    for (volatile const char *at = lo; at < hi; at += 512) (void)*at;
    if (lo < hi) (void)*(volatile const char *)(hi - 1);
}

static void npy(const uint8_t *data, size_t n) {
    write_file(data, n);
    gp_tensor *x = gp_npy_load(path);
    EXPECT(x || *gp_error());
    if (x) touch(x), gp_tensor_unref(x);
}

static void npz(const uint8_t *data, size_t n) {
    gp_npz z = {0};
    write_file(data, n);
    bool ok = gp_npz_load(path, 1 << 24, &z);
    EXPECT(ok || *gp_error());
    for (int i = 0; ok && i < z.n; i++) touch(z.t[i]);
    gp_npz_free(&z);
}

static void png(const uint8_t *data, size_t n) {
    static const gp_dtype types[] = {GP_u8, GP_f32, GP_i32};
    write_file(data, n);
    int which = n ? data[n - 1] % 15 : 0;
    gp_tensor *x = gp_png_load(path, which % 5, types[which / 5], 1 << 20);
    EXPECT(x || *gp_error());
    if (x) touch(x), gp_tensor_unref(x);
}

static void safetensors(const uint8_t *data, size_t n) {
    gp_safetensors s = {0};
    write_file(data, n);
    bool ok = gp_safetensors_load(path, &s);
    EXPECT(ok || *gp_error());
    for (int i = 0; ok && i < s.tensors.n; i++) touch(s.tensors.t[i]);
    gp_safetensors_free(&s);
}

/* ---- profiles ---- */

/* The rows of any record add up to its wall time. */
static void add_up(const gp_prof *p, gp_group_by group) {
    gp_rows *r = gp_rows_new(p, group);
    int64_t cpu = 0, dev = 0;
    EXPECT(r || *gp_error());
    for (int i = 0; r && i < r->n; i++)
        cpu += r->row[i].self[GP_CPU], dev += r->row[i].self[GP_DEV];
    if (r) EXPECT(cpu == r->wall && dev == r->busy && gp_rows_sort(r, "count"));
    char *text = r ? gp_table_text(p, r, 120) : NULL;
    EXPECT(!r || text);
    free(text);
    gp_rows_free(r);
}

static void use(const gp_prof *p) {
    int n;
    gp_usage *u = gp_usage_new(p);
    gp_device_usage *d = gp_device_usages(u, &n);
    gp_queue q;
    for (int i = 0; i < n; i++) EXPECT(d[i].idle + d[i].compute + d[i].other == d[i].span);
    for (int i = 0; i < u->nstreams; i++) EXPECT(gp_queue_of(u, i, &q));
    for (const gp_track *t = p->host; t; t = t->next) {
        gp_cursor at = gp_first(t);
        for (gp_rec *r; (r = gp_next(&at));)
            if (r->kind == GP_REC_WAIT) gp_wait_cost_of(u, t->rank, r);
    }
    free(d);
    gp_usage_free(u);
}

/* Nothing is other in a replay of one process in which nothing is; the path is as long. */
static void replayed(gp_prof *p) {
    gp_job *job = gp_job_new(p);
    gp_idle idle;
    int n = 0;
    uint64_t sum = 0;
    EXPECT(job);
    gp_path_part *part = gp_critical_path(job, GP_PATH_BY_OP, &n);
    for (int i = 0; i < n; i++) sum += part[i].ns;
    EXPECT(part ? sum == gp_job_end(job) - p->t0 : p->ranks > 1);
    for (int i = 0; i < job->n; i++) EXPECT(gp_idle_times(job->rank[i], &idle));
    free(part);
    gp_job_free(job);
    gp_prof *q = gp_prof_predict(p, &(gp_whatif){.host = 1}, "");
    if (p->ranks <= 1)
        EXPECT(q && q->t1 - q->t0 == p->t1 - p->t0 && q->done - q->t0 == p->done - p->t0);
    gp_prof_free(q);
}

/* What was loaded answers, and is the same when it is saved and loaded again. */
static void trace(const uint8_t *data, size_t n) {
    const char *file = path, *again = saved;
    write_file(data, n);
    gp_prof *p = gp_prof_load(&file, 1, 1 << 24);
    EXPECT(p || *gp_error());
    if (!p) return;
    for (int group = 0; group < GP_GROUPS; group++) add_up(p, (gp_group_by)group);
    use(p);
    EXPECT(gp_trace_write(p, saved) && gp_prof_save(p, saved));
    gp_prof *same = gp_prof_load(&again, 1, 1 << 26);
    if (!same) fprintf(stderr, "%s\n", gp_error());
    EXPECT(same && same->t1 - same->t0 == p->t1 - p->t0);
    gp_prof_free(same);
    replayed(p);
    gp_prof_free(p);
}

/* ---- text ---- */

/* What is decoded and encoded gives the same text when that is done again. */
static void json(const uint8_t *data, size_t n) {
    static const char again[] = "local text = ...\n"
                                "local ok, value = pcall(json.decode, text)\n"
                                "if not ok then return end\n"
                                "local first = json.encode(value)\n"
                                "assert(json.encode(json.decode(first)) == first, first)";
    lua_settop(L, 0);
    EXPECT(luaL_loadstring(L, again) == LUA_OK);
    lua_pushlstring(L, (const char *)data, n);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) fprintf(stderr, "%s\n", lua_tostring(L, -1)), abort();
}

static int count(const char *text, size_t n, char c) {
    int found = 0;
    for (size_t i = 0; i < n; i++) found += text[i] == c;
    return found;
}

/* Lua's own compiler: whether it takes the text, or refuses it only for a limit of size. */
static bool compiles(const char *text, size_t n) {
    lua_settop(L, 0);
    if (luaL_loadbufferx(L, text, n, "=fuzz", "t") == LUA_OK) return true;
    const char *why = lua_tostring(L, -1);
    return strstr(why, "too many") || strstr(why, "overflow") || strstr(why, "limit") ||
           strstr(why, "too long") || strstr(why, "too large") || strstr(why, "memory");
}

/* What is Lua stays Lua, line by line. */
static void rewrite(const uint8_t *data, size_t n) {
    char *text = malloc(n + 1), *out = NULL; /* as Lua's strings: with a zero behind */
    size_t size = 0, at, length;
    memcpy(text, data, n);
    text[n] = 0;
    gp_rewritten r = gp_rewrite(text, n, false, &out, &size);
    bool lua = luaL_loadbufferx(L, text, n, "=fuzz", "t") == LUA_OK;
    if (lua) EXPECT(r != GP_REWRITE_SYNTAX);
    if (r == GP_REWRITE_DONE) {
        EXPECT(count(out, size, '\n') == count(text, n, '\n'));
        if (lua && !compiles(out, size)) fprintf(stderr, "%s\n", out), abort();
    }
    if (gp_rewrite_last_local(text, n, &at, &length)) EXPECT(at + length <= n);
    free(gp_rewrite_stock(text, n));
    free(out);
    free(text);
    lua_settop(L, 0);
}

static void highlight(const uint8_t *data, size_t n) {
    char *text = malloc(n ? n : 1); /* nothing behind: a read past the end is found */
    unsigned char *style = malloc(n ? n : 1);
    memcpy(text, data, n);
    gp_highlight(text, n, style);
    for (size_t i = 0; i < n; i++) EXPECT(style[i] < GP_STYLES);
    for (size_t at = 0, length; at < n; at += length) {
        length = gp_highlight_token(text + at, n - at, NULL);
        EXPECT(length >= 1 && length <= n - at);
    }
    for (size_t cursor = 0; cursor <= n; cursor += 1 + n / 16) {
        size_t pair[2];
        if (gp_highlight_pair(text, n, style, cursor, pair)) EXPECT(pair[0] < n && pair[1] < n);
    }
    EXPECT(gp_highlight_depth(text, n) >= 0);
    gp_highlight_closes(text, n);
    free(style);
    free(text);
}

/* A pasted text comes apart into chunks that together are no longer than it. */
static void paste(const uint8_t *data, size_t n) {
    size_t all = 0;
    lua_settop(L, 0);
    lua_pushlstring(L, (const char *)data, n);
    n = strlen(lua_tostring(L, 1));
    if (!gp_paste_split(L, LUA_ERRSYNTAX)) return;
    do {
        all += lua_rawlen(L, -1);
        lua_pop(L, 1);
    } while (gp_paste_next(L));
    EXPECT(all <= n);
    gp_paste_drop(L);
}

/* A history's file that something else has written. */
static void past(const uint8_t *data, size_t n) {
    size_t at = 0;
    FILE *f = fopen(history, "we");
    EXPECT(f && fwrite(data, 1, n, f) == n && !fclose(f));
    gp_history_open();
    for (int i = 0; i < gp_history_count(); i++) at += strlen(gp_history_get(i));
    EXPECT(at <= n);
    gp_history_add("x = 1");
    EXPECT(!strcmp(gp_history_get(gp_history_count() - 1), "x = 1"));
    gp_history_close();
}

/* ---- a notebook's messages ---- */

/* Frames, with a zero between two. What is read can be answered, and text of it be shown. */
static void message(const uint8_t *data, size_t n) {
    static bool begun;
    gp_kbytes frame[64];
    int count = 0;
    const char *at = (const char *)data, *end = at + n;
    if (!begun) gp_kmessage_begin(""), begun = true;
    for (const char *stop; at < end && count < 64; at = stop + 1) {
        stop = memchr(at, 0, (size_t)(end - at));
        if (!stop) stop = end;
        frame[count++] = gp_kbytes_copy(at, (size_t)(stop - at));
    }
    gp_kmessage *m = gp_kmessage_read(GP_K_SHELL, frame, count);
    gp_kmessage *reply = m ? gp_kmessage_new(GP_K_SHELL, m, "reply", NULL, NULL) : NULL;
    EXPECT(!m || (reply && reply->nids == m->nids));
    gp_kmessage_free(m);
    gp_kmessage_free(reply);
    size_t len;
    char *text = gp_kutf8((const char *)data, n, &len, NULL);
    char *content = gp_kstream_content("stdout", text, len);
    EXPECT(text && content);
    free(text);
    free(content);
}

/* ---- libFuzzer's entries ---- */

static const struct reader {
    const char *name;
    void (*read)(const uint8_t *data, size_t n);
} readers[] = {
    {"npy", npy},     {"npz", npz},      {"png", png},         {"safetensors", safetensors},
    {"trace", trace}, {"json", json},    {"rewrite", rewrite}, {"highlight", highlight},
    {"paste", paste}, {"history", past}, {"message", message}};
static const struct reader *chosen;

/* The folder of the history; the script that started us removes it. */
static void make_history(void) {
    const char *folder = getenv("XDG_STATE_HOME");
    EXPECT(folder && strlen(folder) < 40);
    gp_history_open();
    gp_history_add("x");
    gp_history_close();
    snprintf(history, sizeof history, "%s/gpush/history", folder);
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerInitialize(int *argc, char ***argv) {
    static const char option[] = "--reader=";
    for (int i = 1; i < *argc; i++)
        for (size_t k = 0; k < sizeof readers / sizeof *readers; k++)
            if (!strncmp((*argv)[i], option, sizeof option - 1) &&
                !strcmp((*argv)[i] + sizeof option - 1, readers[k].name))
                chosen = &readers[k];
    EXPECT(chosen);
    L = luaL_newstate();
    gp_lua_open_state(L, GP_LUA_SYNTAX);
    file = memfd_create("input", 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    if (chosen->read == past) make_history();
    if (chosen->read == trace)
        snprintf(saved, sizeof saved, "%s/saved-%d", getenv("XDG_STATE_HOME"), (int)getpid());
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
    chosen->read(data, n);
    return 0;
}
