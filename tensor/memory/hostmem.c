/* Host memory for tensors, and for Lua's largest tables. */
#include "tensor/memory/hostmem.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { HUGE = 2 << 20 };

/* Maps bytes (a multiple of HUGE) at an address that is a multiple of HUGE, by mapping more and
 * unmapping the ends. */
static void *map_aligned(size_t bytes) {
    char *p = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) return NULL;
    size_t head = (HUGE - (uintptr_t)p % HUGE) % HUGE;
    if (head) munmap(p, head);
    munmap(p + head + bytes, HUGE - head);
    madvise(p + head, bytes, MADV_HUGEPAGE);
    return p + head;
}

static size_t rounded(size_t bytes) { return (bytes + HUGE - 1) / HUGE * HUGE; }

void *gp_host_alloc(size_t bytes) {
    if (bytes >= HUGE) return map_aligned(rounded(bytes));
    void *p;
    return posix_memalign(&p, 64, bytes ? bytes : 64) ? NULL : p;
}

void gp_host_free(void *p, size_t bytes) {
    if (bytes >= HUGE) munmap(p, rounded(bytes));
    else free(p);
}

void gp_host_shrink(void *p, size_t bytes, size_t to) {
    if (rounded(to) < rounded(bytes)) munmap((char *)p + rounded(to), rounded(bytes) - rounded(to));
}

void gp_host_move(void *p, size_t bytes, void *to) {
    if (mremap(p, rounded(bytes), rounded(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to) != MAP_FAILED)
        return;
    memcpy(to, p, bytes);
    gp_host_free(p, bytes);
}

/* The memory limit of the container that the process runs in; SIZE_MAX without one. */
static size_t group_limit(void) {
    unsigned long long limit;
    FILE *f = fopen("/sys/fs/cgroup/memory.max", "re");
    bool found = f && fscanf(f, "%llu", &limit) == 1; /* "max": no limit */
    if (f) fclose(f);
    return found ? (size_t)limit : SIZE_MAX;
}

size_t gp_host_capacity(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return 0;
    size_t all = (size_t)pages * (size_t)size, group = group_limit();
    return (group < all ? group : all) / 10 * 9;
}
