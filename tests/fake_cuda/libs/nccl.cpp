// A stand-in for NCCL: processes exchange through shared memory, in stream order. What ranks send
// one another goes through a box for each pair of them, and each rank reduces for itself.
#include <nccl.h>

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "fake_cuda.h"
#include "half.h"

namespace {
enum { MOST = 8, BYTES = 1 << 16 };

// Empty while n is 0.
struct box {
    std::atomic<unsigned> n;
    char data[BYTES];
};
struct shared {
    std::atomic<int> joined, failed;
    std::atomic<size_t> card[MOST]; // of each rank: its machine's name and its address
    box from_to[MOST][MOST];
};

struct transfer {
    bool sends;
    int peer;
    char *p;
    size_t left;
};
} // namespace

struct ncclComm {
    shared *at;
    int n, rank;
    std::atomic<bool> aborted{false};
    std::string name;
    long calls = 0;
};

static thread_local int depth; // of groups
static thread_local std::vector<transfer> grouped;
static thread_local ncclComm_t group_comm;
static thread_local cudaStream_t group_stream;

// The number of the call that fails, of a communicator: FAKE_NCCL_FAIL. It does not end.
static long failing() {
    const char *text = getenv("FAKE_NCCL_FAIL");
    return text ? atol(text) : 0;
}

// Until all is sent and received, or the communicator is aborted; once it has failed, until that.
static void run(ncclComm *c, std::vector<transfer> list) {
    size_t open = list.size();
    for (auto &t : list) open -= !t.left;
    while ((open || c->at->failed) && !c->aborted) {
        bool moved = false;
        for (auto &t : list) {
            if (!t.left || c->at->failed) continue;
            box &b = t.sends ? c->at->from_to[c->rank][t.peer] : c->at->from_to[t.peer][c->rank];
            unsigned n = b.n.load(std::memory_order_acquire);
            if (t.sends != !n || (!t.sends && n > t.left)) continue; // more than expected: it hangs
            unsigned part =
                t.sends ? (unsigned)(t.left < (size_t)BYTES ? t.left : (size_t)BYTES) : n;
            if (t.sends) memcpy(b.data, t.p, part);
            else memcpy(t.p, b.data, part);
            b.n.store(t.sends ? part : 0, std::memory_order_release);
            t.p += part, t.left -= part, moved = true;
            open -= !t.left;
        }
        if (!moved) sched_yield();
    }
}

static size_t size_of(ncclDataType_t t) {
    static const size_t size[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
    return size[t];
}

template <class T> static T join(T a, T b, ncclRedOp_t op) {
    switch (op) {
    case ncclProd: return (T)(a * b);
    case ncclMin: return b < a ? b : a;
    case ncclMax: return b > a ? b : a;
    default: return (T)(a + b);
    }
}

template <class T>
static void reduce(const char *all, char *to, size_t count, int n, ncclRedOp_t op) {
    const T *from = (const T *)all;
    for (size_t i = 0; i < count; i++) {
        T sum = from[i];
        for (int r = 1; r < n; r++) sum = join(sum, from[(size_t)r * count + i], op);
        ((T *)to)[i] = op == ncclAvg ? (T)(sum / (T)n) : sum;
    }
}

template <float (*get)(uint16_t), uint16_t (*put)(float)>
static void reduce_half(const char *all, char *to, size_t count, int n, ncclRedOp_t op) {
    const uint16_t *from = (const uint16_t *)all;
    for (size_t i = 0; i < count; i++) {
        float sum = get(from[i]);
        for (int r = 1; r < n; r++) sum = get(put(join(sum, get(from[(size_t)r * count + i]), op)));
        ((uint16_t *)to)[i] = put(op == ncclAvg ? sum / (float)n : sum);
    }
}

static void reduce_any(ncclDataType_t t, const char *all, char *to, size_t count, int n,
                       ncclRedOp_t op) {
    switch (t) {
    case ncclInt8: reduce<int8_t>(all, to, count, n, op); break;
    case ncclInt32: reduce<int32_t>(all, to, count, n, op); break;
    case ncclUint32: reduce<uint32_t>(all, to, count, n, op); break;
    case ncclInt64: reduce<int64_t>(all, to, count, n, op); break;
    case ncclUint64: reduce<uint64_t>(all, to, count, n, op); break;
    case ncclFloat16: reduce_half<from_f16, to_f16>(all, to, count, n, op); break;
    case ncclBfloat16: reduce_half<from_bf16, to_bf16>(all, to, count, n, op); break;
    case ncclFloat32: reduce<float>(all, to, count, n, op); break;
    case ncclFloat64: reduce<double>(all, to, count, n, op); break;
    case ncclUint8: reduce<uint8_t>(all, to, count, n, op);
    }
}

static ncclResult_t queue(ncclComm_t c, cudaStream_t s, const char *name,
                          std::function<void()> work) {
    if (++c->calls == failing()) c->at->failed = 1;
    return fake::enqueue(s, name, work) == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError;
}

// Each rank's `bytes`, one after the other, at each rank.
static void gather(ncclComm *c, const char *from, char *all, size_t bytes) {
    std::vector<transfer> list;
    for (int r = 0; r < c->n; r++) {
        if (r == c->rank) continue;
        list.push_back({true, r, (char *)from, bytes});
        list.push_back({false, r, all + (size_t)r * bytes, bytes});
    }
    memmove(all + (size_t)c->rank * bytes, from, bytes);
    run(c, list);
}

static ncclResult_t reduction(const char *name, const void *from, void *to, size_t count,
                              ncclDataType_t t, ncclRedOp_t op, int root, size_t first, size_t part,
                              ncclComm_t c, cudaStream_t s) {
    return queue(c, s, name, [=] {
        size_t bytes = count * size_of(t);
        std::vector<char> all(bytes * (size_t)c->n), sum(bytes);
        gather(c, (const char *)from, all.data(), bytes);
        reduce_any(t, all.data(), sum.data(), count, c->n, op);
        if (!c->aborted && (root < 0 || root == c->rank))
            memcpy(to, sum.data() + first * size_of(t), part * size_of(t));
    });
}

extern "C" {
ncclResult_t ncclGetVersion(int *version) { return *version = 22703, ncclSuccess; }

const char *ncclGetErrorString(ncclResult_t result) {
    return result == ncclRemoteError    ? "remote process exited or there was a network error"
           : result == ncclInvalidUsage ? "invalid usage (run with NCCL_DEBUG=WARN for details)"
                                        : "an error of the stand-in";
}

ncclResult_t ncclGetUniqueId(ncclUniqueId *id) {
    static int n;
    snprintf(id->internal, sizeof id->internal, "/gpush-fake-nccl-%d-%d", (int)getpid(), n++);
    return ncclSuccess;
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t *comm, int n, ncclUniqueId id, int rank,
                                    ncclConfig_t *config) {
    int fd = n > MOST || config->blocking ? -1 : shm_open(id.internal, O_RDWR | O_CREAT, 0600);
    if (fd < 0 || ftruncate(fd, sizeof(shared))) return ncclSystemError;
    void *p = mmap(nullptr, sizeof(shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    if (p == MAP_FAILED) return ncclSystemError;
    auto *c = new ncclComm;
    c->at = (shared *)p, c->n = n, c->rank = rank, c->name = id.internal;
    int device, card;
    cudaGetDevice(&device);
    cudaDeviceGetAttribute(&card, cudaDevAttrPciBusId, device);
    char host[65] = "";
    gethostname(host, sizeof host - 1);
    c->at->card[rank] = std::hash<std::string>{}(host + std::to_string(card));
    c->at->joined++;
    *comm = c;
    return ncclInProgress;
}

// Two ranks on one card are refused, in slices of it, too.
static bool has_duplicates(const ncclComm *c) {
    for (int r = 1; r < c->n; r++)
        for (int i = 0; i < r; i++)
            if (c->at->card[r] == c->at->card[i]) return true;
    return false;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t c, ncclResult_t *error) {
    bool all = c->at->joined >= c->n;
    if (all && !c->name.empty()) shm_unlink(c->name.c_str()), c->name.clear();
    *error = !all                ? ncclInProgress
             : has_duplicates(c) ? ncclInvalidUsage
             : c->at->failed     ? ncclRemoteError
                                 : ncclSuccess;
    return ncclSuccess;
}

// What is queued ends; it may still look at the communicator, which stays.
ncclResult_t ncclCommAbort(ncclComm_t c) {
    if (!c->name.empty()) shm_unlink(c->name.c_str());
    c->aborted = true;
    return ncclSuccess;
}

ncclResult_t ncclAllReduce(const void *from, void *to, size_t count, ncclDataType_t t,
                           ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
    return reduction("ncclDevKernel_AllReduce", from, to, count, t, op, -1, 0, count, c, s);
}
ncclResult_t ncclReduce(const void *from, void *to, size_t count, ncclDataType_t t, ncclRedOp_t op,
                        int root, ncclComm_t c, cudaStream_t s) {
    return reduction("ncclDevKernel_Reduce", from, to, count, t, op, root, 0, count, c, s);
}
ncclResult_t ncclReduceScatter(const void *from, void *to, size_t count, ncclDataType_t t,
                               ncclRedOp_t op, ncclComm_t c, cudaStream_t s) {
    return reduction("ncclDevKernel_ReduceScatter", from, to, count * (size_t)c->n, t, op, -1,
                     count * (size_t)c->rank, count, c, s);
}
ncclResult_t ncclAllGather(const void *from, void *to, size_t count, ncclDataType_t t, ncclComm_t c,
                           cudaStream_t s) {
    return queue(c, s, "ncclDevKernel_AllGather",
                 [=] { gather(c, (const char *)from, (char *)to, count * size_of(t)); });
}
ncclResult_t ncclBroadcast(const void *from, void *to, size_t count, ncclDataType_t t, int root,
                           ncclComm_t c, cudaStream_t s) {
    return queue(c, s, "ncclDevKernel_Broadcast", [=] {
        std::vector<transfer> list;
        size_t bytes = count * size_of(t);
        if (c->rank != root) list.push_back({false, root, (char *)to, bytes});
        for (int r = 0; r < c->n && c->rank == root; r++)
            if (r != root) list.push_back({true, r, (char *)from, bytes});
        if (c->rank == root) memmove(to, from, bytes);
        run(c, list);
    });
}

ncclResult_t ncclGroupStart(void) { return depth++, ncclSuccess; }
static ncclResult_t add(bool sends, int peer, void *p, size_t bytes, ncclComm_t c, cudaStream_t s) {
    ncclGroupStart();
    grouped.push_back({sends, peer, (char *)p, bytes});
    group_comm = c, group_stream = s;
    return ncclGroupEnd();
}
ncclResult_t ncclSend(const void *from, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                      cudaStream_t s) {
    return add(true, peer, (void *)from, count * size_of(t), c, s);
}
ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t t, int peer, ncclComm_t c,
                      cudaStream_t s) {
    return add(false, peer, to, count * size_of(t), c, s);
}
ncclResult_t ncclGroupEnd(void) {
    if (--depth || grouped.empty()) return ncclSuccess;
    auto list = grouped;
    auto *c = group_comm;
    grouped.clear();
    return queue(c, group_stream, "ncclDevKernel_SendRecv", [=] { run(c, list); });
}
}
