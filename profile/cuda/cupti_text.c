/* Texts for the record that are never freed: kernels' readable names, and the calls that ops'
 * libraries make. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/cuda/cupti.h"

/* The C++ library's, if the plug-in is linked to it. */
__attribute__((weak)) char *__cxa_demangle(const char *mangled, char *buffer, size_t *size,
                                           int *status);

enum { TEXTS = 4096, MOST = 200 }; /* a power of 2, of which half is used; bytes of a text */
_Static_assert((TEXTS & (TEXTS - 1)) == 0, "hashes are reduced by a mask");

/* By key; guarded by the lock. */
static struct text { char *key, *text; } texts[TEXTS];
static int used;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct text *slot_of(const char *key) {
    uint64_t h = 1469598103934665603u; /* FNV-1a */
    for (const char *p = key; *p; p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    size_t i = (h ^ h >> 32) % TEXTS;
    while (texts[i].key && strcmp(texts[i].key, key)) i = (i + 1) % TEXTS;
    return &texts[i];
}

/* The start of the arguments in "name<…>(int, void (*)(int))": the bracket that the last one
 * closes. */
static char *arguments(char *name) {
    size_t n = strlen(name);
    int depth = 0;
    for (size_t i = n; i > 0 && (depth || name[n - 1] == ')'); i--) {
        depth += (name[i - 1] == ')') - (name[i - 1] == '(');
        if (!depth) return name + i - 1;
    }
    return name + n;
}

/* "void softmax<float>(float *, int)" becomes "softmax<float>". */
static void readable(const char *name, char *out) {
    int status = -1;
    char *plain = !strncmp(name, "_Z", 2) && __cxa_demangle
                      ? __cxa_demangle(name, NULL, NULL, &status)
                      : NULL;
    if (status == 0 && plain) {
        char *end = arguments(plain), *from = strncmp(plain, "void ", 5) ? plain : plain + 5;
        if (end > from) *end = 0;
        name = from;
    }
    snprintf(out, MOST, "%s", name);
    free(plain);
}

/* The text for key: made by `made` the first time. NULL when there is no room. */
static const char *lasting(const char *key, void (*made)(const char *key, char *out)) {
    char text[MOST];
    pthread_mutex_lock(&lock);
    struct text *t = slot_of(key);
    if (!t->key && used < TEXTS / 2) {
        made(key, text);
        t->text = strdup(text);
        t->key = t->text ? strdup(key) : NULL;
        if (t->key) used++;
        else free(t->text), t->text = NULL;
    }
    const char *is = t->text;
    pthread_mutex_unlock(&lock);
    return is;
}

const char *gp_cuda_kernel_text(const char *name) { return name ? lasting(name, readable) : NULL; }

static void same(const char *key, char *out) { snprintf(out, MOST, "%s", key); }

const char *gp_cuda_call_text(const char *op, const char *function) {
    char key[MOST];
    snprintf(key, sizeof key, "%s: %s", op, function);
    return lasting(key, same);
}
