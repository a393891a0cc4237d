/* Host memory for tensors, and for Lua's largest tables. */
#include "tensor/memory/hostmem.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tensor/device/device.h"

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

/* The address space that a block of that size takes. */
static size_t rounded(size_t bytes) {
    return bytes >= HUGE ? (bytes + HUGE - 1) / HUGE * HUGE : bytes;
}

/* ---- the limit of address space ---- */

static _Atomic size_t taken, budget; /* budget: 0 until it is known, SIZE_MAX without a limit */

/* What the limit (ulimit -v) leaves beside the libraries, and some tensors in any case. */
static size_t find_budget(void) {
    enum { LEAST_MIB = 32 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return SIZE_MAX;
    size_t mib = limit.rlim_cur >> 20, kept = gp_library_mib(gp_threads());
    return ((mib > kept ? mib - kept : 0) + LEAST_MIB) << 20;
}

static size_t most_bytes(void) {
    size_t most = atomic_load_explicit(&budget, memory_order_relaxed);
    if (!most) atomic_store(&budget, most = find_budget());
    return most;
}

bool gp_host_limited(void) { return most_bytes() != SIZE_MAX; }

/* Counts bytes as taken; false where they would take what the libraries need. */
static bool reserve(size_t bytes) {
    size_t most = most_bytes();
    if (atomic_fetch_add_explicit(&taken, bytes, memory_order_relaxed) + bytes <= most) return true;
    atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed);
    return false;
}

static void give(size_t bytes) { atomic_fetch_sub_explicit(&taken, bytes, memory_order_relaxed); }

/* ---- blocks ---- */

void *gp_host_alloc(size_t bytes) {
    void *p = NULL;
    if (!reserve(rounded(bytes))) return NULL;
    if (bytes >= HUGE) p = map_aligned(rounded(bytes));
    else if (posix_memalign(&p, 64, bytes ? bytes : 64)) p = NULL;
    if (!p) give(rounded(bytes));
    return p;
}

void gp_host_free(void *p, size_t bytes) {
    if (!p) return;
    give(rounded(bytes));
    if (bytes >= HUGE) munmap(p, rounded(bytes));
    else free(p);
}

void gp_host_shrink(void *p, size_t bytes, size_t to) {
    size_t less = rounded(bytes) - rounded(to);
    if (!less) return;
    munmap((char *)p + rounded(to), less);
    give(less);
}

void gp_host_move(void *p, size_t bytes, void *to) {
    if (mremap(p, rounded(bytes), rounded(bytes), MREMAP_MAYMOVE | MREMAP_FIXED, to) !=
        MAP_FAILED) {
        give(rounded(bytes));
        return;
    }
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

/* The number after `name` in a file of the kernel's, in its units; 0: there is none. */
static size_t kernel_number(const char *path, const char *name) {
    char line[128];
    size_t n = 0, k = strlen(name);
    FILE *f = fopen(path, "re");
    while (f && !n && fgets(line, sizeof line, f))
        if (!strncmp(line, name, k)) n = strtoull(line + k, NULL, 10);
    if (f) fclose(f);
    return n;
}

size_t gp_host_free_bytes(void) {
    size_t free = kernel_number("/proc/meminfo", "MemAvailable:") << 10,
           mine = kernel_number("/proc/self/status", "VmRSS:") << 10, all = gp_host_capacity();
    if (!free || !mine || !all) return SIZE_MAX;
    size_t kept = all / 9, rest = mine < all ? all - mine : 0; /* the tenth that capacity leaves */
    free = free > kept ? free - kept : 0;
    return free < rest ? free : rest;
}

size_t gp_host_untouched(const void *p, size_t bytes) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 0;
    uintptr_t from = (uintptr_t)p / page * page, end = (uintptr_t)p + bytes;
    for (unsigned char there[4096]; from < end; from += sizeof there * page) {
        size_t pages = (end - from + page - 1) / page;
        if (pages > sizeof there) pages = sizeof there;
        bool known = !mincore((void *)from, pages * page, there);
        for (size_t i = 0; i < pages; i++) n += !known || !(there[i] & 1);
    }
    return n * page;
}

void gp_host_empty(void *p, size_t bytes) {
    if (bytes >= HUGE) madvise(p, rounded(bytes), MADV_DONTNEED);
}

size_t gp_host_capacity(void) {
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    if (pages <= 0 || size <= 0) return 0;
    size_t all = (size_t)pages * (size_t)size, group = group_limit();
    return (group < all ? group : all) / 10 * 9;
}
