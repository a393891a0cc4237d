/* Tests of the stand-in for CUDA: the host cannot read device memory, and what is counted. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "tap.h"

static int *device(void) {
    int *p = NULL;
    if (cudaMalloc(&p, 4 * sizeof *p) != cudaSuccess) exit(2);
    return p;
}
static int last(const int *p) {
    int v[4];
    cudaMemcpy(v, p, sizeof v, cudaMemcpyDeviceToHost);
    return v[3];
}

/* The host must not follow a device's address, though the stand-in's kernels can. */
static void unreadable(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    tap_skip("sanitizers check malloc's blocks");
#else
    int *d = device();
    cudaMemset(d, 0, 16);
    cudaDeviceSynchronize();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        _exit(*(volatile int *)d);
    }
    int status = 0;
    waitpid(child, &status, 0);
    tap_ok(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV,
           "the host cannot read a device's memory");
    tap_is_int(last(d), 0, "but copy it");
    cudaFree(d);
#endif
}

/* What is counted. */
static void counts(void) {
    unsigned long long queries = fakeCount("poll"), copies = fakeCount("cudaMemcpy"),
                       mallocs = fakeCount("malloc"), work = fakeCount("library");
    int *d = device();
    for (int i = 0; i < 3; i++) cudaStreamQuery(NULL);
    last(d);
    fakeEnqueue(
        NULL, "work", [](void *) {}, NULL, 0);
    tap_ok(fakeCount("poll") - queries == 3 && fakeCount("cudaMemcpy") - copies == 1 &&
               fakeCount("malloc") - mallocs == 1 && fakeCount("library") - work == 1,
           "queries, calls by name, allocations and what libraries queue are counted");
    cudaFree(d);
}

int main(void) {
    unreadable();
    counts();
    return tap_done();
}
