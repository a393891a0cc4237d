/* Holds the text that is put before a kernel. */
__asm__(".pushsection .rodata\n"
        ".hidden gp_simt_prelude, gp_simt_prelude_end\n"
        ".globl gp_simt_prelude, gp_simt_prelude_end\n"
        "gp_simt_prelude:\n"
        ".incbin \"kernels/common/simt/abi.h\"\n"
        ".incbin \"kernels/common/simt/prelude.inc\"\n"
        "gp_simt_prelude_end:\n"
        ".byte 0\n"
        ".popsection\n");
