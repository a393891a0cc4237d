/* Streams that are a worker thread with a queue of commands: those of sim, and of the cpu all but
 * the first. Their functions are entries of a gp_device_vt, described there; but for open, launch,
 * copy and event_record they also take a stream without a queue, on which nothing is ever queued.
 */
#ifndef GP_QUEUE_H
#define GP_QUEUE_H

#include "tensor/device/device.h"

/* Starts the worker of s, which a deferred stream has not. host_bits: the bits of a device's
 * address that are the host's. False with a message. */
bool gp_queue_open(gp_stream *s, uintptr_t host_bits);
/* Ends the worker after all that is queued. */
void gp_queue_close(gp_stream *s);
/* Queues c's cpu kernel. */
bool gp_queue_launch(gp_stream *s, struct gp_call *c);
/* Queues a captured function's calls. */
bool gp_queue_replay(gp_stream *s, const struct gp_replay_values *values);
bool gp_queue_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                   gp_storage *pinned, uint64_t id);
bool gp_queue_busy(gp_stream *s);
bool gp_queue_full(gp_stream *s);
bool gp_queue_drain(gp_stream *s);
bool gp_queue_drain_half(gp_stream *s);
/* A stream of no device's list, with a worker, that computes what other streams are said to run,
 * first `of`: none of it before gp_queue_finish, or a full queue, asks for it. No activity is
 * reported. For gp_queue_launch, gp_queue_copy; closed and freed by the caller. NULL with a
 * message. */
gp_stream *gp_queue_player(gp_stream *of, uintptr_t host_bits);
/* What the player's caller queues from here on is of that stream: failures are those of its next
 * command when it was queued. */
void gp_queue_play(gp_stream *player, gp_stream *of);
/* The deferred stream whose commands the calling thread runs whenever it waits; NULL: none. Set it
 * to NULL only once all of them are done or handed over. */
gp_stream *gp_queue_own(void);
void gp_queue_set_own(gp_stream *s);
/* Runs them now, where there are any; up to one that Ctrl-C interrupts. */
void gp_queue_run_own(void);
/* Gives those that are left to a thread of their own. */
void gp_queue_hand_over(void);
/* Waits until all that is queued is done; Ctrl-C does not interrupt it. */
void gp_queue_finish(gp_stream *s);
/* An event whose stamp has that many holders; each gives it back, by gp_queue_event_free or by
 * gp_queue_stamp, which takes event->impl and the time when it was reached. NULL with a message. */
gp_event *gp_queue_event_new(gp_stream *s, int holders);
void gp_queue_stamp(void *stamp, uint64_t ns);
gp_event *gp_queue_event_record(gp_stream *s, bool timed);
/* An event that is reached now, on a stream on which nothing is queued. NULL with a message. */
gp_event *gp_queue_event_now(gp_stream *s);
bool gp_queue_event_done(gp_event *e);
bool gp_queue_event_drain(gp_event *e);
bool gp_queue_event_wait(gp_stream *s, gp_event *e);
double gp_queue_event_time(gp_event *e);
void gp_queue_event_free(gp_event *e);

/* The entries of a gp_device_vt that are the same for every device with queues. */
#define GP_QUEUE_FUNCTIONS                                                                         \
    .stream_close = gp_queue_close, .busy = gp_queue_busy, .full = gp_queue_full,                  \
    .drain = gp_queue_drain, .drain_half = gp_queue_drain_half, .event_done = gp_queue_event_done, \
    .event_drain = gp_queue_event_drain, .event_wait = gp_queue_event_wait,                        \
    .event_time = gp_queue_event_time, .replay = gp_queue_replay,                                  \
    .event_free = gp_queue_event_free

#endif
