/* safetensors files: named tensors after a JSON header. Source of the format:
 * https://github.com/huggingface/safetensors */
#ifndef GP_IO_SAFETENSORS_H
#define GP_IO_SAFETENSORS_H

#include "tensor/io/npy.h"

/* Named tensors (on the cpu), and named strings. */
typedef struct gp_safetensors {
    gp_npz tensors;
    int ntexts;
    char **text; /* key and value of each in turn, malloc'd */
} gp_safetensors;

/* Reads file into *out, which starts zeroed and is released by gp_safetensors_free, also after a
 * failure. Tensors lie in a private mapping of the file: pages are read when first used, and writes
 * in place stay in memory. Tensors whose elements the file does not align to their size are copied.
 * A file that another program truncates while it is mapped ends the process (SIGBUS), as with any
 * mapping; replacing it by a rename does no harm. */
bool gp_safetensors_load(const char *file, gp_safetensors *out);
/* Adds an entry of the metadata; copies both. False with a message when out of memory. */
bool gp_safetensors_add_text(gp_safetensors *s, const char *key, const char *value);
/* Writes them through a temporary, larger element types first, then by name. */
bool gp_safetensors_save(const char *file, const gp_safetensors *s);
void gp_safetensors_free(gp_safetensors *s);

#endif
