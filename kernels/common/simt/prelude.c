/* Holds the texts that are put before a kernel: the first, one of the next two, and others that are
 * needed. */
#define TEXT(name, files)                                                                          \
    __asm__(".pushsection .rodata\n"                                                               \
            ".hidden " name "\n.globl " name "\n" name ":\n" files ".byte 0\n.popsection\n")
#define FILE(name) ".incbin \"kernels/common/simt/" name "\"\n"

TEXT("gp_simt_prelude", FILE("abi.h") FILE("waits.h") FILE("prelude.inc") FILE("hooks.inc")
                            FILE("math.inc") FILE("special.inc") FILE("own.inc") FILE("lanes.inc"));
TEXT("gp_simt_prelude_c", FILE("prelude_c.inc"));
TEXT("gp_simt_prelude_cxx", FILE("prelude_cxx.inc") FILE("lanes_cxx.inc"));
TEXT("gp_simt_prelude_half", FILE("half.inc"));
TEXT("gp_simt_prelude_groups", FILE("groups.inc"));
TEXT("gp_simt_prelude_card", FILE("card.inc"));
