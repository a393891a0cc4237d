/* One replay of a captured function, as devices run it. */
#ifndef GP_CAPTURE_REPLAY_H
#define GP_CAPTURE_REPLAY_H

#include "tensor/op.h"

/* What differs from replay to replay. */
typedef struct gp_replay_values {
    struct gp_capture *capture;
    gp_rng rng;
    char **address;       /* of the inputs and of what it gives */
    const double *number; /* read each time */
    int first, n;         /* the calls that are to run, for gp_device_vt.replay */
} gp_replay_values;

/* A copy for a queue, which gp_replay_done frees; the capture stays until then. NULL with a
 * message. */
gp_replay_values *gp_replay_copy(const gp_replay_values *v);
void gp_replay_done(gp_replay_values *v);

/* The number of these calls, and one of them, from 0. */
int gp_replay_calls(const gp_replay_values *v);
const gp_call *gp_replay_call(const gp_replay_values *v, int i);
/* Runs call i by the cpu's kernel, at addresses of the host. Replays of one capture run one after
 * the other. False with a message. */
bool gp_replay_run_call(const gp_replay_values *v, int i);

#endif
