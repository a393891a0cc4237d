/* The cpu device: a kernel runs where it is called, so its streams are never busy. */
#include <stdlib.h>
#include <string.h>

#include "tensor/device/backends.h"
#include "tensor/memory/hostmem.h"
#include "tensor/op.h"

const gp_kernel *gp_cpu_kernels;

static void *mem_alloc(gp_device *dev, size_t bytes) { return gp_host_alloc(bytes); }
static void mem_free(gp_device *dev, void *p, size_t bytes) { gp_host_free(p, bytes); }

static bool stream_open(gp_stream *s) { return true; }
static void stream_close(gp_stream *s) {}

static bool launch(gp_stream *s, gp_call *c) {
    gp_running = c;
    bool ok = gp_cpu_kernels[gp_op_id(c->op)](c);
    gp_running = NULL;
    return ok;
}

static bool copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                 gp_storage *pinned, uint64_t id) {
    memcpy(dst, src, bytes);
    return true;
}

static size_t capacity(gp_device *dev) { return gp_host_capacity(); }
static bool busy(gp_stream *s) { return false; }
static bool drain(gp_stream *s) { return true; }

/* On a device that is never busy an event is only a time. */
static gp_event *event_record(gp_stream *s) {
    gp_event *e = calloc(1, sizeof *e);
    if (!e) return gp_fail_null("out of memory");
    e->stream = s;
    e->ticket = gp_now_ns();
    return e;
}
static bool event_done(gp_event *e) { return true; }
static bool event_drain(gp_event *e) { return true; }
static bool event_wait(gp_stream *s, gp_event *e) { return true; }
static double event_time(gp_event *e) { return (double)e->ticket * 1e-9; }
static void event_free(gp_event *e) { free(e); }

const gp_device_vt gp_cpu_vt = {
    .kind = "cpu",
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .stream_open = stream_open,
    .stream_close = stream_close,
    .launch = launch,
    .copy = copy,
    .capacity = capacity,
    .busy = busy,
    .full = busy,
    .drain = drain,
    .drain_room = drain,
    .event_record = event_record,
    .event_done = event_done,
    .event_drain = event_drain,
    .event_wait = event_wait,
    .event_time = event_time,
    .event_free = event_free,
};
