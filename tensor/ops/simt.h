/* Kernels of the user's on a card: what a device's compiler takes, and what it has made of it. */
#ifndef GP_OPS_SIMT_H
#define GP_OPS_SIMT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

enum { GP_CARD_PARAMS = 32 };

/* A text, its kernels and variables by name expressions: "scale<float, 4>", and "&weight" after
 * them. It lives as long as the program. */
typedef struct gp_card_text {
    char *text;
    int nkernels, nglobals;
    char **expression;
    uint64_t constants; /* by bit: the variables that kernels only read */
    pthread_mutex_t lock;
    void *form; /* the device's, under the lock */
} gp_card_text;

/* A kernel of one: arg[0].i of the op kernel_launch is its address on a card. */
typedef struct gp_card_kernel {
    gp_card_text *text;
    int index, nparams;
    bool pointer[GP_CARD_PARAMS], constant[GP_CARD_PARAMS];
} gp_card_kernel;

/* What the device says of a compiled kernel; block: threads that fill it best. */
typedef struct gp_card_info {
    int registers, local, shared, block;
    char *log; /* the compiler refused the text: all that it said, by free; else NULL */
} gp_card_info;

/* Compiles the kernel for a card, or finds it on disk. False with a message, or info->log.
 * tensor/device/cuda.c */
struct gp_device;
bool gp_card_prepare(struct gp_device *dev, gp_card_kernel *k, gp_card_info *info);

#endif
