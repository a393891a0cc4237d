/* The cpu: on its default stream a kernel runs where it is called, on the thread that asks for it;
 * each further one is a worker's, for fork. */
#include "tensor/device/backends.h"
#include "tensor/device/stream/queue.h"
#include "tensor/memory/hostmem.h"
#include "tensor/op.h"

const gp_kernel *gp_cpu_kernels;

static void *mem_alloc(gp_device *dev, size_t bytes) { return gp_host_alloc(bytes); }
static void mem_free(gp_device *dev, void *p, size_t bytes) { gp_host_free(p, bytes); }
static size_t capacity(gp_device *dev) { return gp_host_capacity(); }

static bool stream_open(gp_stream *s) { return !s->async || gp_queue_open(s, ~(uintptr_t)0); }

static gp_event *event_record(gp_stream *s, bool timed) {
    return s->async ? gp_queue_event_record(s, timed) : gp_queue_event_now(s);
}

const gp_device_vt gp_cpu_vt = {
    .kind = "cpu",
    .on_host = true,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .stream_open = stream_open,
    .capacity = capacity,
    .launch = gp_queue_launch,
    .event_record = event_record,
    GP_QUEUE_FUNCTIONS,
};
