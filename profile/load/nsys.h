/* Databases that `nsys export --type sqlite` makes of a report of Nsight Systems. */
#ifndef GP_LOAD_NSYS_H
#define GP_LOAD_NSYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the file is a database of SQLite. */
bool gp_load_is_database(const char *file);

/* The events of the file's process number `which`, from 0, of those that used a device, or of all
 * where none did, as a trace in torch.profiler's form: malloc'd, with a 0 after its *n bytes;
 * *processes: how many there are. NULL with a message: SQLite's library is not here, the database
 * is damaged or not of Nsight Systems, the trace has more than max bytes, or interrupted. */
char *gp_load_nsys(const char *file, uint64_t max, int which, size_t *n, int *processes);

#endif
