/* The test library for C, which tests itself in a child process whose output it reads. */
#include "tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static int failing(void) {
    tap_ok(false, "x");
    tap_is_int(1, 2, "x");
    tap_is_str("a", NULL, "x");
    tap_close(1, NAN, 1, "x");
    return tap_done();
}

static int passing(void) {
    tap_ok(true, "a # SKIP %d", 1);
    tap_is_str(NULL, NULL, "nulls");
    tap_close(INFINITY, INFINITY, 0, "inf");
    tap_skip("no device");
    return tap_done();
}

static int empty(void) { return tap_done(); }

/* Runs fn in a child with stderr closed; its exit status, and its stdout in out. */
static int run(int (*fn)(void), char *out, size_t size) {
    int fd[2];
    if (pipe2(fd, O_CLOEXEC)) return -1;
    pid_t pid = fork();
    if (pid == 0) {
        dup2(fd[1], 1), close(fd[0]), close(fd[1]);
        if (!freopen("/dev/null", "w", stderr)) _exit(99);
        tap_count = tap_failed = 0;
        _exit(fn());
    }
    close(fd[1]);
    size_t n = 0;
    for (ssize_t got; (got = read(fd[0], out + n, size - 1 - n)) > 0;) n += (size_t)got;
    out[n] = 0;
    close(fd[0]);
    int status = 0;
    waitpid(pid, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(void) {
    char out[1024];
    int status = run(failing, out, sizeof out);
    tap_is_int(status, 1, "failures make the status 1");
    tap_is_str(out, "not ok 1 - x\nnot ok 2 - x\nnot ok 3 - x\nnot ok 4 - x\n1..4\n",
               "each failure is reported");
    status = run(passing, out, sizeof out);
    tap_is_int(status, 0, "what holds passes");
    tap_is_str(out, "ok 1 - a \\# SKIP 1\nok 2 - nulls\nok 3 - inf\nok 4 # SKIP no device\n1..4\n",
               "names are escaped");
    status = run(empty, out, sizeof out);
    tap_is_int(status, 1, "no assertion at all is a failure");
    return tap_done();
}
