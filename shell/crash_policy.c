/* Whether a thread that has crashed may leave its code and continue at its top, with its state
 * abandoned.
 *
 * What others do: the JVM makes exceptions of faults at instructions that it knows (a null check, a
 * read of a mapped file that was cut), Julia of those in its guard pages, and both end the process
 * for any other, as Erlang's does for a native function. They keep on using the thread's heap. Here
 * nothing of it is used again: a worker has a Lua state of its own, its thread sleeps forever (no
 * destructor runs), and its blocks stay allocated. The risks left are in what others share with it:
 *
 * - a lock that it holds: ours are counted (tensor/device/stream/thread.h). Those of others are
 * held inside of their libraries, so no call that is open may be one of theirs: malloc, stdio, the
 * loader, OpenMP, BLAS; nor one that such a library has called back.
 * - what it wrote before it crashed. Reading a mapped file that is cut, dividing by zero or calling
 *   abort write nothing; a wild pointer may have written anything, so the error says to save and
 *   restart.
 *
 * The calls are walked by the unwinder. That is safe in a handler, since glibc 2.35 and GCC 12,
 * whose _dl_find_object takes no lock; with older ones every crash ends the program. clang does not
 * say whose unwinder it links: systems with that glibc have the one of GCC 12 or later. */
#include "shell/crash_policy.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "tensor/device/stream/thread.h"
#include "tensor/device/stream/recovery.h"

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35) && (__GNUC__ >= 12 || defined(__clang__)) &&       \
    (defined(__x86_64__) || defined(__aarch64__))
#include <dlfcn.h>
#include <link.h>
#include <unwind.h>

/* Libraries with locks of their own; a module that a script loads does not count as one. */
static const char *const holders[] = {
    "libc.so", "ld-linux",   "libgcc_s.so",   "libgomp.so",  "libstdc++.so", "libopenblas",
    "libblas", "liblapack",  "libdnnl",       "libedit.so",  "libz.so",      "libzip.so",
    "libpng",  "libjansson", "linux-vdso.so", "libpthread",  "libcu",        "libnv",
    "libasan", "libtsan",    "libgfortran",   "libjemalloc", "libtcmalloc",  "libmimalloc",
};

/* The function that assert calls, which is not declared when asserts are disabled. */
_Noreturn void __assert_fail(const char *, const char *, unsigned, const char *);

/* The calls from the fault's on, the innermost first. */
typedef struct walk {
    uintptr_t pc, top;        /* the fault's address; that of the worker's gp_rescue */
    bool aborted;             /* by abort: it and its callees hold no lock, C11 7.22.4.1 */
    bool begun, user, at_top; /* user: a call outside any library was found */
    enum { BELOW, ABORT, INNER, ASSERT } part; /* of the calls of a failed assertion */
} walk;

/* The name of the file with the code at pc, "" for the program; NULL: none. */
static const char *file_at(uintptr_t pc) {
    struct dl_find_object found;
    if (_dl_find_object((void *)pc, &found) != 0) return NULL;
    const char *name = found.dlfo_link_map->l_name, *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static bool holds_locks(const char *file) {
    for (size_t i = 0; i < sizeof holders / sizeof *holders; i++)
        if (!strncmp(file, holders[i], strlen(holders[i]))) return true;
    return false;
}

/* Whether it is a function of libc that a bad pointer may crash and that only reads and writes its
 * arguments. */
static bool plain_function(uintptr_t f) {
    return f == (uintptr_t)memcpy || f == (uintptr_t)memmove || f == (uintptr_t)memset ||
           f == (uintptr_t)memcmp || f == (uintptr_t)memchr || f == (uintptr_t)strlen ||
           f == (uintptr_t)strcmp || f == (uintptr_t)strncmp || f == (uintptr_t)strchr;
}

/* Steps through raise's calls, abort, and for an assertion an inner call and __assert_fail. malloc
 * also calls abort when it finds its lists damaged, from deeper calls. */
static bool step_of_abort(walk *w, uintptr_t f) {
    if (w->part == BELOW) w->part = f == (uintptr_t)abort ? ABORT : BELOW;
    else if (w->part < ASSERT && f == (uintptr_t)__assert_fail) w->part = ASSERT;
    else if (w->part == ABORT) w->part = INNER;
    else return false;
    return true;
}

static bool may_be_left(walk *w, struct _Unwind_Context *c, bool first) {
    int exact;
    uintptr_t pc = _Unwind_GetIPInfo(c, &exact), f = _Unwind_GetRegionStart(c);
    const char *file = file_at(pc - !exact);
    if (!file) return false; /* code generated at run time, or a wild jump */
    if (!holds_locks(file)) {
        if (!w->user && w->aborted && w->part != ABORT && w->part != ASSERT) return false;
        return w->user = true;
    }
    if (w->user) return false;
    return w->aborted ? step_of_abort(w, f) : first && plain_function(f);
}

static _Unwind_Reason_Code step(struct _Unwind_Context *c, void *arg) {
    walk *w = arg;
    int exact;
    bool first = !w->begun;
    if (first && _Unwind_GetIPInfo(c, &exact) != w->pc) return _URC_NO_REASON; /* the handler's */
    w->begun = true;
    w->at_top = _Unwind_GetCFA(c) > w->top; /* of the inner call: the stack pointer here */
    return !w->at_top && may_be_left(w, c, first) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

bool gp_may_leave(int sig, const siginfo_t *info, const void *context) {
    const ucontext_t *u = context;
    if (!gp_rescue_here || gp_locks_held) return false;
    if (sig != SIGABRT && info->si_code <= 0) return false; /* sent by another process */
    walk w = {.top = (uintptr_t)gp_rescue_here, .aborted = sig == SIGABRT};
#if defined(__x86_64__)
    w.pc = (uintptr_t)u->uc_mcontext.gregs[REG_RIP];
#else
    w.pc = (uintptr_t)u->uc_mcontext.pc;
#endif
    _Unwind_Backtrace(step, &w);
    return w.at_top;
}
#else
bool gp_may_leave(int sig, const siginfo_t *info, const void *context) { return false; }
#endif
