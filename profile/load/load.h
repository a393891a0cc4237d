/* Profiles as files: those that gpush saved, and traces that other programs wrote. */
#ifndef GP_LOAD_H
#define GP_LOAD_H

#include "profile/record/record.h"

enum { GP_LOAD_BYTES = 1 << 30 }; /* limit of a file's unpacked bytes, where none is given */

/* Writes all of the record to path, through a temporary in its folder: JSON, which gzip packs if
 * the name ends in .gz. save.c says what it holds. False with a message; path is then as it was. */
bool gp_prof_save(const gp_prof *p, const char *path);

/* The profile in a file: one that gp_prof_save wrote, or a Chrome trace of torch.profiler. Of
 * several such traces, of the ranks of one job, it is one profile. The caller frees it. NULL with a
 * message that names the file and the byte: it is damaged, longer than max bytes unpacked, or there
 * is no memory for it, about 12 bytes for each of the file's. */
gp_prof *gp_prof_load(const char *const *files, int n, uint64_t max);

#endif
