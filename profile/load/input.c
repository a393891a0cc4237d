/* The text of a trace's file, of a pipe or of standard input, unpacked where gzip packed it: what
 * came before packed data end early is read. */
#include "profile/load/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "tensor/base/error.h"
#include "tensor/io/file.h"

enum { PIECE = 1 << 22 }; /* bytes between checks for Ctrl-C */

/* A text that grows. */
typedef struct text {
    char *p;
    size_t n, capacity;
} text;

/* Makes room for another piece and the 0 that follows. At most max bytes are read, and one more,
 * which shows that there are more. */
static bool reserve(text *t, uint64_t max) {
    size_t capacity = t->capacity ? t->capacity * 2 : PIECE;
    if (t->capacity > t->n + 1) return true;
    if (capacity > max + 2) capacity = (size_t)max + 2;
    char *more = realloc(t->p, capacity);
    if (!more) return gp_fail("profile.load: out of memory");
    t->p = more;
    t->capacity = capacity;
    return true;
}

static bool damaged(const char *file, gzFile in, size_t at) {
    int code;
    const char *why = gzerror(in, &code);
    if (code == Z_ERRNO) why = strerror(errno);
    return gp_fail("profile.load: %s: after %zu unpacked bytes: %s", file, at, why);
}

static bool too_long(const char *file, uint64_t max) {
    return gp_fail("profile.load: %s has more than %llu bytes unpacked, the limit; max_bytes = n "
                   "sets another",
                   file, (unsigned long long)max);
}

static bool read_all(const char *file, gzFile in, uint64_t max, text *t, bool *cut) {
    for (int got = 1; got > 0;) {
        if (gp_file_stopped("profile.load") || !reserve(t, max)) return false;
        size_t capacity = t->capacity - t->n - 1;
        got = gzread(in, t->p + t->n, (unsigned)(capacity < PIECE ? capacity : PIECE));
        int code = Z_OK;
        if (got <= 0) gzerror(in, &code);
        *cut = code == Z_BUF_ERROR;
        if (*cut) break;
        if (got < 0) return damaged(file, in, t->n);
        t->n += (size_t)got;
        if (t->n > max) return too_long(file, max);
    }
    t->p[t->n] = 0;
    return true;
}

/* Opens file, "-" for standard input, or a pipe into which a program writes; below 0 with a
 * message. */
static int open_input(const char *file) {
    uint64_t size;
    struct stat st;
    int fd = -1;
    if (!strcmp(file, "-")) {
        fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
    } else if (!stat(file, &st) && S_ISFIFO(st.st_mode)) {
        fd = open(file, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* else a pipe without a writer waits */
        if (fd >= 0 && fcntl(fd, F_SETFL, 0)) close(fd), fd = -1;
    } else {
        FILE *f = gp_file_open("profile.load", file, &size);
        if (!f) return -1;
        fd = fcntl(fileno(f), F_DUPFD_CLOEXEC, 0);
        fclose(f);
    }
    if (fd < 0) gp_fail("profile.load: cannot read %s: %s", file, strerror(errno));
    return fd;
}

char *gp_load_text(const char *file, uint64_t max, size_t *n, bool *cut) {
    text t = {0};
    int fd = open_input(file);
    *cut = false;
    if (fd < 0) return NULL;
    gzFile in = gzdopen(fd, "rb");
    if (!in) return close(fd), gp_fail_null("profile.load: out of memory");
    gzbuffer(in, 1 << 17);
    bool ok = read_all(file, in, max, &t, cut);
    gzclose(in);
    if (!ok) return free(t.p), NULL;
    /* A byte order mark says that the text is UTF-8, as JSON is. */
    if (t.n >= 3 && !memcmp(t.p, "\xef\xbb\xbf", 3)) memset(t.p, ' ', 3);
    *n = t.n;
    return t.p;
}
