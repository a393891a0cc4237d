/* The history: one line of the file for each chunk, with \n for a line end and \\ for a backslash.
 * Shells append under a lock, so that none overwrites another's lines. A search looks at each chunk
 * whose set of characters, kept as a mask, has all of the query's, and orders what it finds by
 * counting sort. A query that goes on with the last one is searched in what that found. */
#include "shell/editor/history.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "tensor/base/env.h"
#include "tensor/io/file.h"
#include "tensor/base/safe_text.h"

#ifndef GP_HISTORY_KEPT
#define GP_HISTORY_KEPT 100000
#endif
/* chunks; the file is cut to that many when it holds twice as many */
enum { KEPT = GP_HISTORY_KEPT };
enum { LOCK_TRIES = 100 }; /* in a second */

/* A chunk of n bytes; lower: in lower case, or text itself; mask: a bit for each character that it
 * has, upper case as lower. Those of the file are in its two texts, typed ones on the heap. */
typedef struct entry {
    char *text, *lower;
    size_t n;
    uint64_t mask;
} entry;

static struct {
    entry *chunk;
    int n, cap;
    int typed;          /* the first of this session */
    char *file, *lower; /* what was read, and in lower case */
    int fd;             /* -1: no file */
    char *path;         /* NULL: no folder for one */
    int error;          /* errno of a failure, or 0 */
    bool told;          /* whether the error was reported, which happens once */
} past = {.fd = -1};

/* The file's path, malloc'ed; makes its folders, but not HOME. NULL if there is no folder for
 * one. */
static char *find_file(void) {
    const char *state = gp_env_text(GP_ENV_XDG_STATE_HOME), *home = gp_env_text(GP_ENV_HOME);
    bool own = state && *state == '/';
    char *path = NULL;
    if (!own && !home) return NULL;
    if (asprintf(&path, "%s%s/gpush/history", own ? state : home, own ? "" : "/.local/state") < 0)
        return NULL;
    for (char *p = strchr(path + 1 + (own ? 0 : strlen(home)), '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (*path && mkdir(path, 0700) && errno != EEXIST && !past.error) past.error = errno;
        *p = '/';
    }
    return path;
}

static unsigned char fold(char c) {
    return (unsigned char)(c >= 'A' && c <= 'Z' ? c + 'a' - 'A' : c);
}

static uint64_t mask_of(const char *s) {
    uint64_t mask = 0;
    for (; *s; s++) mask |= 1ull << (fold(*s) & 63);
    return mask;
}

/* The n bytes in lower case, malloc'ed, or themselves where memory is short. */
static char *lower_of(char *text, size_t n) {
    char *out = malloc(n);
    if (!out) return text;
    for (size_t i = 0; i < n; i++) out[i] = (char)fold(text[i]);
    return out;
}

/* Adds the chunk; false without memory. */
static bool keep(char *chunk, char *lower) {
    if (past.n == past.cap) {
        int cap = past.cap ? 2 * past.cap : 256;
        entry *more = realloc(past.chunk, (size_t)cap * sizeof *more);
        if (!more) return false;
        past.chunk = more, past.cap = cap;
    }
    past.chunk[past.n++] = (entry){chunk, lower, strlen(chunk), mask_of(chunk)};
    return true;
}

static void keep_typed(const char *text) {
    char *chunk = strdup(text), *lower = chunk ? lower_of(chunk, strlen(chunk) + 1) : NULL;
    if (chunk && keep(chunk, lower)) return;
    if (lower != chunk) free(lower);
    free(chunk);
}

/* Converts n bytes of the file to a chunk in their place. */
static void decode(char *s, size_t n) {
    char *to = s;
    for (size_t i = 0; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n) i++, *to++ = s[i] == 'n' ? '\n' : s[i];
        else *to++ = s[i];
    }
    *to = 0;
}

/* Converts a chunk to a line of the file, its end included, malloc'ed; *n: its length. */
static char *encode(const char *chunk, size_t *n) {
    char *out = malloc(2 * strlen(chunk) + 2), *to = out;
    if (!out) return NULL;
    for (; *chunk; chunk++) {
        if (*chunk == '\n' || *chunk == '\\') *to++ = '\\';
        *to++ = *chunk == '\n' ? 'n' : *chunk;
    }
    *to++ = '\n';
    *n = (size_t)(to - out);
    return out;
}

/* Reads the whole file to past.file, with a byte more; its length. */
static size_t read_all(void) {
    struct stat st;
    if (fstat(past.fd, &st) || st.st_size <= 0) return 0;
    past.file = malloc((size_t)st.st_size + 1);
    ssize_t got = past.file ? pread(past.fd, past.file, (size_t)st.st_size, 0) : -1;
    return got > 0 ? (size_t)got : 0;
}

static void read_chunks(size_t n) {
    char *end = past.file + n;
    for (char *line = past.file, *stop; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (stop == line) continue;
        decode(line, (size_t)(stop - line));
        if (!keep(line, line)) break;
    }
    *end = 0;
    past.lower = lower_of(past.file, n + 1);
    for (int i = 0; i < past.n; i++)
        past.chunk[i].lower = past.lower + (past.chunk[i].text - past.file);
}

static void drop_oldest(int n) {
    memmove(past.chunk, past.chunk + n, (size_t)(past.n - n) * sizeof *past.chunk);
    past.n -= n;
}

/* Whether the file's last line has no end: what wrote it was killed. */
static bool torn(void) {
    char last = '\n';
    off_t end = lseek(past.fd, 0, SEEK_END);
    return end > 0 && pread(past.fd, &last, 1, end - 1) == 1 && last != '\n';
}

/* Appends under the lock. On a full disk no part of the line stays, and this session still keeps
 * it. */
static void append(const char *chunk) {
    size_t n;
    char *line = encode(chunk, &n);
    if (torn() && write(past.fd, "\n", 1) != 1) past.error = errno;
    ssize_t done =
        line ? write(past.fd, line, n) : 0; /* at the file's end, which becomes the position */
    if (line && done < (ssize_t)n) past.error = done < 0 ? errno : ENOSPC;
    if (done > 0 && done < (ssize_t)n &&
        ftruncate(past.fd, lseek(past.fd, 0, SEEK_CUR) - done)) { /* a partial line */
    }
    free(line);
}

/* Opens the file; -1 with past.error set. */
static int open_file(void) {
    int fd = open(past.path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0) past.error = errno;
    return fd;
}

/* Whether the open file is still the one of that name: another shell may have replaced it. */
static bool current(void) {
    struct stat own, now;
    return fstat(past.fd, &own) || stat(past.path, &now) ||
           (own.st_ino == now.st_ino && own.st_dev == now.st_dev);
}

/* Takes the open file's lock. A program that is stopped may keep it: after a second in vain the
 * session goes on without the file, and from then on each line tries once. */
static bool take_lock(void) {
    for (int i = past.error == EWOULDBLOCK ? LOCK_TRIES - 1 : 0; i < LOCK_TRIES; i++) {
        if (!flock(past.fd, LOCK_EX | LOCK_NB) || errno != EWOULDBLOCK) {
            if (past.error == EWOULDBLOCK) past.error = 0;
            return true;
        }
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / LOCK_TRIES}, NULL);
    }
    past.error = EWOULDBLOCK;
    return false;
}

/* Locks the file of that name. */
static bool lock(void) {
    if (!take_lock()) return false;
    for (int i = 0; i < 100 && !current(); i++) {
        int fd = open_file();
        if (fd < 0) return false;
        close(past.fd);
        past.fd = fd;
        if (!take_lock()) return false;
    }
    return true;
}

/* Replaces the file, whose lock is held, by one with the last chunks; a shell that is killed here
 * leaves the old one. Other shells find the new one when they append. */
static void cut_back(void) {
    gp_outfile o;
    drop_oldest(past.n - KEPT);
    if (!gp_outfile_begin(&o, "history", past.path)) return;
    for (int i = 0; i < past.n; i++) {
        size_t n;
        char *line = encode(past.chunk[i].text, &n);
        if (line) fwrite(line, 1, n, o.f); /* commit checks its errors */
        free(line);
    }
    if (gp_outfile_commit(&o, false)) lock();
}

static void read_file(void) {
    size_t n = read_all();
    if (n) read_chunks(n);
}

/* Reads a file that cannot be written: its chunks are found, and those of the session stay in it.
 */
static void read_only(void) {
    past.fd = open(past.path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (past.fd < 0) return;
    read_file();
    close(past.fd);
    past.fd = -1;
    past.typed = past.n;
}

void gp_history_open(void) {
    past.path = find_file();
    if (!past.path) return;
    int before = past.error;
    past.fd = open_file();
    if (past.fd < 0) {
        if (before) past.error = before;
        return read_only();
    }
    past.error = 0; /* for a folder that already exists */
    fchmod(past.fd, 0600);
    bool locked = lock();
    read_file();
    if (locked && past.n > 2 * KEPT) cut_back();
    past.typed = past.n;
    flock(past.fd, LOCK_UN);
}

static const char *why(void) {
    return past.error == EWOULDBLOCK ? "another program holds its lock" : strerror(past.error);
}

void gp_history_add(const char *chunk) {
    if (!*chunk || *chunk == ' ' || !chunk[strspn(chunk, " \t\n")]) return;
    if (past.n && !strcmp(past.chunk[past.n - 1].text, chunk)) return;
    keep_typed(chunk);
    if (past.fd >= 0 && lock()) {
        append(chunk);
        flock(past.fd, LOCK_UN);
    }
    if (!past.error || past.told) return;
    past.told = true;
    char path[2048];
    fprintf(stderr, "the history is this session's only: %s: %s\n",
            gp_safe_text(past.path, path, sizeof path), why());
}

const char *gp_history_error(const char **path) {
    *path = past.path;
    return past.error ? why() : NULL;
}

int gp_history_count(void) { return past.n; }
const char *gp_history_get(int i) { return past.chunk[i].text; }

int gp_history_find(int before, int step, const char *text, size_t n, const char *not_this) {
    for (int i = before + step; i >= 0 && i < past.n; i += step) {
        const char *chunk = past.chunk[i].text;
        if (!strncmp(chunk, text, n) && !(not_this && !strcmp(chunk, not_this))) return i;
    }
    return -1;
}

/* ---- Searching ---- */

enum { MOST_GAPS = 63, RANKS = 2 * (MOST_GAPS + 1), AHEAD = 16 };

/* What is known of a chunk by a query: its rank, where the query's last character was found, and
 * where it stands in one piece. */
typedef struct found {
    int rank;
    uint32_t end, piece;
} found;

/* The last query, and what was found by it of the n chunks that there were. */
static struct {
    char text[128];
    bool exact;
    found *found;
    int n;
} last;

/* A query: its n characters, in lower case unless it has one in upper case. */
typedef struct query {
    const char *text;
    size_t n;
    uint64_t mask;
    bool exact; /* upper and lower case differ */
} query;

/* Whether the n characters have a and b one after the other; a loop for the compiler to vectorize.
 */
static bool has_pair(const char *s, size_t n, char a, char b) {
    unsigned char hit = 0;
    for (size_t i = 1; i < n; i++) hit |= (s[i - 1] == a) & (s[i] == b);
    return hit;
}

/* Whether the query is one piece of the chunk. A longer query is not before the shorter one. */
static bool in_one_piece(const query *q, const char *s, size_t n, found *f) {
    if (f->rank >= 2) return false; /* its beginning was none */
    const char *at = s + f->piece;
    if (strncmp(at, q->text, q->n) != 0)
        at = has_pair(at, n - f->piece, q->text[q->n - 2], q->text[q->n - 1]) ? strstr(at, q->text)
                                                                              : NULL;
    if (at) f->piece = (uint32_t)(at - s);
    return at != NULL;
}

/* How many other characters stand between the query's, in order: 0 where it is one piece, -1 where
 * the chunk does not have them all. From the first place where all have come it goes back to the
 * nearest start, as fzf's first algorithm does, at most MOST_GAPS. *f is of the query's first
 * `before` characters. */
static int gaps(const query *q, const char *s, size_t n, found *f, size_t before) {
    const char *end = s + f->end;
    for (size_t i = before; i < q->n; i++, end++)
        if (!(end = strchr(end, q->text[i]))) return -1;
    bool next = before && before + 1 == q->n && end - s == (ptrdiff_t)f->end + 1;
    f->end = (uint32_t)(end - s);
    if (q->n == 1 || in_one_piece(q, s, n, f)) return 0;
    if (next && f->rank >= 2) return f->rank / 2; /* the last one's start is the nearest */
    size_t most = q->n + MOST_GAPS;
    const char *start = end, *far = f->end > most ? end - most : s;
    for (size_t i = q->n; i--;)
        if (!(start = memrchr(far, q->text[i], (size_t)(start - far)))) return MOST_GAPS;
    return (int)(end - start - (ptrdiff_t)q->n);
}

static const char *text_for(const query *q, int i) {
    return q->exact ? past.chunk[i].text : past.chunk[i].lower;
}

/* The rank of chunk i, 0 the best, or -1: by gaps, this session's before others of as many.
 * `before` characters of the query are ranked. */
static int rank(const query *q, int i, size_t before) {
    if (q->mask & ~past.chunk[i].mask) return -1;
    int between = gaps(q, text_for(q, i), past.chunk[i].n, &last.found[i], before);
    return between < 0 ? -1 : 2 * between + (i < past.typed);
}

static query read_query(const char *text) {
    query q = {.text = text, .n = strlen(text), .mask = mask_of(text)};
    for (const char *c = text; *c; c++) q.exact |= (char)fold(*c) != *c;
    return q;
}

/* Chunks are all over the memory: what a later one is asked first comes while others are ranked. */
static void prefetch(const query *q, int i) {
    const char *s = text_for(q, i);
    const found *f = &last.found[i];
    if (f->rank < 0) return;
    __builtin_prefetch(s + f->piece);
    for (uint32_t at = 0; at < 2; at++) __builtin_prefetch(s + f->end + 64 * at);
}

/* Ranks all chunks by the query, in last.found: where it goes on with the last one, only those that
 * have that. false without memory. */
static bool rank_all(const query *q) {
    size_t before = strlen(last.text);
    bool goes_on = last.found && last.n == past.n && last.exact == q->exact &&
                   q->n < sizeof last.text && !strncmp(last.text, q->text, before);
    if (!goes_on) {
        free(last.found);
        last.found = calloc((size_t)past.n, sizeof *last.found);
        before = 0;
    }
    for (int i = 0; last.found && i < past.n; i++) {
        if (i + AHEAD < past.n) prefetch(q, i + AHEAD);
        if (last.found[i].rank >= 0) last.found[i].rank = rank(q, i, before);
    }
    snprintf(last.text, sizeof last.text, "%s", q->text);
    last.n = past.n, last.exact = q->exact;
    return last.found != NULL;
}

int gp_history_search(const char *text, int **order) {
    query q = read_query(text);
    int first[RANKS + 1] = {0};
    *order = NULL;
    if (!q.n || !past.n || !rank_all(&q)) return 0;
    for (int i = 0; i < past.n; i++)
        if (last.found[i].rank >= 0) first[last.found[i].rank + 1]++;
    for (int r = 0; r < RANKS; r++) first[r + 1] += first[r];
    int n = first[RANKS];
    *order = n ? malloc((size_t)n * sizeof **order) : NULL;
    for (int i = past.n - 1; *order && i >= 0; i--)
        if (last.found[i].rank >= 0) (*order)[first[last.found[i].rank]++] = i;
    return *order ? n : 0;
}

void gp_history_close(void) {
    for (int i = past.typed; i < past.n; i++) {
        if (past.chunk[i].lower != past.chunk[i].text) free(past.chunk[i].lower);
        free(past.chunk[i].text);
    }
    if (past.lower != past.file) free(past.lower);
    free(past.file);
    free(past.chunk);
    free(last.found);
    last.found = NULL;
    free(past.path);
    if (past.fd >= 0) close(past.fd);
    memset(&past, 0, sizeof past);
    past.fd = -1;
}
