/* Lets allocations fail, for tests/bindings/faults.sh, which preloads it: getenv("FAULT:n:k"), from
 * Lua os.getenv, lets the n-th to (n+k-1)-th allocation from here on fail, none for n = 0, and
 * gives the number of allocations since the call before. Those of gpush and of the C library count;
 * what other libraries do without memory is not ours to test. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *__libc_malloc(size_t n);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t n);
void *__libc_memalign(size_t align, size_t n);

static struct { uintptr_t lo, hi; } text[2]; /* of the program, of the C library */
static atomic_long count, first, last;

/* The program comes first in the list. */
static int find(struct dl_phdr_info *info, size_t size, void *unused) {
    int which = !text[0].hi ? 0 : strstr(info->dlpi_name, "/libc.so") ? 1 : -1;
    (void)size, (void)unused;
    for (int i = 0; which >= 0 && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        text[which].lo = info->dlpi_addr + p->p_vaddr;
        text[which].hi = text[which].lo + p->p_memsz;
    }
    return 0;
}

static int fails(void *caller) {
    uintptr_t at = (uintptr_t)caller;
    if (!atomic_load(&last)) return 0;
    if ((at < text[0].lo || at >= text[0].hi) && (at < text[1].lo || at >= text[1].hi)) return 0;
    long n = atomic_fetch_add(&count, 1) + 1;
    if (n < atomic_load(&first) || n > atomic_load(&last)) return 0;
    errno = ENOMEM;
    return 1;
}
#define FAILS fails(__builtin_return_address(0))

void *malloc(size_t n) { return FAILS ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return FAILS ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return FAILS ? NULL : __libc_realloc(p, n); }
void *memalign(size_t align, size_t n) { return FAILS ? NULL : __libc_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return FAILS ? NULL : __libc_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) {
    if (FAILS) return ENOMEM;
    *p = __libc_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

static char *arm(const char *points) {
    static char seen[24];
    char *end;
    if (!text[0].hi) dl_iterate_phdr(find, NULL);
    atomic_store(&last, 0);
    snprintf(seen, sizeof seen, "%ld", atomic_load(&count));
    long n = strtol(points, &end, 10), k = *end == ':' ? strtol(end + 1, NULL, 10) : 1;
    atomic_store(&count, 0);
    atomic_store(&first, n);
    atomic_store(&last, n ? n + k - 1 : 0);
    return seen;
}

char *getenv(const char *name) {
    extern char **environ;
    size_t n = strlen(name);
    if (!strncmp(name, "FAULT:", 6)) return arm(name + 6);
    for (char **e = environ; e && *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}
