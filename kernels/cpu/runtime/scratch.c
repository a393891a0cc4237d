/* Working memory that a thread keeps; one pool for all instruction sets. */
#ifdef GP_ISA_base
#include "kernels/cpu/runtime/scratch.h"

#include <pthread.h>

#include "tensor/memory/hostmem.h"

enum { KEEP = 16 << 20 }; /* larger blocks go when a call needs less than a quarter of them */

typedef struct block {
    void *p;
    size_t bytes;
} block;

static _Thread_local block blocks[GP_SCRATCH_SLOTS];
static pthread_key_t key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void release(block *b) {
    if (b->p) gp_host_free(b->p, b->bytes);
    *b = (block){0};
}

static void thread_ends(void *all) {
    for (int i = 0; i < GP_SCRATCH_SLOTS; i++) release((block *)all + i);
}

static void make_key(void) { pthread_key_create(&key, thread_ends); }

void *gp_scratch(gp_scratch_slot slot, size_t bytes) {
    block *b = &blocks[slot];
    if (b->p && b->bytes >= bytes && (b->bytes <= KEEP || bytes >= b->bytes / 4)) return b->p;
    release(b);
    pthread_once(&once, make_key);
    pthread_setspecific(key, blocks);
    bytes = bytes < 4096 ? 4096 : bytes + bytes / 8;
    b->p = gp_host_alloc(bytes);
    b->bytes = b->p ? bytes : 0;
    return b->p;
}
#endif
