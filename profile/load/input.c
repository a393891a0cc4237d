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

enum { PIECE = 1 << 19 }; /* bytes between checks for Ctrl-C */

struct gp_load_window {
    gzFile in; /* NULL: the text is over */
    uint64_t read, max;
    size_t capacity, at, n; /* at, n: of the reader, while its buffer moves */
};

bool gp_input_is_over(const gp_json *j) { return !j->input || !j->input->in; }

static bool no_memory(gp_json *j) {
    return j->failed = true, gp_fail("profile.load: out of memory");
}

static bool damaged(gp_json *j) {
    int code;
    const char *why = gzerror(j->input->in, &code);
    if (code == Z_ERRNO) why = strerror(errno);
    if (!strncmp(why, "<fd:", 4) && strstr(why, ": ")) why = strstr(why, ": ") + 2;
    j->failed = true;
    return gp_fail("profile.load: %s is damaged after %llu unpacked bytes: %s", j->file,
                   (unsigned long long)j->input->read, why);
}

static bool too_long(gp_json *j) {
    j->failed = true;
    return gp_fail("profile.load: %s has more than %llu bytes unpacked, the limit; max_bytes = n "
                   "sets another",
                   j->file, (unsigned long long)j->input->max);
}

/* ---- the window ---- */

/* Makes room for `more` bytes after the text, and a 0. */
static bool reserve(gp_json *j, size_t more) {
    gp_load_window *i = j->input;
    size_t capacity = i->capacity;
    i->at = (size_t)(j->at - j->start), i->n = (size_t)(j->end - j->start);
    while (capacity < i->n + more + 1)
        capacity = capacity ? 2 * capacity : GP_INPUT_HEAD + PIECE + 1;
    if (capacity == i->capacity) return true;
    char *text = realloc((char *)j->start, capacity);
    if (!text) return no_memory(j);
    j->start = text, j->at = text + i->at, j->end = text + i->n;
    i->capacity = capacity;
    return true;
}

static void close_file(gp_json *j) {
    gzclose(j->input->in);
    j->input->in = NULL;
}

/* Reads up to `more` bytes after the text. */
static bool read_piece(gp_json *j, size_t more) {
    gp_load_window *i = j->input;
    if (gp_file_stopped("profile.load")) return j->failed = true, false;
    if (!reserve(j, more)) return false;
    char *to = (char *)j->end;
    uint64_t most = i->max - i->read + 1; /* one more shows that there are more */
    int code = Z_OK, got = gzread(i->in, to, (unsigned)(more < most ? more : most));
    if (got <= 0) gzerror(i->in, &code);
    j->cut = code == Z_BUF_ERROR;
    if (got < 0 && !j->cut) return damaged(j);
    if (got > 0) i->read += (uint64_t)got, j->end += got;
    *(char *)j->end = 0;
    if (i->read > i->max) return too_long(j);
    if (got <= 0) close_file(j);
    return true;
}

/* Drops what is between the head and j's place. */
static void drop(gp_json *j) {
    char *head = (char *)j->start + GP_INPUT_HEAD;
    if (j->at <= head) return;
    size_t kept = (size_t)(j->end - j->at);
    memmove(head, j->at, kept + 1);
    j->before += j->at - head;
    j->at = head, j->end = head + kept;
}

bool gp_input_go_on(gp_json *j) {
    if (gp_input_is_over(j)) return !j->failed;
    drop(j);
    size_t space = j->input->capacity - (size_t)(j->end - j->start) - 1;
    return read_piece(j, space < PIECE / 2 ? PIECE : space);
}

bool gp_input_all(gp_json *j) {
    while (!gp_input_is_over(j))
        if (!read_piece(j, PIECE)) return false;
    return !j->failed;
}

bool gp_input_again(gp_json *j, const char *at) {
    if (!j->ended || gp_input_is_over(j)) return false;
    j->at = at;
    j->failed = j->ended = false;
    gp_error_clear();
    return gp_input_go_on(j);
}

/* ---- the file ---- */

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

bool gp_input_open(gp_json *j, const char *file, uint64_t max) {
    int fd = open_input(file);
    if (fd < 0) return false;
    *j = (gp_json){.file = strcmp(file, "-") != 0 ? file : "standard input",
                   .input = calloc(1, sizeof *j->input)};
    gzFile in = j->input ? gzdopen(fd, "rb") : NULL;
    if (!in) return close(fd), no_memory(j);
    gzbuffer(in, 1 << 17);
    j->input->in = in, j->input->max = max;
    while (!gp_input_is_over(j) && j->end - j->start < GP_INPUT_HEAD)
        if (!read_piece(j, GP_INPUT_HEAD + PIECE - (size_t)(j->end - j->start))) return false;
    /* A byte order mark says that the text is UTF-8, as JSON is. */
    if (j->end - j->start >= 3 && !memcmp(j->start, "\xef\xbb\xbf", 3))
        memset((char *)j->start, ' ', 3);
    return true;
}

void gp_input_close(gp_json *j) {
    if (!gp_input_is_over(j)) close_file(j);
    free(j->input);
    j->input = NULL;
    j->before += j->at - j->start;
    free((char *)j->start);
    j->start = j->at = j->end = NULL;
}
