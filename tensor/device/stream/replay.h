/* One replay of a captured function (tensor/capture), as devices run it: what differs from replay
 * to replay, and how a queue runs its calls. */
#ifndef GP_REPLAY_VALUES_H
#define GP_REPLAY_VALUES_H

#include "tensor/op.h"

typedef struct gp_replay_values {
    const struct gp_replayer *by;
    struct gp_capture *capture;
    gp_rng rng;
    char **address;       /* of the inputs and of what it gives */
    const double *number; /* read each time */
    int first, n;         /* the calls that are to run, for gp_device_vt.replay */
} gp_replay_values;

typedef struct gp_replayer {
    /* A copy for a queue, which done frees; the capture stays until then. NULL with a message. */
    gp_replay_values *(*copy)(const gp_replay_values *v);
    void (*done)(gp_replay_values *v);
    /* One of the n calls, from 0. */
    const gp_call *(*call)(const gp_replay_values *v, int i);
    /* Runs call i by the cpu's kernel, at addresses of the host. Replays of one capture run one
     * after the other. False with a message. */
    bool (*run)(const gp_replay_values *v, int i);
} gp_replayer;

#endif
