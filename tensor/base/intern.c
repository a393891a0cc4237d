/* A set of byte strings, each stored once, so that equal contents have equal addresses. */
#include "tensor/base/intern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/device/stream/thread.h"

typedef struct entry {
    struct entry *next;
    uint64_t hash;
    size_t size;
    char bytes[];
} entry;

struct gp_intern {
    pthread_mutex_t lock;
    size_t n, buckets; /* buckets: a power of two */
    entry **bucket;
};

/* FNV-1a over 8-byte words and the bytes that are left. */
uint64_t gp_intern_hash(const char *p, size_t n) {
    uint64_t h = 14695981039346656037u ^ n, w;
    for (; n >= 8; n -= 8, p += 8) {
        memcpy(&w, p, 8);
        h = (h ^ w) * 1099511628211u;
        h ^= h >> 29;
    }
    for (; n; n--, p++) h = (h ^ (unsigned char)*p) * 1099511628211u;
    return h ^ h >> 32;
}

gp_intern *gp_intern_new(void) {
    gp_intern *set = calloc(1, sizeof *set);
    if (!set) return NULL;
    set->buckets = 64;
    set->bucket = calloc(set->buckets, sizeof *set->bucket);
    if (!set->bucket) return free(set), NULL;
    pthread_mutex_init(&set->lock, NULL);
    return set;
}

void gp_intern_free(gp_intern *set) {
    if (!set) return;
    for (size_t i = 0; i < set->buckets; i++)
        for (entry *e = set->bucket[i], *next; e; e = next) {
            next = e->next;
            free(e);
        }
    pthread_mutex_destroy(&set->lock);
    free(set->bucket);
    free(set);
}

/* Doubles the buckets; when there is no memory for it, chains grow instead. */
static void grow(gp_intern *set) {
    size_t n = set->buckets * 2;
    entry **bucket = calloc(n, sizeof *bucket);
    if (!bucket) return;
    for (size_t i = 0; i < set->buckets; i++)
        for (entry *e = set->bucket[i], *next; e; e = next) {
            next = e->next;
            e->next = bucket[e->hash & (n - 1)];
            bucket[e->hash & (n - 1)] = e;
        }
    free(set->bucket);
    set->bucket = bucket;
    set->buckets = n;
}

static entry *find(gp_intern *set, uint64_t h, const void *bytes, size_t n) {
    for (entry *e = set->bucket[h & (set->buckets - 1)]; e; e = e->next)
        if (e->hash == h && e->size == n && !memcmp(e->bytes, bytes, n)) return e;
    return NULL;
}

static entry *add(gp_intern *set, uint64_t h, const void *bytes, size_t n) {
    entry *e = malloc(sizeof *e + n + 1);
    if (!e) return NULL;
    if (set->n++ >= set->buckets) grow(set);
    entry **head = &set->bucket[h & (set->buckets - 1)];
    e->next = *head;
    e->hash = h;
    e->size = n;
    memcpy(e->bytes, bytes, n);
    e->bytes[n] = 0;
    return *head = e;
}

const void *gp_intern_add(gp_intern *set, const void *bytes, size_t n) {
    uint64_t h = gp_intern_hash(bytes, n);
    gp_lock(&set->lock);
    entry *e = find(set, h, bytes, n);
    if (!e) e = add(set, h, bytes, n);
    gp_unlock(&set->lock);
    return e ? e->bytes : NULL;
}

size_t gp_intern_size(const void *stored) {
    return ((const entry *)((const char *)stored - offsetof(entry, bytes)))->size;
}

/* The set of the process. A call that finds no memory for it leaves it to the next one. */
static gp_intern *text_set(void) {
    static _Atomic(gp_intern *) texts;
    gp_intern *set = atomic_load_explicit(&texts, memory_order_acquire);
    if (set) return set;
    gp_intern *made = gp_intern_new();
    if (!made) return NULL;
    if (atomic_compare_exchange_strong(&texts, &set, made)) return made;
    gp_intern_free(made); /* another thread was first */
    return set;
}

const char *gp_intern_text(const char *text) {
    gp_intern *set = text_set();
    return set ? gp_intern_add(set, text, strlen(text)) : NULL;
}
