/* The stand-in's devices: their number and properties, sticky errors, and the entry of every
 * call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <algorithm>
#include <atomic>

#include "state.h"

namespace fake {
thread_local int current_device;
thread_local bool in_callback;
static thread_local bool has_context;
static thread_local cudaError_t last_error;
static std::atomic<const fake_hooks *> hooks;
static std::atomic<unsigned> correlation;

static long long setting(const char *name, long long without) {
    const char *s = getenv(name);
    return s && *s ? atoll(s) : without;
}

/* Which of n cards CUDA_VISIBLE_DEVICES shows, in its order: those before the first that is none.
 * Of slices ("MIG-1-0", of card 1) CUDA shows one alone. */
static std::vector<card> visible(long long n) {
    const char *list = getenv("CUDA_VISIBLE_DEVICES");
    std::vector<card> all;
    for (int i = 0; !list && i < n; i++) all.push_back({i, false});
    while (list && *list) {
        bool slice = !strncmp(list, "MIG-", 4);
        const char *number = list + (slice ? 4 : 0);
        char *end;
        long at = strtol(number, &end, 10);
        if (end == number || at < 0 || at >= n) break;
        all.push_back({(int)at, slice});
        if (slice) break;
        list = end + (*end == ',');
    }
    return all;
}

static runtime *make() {
    runtime *r = new runtime();
    std::vector<card> cards = visible(setting("GPUSH_FAKE_DEVICES", 1));
    int n = (int)cards.size();
    r->memory = (size_t)setting("GPUSH_FAKE_MEMORY", 4ll << 30);
    r->arch = (int)setting("GPUSH_FAKE_ARCH", 90);
    r->sms = (int)setting("GPUSH_FAKE_SMS", 4);
    r->driver = (int)setting("GPUSH_FAKE_DRIVER", CUDART_VERSION);
    if (r->driver < CUDART_VERSION) r->broken = cudaErrorInsufficientDriver;
    else if (n <= 0) r->broken = cudaErrorNoDevice;
    long long connections = setting("CUDA_DEVICE_MAX_CONNECTIONS", 8);
    for (int i = 0; i < n; i++) {
        device *d = new device();
        d->at = cards[(size_t)i];
        d->pool.dev = i;
        d->connections.resize((size_t)(connections < 1 ? 1 : connections > 32 ? 32 : connections));
        d->current_pool = &d->pool;
        d->legacy = new CUstream_st();
        d->legacy->dev = i, d->legacy->flags = 0, d->legacy->priority = 0,
        d->legacy->id = r->next_stream++;
        d->legacy->legacy = true;
        d->streams.push_back(d->legacy);
        r->devices.push_back(d);
    }
    return r;
}

runtime &rt() {
    static runtime *r = [] {
        runtime *made = make();
        faults_read();
        return made;
    }();
    return *r;
}

device &dev() { return *rt().devices[(size_t)current_device]; }

/* As the runtime's calls do, but for those that only ask: the driver's do not. */
static void take_context() {
    has_context = true;
    dev().context = true;
}

cudaError_t forbidden() {
    runtime &r = rt();
    if (r.broken) return r.broken;
    take_context();
    if (in_callback) return cudaErrorNotPermitted;
    return dev().sticky;
}

cudaError_t done(cudaError_t err) {
    if (err != cudaSuccess) last_error = err; /* not ready, too, as CUDA's own queries set it */
    return err;
}

cudaError_t error_of(const CUstream_st *s) { return rt().devices[(size_t)s->dev]->sticky; }

static thread_local unsigned this_correlation;

api::api(int id, const char *name, cudaStream_t s) {
    call = fake_call{id, name, ++correlation, current_device, 0, cudaSuccess, 0};
    this_correlation = call.correlation;
    counted(id, name);
    const fake_hooks *h = hooks.load(std::memory_order_acquire);
    if (!h || !id || rt().broken) return;
    {
        locked l(rt().lock);
        CUstream_st *st = stream_of(s);
        call.stream = st ? (unsigned)st->id : 0;
    }
    h->enter(&call);
}

api::~api() {
    const fake_hooks *h = hooks.load(std::memory_order_acquire);
    if (h && call.id && !rt().broken) h->leave(&call);
}

cudaError_t api::operator()(cudaError_t err) {
    call.result = err;
    return done(err);
}

static std::atomic<unsigned long long> system_atomics;
void system_atomic() { system_atomics++; }

/* Calls of the runtime, by CUPTI's id. */
static struct calls {
    std::atomic<const char *> name;
    std::atomic<unsigned long long> n;
} calls[512];

void counted(int id, const char *name) {
    calls[id].name.store(name, std::memory_order_relaxed);
    calls[id].n.fetch_add(1, std::memory_order_relaxed);
}

/* How often it was called; 0 for one that is not shown to CUPTI. */
static unsigned long long count_of(const char *function) {
    for (int id = 1; id < 512; id++) {
        const char *name = calls[id].name.load(std::memory_order_relaxed);
        if (name && !strcmp(name, function)) return calls[id].n.load(std::memory_order_relaxed);
    }
    return 0;
}

fake_activity activity(int kind, const char *name, const CUstream_st *s) {
    fake_activity a = {};
    a.kind = kind, a.name = name, a.correlation = this_correlation;
    a.dev = s->dev, a.stream = (unsigned)s->id, a.queued = clock_ns();
    return a;
}

void record(const fake_activity &a) {
    const fake_hooks *h = hooks.load(std::memory_order_acquire);
    if (h && a.kind) h->record(&a);
}

void tell_queued(const fake_activity &a) {
    const fake_hooks *h = hooks.load(std::memory_order_acquire);
    if (h && a.kind) h->queued(&a);
}
} // namespace fake

using namespace fake;
extern "C" {

void fakeHooks(const fake_hooks *h) { hooks.store(h, std::memory_order_release); }
const char *fakeCuptiMode(void) { return cupti_mode(); }
int fakeCuptiDrop(void) {
    locked l(rt().lock);
    return faulty(F_CUPTI_DROP, NULL);
}

unsigned long long fakeCount(const char *what) {
    locked l(rt().lock);
    if (!strcmp(what, "system atomic")) return system_atomics;
    if (!strcmp(what, "poll")) return count_of("cudaStreamQuery") + count_of("cudaEventQuery");
    if (!strncmp(what, "cuda", 4)) return count_of(what);
    if (!strcmp(what, "context"))
        return (unsigned long long)std::count_if(rt().devices.begin(), rt().devices.end(),
                                                 [](device *d) { return d->context.load(); });
    return rt().counts[what];
}

int fakeHasContext(void) { return has_context; }

void fakeCounted(const char *what) {
    locked l(rt().lock);
    rt().counts[what]++;
}

void fakeRange(const char *name) {
    locked l(rt().lock);
    if (name) rt().counts[std::string("range ") + name]++;
    rt().counts["open ranges"] += name ? 1 : -1;
}

cudaError_t cudaPeekAtLastError(void) {
    runtime &r = rt();
    if (!r.broken && dev().sticky) return dev().sticky;
    return last_error;
}

cudaError_t cudaGetLastError(void) {
    cudaError_t err = cudaPeekAtLastError();
    last_error = cudaSuccess;
    return err;
}

const char *cudaGetErrorName(cudaError_t err) {
    switch (err) {
#define FAKE_X(name, value, text)                                                                  \
    case name: return #name;
        FAKE_ERRORS(FAKE_X)
#undef FAKE_X
    }
    return "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t err) {
    switch (err) {
#define FAKE_X(name, value, text)                                                                  \
    case name: return text;
        FAKE_ERRORS(FAKE_X)
#undef FAKE_X
    }
    return "unrecognized error code";
}

cudaError_t cudaDriverGetVersion(int *version) {
    *version = rt().driver;
    return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int *version) {
    API(cudaRuntimeGetVersion);
    *version = CUDART_VERSION;
    return api_(cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int *n) {
    *n = rt().broken ? 0 : (int)rt().devices.size();
    return done(rt().broken);
}

static bool known(int d) { return d >= 0 && (size_t)d < rt().devices.size(); }

cudaError_t cudaGetDevice(int *d) {
    *d = current_device;
    return done(rt().broken);
}

cudaError_t cudaSetDevice(int d) {
    if (rt().broken) return done(rt().broken);
    if (!known(d)) return done(cudaErrorInvalidDevice);
    current_device = d;
    take_context();
    return cudaSuccess;
}

cudaError_t cudaInitDevice(int d, unsigned, unsigned) {
    return done(rt().broken ? rt().broken : known(d) ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaSetDeviceFlags(unsigned) { return done(rt().broken); }
cudaError_t cudaGetDeviceFlags(unsigned *flags) {
    *flags = cudaDeviceScheduleAuto;
    return done(rt().broken);
}

cudaError_t cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attr, int d) {
    if (rt().broken) return done(rt().broken);
    if (!known(d)) return done(cudaErrorInvalidDevice);
    switch (attr) {
    case cudaDevAttrMaxThreadsPerBlock:
    case cudaDevAttrMaxBlockDimX:
    case cudaDevAttrMaxBlockDimY: *value = 1024; break;
    case cudaDevAttrMaxBlockDimZ: *value = 64; break;
    case cudaDevAttrMaxGridDimX: *value = INT32_MAX; break;
    case cudaDevAttrMaxGridDimY:
    case cudaDevAttrMaxGridDimZ: *value = 65535; break;
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
        *value = rt().arch >= 90 ? 227 << 10 : rt().arch >= 80 ? 163 << 10 : 64 << 10;
        break;
    case cudaDevAttrMaxSharedMemoryPerMultiprocessor: *value = 228 << 10; break;
    case cudaDevAttrWarpSize: *value = 32; break;
    case cudaDevAttrMaxRegistersPerBlock: *value = 65536; break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate: *value = 1000000; break;
    case cudaDevAttrMultiProcessorCount: *value = rt().sms; break;
    case cudaDevAttrIntegrated:
    case cudaDevAttrEccEnabled:
    case cudaDevAttrPageableMemoryAccess: *value = 0; break;
    case cudaDevAttrCanMapHostMemory:
    case cudaDevAttrConcurrentKernels:
    case cudaDevAttrUnifiedAddressing: *value = 1; break;
    case cudaDevAttrHostRegisterSupported:
    case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
    case cudaDevAttrPciBusId: *value = rt().devices[(size_t)d]->at.number + 1; break;
    case cudaDevAttrGlobalMemoryBusWidth: *value = 4096; break;
    case cudaDevAttrL2CacheSize: *value = 1 << 20; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
    case cudaDevAttrAsyncEngineCount: *value = 2; break;
    case cudaDevAttrComputeCapabilityMajor: *value = rt().arch / 10; break;
    case cudaDevAttrComputeCapabilityMinor: *value = rt().arch % 10; break;
    case cudaDevAttrMaxBlocksPerMultiprocessor: *value = 32; break;
    default: return done(cudaErrorInvalidValue);
    }
    return cudaSuccess;
}

static int attribute(enum cudaDeviceAttr attr, int d) {
    int v = 0;
    cudaDeviceGetAttribute(&v, attr, d);
    return v;
}

cudaError_t cudaGetDeviceProperties(struct cudaDeviceProp *p, int d) {
    if (rt().broken) return done(rt().broken);
    if (!known(d)) return done(cudaErrorInvalidDevice);
    *p = cudaDeviceProp();
    const char *name = getenv("GPUSH_FAKE_NAME");
    card at = rt().devices[(size_t)d]->at;
    snprintf(p->name, sizeof p->name, "%s%s", name ? name : "stand-in for tests (not a GPU)",
             at.slice ? " MIG 1g.10gb" : "");
    p->uuid.bytes[0] = (char)(at.number + 1);
    p->totalGlobalMem = rt().memory;
    p->sharedMemPerBlock = 48 << 10;
    p->sharedMemPerBlockOptin = (size_t)attribute(cudaDevAttrMaxSharedMemoryPerBlockOptin, d);
    p->sharedMemPerMultiprocessor = 228 << 10;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32, p->maxThreadsPerBlock = 1024;
    p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024, p->maxThreadsDim[2] = 64;
    p->maxGridSize[0] = INT32_MAX, p->maxGridSize[1] = p->maxGridSize[2] = 65535;
    p->major = rt().arch / 10, p->minor = rt().arch % 10;
    p->multiProcessorCount = attribute(cudaDevAttrMultiProcessorCount, d);
    p->canMapHostMemory = p->concurrentKernels = p->unifiedAddressing = p->managedMemory = 1;
    p->hostRegisterSupported = p->memoryPoolsSupported = 1;
    p->pciBusID = at.number + 1, p->asyncEngineCount = 2, p->memoryBusWidth = 4096,
    p->l2CacheSize = 1 << 20;
    p->maxThreadsPerMultiProcessor = 2048, p->maxBlocksPerMultiProcessor = 32;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetPCIBusId(char *id, int len, int d) {
    if (!known(d)) return done(cudaErrorInvalidDevice);
    snprintf(id, (size_t)len, "0000:%02x:00.0", (unsigned)attribute(cudaDevAttrPciBusId, d));
    return cudaSuccess;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
    *least = 0, *greatest = -5;
    return done(rt().broken);
}

cudaError_t cudaDeviceSetLimit(enum cudaLimit, size_t) { return done(forbidden()); }
cudaError_t cudaDeviceGetLimit(size_t *value, enum cudaLimit limit) {
    *value = limit == cudaLimitStackSize ? 1024 : 8 << 20;
    return done(forbidden());
}

cudaError_t cudaDeviceCanAccessPeer(int *can, int d, int peer) {
    if (!known(d) || !known(peer)) return done(cudaErrorInvalidDevice);
    *can = d != peer;
    return cudaSuccess;
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    if (!known(peer) || peer == current_device) return done(cudaErrorInvalidDevice);
    locked l(rt().lock);
    int late = 50;
    rt().counts["peer access"]++;
    if (faulty(F_PEER, &late)) {
        struct timespec ms = {late / 1000, late % 1000 * 1000000L};
        l.unlock();
        nanosleep(&ms, NULL);
        l.lock();
    }
    bool &on = rt().peers[{current_device, peer}];
    if (on) return done(cudaErrorPeerAccessAlreadyEnabled);
    on = true;
    return cudaSuccess;
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    locked l(rt().lock);
    return done(rt().peers.erase({current_device, peer}) ? cudaSuccess
                                                         : cudaErrorPeerAccessNotEnabled);
}

cudaError_t cudaProfilerStart(void) { return done(forbidden()); }
cudaError_t cudaProfilerStop(void) { return done(forbidden()); }
}
