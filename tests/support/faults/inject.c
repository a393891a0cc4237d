/* Lets allocations or file calls fail, for tests/bindings/faults.sh, which preloads it:
 * getenv("FAULT:n:k"), from Lua os.getenv, lets the n-th to (n+k-1)-th allocation from here on
 * fail, none for n = 0, and gives the number of allocations since the call before. Those of gpush
 * and of the C library count; what other libraries do without memory is not ours to test.
 * getenv("FILE:n:k:errno") does so for the system calls on files, whoever makes them: a seccomp
 * filter turns them into signals. */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

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

/* ---- file calls ---- */

enum { OURS = 0x67707573 }; /* the sixth argument of a call that the handler makes */
/* mmap, with six arguments of its own, is left out. */
static const int calls[] = {SYS_openat,   SYS_read,   SYS_pread64,   SYS_write,
                            SYS_pwrite64, SYS_writev, SYS_lseek,     SYS_fsync,
                            SYS_rename,   SYS_close,  SYS_ftruncate, SYS_newfstatat,
                            SYS_flock,    SYS_fcntl,  SYS_getdents64};
enum { CALLS = sizeof calls / sizeof *calls };
static atomic_long made, from, until, code;

static void on_call(int sig, siginfo_t *info, void *context) {
    greg_t *r = ((ucontext_t *)context)->uc_mcontext.gregs;
    long n = atomic_load(&until) ? atomic_fetch_add(&made, 1) + 1 : 0;
    int before = errno;
    (void)sig;
    if (n && n >= atomic_load(&from) && n <= atomic_load(&until)) {
        r[REG_RAX] = -atomic_load(&code);
    } else {
        long got = syscall(info->si_syscall, r[REG_RDI], r[REG_RSI], r[REG_RDX], r[REG_R10],
                           r[REG_R8], OURS);
        r[REG_RAX] = got == -1 ? -errno : got;
    }
    errno = before;
}

static int trap(void) {
    struct sock_filter filter[CALLS + 5] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[5])),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, OURS, CALLS + 1, 0),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    for (int i = 0; i < CALLS; i++)
        filter[3 + i] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)calls[i],
                                                     CALLS - i, 0);
    filter[3 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    filter[4 + CALLS] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP);
    struct sock_fprog program = {CALLS + 5, filter};
    struct sigaction sa = {.sa_sigaction = on_call, .sa_flags = SA_SIGINFO | SA_NODEFER};
    return !sigaction(SIGSYS, &sa, NULL) && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
           !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static char *arm_files(const char *points) {
    static char seen[24];
    static int trapped;
    char *end;
    atomic_store(&until, 0);
    if (!trapped && !(trapped = trap())) return "no seccomp";
    snprintf(seen, sizeof seen, "%ld", atomic_load(&made));
    long n = strtol(points, &end, 10), k = *end ? strtol(end + 1, &end, 10) : 1;
    atomic_store(&code, *end ? strtol(end + 1, NULL, 10) : EIO);
    atomic_store(&made, 0);
    atomic_store(&from, n);
    atomic_store(&until, n ? n + k - 1 : 0);
    return seen;
}

/* ---- what os.getenv reaches ---- */

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
    if (!strncmp(name, "FILE:", 5)) return arm_files(name + 5);
    for (char **e = environ; e && *e; e++)
        if (!strncmp(*e, name, n) && (*e)[n] == '=') return *e + n + 1;
    return NULL;
}
