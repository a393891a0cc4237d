/* What a compiled kernel and the program that runs it know of each other. The program takes this
 * file in, and puts its text before the kernel's. */
#ifndef GP_SIMT_ABI_H
#define GP_SIMT_ABI_H

typedef struct gp_uint3 {
    unsigned x, y, z;
} gp_uint3;

/* The thread that runs, as the kernel asks for it. */
typedef struct gp_simt_now {
    gp_uint3 thread, block, block_dim, grid_dim;
    char *dynamic; /* shared memory of the size that the launch gave */
} gp_simt_now;

/* A thread's stack begins at a multiple of its size; its last bytes are the thread's turns: how
 * often it was at what may be a loop that waits for another thread. */
enum { GP_STACK = 256 << 10, GP_STACK_TOP = 64 };

enum { GP_SIMT_PLAIN, GP_SIMT_COUNT, GP_SIMT_AND, GP_SIMT_OR }; /* kinds of barriers */

/* What the kernel calls. pc: the place of the call; where there is none, a function knows it by its
 * return address, as it is called by a jump. */
typedef struct gp_simt_calls {
    void (*read)(const void *p, unsigned long size, const void *pc);
    void (*write)(void *p, unsigned long size, const void *pc);
    void (*read4)(const void *p);
    void (*write4)(void *p);
    void (*atomic)(void *p, unsigned long size, const void *pc);
    /* Before atomicCAS: what the thread has read of the word was a guess for it. */
    void (*guessed)(void *p, unsigned long size);
    /* kind, and the line times 4: a compiler may make several calls of one. */
    int (*barrier)(int kind, int vote);
    /* The lanes of mask that came, and the values that they brought. */
    unsigned (*exchange)(unsigned mask, unsigned long long value, unsigned long long *all,
                         const void *pc);
    unsigned long long (*shuffle)(unsigned mask, unsigned long long value, int from,
                                  const void *pc);
    int (*lane)(void);
    unsigned (*active)(void);
    void (*fence)(void);
    void (*trap)(const char *why);
    /* Of a counted kernel: a basic block begins; two values are compared. */
    void (*branch)(const void *pc);
    void (*compare)(const void *pc);
} gp_simt_calls;

#endif
