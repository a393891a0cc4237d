/* A program on a pseudo-terminal, for tests of the prompt: start it, type, wait for its output, end
 * it. */
#ifndef GP_TTY_H
#define GP_TTY_H

#include <errno.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

typedef struct pty {
    int fd;
    pid_t pid;
    char text[1 << 16]; /* output that was not yet expected, with escape sequences, without NULs;
                           the newest is kept */
    size_t n;
} pty;

static inline double pty_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Starts argv (argv[0] is the path) on a terminal of 24 x 80 that calls itself term; false where
   there are no pseudo-terminals. */
static inline bool pty_start_term(pty *p, char *const argv[], const char *term) {
    struct winsize size = {24, 80, 0, 0};
    memset(p, 0, sizeof *p);
    p->pid = forkpty(&p->fd, NULL, NULL, &size);
    if (p->pid == 0) {
        setenv("TERM", term, 1);
        execv(argv[0], argv);
        _exit(127);
    }
    return p->pid > 0;
}

static inline bool pty_start(pty *p, char *const argv[]) {
    return pty_start_term(p, argv, "xterm");
}

/* Removes the row of spaces by which the prompt begins a line when the cursor is at the start of
 * one: it is invisible. */
static inline void pty_drop_blanks(pty *p) {
    static const char end[] = "\r\033[K";
    for (char *to = strstr(p->text, end); to; to = strstr(to, end)) {
        char *from = to, *rest = to + sizeof end - 1;
        while (from > p->text && from[-1] == ' ') from--;
        bool blanks = to - from >= 20 && (from == p->text || from[-1] == '\n');
        if (blanks) memmove(from, rest, strlen(rest) + 1);
        to = blanks ? from : rest;
    }
    p->n = strlen(p->text);
}

/* Reads the available output, waiting at most the given seconds for some; false at the end of the
 * program's output. */
static inline bool pty_read(pty *p, double seconds) {
    struct pollfd f = {p->fd, POLLIN, 0};
    if (poll(&f, 1, seconds > 0 ? (int)(seconds * 1000) + 1 : 0) <= 0) return true;
    if (p->n > sizeof p->text / 2) {
        memmove(p->text, p->text + p->n / 2, p->n - p->n / 2 + 1);
        p->n -= p->n / 2;
    }
    char buf[4096];
    ssize_t got = read(p->fd, buf, sizeof buf);
    if (got <= 0) return got < 0 && errno == EINTR;
    for (ssize_t i = 0; i < got; i++)
        if (buf[i]) p->text[p->n++] = buf[i];
    p->text[p->n] = 0;
    pty_drop_blanks(p);
    return true;
}

/* Waits until text is shown, at most the given seconds, and discards everything up to and with
 * it. */
static inline bool pty_expect(pty *p, const char *text, double seconds) {
    double end = pty_now() + seconds;
    for (bool open = true;;) {
        char *at = strstr(p->text, text);
        if (at) {
            size_t used = (size_t)(at - p->text) + strlen(text);
            memmove(p->text, p->text + used, p->n - used + 1);
            p->n -= used;
            return true;
        }
        double left = end - pty_now();
        if (!open || left <= 0) break;
        open = pty_read(p, left);
    }
    fprintf(stderr, "#   waited for: %s\n#   shown since: %s\n", text, p->text);
    return false;
}

/* Types text; "\3" is Ctrl-C, "\4" Ctrl-D. */
static inline bool pty_send(pty *p, const char *text) {
    size_t n = strlen(text);
    return write(p->fd, text, n) == (ssize_t)n;
}

/* Whether the program reads single keys, as a line editor does, and not the terminal's lines. */
static inline bool pty_edits(pty *p) {
    struct termios mode;
    return !tcgetattr(p->fd, &mode) && !(mode.c_lflag & ICANON);
}

/* Waits for the program to end, at most the given seconds, or kills it. Returns its exit status,
 * 128 + the signal, or -1 when killed. */
static inline int pty_end(pty *p, double seconds) {
    int status = -1;
    double end = pty_now() + seconds;
    while (pty_now() < end && pty_read(p, 0.05)) continue;
    pid_t done = 0;
    while ((done = waitpid(p->pid, &status, WNOHANG)) == 0 && pty_now() < end) usleep(10000);
    if (done == 0) {
        fprintf(stderr, "#   did not end in %g s; shown since: %s\n", seconds, p->text);
        kill(p->pid, SIGKILL);
        waitpid(p->pid, &status, 0);
        status = -1;
    }
    close(p->fd);
    if (status == -1) return -1;
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

#endif
