/* Time without a processor, by Linux's schedstat: "ns on a processor, ns ready without one, turns".
 * The first is behind by up to a tick while the thread runs; CLOCK_THREAD_CPUTIME_ID is not. */
#include "tensor/base/ready.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

int gp_ready_open(int thread) {
    char name[64] = "/proc/thread-self/schedstat";
    if (thread) snprintf(name, sizeof name, "/proc/self/task/%d/schedstat", thread);
    return open(name, O_RDONLY | O_CLOEXEC);
}

uint64_t gp_ready_ns(int file) {
    char text[100] = "";
    unsigned long long ns = 0;
    ssize_t n = file >= 0 ? pread(file, text, sizeof text - 1, 0) : 0;
    return n > 0 && sscanf(text, "%*u %llu", &ns) == 1 ? ns : 0;
}

uint64_t gp_ready_of(int thread) {
    int file = gp_ready_open(thread);
    uint64_t ns = gp_ready_ns(file);
    if (file >= 0) close(file);
    return ns;
}
