/* What collectives take on a network: the alpha-beta model, by the formulas of network.def. A
 * message takes a latency (alpha) and its bytes' time (beta); ranks are alike, and each has a link
 * of its own. */
#ifndef GP_NETWORK_H
#define GP_NETWORK_H

#include "profile/replay/timeline.h"

/* FASTEST: of ring and tree, as NCCL chooses. OPENMPI: what Open MPI takes. */
typedef enum gp_algorithm {
    GP_ALGORITHM_FASTEST,
    GP_ALGORITHM_RING,
    GP_ALGORITHM_TREE,
    GP_ALGORITHM_OPENMPI,
    GP_ALGORITHMS
} gp_algorithm;

typedef struct gp_network {
    char name[32];
    double latency, bandwidth; /* seconds a message; bytes a second and rank */
    gp_algorithm algorithm;
    int ranks; /* that the job has, in place of those of the record */
} gp_network;

/* "fastest", "ring" …; static. The one of that name; GP_ALGORITHMS with a message. */
const char *gp_algorithm_name(gp_algorithm a);
gp_algorithm gp_algorithm_named(const char *name);

/* Sets name, latency and bandwidth to those of the known network called key, in any case of its
 * letters; false with a message that lists them. */
bool gp_network_find(gp_network *n, const char *key);
/* The algorithm of a record's collectives: Open MPI's, but on cuda. */
gp_algorithm gp_network_recorded(const gp_timeline *t);

/* The ranks of the job that p is of; 1: it is no job of several. */
int gp_job_size(const gp_prof *p);
/* Whether a command is a collective, of several ranks or from one to another. */
bool gp_is_collective(const gp_command *c);
/* Sets *ns to what command c of p takes on n. False, where it is no collective, or one without a
 * formula or a cost. */
bool gp_network_time(const gp_network *n, const gp_prof *p, const gp_command *c, uint64_t *ns);

/* A collective on the record: its row, ranks, and the bytes that each gives. */
typedef struct gp_message {
    const char *row;
    int group; /* ranks of a group; 0: all */
    double bytes;
    bool in_place, half; /* half: of a 16-bit float, which MPI's reductions take as f32 */
} gp_message;
/* Reads command c of p. False where it is none, or its cost or its formula is not there. */
bool gp_network_message(const gp_prof *p, const gp_command *c, gp_message *m);

/* Steps of one latency, and how often a rank's bytes pass its link. */
typedef struct gp_effort {
    double steps, times;
} gp_effort;
/* Those of a row of dist ("all_reduce") of p ranks with that many bytes each; in_place: the result
 * takes x's memory. Negative: it has no formula. */
gp_effort gp_network_effort(const gp_network *n, const char *row, int p, double bytes,
                            bool in_place);
/* And its seconds; negative: it has no formula. */
double gp_network_seconds(const gp_network *n, const char *row, int p, double bytes, bool in_place);

#endif
