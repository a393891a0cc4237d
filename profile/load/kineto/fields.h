/* One event of a trace, as its object in the file has it: fields.c reads it. */
#ifndef GP_LOAD_KINETO_FIELDS_H
#define GP_LOAD_KINETO_FIELDS_H

#include "profile/load/kineto/kineto.h"

/* What was read of an event, in the order of the file. */
typedef struct kineto_fields {
    gp_json_text ph, cat, name, pid, tid, label;
    gp_json_text stack, from; /* "Call stack", "CallFrom" */
    bool has_ts, has_dur;
    int64_t ts, dur;
    int64_t correlation, external, device, stream, bytes, total, memory, type, id, waits_for,
        record, blocks, occupancy, registers, shared;
    int64_t grid[3], block[3]; /* of a kernel; -1: not given */
    const char *wrong; /* what has a value of another type than it should, "dur"; NULL: nothing */
    const char *dims, *types; /* where "Input Dims" and "Input type" begin, NULL */
} kineto_fields;

/* Reads one element of the list of events. False with a message: it is no JSON, or without memory.
 */
bool kineto_read_fields(kineto *k, kineto_fields *f);
/* The shapes of the arguments whose dtype gpush has. Both lists have been read once, and are
 * valid JSON; NULL where they are not lists of what they should be, and without memory, where k has
 * failed. */
const char *kineto_shapes_of(kineto *k, const kineto_fields *f);
/* An integer, also one in quotes; anything else is read over. */
bool kineto_read_int(kineto *k, int64_t *to);
bool kineto_read_text(kineto *k, gp_json_text *to);

#endif
