/* The simulated GPU: streams are worker threads with queues, the host cannot address its memory,
 * and its kernels are the CPU's. */
#include <stdlib.h>

#include "tensor/device/backends.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/card/model.h"
#include "tensor/device/stream/queue.h"
#include "tensor/base/env.h"
#include "tensor/memory/hostmem.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
/* The leak checker does not recognise a device address as a pointer; a lost tensor shows by its
 * structs. */
#define NOT_LOST(p) __lsan_ignore_object(p)
#else
#define NOT_LOST(p) ((void)(p))
#endif

/* Device addresses are host addresses with this bit set: the host cannot follow them. Only a worker
 * clears it. */
#define DEVICE_BIT ((uintptr_t)1 << 62)
_Static_assert(sizeof(uintptr_t) == 8, "no host address has that bit");

static void *to_device(void *host) { return (void *)((uintptr_t)host | DEVICE_BIT); }
static void *to_host(const void *device) { return (void *)((uintptr_t)device & ~DEVICE_BIT); }

static void *mem_alloc(gp_device *dev, size_t bytes) {
    void *p = gp_host_alloc(bytes);
    if (p) NOT_LOST(p);
    return p ? to_device(p) : NULL;
}
static void mem_free(gp_device *dev, void *p, size_t bytes) { gp_host_free(to_host(p), bytes); }

/* What the host's own memory takes is not the card's time. */
static void *card_alloc(gp_device *dev, size_t bytes) {
    gp_clock_pause();
    void *p = mem_alloc(dev, bytes);
    gp_clock_resume();
    return p;
}
static void card_free(gp_device *dev, void *p, size_t bytes) {
    gp_clock_pause();
    mem_free(dev, p, bytes);
    gp_clock_resume();
}

int gp_sim_count(void) { return (int)gp_env_number(GP_ENV_GPUSH_SIM_DEVICES, 1); }

/* The card's where one is modelled, else a quarter of the host's. Blocks are reserved; they take
 * the host's memory only where they are written, which model.c asks for first. */
static size_t capacity(gp_device *dev) {
    const gp_card *card = gp_model_card();
    double most = 0x1p62, has = card ? card->figure[GP_FIGURE_memory] : 0;
    int64_t own = card ? (int64_t)(has < most ? has : most) : (int64_t)gp_host_capacity() / 4;
    return (size_t)gp_env_number(GP_ENV_GPUSH_SIM_MEMORY, own);
}

static bool stream_open(gp_stream *s) { return gp_queue_open(s, ~DEVICE_BIT); }
static bool card_stream_open(gp_stream *s) { return gp_model_open(s, ~DEVICE_BIT); }

const gp_device_vt gp_sim_vt = {
    .kind = "sim",
    .host_bits = ~DEVICE_BIT,
    .mem_alloc = mem_alloc,
    .mem_free = mem_free,
    .stream_open = stream_open,
    .capacity = capacity,
    .launch = gp_queue_launch,
    .copy = gp_queue_copy,
    .event_record = gp_queue_event_record,
    GP_QUEUE_FUNCTIONS,
};

const gp_device_vt gp_sim_card_vt = {
    .kind = "sim",
    .mem_alloc = card_alloc,
    .mem_free = card_free,
    .stream_open = card_stream_open,
    .stream_close = gp_model_close,
    .capacity = capacity,
    .launch = gp_model_launch,
    .copy = gp_model_copy,
    .busy = gp_model_busy,
    .full = gp_model_full,
    .drain = gp_model_drain,
    .drain_half = gp_model_drain_half,
    .event_record = gp_model_event_record,
    .event_done = gp_model_event_done,
    .event_drain = gp_model_event_drain,
    .event_wait = gp_model_event_wait,
    .event_time = gp_queue_event_time,
    .event_free = gp_queue_event_free,
};

const gp_device_vt *gp_sim_table(void) { return gp_model_card() ? &gp_sim_card_vt : &gp_sim_vt; }
