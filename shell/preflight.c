/* Looks, before any library starts, whether the processor has what all kernels are compiled for,
 * and whether the limit of address space (ulimit -v) lets the libraries start: OpenBLAS, which
 * starts threads as it is loaded, tries again without end where memory fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "tensor/memory/hostmem.h"

/* The sanitizers' own libraries are not ready here, and they reserve terabytes anyway. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

/* As gp_threads() finds it; getenv does not work yet. */
static long threads(char **envp) {
    static const char name[] = "OMP_NUM_THREADS=";
    long n = 0;
    for (; *envp; envp++)
        if (!strncmp(*envp, name, sizeof name - 1)) n = strtol(*envp + sizeof name - 1, NULL, 10);
    return n > 0 ? n : sysconf(_SC_NPROCESSORS_ONLN);
}

static void leave(const char *text) {
    ssize_t written = write(STDERR_FILENO, text, strlen(text));
    _exit(written < 0 ? 2 : 1);
}

static void check_processor(void) {
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
        leave("gpush: this processor lacks SSE4.2 or POPCNT, which gpush needs (x86-64-v2)\n");
#endif
}

static void preflight(int argc, char **argv, char **envp) {
    struct rlimit limit;
    char text[300];
    check_processor();
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY) return;
    long mib = (long)(limit.rlim_cur >> 20), n = threads(envp);
    long need = (long)gp_library_mib((int)n);
    if (mib >= need) return;
    snprintf(text, sizeof text,
             "gpush: the limit of address space (ulimit -v) is %ld MiB, and to start with "
             "%ld thread%s takes %ld MiB; raise it, or lower OMP_NUM_THREADS: each "
             "thread takes %d MiB\n",
             mib, n, n == 1 ? "" : "s", need, (int)(gp_library_mib(1) - gp_library_mib(0)));
    leave(text);
}

__attribute__((section(".preinit_array"), used)) static void (*const first)(int, char **,
                                                                            char **) = preflight;
#endif
