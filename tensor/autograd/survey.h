/* What a backward walk may reach, counted before it begins. */
#ifndef GP_SURVEY_H
#define GP_SURVEY_H

#include "tensor/autograd/tape.h"

typedef struct gp_survey {
    bool leaves;    /* each leaf's `edges` are the inputs that can give it a gradient */
    int64_t forked; /* nodes that gp_node_forked is true of */
} gp_survey;

/* Whether n's backward runs on a worker of the cpu, beside the caller. */
bool gp_node_forked(const gp_node *n);

/* Counts from the n nodes at `first`: edges where somebody watches a leaf and `leaves`, forked
 * nodes where the cpu has workers, but for a capture, which records the streams themselves. Where
 * neither is asked for it costs nothing. False with a message: out of memory. */
bool gp_survey_nodes(gp_node *const *first, int n, bool leaves, gp_survey *to);

#endif
