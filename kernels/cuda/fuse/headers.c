/* Holds the headers that programs are compiled with, as text: what is compiled later is what the
 * kernels here were compiled from. */
#include "kernels/cuda/fuse/fuse.h"

#define FILE(id, name)                                                                             \
    __asm__(".pushsection .rodata\n"                                                               \
            ".hidden gp_nvrtc_" #id "\n.globl gp_nvrtc_" #id "\ngp_nvrtc_" #id ":\n"               \
            ".incbin \"" name "\"\n.byte 0\n.popsection\n");                                       \
    extern __attribute__((visibility("hidden"))) const char gp_nvrtc_##id[];
#define STANDARD(name)
#include "kernels/cuda/fuse/headers.def"

static const gp_nvrtc_header headers[] = {
#define FILE(id, name) {name, gp_nvrtc_##id},
#define STANDARD(name) {name, "#include \"kernels/cuda/fuse/nvrtc_std.h\"\n"},
#include "kernels/cuda/fuse/headers.def"
};

const gp_nvrtc_header *gp_nvrtc_headers(int *n) {
    *n = (int)(sizeof headers / sizeof *headers);
    return headers;
}
