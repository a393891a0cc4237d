/* Programs as C: runs of steps whose formulas need nothing but what a prelude defines become one
 * loop each, whose intermediate results stay in registers. */
#ifndef GP_FUSE_SOURCE_H
#define GP_FUSE_SOURCE_H

#include "tensor/fuse/program.h"

/* What a device knows of the C that its programs become. */
typedef struct gp_loops_rules {
    /* The formula whose loop step s has there; for rows with one. */
    gp_step_text (*text)(const gp_step *s);
    const char *const *functions; /* names that formulas of floats may use; ends with NULL */
    int64_t number_step;          /* bytes between two numbers of a program, in its order */
} gp_loops_rules;

/* The loops of a program: loop i has steps [first[i], end[i]), at least two. */
typedef struct gp_loops {
    char *text; /* of its caller, by free */
    int nloops;
    int16_t first[GP_PROGRAM_STEPS / 2], end[GP_PROGRAM_STEPS / 2];
} gp_loops;

/* Writes the loops of p to s->text: functions `void gp_loop_K(long first, long end, char *const
 * *at, const char *numbers)`, where K is the loop's number, for elements [first, end). at has the
 * address of element 0 of each value: the loop reads those made before it, and writes those of its
 * own that are read after it. s->nloops is 0, and text NULL, where p has no such steps. False with
 * a message when out of memory. */
bool gp_loops_write(gp_loops *s, const gp_program *p, const gp_loops_rules *rules);

/* Whether value v of p is read after step `end`, or is an output. */
bool gp_loops_leaves(const gp_program *p, int v, int end);

/* Parameter i of step s, which follow its operands: -inf for the first and inf for others where it
 * is not given. */
gp_scalar gp_step_parameter(const gp_step *s, int i);

#endif
