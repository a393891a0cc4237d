/* What check_finite says where it finds a NaN or an infinity. The notes of results are kept for as
 * long as the process lives, each once, with the messages that were made last for it: a result that
 * is checked in each step of a training costs a look-up. */
#include "tensor/ops/finite.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/intern.h"
#include "tensor/device/stream/thread.h"

/* ---- notes ---- */

/* The messages for a result of this dtype and shape. */
typedef struct texts {
    uint8_t dtype, ndim;
    int64_t dim[GP_MAX_DIM];
    const char *text[2 + GP_CHECK_MOST];
} texts;

typedef struct known {
    gp_finite_note note;
    _Atomic(const texts *) last; /* the messages that were asked for last; NULL: none so far */
    uint32_t next;               /* number of the next note in its bucket; 0: it is the last */
} known;

enum { CHUNK = 256, CHUNKS = 1024, BUCKETS = 1024 };
static known nameless;                                   /* number 0 */
static _Atomic(known *) chunk[CHUNKS];                   /* number n is n - 1 of them all */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows, and `next` */
static uint32_t count, bucket[BUCKETS];

static known *known_at(uint32_t id) {
    uint32_t at = id - 1;
    known *some = id && at < CHUNK * CHUNKS ? atomic_load(&chunk[at / CHUNK]) : NULL;
    return some ? &some[at % CHUNK] : &nameless;
}

static bool same(const gp_finite_note *a, const gp_finite_note *b) {
    return a->op == b->op && a->step == b->step && a->module == b->module &&
           gp_srcloc_same(a->at, b->at) && a->given == b->given && a->number == b->number;
}

static uint32_t bucket_of(const gp_finite_note *n) {
    uintptr_t words[] = {(uintptr_t)n->op,      (uintptr_t)n->step,    (uintptr_t)n->module,
                         (uintptr_t)n->at.file, (uintptr_t)n->at.line, (uintptr_t)n->given};
    return gp_intern_hash((const char *)words, sizeof words) % BUCKETS;
}

/* With the lock held: adds n to bucket b. */
static uint32_t append(const gp_finite_note *n, uint32_t b) {
    if (count == CHUNK * CHUNKS) return 0;
    known *some = atomic_load(&chunk[count / CHUNK]);
    if (!some && !(some = calloc(CHUNK, sizeof *some))) return 0;
    some[count % CHUNK].note = *n;
    some[count % CHUNK].next = bucket[b];
    atomic_store(&chunk[count / CHUNK], some);
    return bucket[b] = ++count;
}

/* Asks the table, with its lock. */
static uint32_t find_or_append(const gp_finite_note *n) {
    uint32_t b = bucket_of(n);
    gp_lock(&lock);
    uint32_t id = bucket[b];
    while (id && !same(&known_at(id)->note, n)) id = known_at(id)->next;
    if (!id) id = append(n, b);
    gp_unlock(&lock);
    return id;
}

uint32_t gp_finite_note_id(const gp_finite_note *n) {
    static _Thread_local struct {
        gp_finite_note note;
        uint32_t id;
    } recent[64];
    unsigned at = ((uintptr_t)n->op >> 3 ^ (uintptr_t)n->module >> 3 ^ (unsigned)n->at.line) % 64;
    if (!recent[at].id || !same(&recent[at].note, n))
        recent[at].note = *n, recent[at].id = find_or_append(n);
    return recent[at].id;
}

/* Any number is good, since scripts may give some. */
static known *known_of(const gp_call *c, int k) {
    int n;
    if (!gp_given(c, GP_CHECK_NOTES)) return &nameless;
    const int64_t *ids = gp_ints(c, GP_CHECK_NOTES, &n);
    return k / 2 < n ? known_at((uint32_t)((uint64_t)ids[k / 2] >> 32 * (k % 2))) : &nameless;
}

const gp_finite_note *gp_finite_note_of(const gp_call *c, int k) { return &known_of(c, k)->note; }

/* ---- messages ---- */

/* s with each % doubled, since messages are formats; "" for NULL. */
static const char *doubled(const char *s, char *to, size_t size) {
    size_t n = 0;
    for (const char *p = s ? s : ""; *p && n + 2 < size; p++) {
        to[n++] = *p;
        if (*p == '%') to[n++] = '%';
    }
    return to[n] = 0, to;
}

#define WATCH "nan.watch: "

bool gp_finite_watched(const char *text) { return !strncmp(text, WATCH, sizeof WATCH - 1); }

/* The message, where the operand of that number, from 1, is not finite; 0: all are;
 * GP_CHECK_MOST + 1: only a number is not. */
static const char *text(const gp_finite_note *n, const gp_array *x, int operand) {
    char text[600], shape[100], op[130], step[64], module[128], last[100] = "";
    gp_shape s = {.ndim = x->ndim};
    memcpy(s.dim, x->dim, sizeof *x->dim * (size_t)x->ndim);
    doubled(n->op, op, sizeof op);
    doubled(n->step, step, sizeof step);
    doubled(n->module, module, sizeof module);
    if (n->given) snprintf(last, sizeof last, "; they were in %s before", n->given);
    else if (operand > GP_CHECK_MOST)
        snprintf(last, sizeof last, "; a number was not finite before");
    else if (operand) snprintf(last, sizeof last, "; operand %d was not finite before", operand);
    snprintf(text, sizeof text,
             "%s%s%s%%lld NaN and %%lld infinite of %lld element%s (%s %s)%s%s%s%s%s",
             *op ? WATCH : "check_finite: ", op,
             !*op       ? ""
             : n->given ? " was given "
             : operand  ? " gave "
                        : " made ",
             (long long)x->numel, x->numel == 1 ? "" : "s", gp_dtype_name((gp_dtype)x->dtype),
             gp_shape_text(&s, shape, sizeof shape), *step ? " in the backward of " : "", step,
             *module ? " in " : "", module, last);
    return gp_intern_text(text);
}

/* All of n's messages for x. */
static const texts *make(const gp_finite_note *n, const gp_array *x) {
    static gp_intern *_Atomic all;
    texts t;
    memset(&t, 0, sizeof t); /* it is compared as a whole */
    t.dtype = x->dtype, t.ndim = x->ndim;
    memcpy(t.dim, x->dim, sizeof *x->dim * (size_t)x->ndim);
    for (int i = 0; i <= GP_CHECK_MOST + 1; i++)
        if (!(t.text[i] = text(n, x, i))) return NULL;
    gp_intern *set = atomic_load(&all), *mine = set ? NULL : gp_intern_new();
    if (mine && atomic_compare_exchange_strong(&all, &set, mine)) set = mine, mine = NULL;
    gp_intern_free(mine);
    return set ? gp_intern_add(set, &t, sizeof t) : NULL;
}

static bool fit(const texts *t, const gp_array *x) {
    return t->dtype == x->dtype && t->ndim == x->ndim &&
           !memcmp(t->dim, x->dim, sizeof *x->dim * (size_t)x->ndim);
}

const char *const *gp_finite_texts(const gp_call *c, int k) {
    known *n = known_of(c, k);
    const gp_array *x = gp_check_array(c, GP_CHECK_X, k);
    const texts *t = atomic_load(&n->last);
    if (t && fit(t, x)) return t->text;
    if (!(t = make(&n->note, x))) return gp_fail("check_finite: out of memory"), NULL;
    atomic_store(&n->last, t);
    return t->text;
}
