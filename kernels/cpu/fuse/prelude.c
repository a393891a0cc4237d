/* Holds the headers of which formulas take functions, as text: what is compiled later is what the
 * kernels here were compiled from. */
#include "kernels/cpu/fuse/prelude.h"

#ifdef GP_ISA_base
__asm__(".pushsection .rodata\n"
        ".hidden gp_fuse_prelude, gp_fuse_prelude_end\n"
        ".globl gp_fuse_prelude, gp_fuse_prelude_end\n"
        "gp_fuse_prelude:\n"
        ".incbin \"kernels/cpu/fuse/prelude.inc\"\n"
        ".incbin \"kernels/cpu/elementwise/exp.h\"\n"
        ".incbin \"kernels/cpu/elementwise/normal.h\"\n"
        "gp_fuse_prelude_end:\n"
        ".byte 0\n"
        ".popsection\n");
#endif
