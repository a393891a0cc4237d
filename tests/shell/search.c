/* The search of the history: what it finds, in which order, and what a key costs. */
#include "tap.h"

#include <ctype.h>
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

/* Whether the n characters of s have those of q in order. */
static bool follows(const char *s, size_t n, const char *q) {
    for (; *q; q++, s++, n--) {
        while (n && *s != *q) s++, n--;
        if (!n) return false;
    }
    return true;
}

/* By definition: 0 for one piece; else what stands between, from the latest start to the first end;
 * -1: not all are there. */
static int by_definition(const char *s, const char *q) {
    size_t end = 0, n = strlen(s), start;
    if (strstr(s, q)) return 0;
    while (end <= n && !follows(s, end, q)) end++;
    if (end > n) return -1;
    for (start = end; !follows(s + start, end - start, q);) start--;
    int between = (int)(end - start - strlen(q));
    return between > 63 ? 63 : between;
}

/* Texts of few letters, so that much is found, and queries that are typed, taken back and changed:
 * the order is that of the definition. */
static void random_searches(void) {
    enum { TEXTS = 300, QUERIES = 400 };
    char query[8] = "", text[100];
    int wrong = 0, found_in_all = 0;
    FILE *f = fopen(file, "we");
    for (int i = 0; i < TEXTS; i++) {
        size_t n = 1 + (size_t)rand() % 90;
        for (size_t k = 0; k < n; k++) text[k] = "abcAB. "[rand() % (k % 9 ? 7 : 5)];
        fprintf(f, "%.*s\n", (int)n, text);
    }
    fclose(f);
    gp_history_open();
    for (int i = 0; i < 20; i++) gp_history_add(i % 2 ? "ab.ca" : "caBAb");
    for (int again = 0; again < QUERIES; again++) {
        size_t n = strlen(query);
        if (n == 7 || (n > 1 && rand() % 3 == 0)) query[n - 1] = 0;
        else query[n] = "abcAB."[rand() % (rand() % 4 ? 3 : 6)], query[n + 1] = 0;
        bool exact = strcspn(query, "AB") < strlen(query);
        int *order, found = gp_history_search(query, &order), seen = 0, last_rank = -1, last_at = 0;
        for (int i = 0; i < gp_history_count(); i++) {
            snprintf(text, sizeof text, "%s", gp_history_get(i));
            for (char *c = text; !exact && *c; c++) *c = (char)tolower((unsigned char)*c);
            seen += by_definition(text, query) >= 0;
        }
        for (int k = 0; k < found; k++) {
            snprintf(text, sizeof text, "%s", gp_history_get(order[k]));
            for (char *c = text; !exact && *c; c++) *c = (char)tolower((unsigned char)*c);
            int rank = 2 * by_definition(text, query) + (order[k] < TEXTS);
            if (rank < last_rank || (rank == last_rank && order[k] > last_at)) wrong++;
            last_rank = rank, last_at = order[k];
        }
        wrong += seen != found;
        found_in_all += found;
        free(order);
    }
    tap_ok(!wrong && found_in_all > 10 * QUERIES,
           "%d queries at random find what they have to: %d wrong", QUERIES, wrong);
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
    random_searches();
    search_time();
    snprintf(command, sizeof command, "rm -r %s", dir);
    if (system(command)) return 1;
    return tap_done();
}
