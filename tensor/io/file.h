/* Reading and writing files: opened with a known size, written through a temporary and a rename. */
#ifndef GP_IO_FILE_H
#define GP_IO_FILE_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Advice for PyTorch's files, in Python. */
#define GP_CONVERT_PT                                                                              \
    "convert it in Python: from safetensors.torch import save_file; "                              \
    "save_file(torch.load(\"FILE.pt\", map_location=\"cpu\"), \"FILE.safetensors\")"

enum {
    GP_FILE_START = 16,               /* bytes that distinguish formats */
    GP_SAFETENSORS_HEADER = 100000000 /* limit in bytes; that of the format's own reader */
};

/* The kind of a file that begins with these n bytes, and what reads it, as "a PNG picture:
 * image.load reads it"; NULL where unknown. */
const char *gp_file_kind(const void *start, size_t n);
/* Fails with the kind of file found in place of `expected`, such as "an npy file". start: its first
 * n bytes, GP_FILE_START where it has as many. */
bool gp_file_other(const char *op, const char *file, const void *start, size_t n,
                   const char *expected);
/* Fails with errno's text: the file cannot be written. */
bool gp_file_unwritable(const char *op, const char *file);

/* Opens a regular file for reading; *size is its length in bytes. NULL with a message that begins
 * with op and names the file. */
FILE *gp_file_open(const char *op, const char *file, uint64_t *size);

/* As gp_file_open, for a file that begins with magic, or as much of it as there is; else it fails
 * by gp_file_other. */
FILE *gp_file_begin(const char *op, const char *file, const char *magic, const char *expected,
                    uint64_t *size);

/* Whether Ctrl-C came; then the message is "OP: interrupted". For long work on a file. */
bool gp_file_stopped(const char *op);
/* As fread, in pieces; when stopped it returns less, with errno EINTR. */
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
/* Writes to o->f, in pieces. False with a message when stopped; gp_outfile_commit reports write
 * errors. */
bool gp_outfile_write(gp_outfile *o, const void *p, size_t bytes);
/* Flushes, and renames the temporary over the old file. False with a message: the old file is as it
 * was and the temporary gone. durable: waits until the new file is on the disk before it takes the
 * old one's name, and then until the name is: one of both survives a loss of power. */
bool gp_outfile_commit(gp_outfile *o, bool durable);
/* Removes the temporary; the old file is as it was. Keeps the message that is set. */
void gp_outfile_cancel(gp_outfile *o);

/* Whether a and b name one file, by whatever path or link, or would: then they are one name in one
 * folder. Devices and pipes are never the same. */
bool gp_file_same(const char *a, const char *b);

#endif
