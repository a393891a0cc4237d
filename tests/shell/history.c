/* The history's file under kill -9: shells that append and cut it back are killed at random
 * moments, and every line that is left is whole. */
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define GP_HISTORY_KEPT 5000 /* so that 40 rounds fill the file beyond it in seconds */
// NOLINTNEXTLINE(bugprone-suspicious-include): the tests link the core, not the shell
#include "shell/editor/history.c"

enum { WIDE = 300 }; /* bytes of a chunk */

static char file[300];

/* A chunk that shows whether it is whole: one digit, repeated. */
static const char *chunk(int i) {
    static char text[WIDE + 1];
    memset(text, '0' + i % 10, WIDE);
    return text;
}

/* Fills the file beyond the limit, so that the next shell cuts it back. */
static void fill(int lines) {
    FILE *f = fopen(file, "we");
    for (int i = 0; i < lines; i++) fprintf(f, "%s\n", chunk(i));
    fclose(f);
}

/* The file's lines; -1 where one is not whole. A last one without its end is the kill's. */
static int count(void) {
    FILE *f = fopen(file, "re");
    char line[2 * WIDE + 2];
    int n = 0;
    while (f && fgets(line, sizeof line, f)) {
        size_t length = strspn(line, (char[]){line[0], 0});
        bool whole = length == WIDE && line[length] == '\n';
        if (!whole && !feof(f) && length != strcspn(line, "\n")) n = -1000000;
        n++;
    }
    if (f) fclose(f);
    return n < 0 ? -1 : n;
}

/* A shell that opens the history, which cuts it back, and appends without end. */
static pid_t shell(int from) {
    pid_t pid = fork();
    if (pid) return pid;
    gp_history_open();
    for (int i = from;; i++) gp_history_add(chunk(i));
}

static void wait_us(long us) { nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL); }

/* A program that is stopped while it has the lock. */
static void locked(void) {
    int ready[2];
    char byte;
    struct timespec begin, end;
    fill(3);
    if (pipe2(ready, O_CLOEXEC)) return;
    pid_t pid = fork();
    if (!pid) {
        int fd = open(file, O_RDWR | O_CLOEXEC);
        if (flock(fd, LOCK_EX) || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    bool held = read(ready[0], &byte, 1) == 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    gp_history_open();
    bool read_all = gp_history_count() == 3;
    if (!freopen("/dev/null", "we", stderr)) return; /* what it says of that */
    gp_history_add("one");
    gp_history_add("two");
    clock_gettime(CLOCK_MONOTONIC, &end);
    bool kept = gp_history_count() == 5;
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    gp_history_add("three");
    gp_history_close();
    tap_ok(held && read_all && kept && end.tv_sec - begin.tv_sec < 5,
           "a lock that is not given up holds up a session for %d s",
           (int)(end.tv_sec - begin.tv_sec));
    gp_history_open();
    tap_ok(gp_history_count() == 4 && !strcmp(gp_history_get(3), "three"),
           "which writes again once the lock is free: %d", gp_history_count());
    gp_history_close();
}

/* A file that may only be read. Root may write any: another user reads it then. */
static void in_read_only_file(const char *top) {
    char folder[300];
    snprintf(folder, sizeof folder, "%s/gpush", top);
    fill(3);
    pid_t pid = fork();
    if (!pid) {
        chmod(file, 0444);
        if (!geteuid() && (chmod(top, 0755) || chmod(folder, 0755) || setuid(65534))) _exit(2);
        past.fd = -1;
        gp_history_open();
        bool read_it = gp_history_count() == 3;
        gp_history_add("typed");
        _exit(!(read_it && gp_history_count() == 4 && past.error == EACCES));
    }
    int status = 1;
    waitpid(pid, &status, 0);
    chmod(file, 0600);
    tap_ok(!status && count() == 3, "a file that cannot be written is read: %d", status);
}

int main(void) {
    char dir[] = "/tmp/gpush-history.XXXXXX", command[100];
    srand(20261124);
    if (!mkdtemp(dir)) return 1;
    setenv("XDG_STATE_HOME", dir, 1);
    snprintf(file, sizeof file, "%s/gpush/history", dir);
    gp_history_open(); /* makes the folder */
    gp_history_close();
    int least = 1 << 30, torn_rounds = 0;
    for (int round = 0; round < 40; round++) {
        fill(2 * KEPT + 1);
        pid_t one = shell(0), other = shell(5);
        wait_us(rand() % 30000);
        kill(one, SIGKILL);
        waitpid(one, NULL, 0);
        wait_us(rand() % 3000);
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
        int n = count();
        if (n < 0) torn_rounds++;
        else if (n < least) least = n;
    }
    tap_ok(torn_rounds == 0, "no line is torn, or merged with another: %d", torn_rounds);
    tap_ok(least >= KEPT, "and none is lost: at least %d are left", least);

    fill(3);
    FILE *f = fopen(file, "ae");
    fputs("begun", f); /* what a kill in the middle of a line leaves */
    fclose(f);
    gp_history_open();
    gp_history_add("next");
    gp_history_close();
    gp_history_open();
    tap_ok(gp_history_count() == 5 && !strcmp(gp_history_get(4), "next"),
           "a line without its end does not swallow the next");

    fill(2 * KEPT + 1);
    pid_t pid = fork(); /* this shell has the file open that another one replaces */
    if (!pid) {
        past.fd = -1;
        past.n = 0;
        gp_history_open();
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    gp_history_add(chunk(1));
    tap_ok(count() == KEPT + 1, "a shell appends to the file that replaced its own: %d", count());
    gp_history_close();

    locked();
    in_read_only_file(dir);
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command)) return 1;
    return tap_done();
}
