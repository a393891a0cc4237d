/* Traces of other profilers, made by SQLite: of a database's tables, or of a text of JSON. */
#ifndef GP_LOAD_DATABASE_H
#define GP_LOAD_DATABASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct gp_database gp_database;

/* A part of a trace. The columns of its query are an event's category and name, as torch.profiler
 * has them, its process and thread, or device and stream, its start and end in ns, and, where it
 * has them, else NULL: device, stream, correlation, bytes. Of devices they are the number and name.
 */
typedef struct gp_database_part {
    const char *table; /* where it is not in the file, there is no such part; NULL: always */
    const char *query; /* ?1: a number, ?2: the text of JSON */
    const char *older; /* where a column of that is missing; NULL */
} gp_database_part;

/* Opens the file, or an empty database for the text of n bytes, which stays the caller's. What is
 * written has at most max bytes. NULL with a message: there is no SQLite, or it is damaged. */
gp_database *gp_database_open(const char *file, const char *text, size_t n, uint64_t max);
/* What was written, malloc'd, with a 0 after its *n bytes; NULL with a message. n NULL: it is not
 * wanted. */
char *gp_database_close(gp_database *d, size_t *n);

/* Whether there is a table of that name: 1 or 0; below 0 with a message. */
int gp_database_has(const gp_database *d, const char *table);
/* How many rows the query has; *number: what is in row `which`. Below 0 with a message. */
int gp_database_numbers(const gp_database *d, const char *query, int which, int64_t *number);
/* Runs a statement for its effect, which makes a table. False with a message. */
bool gp_database_run(gp_database *d, const char *query, int64_t number);
/* Writes a trace by that writer, of a rank, of these parts, with ?1 `number`. False with a message.
 */
bool gp_database_trace(gp_database *d, const char *writer, int rank, int64_t number,
                       const gp_database_part *devices, const gp_database_part *parts, int nparts);

#endif
