/* The host's clock. It is the machine's, unless a card is modelled (model.h): then it stands still
 * while the processor computes what the card would, and jumps to where the host would wait. */
#ifndef GP_CLOCK_H
#define GP_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Nanoseconds on a monotonic clock: one for host and worker times, for records and all that
 * measures a program. */
uint64_t gp_now_ns(void);
/* The same in seconds, from its first use on; and such a time in seconds. Where ops begin to be
 * counted, it goes on from the next whole 1000 seconds, so that what it shows is the same in each
 * run, digit for digit. */
double gp_now(void);
double gp_seconds(uint64_t ns);
/* The machine's own clock, for what polls, times out or divides work among threads. */
uint64_t gp_real_ns(void);

/* Where a card is modelled. The clock never goes back, at no call of these. */

/* From now on the clock counts `each` ns for each op in place of the time that passes; 0: that
 * time again. */
void gp_clock_count_ops(uint64_t each);
uint64_t gp_clock_op_ns(void); /* that number; 0: it does not count */
/* An op begins: counts it, where ops are counted. */
void gp_clock_op(void);
/* The host works for so long, where ops are counted. */
void gp_clock_work(uint64_t ns);
/* What this thread does from here on is counted beside the clock, until it is called with false,
 * which returns how much that was, in ns. Without that a loader's workers count nothing. */
uint64_t gp_clock_separate(bool separate);
/* The clock stands still until it was resumed as often, by whichever threads paused it. */
void gp_clock_pause(void);
void gp_clock_resume(void);
/* While it is paused: once resumed, it stands still for ns more. */
void gp_clock_rest(uint64_t ns);
/* Moves the clock, while it stands still, to time t, if that is later. */
void gp_clock_jump(uint64_t t);

#endif
