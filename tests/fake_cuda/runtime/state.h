/* The state of the stand-in's runtime: devices, streams and their queues, memory, faults. One lock
 * for all of it. */
#ifndef FAKE_STATE_H
#define FAKE_STATE_H

#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cuda_runtime.h"
#include "fake_cuda.h"
#include "hooks.h"

namespace fake {
typedef std::shared_ptr<std::condition_variable> bell;

/* The runtime's lock, held. Waiters are woken when it is released: they need it first of all. */
struct locked : std::unique_lock<std::mutex> {
    using unique_lock::unique_lock;
    std::vector<bell> later;
    void unlock() {
        unique_lock::unlock();
        for (const bell &b : later) b->notify_one();
        later.clear();
    }
    /* Lets the other threads run before this one waits. */
    void ring() {
        if (!later.empty()) unlock(), lock();
    }
    ~locked() {
        if (owns_lock()) unlock();
    }
};

/* The progress of a stream. Outlives the stream, for its waiters. */
struct timeline {
    uint64_t submitted = 0, done = 0;
};
struct moment { /* a point of a timeline */
    std::shared_ptr<timeline> line;
    uint64_t at = 0;
    bool passed() const { return !line || line->done >= at; }
};

/* clang-format off */
enum fault {
    F_OOM, F_PINNED_OOM, F_LAUNCH, F_STICKY, F_SLOW, F_LATE, F_CUPTI_DROP, F_WAIT, F_ENGINE,
    F_PLAN, F_CHOICE, F_REFUSE, F_LIB_OOM, F_OLDER, F_LAST, F_PEER, FAULTS
};
/* clang-format on */

/* A piece of work in a queue. */
struct task {
    std::function<void()> run;
    std::vector<moment> after; /* other tasks that must be done before */
    fake_activity what = {};   /* for CUPTI; kind 0: not shown */
    bool kernel = false;       /* skipped on a device that has failed, as copies are */
};
} // namespace fake

/* Errors of captures with forks, which the plug-in does not tell apart. */
enum {
    STREAM_CAPTURE_MERGE = 902,
    STREAM_CAPTURE_UNMATCHED,
    STREAM_CAPTURE_UNJOINED,
    STREAM_CAPTURE_ISOLATION,
    STREAM_CAPTURE_IMPLICIT,
    CAPTURED_EVENT
};

namespace fake {
typedef std::vector<size_t> nodes; /* by number */
struct node {
    task work;
    nodes after; /* of smaller numbers */
};
} // namespace fake

struct CUgraph_st { /* what streams have captured */
    int dev;
    bool invalid = false, over = false;
    std::vector<fake::node> all;
    CUstream_st *origin;
    std::vector<CUstream_st *> streams; /* that capture, the origin first */
};
struct CUgraphExec_st {
    int dev;
    std::shared_ptr<std::vector<fake::node>> all;
};

struct CUstream_st {
    std::shared_ptr<CUgraph_st> capture; /* what goes there instead of the queue, */
    fake::nodes ends;                    /* after these */
    int dev;
    unsigned flags;
    int priority;
    uint64_t id;
    size_t connection = 0;                                      /* its hardware queue */
    bool legacy, started = false, quit = false, asleep = false; /* its thread waits for wake */
    fake::bell wake = std::make_shared<std::condition_variable>();
    std::deque<fake::task> queue;
    std::shared_ptr<fake::timeline> line = std::make_shared<fake::timeline>();
    bool blocking() const { return !legacy && !(flags & cudaStreamNonBlocking); }
};

struct CUmemPoolHandle_st {
    int dev;
    uint64_t threshold = 0, reserved = 0, reserved_high = 0, used = 0, used_high = 0;
};

namespace fake {
struct event_record { /* one cudaEventRecord */
    moment when;
    uint64_t ns = 0; /* set when it is reached */
    int dev = 0;
};
} // namespace fake

struct CUevent_st {
    unsigned flags;
    int dev;
    std::shared_ptr<fake::event_record> last; /* NULL: never recorded */
    std::shared_ptr<CUgraph_st> capture;      /* recorded in a capture: then `ends` of its stream */
    fake::nodes ends;
};

namespace fake {
struct block { /* an allocation */
    char *base;
    size_t bytes;
    cudaMemoryType type;
    int dev;
    unsigned flags;
    CUmemPoolHandle_st *pool; /* NULL: cudaMalloc or host memory */
    bool registered;          /* the caller's own memory */
};

struct card {
    int number; /* among the machine's */
    bool slice; /* of it: MIG */
};

struct device {
    card at;
    std::atomic<bool> context{false}; /* was made: by the first call that needs it */
    std::atomic<cudaError_t> sticky{cudaSuccess};
    size_t used = 0; /* by cudaMalloc; what pools have reserved comes to it */
    CUmemPoolHandle_st pool;
    CUmemPoolHandle_st *current_pool;
    CUstream_st *legacy;
    std::vector<CUstream_st *> streams; /* with legacy */
    std::vector<moment> connections; /* hardware queues, shared by streams: the last task of each */
};

/* A call that waits, woken when its moment has passed and not before. */
struct waiter {
    moment until;
    bell passed;
    bool woken = false;
};

struct runtime {
    std::mutex lock;
    std::vector<waiter *> waiting;
    std::vector<CUstream_st *> held; /* their threads sleep until other streams' tasks are done */
    std::vector<device *> devices;
    std::map<uintptr_t, block> blocks;          /* by base */
    std::map<const void *, int> dynamic_shared; /* what cudaFuncSetAttribute allowed */
    std::map<std::pair<int, int>, bool> peers;
    size_t memory;
    size_t working = 0; /* tasks that are queued and not done */
    bool revealed = false;
    uint64_t rests = 0; /* times that no task was left */
    int arch, driver, sms;
    uint64_t next_stream = 1;
    std::map<std::string, uint64_t> counts;
    cudaError_t broken = cudaSuccess; /* the reason, if there is no device */
};
/* The one runtime, made at the first call and never destroyed: its threads outlive main. */
runtime &rt();
/* This thread's device. */
extern thread_local int current_device;
device &dev();
/* Sets a call's result: kept for cudaGetLastError; a failed device returns its error. */
cudaError_t done(cudaError_t err);
/* What forbids any call now: no device, a failed one, a callback. */
cudaError_t forbidden();
extern thread_local bool in_callback;

/* The stream of a handle; NULL for one that is not alive. With the lock. */
CUstream_st *stream_of(cudaStream_t s);
/* Whether s captures, which what is asked of it now does not allow: the capture is invalid then.
 * With the lock. */
bool capturing(CUstream_st *s);
/* Appends t to s, or to what it captures: with the dependencies of streams' semantics; waits while
 * the queue is full. With the lock. */
moment submit(locked &l, CUstream_st *s, task t);
void wait_for(locked &l, const moment &m);
/* Implements queries: false if m has not been reached. A thread that polls sleeps a little each
 * time and leaves the core to the stream that it waits for. With the lock. */
bool asked(locked &l, const moment &m);
/* Waits until everything queued on the device is done. With the lock. */
void drain(locked &l, int d);
cudaError_t error_of(const CUstream_st *s);

/* Called before a task is queued, and when none is left: this process may read and write memory of
 * devices while they work. With the lock. */
void reveal();
void hide();

/* The allocation that p lies in, or NULL. With the lock. */
block *find(const void *p);

/* Counts one more of f and returns whether it is to fail; arg: the value after the colon, or its
 * default. With the lock. */
bool faulty(fault f, int *arg);
void faults_read();
/* Changes when launches that take longer are to go on at once. */
unsigned slow_released();
const char *cupti_mode();
/* Whether that function of a library is to wait for its stream. With the lock. */
bool waits_in(const char *function);

/* Counts a call of the runtime by its name, which is static. */
void counted(int id, const char *name);

/* CUPTI's view of a call: entry now, exit when it goes out of scope. */
struct api {
    fake_call call;
    api(int id, const char *name, cudaStream_t s = NULL);
    ~api();
    cudaError_t operator()(cudaError_t err);
};
/* A call's correlation id, for the activity that it queues. */
fake_activity activity(int kind, const char *name, const CUstream_st *s);
} // namespace fake

#define API(name, ...) fake::api api_(FAKE_CBID_##name, #name, ##__VA_ARGS__)

#endif
