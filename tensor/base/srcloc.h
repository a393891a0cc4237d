/* A line of source, which records, reports and messages name. */
#ifndef GP_SRCLOC_H
#define GP_SRCLOC_H

#include <stdbool.h>

/* file: interned, valid as long as the process lives; NULL where the line is unknown (line 0). */
typedef struct gp_srcloc {
    const char *file;
    int line;
} gp_srcloc;

/* Whether a and b are the same line; names are interned, so addresses tell. */
static inline bool gp_srcloc_same(gp_srcloc a, gp_srcloc b) {
    return a.file == b.file && a.line == b.line;
}

/* The script's running line: set by bindings/; NULL before. */
extern gp_srcloc (*gp_srcloc_script)(void);
/* The same, or the line that gp_srcloc_set_forward set on this thread: a backward op counts as the
 * line of its forward. */
gp_srcloc gp_srcloc_here(void);
/* The script's running line, which the caller has looked up already; until one without a file is
 * set. */
void gp_srcloc_set_known(gp_srcloc at);
/* From here on this thread works for the line at; one without a file ends that. */
void gp_srcloc_set_forward(gp_srcloc at);
/* Whether this thread works for such a line: it runs a backward step. */
bool gp_srcloc_of_backward(void);

#endif
