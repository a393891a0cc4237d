/* NumPy's files: npy (one array) and npz (a zip archive of them). */
#ifndef GP_IO_NPY_H
#define GP_IO_NPY_H

#include "tensor/tensor.h"

/* Reads a file of format version 1.0 to 3.0 into a new tensor on the cpu; Fortran order becomes
 * strides, other byte orders are swapped. NULL with a message that names the file, the place in it,
 * and what was expected. The header is parsed, never evaluated. Source: numpy/lib/format.py, and
 * NEP 1. */
gp_tensor *gp_npy_load(const char *file);

/* Writes x (on the cpu, any layout) in C order, version 1.0, through a temporary file. */
bool gp_npy_save(const char *file, gp_tensor *x);

/* The arrays of an npz file, named as numpy.load shows them (without ".npy"). */
typedef struct gp_npz {
    int n;
    char **name;   /* malloc'd, each as well */
    gp_tensor **t; /* on the cpu; owned */
} gp_npz;

#define GP_NPZ_BYTES (UINT64_C(1) << 32) /* default limit of what an archive unpacks to: 4 GiB */

/* Fills *out, which starts zeroed and is released by gp_npz_free, after a failure too. Fails before
 * memory is allocated where the arrays have more than `most` bytes, and more than their file. */
bool gp_npz_load(const char *file, uint64_t most, gp_npz *out);
/* Adds an array: takes over t's reference (also on failure), copies name. */
bool gp_npz_add(gp_npz *z, const char *name, gp_tensor *t);
/* Writes the arrays (on the cpu) through a temporary file; deflated, or stored as numpy.savez does.
 */
bool gp_npz_save(const char *file, const gp_npz *z, bool deflate);
void gp_npz_free(gp_npz *z);

/* Shared by npy and npz. */
typedef struct gp_npy_source {
    const char *op, *file, *entry; /* entry: name in the archive, or NULL */
    uint64_t size, at;             /* bytes in all, and already read */
    int64_t (*read)(void *from, void *to,
                    uint64_t bytes); /* bytes read; less at the end, -1 on an error */
    const char *(*why)(void *from);  /* the text of that error */
    void *from;
} gp_npy_source;
/* Reads the array; the source must end after it. */
gp_tensor *gp_npy_read(gp_npy_source *s);

#define GP_NPY_HEADER 512 /* bytes that are enough for the header of any tensor */
/* Writes the header of t to buf; returns its length in bytes, a multiple of 64. 0 with a message
 * for dtypes that npy does not have. */
size_t gp_npy_header(const char *op, const gp_tensor *t, char buf[GP_NPY_HEADER]);

#endif
