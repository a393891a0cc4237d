/* The history's file under kill -9: shells that append and cut it back are killed at random
 * moments, and every line that is left is whole. */
#include "tap.h"

#include <signal.h>
#include <sys/wait.h>
#include <time.h>

#define GP_HISTORY_KEPT 5000 /* so that 40 rounds fill the file beyond it in seconds */
// NOLINTNEXTLINE(bugprone-suspicious-include): the tests link the core, not the shell
#include "shell/editor/history.c"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 20 }; /* a sanitizer's code is */
#else
enum { SLOWER = 1 };
#endif
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

/* The texts found, joined by '|'. */
static const char *searched(const char *query) {
    static char text[400];
    int *order, n = gp_history_search(query, &order);
    *text = 0;
    for (int i = 0; i < n; i++) {
        strcat(text, i ? "|" : "");
        strcat(text, gp_history_get(order[i]));
    }
    free(order);
    return text;
}

static void search_order(void) {
    static const char *const queries[][2] = {
        {"sum", "x:sum()|SUM = 2|s = u + m"}, /* the session's, the other's, with gaps */
        {"SUM", "SUM = 2"},
        {"su", "x:sum()|SUM = 2|s = u + m"},
        {"mus", ""},
        {"", ""},
        {"a ", "a long line|a = 1"},
        {"an", "a long line"},
        {"in", "a long line"}};
    FILE *f = fopen(file, "we");
    fputs("SUM = 2\ns = u + m\na = 1\n", f);
    fclose(f);
    gp_history_open();
    gp_history_add("x:sum()");
    gp_history_add("a long line");
    for (size_t i = 0; i < sizeof queries / sizeof *queries; i++)
        tap_ok(!strcmp(searched(queries[i][0]), queries[i][1]), "search for '%s': %s",
               queries[i][0], searched(queries[i][0]));
    gp_history_close();
}

static double processor_ms(void) { return 1e3 * (double)clock() / CLOCKS_PER_SEC; }

/* What a key costs at most, of some queries typed letter by letter, and of a suggestion. */
static void search_time(void) {
    static const char *const queries[] = {"loss", "xmatmul(y)", "zzzz", "step:backward 99999"};
    enum { BLOCKS = 100000 };
    double most = 0, begin;
    FILE *f = fopen(file, "we");
    for (int i = 0; i < BLOCKS; i++)
        fprintf(f, "loss = model(x%d):matmul(y):relu():sum() / %d -- step %d\n", i % 97, i, i / 97);
    fclose(f);
    gp_history_open();
    for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
        for (size_t n = 1; n <= strlen(queries[q]); n++) {
            char part[32] = "";
            memcpy(part, queries[q], n);
            int *order;
            begin = processor_ms();
            gp_history_search(part, &order);
            if (processor_ms() - begin > most) most = processor_ms() - begin;
            free(order);
        }
    begin = processor_ms();
    gp_history_find(gp_history_count(), -1, "loss = model(x97", 16, NULL);
    double find = processor_ms() - begin;
    tap_ok(most < 10 * SLOWER && find < 10 * SLOWER,
           "100,000 blocks: a key of a search takes %.1f ms (10), a suggestion %.1f", most, find);
    gp_history_close();
}

/* A program that is stopped while it has the lock. */
static void locked(void) {
    int ready[2];
    char byte;
    struct timespec begin, end;
    fill(3);
    if (pipe(ready)) return;
    pid_t pid = fork();
    if (!pid) {
        int fd = open(file, O_RDWR);
        if (flock(fd, LOCK_EX) || write(ready[1], "", 1) != 1) _exit(1);
        for (;;) pause();
    }
    bool held = read(ready[0], &byte, 1) == 1;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    gp_history_open();
    bool read_all = gp_history_count() == 3;
    fclose(stderr); /* what it says of that */
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

    search_order();
    search_time();
    locked();
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command)) return 1;
    return tap_done();
}
