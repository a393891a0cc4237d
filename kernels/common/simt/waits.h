/* What a user's kernel calls besides (abi.h) where its threads may wait for each other in a loop,
 * and where their own arrays begin and end.
 * The program takes this file in, too, and puts its text before the kernel's. */
#ifndef GP_SIMT_WAITS_H
#define GP_SIMT_WAITS_H

/* An array of a thread's own, which has this before it, and room on both sides. */
enum { GP_SIMT_ROOM = 256 };
typedef struct gp_simt_own {
    struct gp_simt_own *outer; /* of the same thread, the one before */
    const char *name;
    char *lo;
    unsigned long bytes, size; /* size: of an element */
    int written;               /* all of it, when it begins */
} gp_simt_own;

typedef struct gp_simt_waits {
    /* An access of a volatile variable. */
    void (*look)(const void *p, unsigned long size, const void *pc);
    void (*tell)(void *p, unsigned long size, const void *pc);
    void (*fence)(void); /* for the block alone */
    void (*turn)(void);  /* the block's other threads go on first */
    void (*own)(gp_simt_own *o);
    void (*disown)(gp_simt_own *o);
} gp_simt_waits;

#endif
