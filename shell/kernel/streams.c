/* Standard output and standard error of a kernel: pipes in their place, so that what Lua, C
 * libraries and other programs write arrives in the notebook as it comes. The thread of thread.c
 * reads them, and gathers small pieces. */
#include "shell/kernel/kernel.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    int before; /* the file that was there */
    int end;    /* of the pipe, to read */
    size_t n;
    char held[GP_KSTREAM_PIECE];
} streams[2] = {{-1, -1, 0, {0}}, {-1, -1, 0, {0}}};

int gp_kstream_fd(int i) { return streams[i].end; }

static bool open_one(int i) {
    int fd = i + STDOUT_FILENO, ends[2];
    if (pipe2(ends, O_CLOEXEC)) return false;
    streams[i].before = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    streams[i].end = ends[0];
    bool ok = streams[i].before >= 0 && dup2(ends[1], fd) == fd &&
              fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0;
    close(ends[1]);
    return ok;
}

bool gp_kstreams_open(void) {
    fflush(stdout);
    bool ok = open_one(0) && open_one(1);
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
    return ok;
}

void gp_kstreams_close(void) {
    fflush(stdout);
    for (int i = 0; i < 2; i++) {
        if (streams[i].before >= 0) dup2(streams[i].before, i + STDOUT_FILENO);
        if (streams[i].before >= 0) close(streams[i].before);
        streams[i].before = -1;
    }
}

/* Sends what is held but for the beginning of a character. */
static void emit(int i, void (*send)(int i, const char *text, size_t n)) {
    size_t n, left;
    char *text = gp_kutf8(streams[i].held, streams[i].n, &n, &left);
    if (!text) return;
    if (n) send(i, text, n);
    free(text);
    memmove(streams[i].held, streams[i].held + streams[i].n - left, left);
    streams[i].n = left;
}

void gp_kstream_read(int i, void (*send)(int i, const char *text, size_t n)) {
    ssize_t got = 1;
    for (size_t all = 0; got > 0 && all < 2 * GP_KSTREAM_PIECE; all += (size_t)got) {
        if (streams[i].n == GP_KSTREAM_PIECE) emit(i, send);
        got = read(streams[i].end, streams[i].held + streams[i].n, GP_KSTREAM_PIECE - streams[i].n);
        if (got <= 0) break;
        if (streams[!i].n) emit(!i, send); /* which was written before */
        streams[i].n += (size_t)got;
    }
}

void gp_kstream_flush(int i, void (*send)(int i, const char *text, size_t n)) {
    if (streams[i].n) emit(i, send);
}

bool gp_kstream_pending(void) { return streams[0].n > 0 || streams[1].n > 0; }
