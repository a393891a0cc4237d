/* Files in and out: opened with a known size, written by way of a temporary and a rename. */
#ifndef GP_IO_FILE_H
#define GP_IO_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* What to do with PyTorch's files, in Python. */
#define GP_CONVERT_PT                                                                              \
    "convert it in Python: from safetensors.torch import save_file; "                              \
    "save_file(torch.load(\"FILE.pt\", map_location=\"cpu\"), \"FILE.safetensors\")"

enum {
    GP_FILE_START = 16,               /* bytes that tell formats apart */
    GP_SAFETENSORS_HEADER = 100000000 /* bytes at most; what the format's own reader takes */
};

/* What a file is that begins with these n bytes, and what reads it, as "a PNG picture: image.load
 * reads it"; NULL where they do not tell. */
const char *gp_file_kind(const void *start, size_t n);
/* Fails with what the file is instead of `expected`, such as "an npy file". start: its first bytes,
 * n of them, GP_FILE_START where it has as many. */
bool gp_file_other(const char *op, const char *file, const void *start, size_t n,
                   const char *expected);
/* Fails by errno: the file cannot be written. */
bool gp_file_unwritable(const char *op, const char *file);

/* Opens a regular file for reading; *size is its length in bytes. NULL with a message that begins
 * with op and names the file. */
FILE *gp_file_open(const char *op, const char *file, uint64_t *size);

/* As gp_file_open, of a file that begins with magic, or as much of it as there is; else it fails by
 * gp_file_other. */
FILE *gp_file_begin(const char *op, const char *file, const char *magic, const char *expected,
                    uint64_t *size);

/* Has Ctrl-C come? Then with the message "OP: interrupted". For what takes long with a file. */
bool gp_file_stopped(const char *op);
/* As fread, a little at a time; less, with errno EINTR, when stopped. */
size_t gp_file_read(FILE *f, void *to, size_t bytes);

/* A file being written. Between begin and commit or cancel, `f` takes the bytes. */
typedef struct gp_outfile {
    FILE *f;
    const char *op, *file;    /* borrowed, for messages */
    char target[PATH_MAX];    /* file, with symbolic links followed */
    char temporary[PATH_MAX]; /* "": written in place (devices and pipes) */
} gp_outfile;

/* Makes the temporary beside file. False with a message. */
bool gp_outfile_begin(gp_outfile *o, const char *op, const char *file);
/* Writes to o->f, a little at a time. False with a message when stopped; what the file refuses is
 * told by gp_outfile_commit. */
bool gp_outfile_put(gp_outfile *o, const void *p, size_t bytes);
/* Flushes, and puts the temporary in the place of the old file. False with a message: the old file
 * is as it was and the temporary gone. */
bool gp_outfile_commit(gp_outfile *o);
/* Removes the temporary; the old file is as it was. Keeps the message that is set. */
void gp_outfile_cancel(gp_outfile *o);

/* The file that a write to `file` replaces: symbolic links followed. False with a message where it
   cannot be written. *mode: permissions of the old file, or -1 where there is none. */
bool gp_file_target(const char *op, const char *file, char target[PATH_MAX], int *mode);

#endif
