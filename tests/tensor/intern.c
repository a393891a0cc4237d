/* The set of strings: one address for each content, from any thread and with any bytes. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "tap.h"
#include "tensor/base/intern.h"

enum { TEXTS = 5000, THREADS = 4 };
static const char *kept[THREADS][TEXTS];

/* The same texts on every thread, in another order on each. */
static void *fill(void *thread) {
    const char **mine = thread;
    int first = (int)((const char *(*)[TEXTS])thread - kept) * 997;
    for (int i = 0; i < TEXTS; i++) {
        char text[32];
        int n = (first + i) % TEXTS;
        snprintf(text, sizeof text, "text %d", n);
        mine[n] = gp_intern_text(text);
    }
    return NULL;
}

static void of_the_process(void) {
    pthread_t thread[THREADS];
    for (int k = 0; k < THREADS; k++) pthread_create(&thread[k], NULL, fill, kept[k]);
    for (int k = 0; k < THREADS; k++) pthread_join(thread[k], NULL);
    int same = 0, right = 0;
    for (int i = 0; i < TEXTS; i++) {
        char text[32];
        snprintf(text, sizeof text, "text %d", i);
        right += !strcmp(kept[0][i], text);
        for (int k = 1; k < THREADS; k++) same += kept[k][i] == kept[0][i];
    }
    tap_ok(right == TEXTS, "%d of %d texts are what was given", right, TEXTS);
    tap_ok(same == TEXTS * (THREADS - 1), "threads got the same copies: %d of %d", same,
           TEXTS * (THREADS - 1));
}

static void of_a_set(void) {
    gp_intern *set = gp_intern_new(), *other = gp_intern_new();
    const char bytes[] = "ab\0cd";
    const char *all = gp_intern_add(set, bytes, 5), *part = gp_intern_add(set, bytes, 2);
    tap_ok(all != part && all == gp_intern_add(set, bytes, 5), "bytes with a NUL count in full");
    tap_ok(gp_intern_size(all) == 5 && gp_intern_size(part) == 2, "sizes are known");
    tap_ok(!memcmp(all, bytes, 6) && !strcmp(part, "ab"), "a NUL follows each");
    tap_ok(gp_intern_add(other, bytes, 2) != (const void *)part, "another set has its own copy");
    gp_intern_free(set), gp_intern_free(other), gp_intern_free(NULL);
}

int main(void) {
    of_the_process();
    of_a_set();
    return tap_done();
}
