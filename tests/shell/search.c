/* The search of the history: what it finds, in which order, and what a key costs. */
#include "tap.h"

#include <math.h>
#include <time.h>

// NOLINTNEXTLINE(bugprone-suspicious-include): the tests link the core, not the shell
#include "shell/editor/history.c"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
enum { SLOWER = 20 }; /* a sanitizer's code is */
#else
enum { SLOWER = 1 };
#endif

static char file[300];

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

/* A history of blocks that differ: words in any order, some with figures, some of several lines. */
static void write_blocks(int blocks) {
    static const char *const words[] = {"loss", "model",    "x",    "relu",      "sum",
                                        "step", "backward", "opt",  "zero_grad", "conv2d",
                                        "then", "gpu",      "item", "matmul",    "Linear",
                                        "for",  "print",    "end",  "randn",     "local"};
    FILE *f = fopen(file, "we");
    for (int i = 0; i < blocks; i++) {
        for (int n = 3 + rand() % 22; n--;) {
            fputs(words[rand() % 20], f);
            if (rand() % 3 == 0) fprintf(f, "%d", rand() % 100);
            fputs(rand() % 9 ? " " : "\\n    ", f);
        }
        fprintf(f, "-- %d\n", i);
    }
    fclose(f);
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* What one look at each chunk's text costs here and now, beside what else the machine does. */
static double one_pass(void) {
    double begin = processor_ms();
    int n = 0;
    for (int i = 0; i < gp_history_count(); i++) n += strchr(gp_history_get(i), 1) != NULL;
    return n ? 0 : processor_ms() - begin;
}

/* What a key of a search costs, of some queries typed letter by letter, and of a suggestion. */
static void search_time(void) {
    static const char *const queries[] = {"loss",  "xmatmul", "zzzz",      "lm rlu sm",
                                          "99999", "Linear",  "zero grad", "step back"};
    enum { BLOCKS = 100000 };
    double took[100], begin, find, pass = 1e9, limit;
    int keys = 0;
    write_blocks(BLOCKS);
    gp_history_open();
    for (int i = 0; i < 100; i++) took[i] = 1e9;
    for (int again = 0; again < 3; again++) { /* what else the machine does is not the key's */
        keys = 0;
        pass = fmin(pass, one_pass());
        for (size_t q = 0; q < sizeof queries / sizeof *queries; q++)
            for (size_t n = 1; n <= strlen(queries[q]); n++, keys++) {
                char part[32] = "";
                memcpy(part, queries[q], n);
                int *order;
                begin = processor_ms();
                gp_history_search(part, &order);
                took[keys] = fmin(took[keys], processor_ms() - begin);
                free(order);
            }
    }
    qsort(took, (size_t)keys, sizeof *took, by_value);
    begin = processor_ms();
    gp_history_find(gp_history_count(), -1, "loss99 loss99 loss99", 20, NULL);
    find = processor_ms() - begin;
    tap_is_int(gp_history_count(), BLOCKS, "all of a history are there");
    limit = fmax(10, 6 * pass) * SLOWER; /* a machine that is busy has no 10 ms */
    tap_ok(
        took[keys - 1] < limit && find < limit,
        "100,000 blocks: a key of a search takes %.1f ms, at most %.1f (10, where a look at each "
        "takes %.1f), a suggestion %.1f",
        took[keys / 2], took[keys - 1], pass, find);
    gp_history_close();
}

int main(void) {
    char dir[] = "/tmp/gpush-search.XXXXXX", command[100];
    srand(20261130);
    if (!mkdtemp(dir)) return 1;
    setenv("XDG_STATE_HOME", dir, 1);
    snprintf(file, sizeof file, "%s/gpush/history", dir);
    gp_history_open(); /* makes the folder */
    gp_history_close();
    search_order();
    search_time();
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command)) return 1;
    return tap_done();
}
