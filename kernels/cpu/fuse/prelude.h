/* The text that the C of compiled programs begins with: prelude.inc, exp.h, normal.h. */
#ifndef GP_CPU_PRELUDE_H
#define GP_CPU_PRELUDE_H

extern const char gp_fuse_prelude[], gp_fuse_prelude_end[];

#endif
