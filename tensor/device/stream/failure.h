/* Failures of queued work, and what was computed from it.
 *
 * A command that fails on a device does so after its launch has returned. Its failure reaches the
 * script in three ways:
 *  - A value that was computed from a failed command, directly or through other streams and
 *  devices, never leaves its device: item, tolist, print, a truth test or a copy to the host raises
 *  the failure, every time. A tensor that is overwritten as a whole from good ones is good again.
 *  An op that writes at indices checks them first, and leaves its target unchanged when it fails:
 *  the target can be read and used once the failure was raised.
 *  - The first wait of the host that ends after the failed command raises it, once, even where the
 *  value does not matter: a wait for its stream, for an event recorded after it, for the device, or
 *  for a stream ordered after it. A wait raises all failures that it covers in one message. The
 *  stream continues as before.
 *  - A program that ends before either prints it to stderr, and its exit status is 1.
 *
 * A log tells what was computed from what: it holds the commands that are queued and not known to
 * be done, with the storages that they read and write. It costs a few stores per launch; it is read
 * only after a failure. */
#ifndef GP_FAILURE_H
#define GP_FAILURE_H

#include "tensor/device/device.h"

/* The number of unread failures that make the next launch raise them, so that a loop that fails and
 * never waits ends. */
enum { GP_FAILURES_UNREAD = 256 };
extern _Atomic int gp_failures_unread;
/* Set by a kernel that fails for a line other than its call's; of this thread, and of the command
 * that it runs. */
extern _Thread_local gp_srcloc gp_failed_at;

/* Reports that the commands `from` to `to` of s (counted from 1) have failed, or one of them, with
 * this text, which is copied. broke: anything may have been written; otherwise the failure is bad
 * data that was found. May be called on any thread, before s->completed reaches them. */
void gp_failure_add(gp_stream *s, uint64_t from, uint64_t to, bool broke, const char *text);
/* The failure of that command has been raised elsewhere; values that stem from it still raise it.
 */
void gp_failure_told(gp_stream *s, uint64_t from);

/* How a storage is written: completely; not at all if the command finds bad data. */
enum { GP_WRITE_WHOLE = 1, GP_WRITE_CHECKED = 2 };

/* Logs what was queued on s since it had `before` commands: begin, the storages read, those
 * written, end. The log is locked between begin and end. End returns false with a message without
 * memory. */
void gp_failure_log(gp_stream *s, uint64_t before);
void gp_failure_log_read(gp_storage *st);
void gp_failure_log_write(gp_storage *st, unsigned how);
bool gp_failure_log_end(void);
/* Forgets st's failure when st is freed: it does not concern the next user. */
void gp_failure_forget(gp_storage *st);
/* Frees the struct of a storage whose memory is freed, once the log does not refer to it. */
void gp_failure_bury(gp_storage *st);
/* Removes finished commands from the log. */
void gp_failure_trim(void);

/* True, with the message set, where an unread failure is among s's first `upto` commands, or in a
 * stream that s is ordered after. It then counts as read. Never blocks. */
bool gp_failure_collect(gp_stream *s, uint64_t upto);
/* The same for all streams of dev; NULL: of all devices. */
bool gp_failure_collect_all(gp_device *dev);
/* False, with the message set, where st's value was computed from a failed command. Call it after
 * waiting for st's work. */
bool gp_failure_none(gp_storage *st);

#endif
