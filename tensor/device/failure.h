/* Failures of queued work, and what was computed from it.
 *
 * A command that fails on a device does so after its launch has returned. Its failure reaches the
 * script in three ways:
 *  - A value that was computed from a failed command, directly or through other streams and
 * devices, never leaves its device: item, tolist, print, a truth test or a copy to the host raises
 * the failure, every time. A tensor that is overwritten as a whole from good ones is good again.
 * What an op writes at indices that it checks first it leaves as it was when it fails: that can be
 * read and used once the failure was raised.
 *  - The first wait of the host that ends after the failed command raises it, once, also where the
 * value does not matter: a wait for its stream, for an event recorded after it, for the device, or
 * for a stream that goes on after it. A wait raises all failures that it covers in one message. The
 * stream goes on as before.
 *  - A program that ends before either is told on stderr, and its exit status is 1.
 *
 * To know what was computed from what, the commands that are queued and not yet known to be done
 * are kept in a log, with the storages that they read and write. It costs a few stores a launch; it
 * is read only after a failure. */
#ifndef GP_FAILURE_H
#define GP_FAILURE_H

#include "tensor/device/device.h"

/* Unread failures after which the next launch raises them, so that a loop that fails and never
 * waits ends. */
enum { GP_FAILURES_UNREAD = 256 };
extern _Atomic int gp_failures_unread;

/* The commands `from` to `to` of s (counted from 1) have failed, with this text, which is copied;
 * or one of them has. broke: anything may have been written; else what was found is bad data. On
 * any thread, before s->completed says that they are done. */
void gp_failure_add(gp_stream *s, uint64_t from, uint64_t to, bool broke, const char *text);

/* How a storage is written: nothing of what was there is left; not at all if the command finds bad
 * data. */
enum { GP_WRITE_WHOLE = 1, GP_WRITE_CHECKED = 2 };

/* Logs what was queued on s since it had `before` commands: begin, what it reads, what it writes,
 * end. The log is locked between begin and end. End returns false with a message without memory. */
void gp_failure_log(gp_stream *s, uint64_t before);
void gp_failure_log_read(gp_storage *st);
void gp_failure_log_write(gp_storage *st, unsigned how);
bool gp_failure_log_end(void);
/* st is free: whoever gets it next is not concerned by what it held. */
void gp_failure_forget(gp_storage *st);
/* Frees the struct of a storage whose memory has gone back, once the log does not name it. */
void gp_failure_bury(gp_storage *st);
/* Takes what is done out of the log. */
void gp_failure_settle(void);

/* True, with the message set: an unread failure of s among its first `upto` commands, or of what s
 * goes on after. It is read now. Never blocks. */
bool gp_failure_take(gp_stream *s, uint64_t upto);
/* The same for all streams of dev; NULL: of all devices. */
bool gp_failure_take_all(gp_device *dev);
/* False, with the message set: what st holds was computed from a failed command. After st's work
 * was waited for. */
bool gp_failure_none(gp_storage *st);

#endif
