/* Streams: a queue and an OS thread each; what they wait for; launches and callbacks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>

#include "fiber.h"
#include "state.h"

namespace fake {
static const size_t QUEUE =
    1024; /* tasks that may wait before a launch blocks, about as on a card */

void record(const fake_activity &a);
void tell_queued(const fake_activity &a);

CUstream_st *stream_of(cudaStream_t s) {
    device &d = dev();
    if (!s || s == cudaStreamLegacy || s == cudaStreamPerThread) return d.legacy;
    for (device *of : rt().devices)
        if (std::find(of->streams.begin(), of->streams.end(), s) != of->streams.end()) return s;
    return NULL;
}

static bool ready(const task &t) {
    return std::all_of(t.after.begin(), t.after.end(), [](const moment &m) { return m.passed(); });
}

static void run(CUstream_st *s, task &t, bool dead) {
    current_device = s->dev;
    t.what.start = clock_ns();
    if (t.run && !(dead && t.kernel)) t.run();
    t.what.end = clock_ns();
    t.run = nullptr;
    record(t.what);
}

static bool can_go_on(const CUstream_st *s) {
    return s->queue.empty() ? s->quit : ready(s->queue.front());
}

/* Wakes the stream's thread if it sleeps and has a task that need not wait for other streams. */
static void rouse(locked &l, CUstream_st *s) {
    auto &held = rt().held;
    if (!s->asleep) return;
    if (can_go_on(s)) {
        s->asleep = false;
        l.later.push_back(s->wake);
    } else if (!s->queue.empty() && std::find(held.begin(), held.end(), s) == held.end()) {
        held.push_back(s);
    }
}

/* Called when a task is done: wakes the calls and the streams that waited only for it. */
static void tell(locked &l) {
    for (waiter *w : rt().waiting) {
        if (w->woken || !w->until.passed()) continue;
        w->woken = true;
        l.later.push_back(w->passed);
    }
    for (CUstream_st *s : rt().held) rouse(l, s);
    l.ring();
}

static void sleep(locked &l, CUstream_st *s) {
    auto &held = rt().held;
    s->asleep = true;
    rouse(l, s);
    s->wake->wait(l, [s] { return !s->asleep; });
    held.erase(std::remove(held.begin(), held.end(), s), held.end());
}

static void work(CUstream_st *s) {
    runtime &r = rt();
    locked l(r.lock);
    for (;;) {
        while (!can_go_on(s)) sleep(l, s);
        if (s->queue.empty()) break;
        task t = std::move(s->queue.front());
        bool dead = error_of(s) != cudaSuccess;
        l.unlock();
        run(s, t, dead);
        l.lock();
        s->queue.pop_front();
        s->line->done++;
        if (--r.working == 0) hide();
        tell(l);
    }
    delete s;
}

bool capturing(CUstream_st *s) {
    if (s->capture) s->capture->invalid = true;
    return s->capture != NULL;
}

/* The hardware queue that fewest streams use. */
static size_t least_shared(const device &d) {
    std::vector<int> users(d.connections.size());
    for (const CUstream_st *s : d.streams) users[s->connection]++;
    return (size_t)(std::min_element(users.begin(), users.end()) - users.begin());
}

moment submit(locked &l, CUstream_st *s, task t) {
    if (s->capture) {
        s->capture->all.push_back({std::move(t), s->ends});
        s->ends = {s->capture->all.size() - 1};
        return moment();
    }
    if (s->queue.size() >= QUEUE) wait_for(l, {s->line, s->line->submitted - QUEUE + 1});
    device &d = *rt().devices[(size_t)s->dev];
    if (s->legacy)
        for (CUstream_st *o : d.streams) {
            if (o->blocking()) t.after.push_back({o->line, o->line->submitted});
        }
    else if (s->blocking()) t.after.push_back({d.legacy->line, d.legacy->line->submitted});
    moment &last = d.connections[s->connection];
    if (last.line != s->line) t.after.push_back(last);
    t.after.erase(
        std::remove_if(t.after.begin(), t.after.end(), [](const moment &m) { return m.passed(); }),
        t.after.end());
    tell_queued(t.what);
    s->queue.push_back(std::move(t));
    if (rt().working++ == 0) reveal();
    if (!s->started) {
        s->started = true;
        std::thread(work, s).detach();
    }
    rouse(l, s);
    return last = {s->line, ++s->line->submitted};
}

/* Waits for at most ns; 0: without a limit. */
static bool wait_until(locked &l, const moment &m, int ns) {
    static thread_local bell mine = std::make_shared<std::condition_variable>();
    l.ring();
    if (m.passed()) return true;
    auto &all = rt().waiting;
    waiter w = {m, mine};
    all.push_back(&w);
    auto passed = [&m] { return m.passed(); };
    if (ns) w.passed->wait_for(l, std::chrono::nanoseconds(ns), passed);
    else w.passed->wait(l, passed);
    all.erase(std::find(all.begin(), all.end(), &w));
    return m.passed();
}

void wait_for(locked &l, const moment &m) { wait_until(l, m, 0); }

bool asked(locked &l, const moment &m) {
    static thread_local int in_vain;
    if (m.passed()) return in_vain = 0, true;
    if (in_vain++ < 3) return false;
    return wait_until(l, m, 50000);
}

void drain(locked &l, int d) {
    std::vector<moment> all;
    for (CUstream_st *s : rt().devices[(size_t)d]->streams)
        all.push_back({s->line, s->line->submitted});
    for (const moment &m : all) wait_for(l, m);
}

/* Sleeps, unless launches were let go since `released`. */
static void sleep_ms(int ms, unsigned released) {
    const struct timespec a_while = {0, 1000000};
    uint64_t end = clock_ns() + (uint64_t)ms * 1000000;
    while (slow_released() == released && clock_ns() < end) nanosleep(&a_while, NULL);
}

/* The faults of launch number N: refused (an error now), or a fault and a delay when it runs. */
static cudaError_t launch_faults(int *sticky, int *slow) {
    int refused = cudaErrorLaunchOutOfResources, bad = cudaErrorIllegalAddress, ms = 100;
    rt().counts["launch"]++;
    bool no = faulty(F_LAUNCH, &refused);
    *sticky = faulty(F_STICKY, &bad) ? bad : 0;
    *slow = faulty(F_SLOW, &ms) ? ms : 0;
    return no ? (cudaError_t)refused : cudaSuccess;
}

static void set_sticky(int d, cudaError_t err) { rt().devices[(size_t)d]->sticky = err; }

/* Queues run, a kernel's work, which returns NULL or what went wrong. */
static cudaError_t launch_work(cudaStream_t handle, fake_activity what,
                               std::function<const char *()> run) {
    locked l(rt().lock);
    CUstream_st *s = stream_of(handle);
    if (!s) return cudaErrorInvalidResourceHandle;
    if (s->dev != current_device) return cudaErrorInvalidResourceHandle;
    int sticky, slow, d = s->dev;
    cudaError_t err = launch_faults(&sticky, &slow);
    if (err) return err;
    task t;
    const char *name = what.name;
    t.what = what, t.kernel = true;
    t.what.dev = d, t.what.stream = (unsigned)s->id, t.what.queued = clock_ns();
    t.run = [run, name, sticky, slow, d, released = slow_released()] {
        if (slow) sleep_ms(slow, released);
        if (sticky) return set_sticky(d, (cudaError_t)sticky);
        const char *wrong = run();
        if (!wrong) return;
        fprintf(stderr, "fake_cuda: kernel %s: %s\n", name, wrong);
        set_sticky(d, cudaErrorLaunchFailure);
    };
    submit(l, s, std::move(t));
    return cudaSuccess;
}

static cudaError_t check_shape(const void *func, dim3 grid, dim3 block, size_t shared) {
    if ((uint64_t)block.x * block.y * block.z > 1024 || !block.x || !block.y || !block.z ||
        block.z > 64)
        return cudaErrorInvalidConfiguration;
    if (!grid.x || !grid.y || !grid.z || grid.x > INT32_MAX || grid.y > 65535 || grid.z > 65535)
        return cudaErrorInvalidConfiguration;
    locked l(rt().lock);
    auto allowed = rt().dynamic_shared.find(func);
    /* A card also counts the kernel's own shared variables, which are unknown here: this much is
     * reserved for them. */
    size_t own = 1 << 10,
           most = allowed == rt().dynamic_shared.end() ? (48 << 10) - own : (size_t)allowed->second;
    return shared > most ? cudaErrorInvalidValue : cudaSuccess;
}

/* The kernels that were launched since they were asked for, by their addresses. */
static std::set<const void *> launched;

static void note_kernel(const void *func) {
    locked l(rt().lock);
    launched.insert(func);
}

cudaError_t launch(const void *func, const char *name, dim3 grid, dim3 block, size_t shared,
                   cudaStream_t s, std::function<void()> body) {
    API(cudaLaunchKernel, s);
    cudaError_t err = forbidden();
    if (!err) err = check_shape(func, grid, block, shared);
    if (err) return api_(err);
    bool wait;
    {
        locked l(rt().lock);
        wait = faulty(F_WAIT, NULL);
    }
    fake_activity a = activity(FAKE_KERNEL, name, dev().legacy);
    if (wait) cudaStreamSynchronize(s);
    a.grid[0] = grid.x, a.grid[1] = grid.y, a.grid[2] = grid.z;
    a.block[0] = block.x, a.block[1] = block.y, a.block[2] = block.z, a.shared = shared;
    note_kernel(func);
    return api_(launch_work(s, a, [=] { return run_grid(grid, block, shared, body); }));
}

cudaError_t enqueue(cudaStream_t s, const char *kernel, std::function<void()> f) {
    fakeWaits(kernel, s);
    API(cudaLaunchKernel, s);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    fake_activity a = activity(FAKE_KERNEL, kernel, dev().legacy);
    fakeCounted("library");
    for (int i = 0; i < 3; i++) a.grid[i] = a.block[i] = 1;
    return api_(launch_work(s, a, [f]() -> const char * {
        f();
        return NULL;
    }));
}
} // namespace fake

extern "C" int fakeKernels(const void **kernels, int most) {
    using namespace fake;
    locked l(rt().lock);
    int n = 0;
    for (const void *k : launched)
        if (n < most) kernels[n++] = k;
    launched.clear();
    return n;
}

using namespace fake;

/* Queries a stream, with the lock. */
template <class F> static cudaError_t look(cudaStream_t h, F f) {
    if (rt().broken) return done(rt().broken);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return done(cudaErrorInvalidResourceHandle);
    f(s);
    return cudaSuccess;
}

extern "C" {

void fakeWaits(const char *function, cudaStream_t s) {
    bool waits;
    {
        locked l(rt().lock);
        waits = waits_in(function);
    }
    if (waits) cudaStreamSynchronize(s);
}

cudaError_t fakeEnqueue(cudaStream_t s, const char *kernel, fakeWork fn, const void *args,
                        size_t bytes) {
    std::vector<max_align_t> copy((bytes + sizeof(max_align_t) - 1) / sizeof(max_align_t) + 1);
    if (bytes) memcpy(copy.data(), args, bytes);
    return enqueue(s, kernel, [fn, copy]() mutable { fn(copy.data()); });
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *s, unsigned flags, int priority) {
    API(cudaStreamCreateWithPriority);
    cudaError_t err = forbidden();
    if (!err && flags > cudaStreamNonBlocking) err = cudaErrorInvalidValue;
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *made = new CUstream_st();
    made->dev = current_device, made->flags = flags, made->priority = priority,
    made->legacy = false;
    made->id = rt().next_stream++;
    made->connection = least_shared(dev());
    dev().streams.push_back(made);
    *s = made;
    return api_(cudaSuccess);
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *s, unsigned flags) {
    return cudaStreamCreateWithPriority(s, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *s) { return cudaStreamCreateWithPriority(s, 0, 0); }

cudaError_t cudaStreamDestroy(cudaStream_t h) {
    API(cudaStreamDestroy);
    if (rt().broken || in_callback) return api_(forbidden());
    locked l(rt().lock);
    CUstream_st *s = h ? stream_of(h) : NULL;
    if (!s || s->legacy) return api_(cudaErrorInvalidResourceHandle);
    auto &all = rt().devices[(size_t)s->dev]->streams;
    all.erase(std::find(all.begin(), all.end(), s));
    s->quit = true; /* queued work is still done; its thread frees it */
    if (!s->started) delete s;
    else rouse(l, s);
    return api_(cudaSuccess);
}

cudaError_t cudaStreamGetFlags(cudaStream_t h, unsigned *flags) {
    return look(h, [&](CUstream_st *s) { *flags = s->flags; });
}
cudaError_t cudaStreamGetPriority(cudaStream_t h, int *priority) {
    return look(h, [&](CUstream_st *s) { *priority = s->priority; });
}
cudaError_t cudaStreamGetId(cudaStream_t h, unsigned long long *id) {
    return look(h, [&](CUstream_st *s) { *id = s->id; });
}
cudaError_t cudaStreamGetDevice(cudaStream_t h, int *d) {
    return look(h, [&](CUstream_st *s) { *d = s->dev; });
}

cudaError_t cudaStreamQuery(cudaStream_t h) {
    API(cudaStreamQuery, h);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return api_(cudaErrorInvalidResourceHandle);
    if (capturing(s)) return api_(cudaErrorStreamCaptureUnsupported);
    int d = s->dev;
    if (!asked(l, {s->line, s->line->submitted})) return api_(cudaErrorNotReady);
    return api_(rt().devices[(size_t)d]->sticky);
}

cudaError_t cudaStreamSynchronize(cudaStream_t h) {
    API(cudaStreamSynchronize, h);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return api_(cudaErrorInvalidResourceHandle);
    if (capturing(s)) return api_(cudaErrorStreamCaptureUnsupported);
    rt().counts["sync"]++;
    fake_activity a = activity(FAKE_SYNC, NULL, s);
    a.sync = 3, a.start = clock_ns();
    int d = s->dev;
    if (s->legacy) submit(l, s, task()); /* it also waits for the blocking ones */
    wait_for(l, {s->line, s->line->submitted});
    a.end = clock_ns();
    err = rt().devices[(size_t)d]->sticky;
    l.unlock();
    record(a);
    return api_(err);
}

cudaError_t cudaDeviceSynchronize(void) {
    API(cudaDeviceSynchronize);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    rt().counts["sync"]++;
    fake_activity a = activity(FAKE_SYNC, NULL, dev().legacy);
    a.sync = 4, a.start = clock_ns();
    drain(l, current_device);
    a.end = clock_ns();
    l.unlock();
    record(a);
    return api_(dev().sticky);
}

cudaError_t cudaDeviceReset(void) {
    if (rt().broken) return done(rt().broken);
    locked l(rt().lock);
    drain(l, current_device);
    dev().sticky = cudaSuccess;
    return cudaSuccess;
}

cudaError_t cudaLaunchHostFunc(cudaStream_t h, cudaHostFn_t fn, void *data) {
    API(cudaLaunchHostFunc, h);
    cudaError_t err = forbidden();
    if (err) return api_(err);
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return api_(cudaErrorInvalidResourceHandle);
    if (capturing(s)) return api_(cudaErrorStreamCaptureUnsupported);
    task t;
    t.what = fake_activity();
    t.kernel = true; /* not called after an error */
    t.run = [fn, data] {
        in_callback = true;
        fn(data);
        in_callback = false;
    };
    submit(l, s, std::move(t));
    return api_(cudaSuccess);
}

cudaError_t cudaFuncGetAttributes(struct cudaFuncAttributes *a, const void *func) {
    *a = cudaFuncAttributes();
    a->maxThreadsPerBlock = 1024, a->numRegs = 32, a->ptxVersion = a->binaryVersion = rt().arch;
    locked l(rt().lock);
    auto set = rt().dynamic_shared.find(func);
    a->maxDynamicSharedSizeBytes = set == rt().dynamic_shared.end() ? 48 << 10 : set->second;
    return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void *func, enum cudaFuncAttribute attr, int value) {
    cudaError_t err = forbidden();
    if (err) return done(err);
    int most;
    cudaDeviceGetAttribute(&most, cudaDevAttrMaxSharedMemoryPerBlockOptin, current_device);
    if (attr != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
    if (value < 0 || value > most) return done(cudaErrorInvalidValue);
    locked l(rt().lock);
    rt().dynamic_shared[func] = value;
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *n, const void *, int block,
                                                          size_t shared) {
    if (block <= 0 || block > 1024) return done(cudaErrorInvalidValue);
    int by_shared = shared ? (int)((228u << 10) / (shared + 1024)) : 32;
    *n = std::min({32, 2048 / block, by_shared});
    return cudaSuccess;
}
}
