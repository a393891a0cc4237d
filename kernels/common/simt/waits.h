/* What a user's kernel calls besides (abi.h) where its threads may wait for each other in a loop.
 * The program takes this file in, too, and puts its text before the kernel's. */
#ifndef GP_SIMT_WAITS_H
#define GP_SIMT_WAITS_H

typedef struct gp_simt_waits {
    /* An access of a volatile variable. */
    void (*look)(const void *p, unsigned long size, const void *pc);
    void (*tell)(void *p, unsigned long size, const void *pc);
    void (*fence)(void); /* for the block alone */
    void (*turn)(void);  /* the block's other threads go on first */
} gp_simt_waits;

#endif
