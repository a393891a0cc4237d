/* A file that a profile is written to through zlib. */
#ifndef GP_GZIP_FILE_H
#define GP_GZIP_FILE_H

#include <stdbool.h>
#include <zlib.h>

/* Writes a file by write(out, context), compressed where path ends in .gz; the old one stays until
 * the new one is whole. False with op's message where there is no memory or the disk is full, and
 * where write returns false: with its own message, if it left one in gp_error(). */
bool gp_gzip_file(const char *op, const char *path, bool (*write)(gzFile out, void *context),
                  void *context);

#endif
