/* Traces in JSON that other programs than torch.profiler write: rocprofv3, JAX and TensorFlow. */
#ifndef GP_LOAD_OTHERS_H
#define GP_LOAD_OTHERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the text is one of those. */
bool gp_load_is_other(const char *text, size_t n);

/* The text with what closes it, where it ends before that: without the element of a list in which
 * it does. malloc'd, with a 0 after its *size bytes; NULL: it does not end early, is no JSON, or
 * out of memory. */
char *gp_load_close_cut(const char *text, size_t n, size_t *size);

/* The text as a trace in torch.profiler's form: malloc'd, with a 0 after its *made bytes. which:
 * the process, from 0, of *processes. file is for messages. NULL with a message: SQLite's library
 * is not here, the text is damaged, the trace has more than max bytes, or interrupted. */
char *gp_load_other(const char *file, const char *text, size_t n, uint64_t max, int which,
                    size_t *made, int *processes);

#endif
