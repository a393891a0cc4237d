/* Lets allocations or file calls fail, for tests/bindings/faults.sh, which preloads it. Lua reaches
 * it by os.getenv:
 * "FAULT:n:k" lets the n-th to (n+k-1)-th allocation from here on fail, none for n = 0, and gives
 * the number of allocations since the call before. Those count that gpush makes, by itself or by
 * the C library, and threads that it starts; what other libraries do without memory is not ours to
 * test.
 * "FILE:n:k:errno" does so for the C library's and the loader's system calls on files, which a
 * seccomp filter turns into signals; 0 for errno makes reads and writes do half instead.
 * "LEFT:folder" gives the number of open descriptors, the names in the folder, and whether a file
 * could not be removed since the last call of "FILE:". */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

/* ---- whose code calls ---- */

enum { PROGRAM, LIBC, LOADER, CALLERS };
static struct { uintptr_t lo, hi; } text[CALLERS];

/* The program comes first in the list. */
static int find(struct dl_phdr_info *info, size_t size, void *unused) {
    int which = !text[PROGRAM].hi                       ? PROGRAM
                : strstr(info->dlpi_name, "/libc.so")   ? LIBC
                : strstr(info->dlpi_name, "/ld-linux-") ? LOADER
                                                        : -1;
    (void)size, (void)unused;
    for (int i = 0; which >= 0 && i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *p = &info->dlpi_phdr[i];
        if (p->p_type != PT_LOAD || !(p->p_flags & PF_X)) continue;
        text[which].lo = info->dlpi_addr + p->p_vaddr;
        text[which].hi = text[which].lo + p->p_memsz;
    }
    return 0;
}

/* The filter compares halves of addresses: a process whose code lies across a multiple of 4 GiB,
 * one of some 2,000, starts again, at other addresses. */
static void __attribute__((constructor)) place(void) {
    static char words[1 << 16], *argv[1024];
    int n = 0, crosses = 0;
    dl_iterate_phdr(find, NULL);
    for (int i = LIBC; i <= LOADER; i++) crosses |= text[i].lo >> 32 != text[i].hi >> 32;
    FILE *f = crosses ? fopen("/proc/self/cmdline", "re") : NULL;
    size_t size = f ? fread(words, 1, sizeof words - 1, f) : 0;
    if (f) fclose(f);
    for (char *w = words; w < words + size && n < 1023; w += strlen(w) + 1) argv[n++] = w;
    if (n) execv("/proc/self/exe", argv);
}

static int within(uintptr_t at, int which) { return at >= text[which].lo && at < text[which].hi; }

/* Points of a kind: those from `first` to `last` fail; last is 0 while none is counted. */
typedef struct points {
    atomic_long count, first, last;
} points;

/* Sets the points by "n:k..." and *rest to what follows; returns the count before. */
static long arm(points *p, const char *given, char **rest) {
    atomic_store(&p->last, 0);
    long seen = atomic_exchange(&p->count, 0), n = strtol(given, rest, 10);
    long k = **rest == ':' ? strtol(*rest + 1, rest, 10) : 1;
    atomic_store(&p->first, n);
    atomic_store(&p->last, n ? n + k - 1 : 0);
    return seen;
}

static int hit(points *p) {
    long n = atomic_load(&p->last) ? atomic_fetch_add(&p->count, 1) + 1 : 0;
    return n && n >= atomic_load(&p->first) && n <= atomic_load(&p->last);
}

/* ---- allocations ---- */

static points allocations;

/* Whether the program called, or called what the C library did; not another library. */
static int ours(uintptr_t at) {
    void *frame[12];
    static _Thread_local int busy; /* unwinding may allocate */
    if (!within(at, LIBC) || busy) return within(at, PROGRAM);
    busy = 1;
    int n = backtrace(frame, 12), i = 0;
    busy = 0;
    while (i < n && (uintptr_t)frame[i] != at) i++;
    while (i < n && within((uintptr_t)frame[i], LIBC)) i++;
    return i < n && within((uintptr_t)frame[i], PROGRAM);
}

static int fails(void *caller) {
    if (!atomic_load(&allocations.last) || !ours((uintptr_t)caller)) return 0;
    if (!hit(&allocations)) return 0;
    errno = ENOMEM;
    return 1;
}
#define FAILS fails(__builtin_return_address(0))

/* The C library's own, or those of AddressSanitizer where the program has it. */
#define REAL(type, name, parameters, ...)                                                          \
    type __libc_##name parameters;                                                                 \
    __attribute__((weak)) type __interceptor_##name parameters;                                    \
    static type real_##name parameters {                                                           \
        return __interceptor_##name ? __interceptor_##name(__VA_ARGS__)                            \
                                    : __libc_##name(__VA_ARGS__);                                  \
    }
REAL(void *, malloc, (size_t n), n)
REAL(void *, calloc, (size_t n, size_t size), n, size)
REAL(void *, realloc, (void *p, size_t n), p, n)
REAL(void *, memalign, (size_t align, size_t n), align, n)

void *malloc(size_t n) { return FAILS ? NULL : real_malloc(n); }
void *calloc(size_t n, size_t size) { return FAILS ? NULL : real_calloc(n, size); }
void *realloc(void *p, size_t n) { return FAILS ? NULL : real_realloc(p, n); }
void *memalign(size_t align, size_t n) { return FAILS ? NULL : real_memalign(align, n); }
void *aligned_alloc(size_t align, size_t n) { return FAILS ? NULL : real_memalign(align, n); }
int posix_memalign(void **p, size_t align, size_t n) {
    if (FAILS) return ENOMEM;
    *p = real_memalign(align, n);
    return *p ? 0 : ENOMEM;
}

int pthread_create(pthread_t *id, const pthread_attr_t *attr, void *(*run)(void *), void *arg) {
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    if (within((uintptr_t)__builtin_return_address(0), PROGRAM) && hit(&allocations)) return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    return real(id, attr, run, arg);
}

/* ---- file calls ---- */

static const int calls[] = {
    SYS_openat,   SYS_read,      SYS_pread64, SYS_readv,     SYS_write,      SYS_pwrite64,
    SYS_writev,   SYS_lseek,     SYS_fsync,   SYS_fdatasync, SYS_rename,     SYS_renameat2,
    SYS_close,    SYS_ftruncate, SYS_flock,   SYS_fallocate, SYS_newfstatat, SYS_mkdir,
    SYS_mkdirat,  SYS_unlink,    SYS_pipe2,   SYS_unlinkat,  SYS_getdents64, SYS_fchmod,
    SYS_fchmodat, SYS_utimensat, SYS_fcntl,   SYS_mmap}; /* the last one: where it maps a file */
enum { CALLS = sizeof calls / sizeof *calls };
static points files;
static atomic_long code; /* the errno; 0: half */
static atomic_int kept;  /* files that were not removed */

static long halve(int call, greg_t *r) {
    if (call == SYS_readv || call == SYS_writev) r[REG_RDX] = 1; /* the first buffer of several */
    else if (call == SYS_read || call == SYS_pread64 || call == SYS_write || call == SYS_pwrite64)
        r[REG_RDX] = (r[REG_RDX] + 1) / 2;
    return 0;
}

static long make(int call, const greg_t *r) {
    register long r10 __asm__("r10") = r[REG_R10], r8 __asm__("r8") = r[REG_R8],
                      r9 __asm__("r9") = r[REG_R9];
    long result = call;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(r[REG_RDI]), "S"(r[REG_RSI]), "d"(r[REG_RDX]), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

/* Whether the call is to fail, which is set then. A descriptor is closed although closing fails. */
static int refused(int call, greg_t *r) {
    if (!hit(&files)) return 0;
    if (!atomic_load(&code)) return halve(call, r);
    if (call == SYS_close) make(call, r);
    if (call == SYS_unlink || call == SYS_unlinkat) atomic_store(&kept, 1);
    r[REG_RAX] = -atomic_load(&code);
    return 1;
}

static void on_call(int sig, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    int before = errno;
    (void)sig;
    if (!refused(info->si_syscall, r)) r[REG_RAX] = make(info->si_syscall, r);
    errno = before;
}

enum { SKIP = 5 }; /* instructions of a range */
#define FIELD(f) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, f))
#define UPPER (offsetof(struct seccomp_data, instruction_pointer) + 4)

/* Goes on to the calls from an instruction of the range, else after it. */
static int add_range(struct sock_filter *f, int n, int which, int to_calls) {
    uintptr_t lo = text[which].lo, hi = text[which].hi;
    if (!hi || lo >> 32 != hi >> 32) return 0;
    const struct sock_filter range[SKIP] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, UPPER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)(lo >> 32), 0, SKIP - 2),
        FIELD(instruction_pointer), BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)lo, 0, SKIP - 4),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (unsigned)hi, 0, (unsigned char)to_calls)};
    memcpy(f + n, range, sizeof range);
    return 1;
}

/* Only calls of the C library and of the loader are trapped: not the handler's own. */
static int trap(void) {
    struct sock_filter f[2 * SKIP + CALLS + 6];
    int n = 2 * SKIP;
    if (!add_range(f, 0, LIBC, SKIP + 1) || !add_range(f, SKIP, LOADER, 1)) return 0;
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)FIELD(nr);
    for (int i = 0; i < CALLS - 1; i++)
        f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
                                              (unsigned char)(CALLS + 2 - i), 0);
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 0, 2);
    f[n++] = (struct sock_filter)FIELD(args[4]); /* the descriptor; -1: memory */
    f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x80000000u, 0, 1);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {(unsigned short)n, f};
    struct sigaction sa = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return !sigaction(SIGSYS, &sa, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* A thread that blocked the filter's signal would end the program. */
int sigfillset(sigset_t *set) {
    memset(set, 0xff, sizeof *set);
    return sigdelset(set, SIGSYS);
}

/* ---- what is left ---- */

static int count(const char *folder, char *names, size_t size) {
    DIR *dir = opendir(folder);
    int n = 0;
    for (struct dirent *d; dir && (d = readdir(dir));) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")) continue;
        size_t used = strlen(names);
        snprintf(names + used, size - used, "%s%s", used ? " " : "", d->d_name);
        n++;
    }
    if (dir) closedir(dir);
    return n;
}

static char *left(const char *folder) {
    static char all[8192], names[4096];
    *all = *names = 0;
    int n = count("/proc/self/fd", all, sizeof all);
    count(folder, names, sizeof names);
    snprintf(all, sizeof all, "%d %s %s", n, atomic_load(&kept) ? "kept" : "-", names);
    return all;
}

/* ---- what os.getenv reaches ---- */

static char *arm_files(const char *given, char *seen, size_t size) {
    static int trapped;
    char *rest;
    if (!trapped && !(trapped = trap())) return "no seccomp";
    snprintf(seen, size, "%ld", arm(&files, given, &rest));
    atomic_store(&code, *rest ? strtol(rest + 1, NULL, 10) : EIO);
    if (atomic_load(&files.last)) atomic_store(&kept, 0);
    return seen;
}

char *getenv(const char *name) {
    extern char **environ;
    static char seen[24];
    char *rest;
    size_t n = strlen(name);
    if (!text[PROGRAM].hi) dl_iterate_phdr(find, NULL);
    if (!strncmp(name, "FAULT:", 6))
        return snprintf(seen, sizeof seen, "%ld", arm(&allocations, name + 6, &rest)), seen;
    if (!strncmp(name, "FILE:", 5)) return arm_files(name + 5, seen, sizeof seen);
    if (!strncmp(name, "LEFT:", 5)) return left(name + 5);
    for (char **e = environ; e && *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}
