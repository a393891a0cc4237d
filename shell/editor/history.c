/* The history: one line of the file for each chunk, with \n for a line end and \\ for a backslash.
 * Shells append under a lock, so that none overwrites another's lines. A search looks at each chunk
 * whose set of characters, kept as a mask, has all of the query's, and orders what it finds by
 * counting sort. */
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

/* A chunk; mask: a bit for each character that it has, upper case as lower. */
typedef struct entry {
    char *text;
    uint64_t mask;
} entry;

static struct {
    entry *chunk;
    int n, cap;
    int typed;  /* the first of this session */
    int fd;     /* -1: no file */
    char *path; /* NULL: no folder for one */
    int error;  /* errno of a failure, or 0 */
    bool told;  /* whether the error was reported, which happens once */
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

/* Takes over chunk, which may be NULL. */
static void keep(char *chunk) {
    if (!chunk) return;
    if (past.n == past.cap) {
        int cap = past.cap ? 2 * past.cap : 256;
        entry *more = realloc(past.chunk, (size_t)cap * sizeof *more);
        if (!more) {
            free(chunk);
            return;
        }
        past.chunk = more, past.cap = cap;
    }
    past.chunk[past.n++] = (entry){chunk, mask_of(chunk)};
}

/* Converts n bytes of the file to a chunk, malloc'ed. */
static char *decode(const char *s, size_t n) {
    char *out = malloc(n + 1), *to = out;
    for (size_t i = 0; out && i < n; i++) {
        if (s[i] == '\\' && i + 1 < n) i++, *to++ = s[i] == 'n' ? '\n' : s[i];
        else *to++ = s[i];
    }
    if (out) *to = 0;
    return out;
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

/* The whole file, malloc'ed; *n its length. */
static char *read_all(size_t *n) {
    struct stat st;
    if (fstat(past.fd, &st) || st.st_size <= 0) return NULL;
    char *text = malloc((size_t)st.st_size);
    ssize_t got = text ? pread(past.fd, text, (size_t)st.st_size, 0) : -1;
    *n = got > 0 ? (size_t)got : 0;
    return text;
}

static void read_chunks(const char *text, size_t n) {
    for (const char *end = text + n, *line = text, *stop; line < end; line = stop + 1) {
        stop = memchr(line, '\n', (size_t)(end - line));
        if (!stop) stop = end;
        if (stop > line) keep(decode(line, (size_t)(stop - line)));
    }
}

static void drop_oldest(int n) {
    for (int i = 0; i < n; i++) free(past.chunk[i].text);
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

void gp_history_open(void) {
    past.path = find_file();
    if (!past.path) return;
    int before = past.error;
    past.fd = open_file();
    if (past.fd < 0) {
        if (before) past.error = before;
        return;
    }
    past.error = 0; /* for a folder that already exists */
    size_t n = 0;
    fchmod(past.fd, 0600);
    bool locked = lock();
    char *text = read_all(&n);
    if (text) read_chunks(text, n);
    free(text);
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
    keep(strdup(chunk));
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

enum { MOST_GAPS = 63, RANKS = 2 * (MOST_GAPS + 1) };

/* A query: its n characters, in lower case unless it has one in upper case. */
typedef struct query {
    const char *text;
    size_t n;
    uint64_t mask;
    bool exact; /* upper and lower case differ */
} query;

static bool same(const query *q, char typed, char c) {
    return typed == (q->exact ? c : (char)fold(c));
}

/* Whether the chunk has the query as one piece. */
static bool has(const query *q, const char *s) {
    for (; *s; s++) {
        size_t i = 0;
        while (i < q->n && same(q, q->text[i], s[i])) i++;
        if (i == q->n) return true;
    }
    return false;
}

/* How many other characters stand between the query's, in order: 0 where it is one piece, -1 where
 * the chunk does not have them all. From the first place where all have come it goes back to the
 * nearest start, as fzf's first algorithm does. */
static int gaps(const query *q, const char *s) {
    if (has(q, s)) return 0;
    size_t i = 0, end = 0, start;
    for (; s[end] && i < q->n; end++)
        if (same(q, q->text[i], s[end])) i++;
    if (i < q->n) return -1;
    for (start = end; i; start--)
        if (same(q, q->text[i - 1], s[start - 1])) i--;
    size_t between = end - start - q->n;
    return between > MOST_GAPS ? MOST_GAPS : (int)between;
}

/* The rank of chunk i, 0 the best, or -1: by gaps, this session's before others of as many. */
static int rank(const query *q, int i) {
    if (q->mask & ~past.chunk[i].mask) return -1;
    int between = gaps(q, past.chunk[i].text);
    return between < 0 ? -1 : 2 * between + (i < past.typed);
}

static query read_query(const char *text) {
    query q = {.text = text, .n = strlen(text), .mask = mask_of(text)};
    for (const char *c = text; *c; c++) q.exact |= (char)fold(*c) != *c;
    return q;
}

int gp_history_search(const char *text, int **order) {
    query q = read_query(text);
    int first[RANKS + 1] = {0};
    signed char *ranks = q.n && past.n ? malloc((size_t)past.n) : NULL;
    *order = NULL;
    for (int i = 0; ranks && i < past.n; i++) {
        ranks[i] = (signed char)rank(&q, i);
        if (ranks[i] >= 0) first[ranks[i] + 1]++;
    }
    for (int r = 0; r < RANKS; r++) first[r + 1] += first[r];
    int n = first[RANKS];
    *order = n ? malloc((size_t)n * sizeof **order) : NULL;
    for (int i = past.n - 1; *order && i >= 0; i--)
        if (ranks[i] >= 0) (*order)[first[ranks[i]]++] = i;
    free(ranks);
    return *order ? n : 0;
}

void gp_history_close(void) {
    for (int i = 0; i < past.n; i++) free(past.chunk[i].text);
    free(past.chunk);
    free(past.path);
    if (past.fd >= 0) close(past.fd);
    memset(&past, 0, sizeof past);
    past.fd = -1;
}
