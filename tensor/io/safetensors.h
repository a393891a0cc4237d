/* safetensors files: named tensors behind a JSON header. Source of the format:
 * https://github.com/huggingface/safetensors */
#ifndef GP_IO_SAFETENSORS_H
#define GP_IO_SAFETENSORS_H

#include "tensor/io/npy.h"

/* Named tensors (on the cpu), and named texts. */
typedef struct gp_safetensors {
    gp_npz tensors;
    int ntexts;
    char **text; /* key and value of each, malloc'd, one behind the other */
} gp_safetensors;

/* Reads file into *out, which starts zeroed and is released by gp_safetensors_free, after a failure
 * too. Tensors lie in a private mapping of the file: nothing is read before it is used, and writes
 * in place stay in memory. Where the file does not align an element to its size it is copied. A
 * file that another program shortens while it is mapped ends the process (SIGBUS), as with any
 * mapping; what replaces it by a rename does no harm. */
bool gp_safetensors_load(const char *file, gp_safetensors *out);
/* Copies both. */
bool gp_safetensors_add_text(gp_safetensors *s, const char *key, const char *value);
/* Writes them by way of a temporary, larger element types first, then by name. */
bool gp_safetensors_save(const char *file, const gp_safetensors *s);
void gp_safetensors_free(gp_safetensors *s);

#endif
