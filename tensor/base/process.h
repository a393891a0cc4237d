/* What a program of one process does alone, and one of several with the others: it warns once for
 * all, and ends with them. tensor/dist, where it is built, sets these functions to its own before
 * main (tensor/dist/dist.h describes them); without it each process is a job of one. */
#ifndef GP_PROCESS_H
#define GP_PROCESS_H

#include <stdbool.h>

extern struct gp_process {
    int (*rank)(void), (*size)(void); /* 0 and 1 alone */
    /* Whether this process is to give a warning that others may give, too. *rank: its number, -1
     * alone. */
    bool (*warns)(const char *what, int *rank);
    /* The script has failed with that message, and the program with that status. */
    void (*abandon)(const char *why, int status);
    /* The last call: leaves the job, and returns the status to end with; 0: the program's own. */
    int (*end)(void);
    /* Ends the program at once, from a handler of exit: what a thread is in cannot be ended, and
     * would be waited for. NULL in a host program, which is not ours to end. */
    void (*leave)(int status);
} gp_process;

/* gp_process.leave, where there is one. */
void gp_process_leave(int status);

#endif
