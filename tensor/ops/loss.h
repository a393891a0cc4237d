/* What the shape rules of losses and their kernels share: the ways to reduce. */
#ifndef GP_LOSS_H
#define GP_LOSS_H

/* What infer makes of the argument `reduction`. */
typedef enum gp_loss_reduction { GP_LOSS_EACH, GP_LOSS_MEAN, GP_LOSS_SUM } gp_loss_reduction;

/* Where the arguments of cross_entropy and nll_loss stand; their gradients have g in front. */
enum {
    GP_LOSS_X,
    GP_LOSS_TARGET,
    GP_LOSS_WEIGHT,
    GP_LOSS_IGNORE,
    GP_LOSS_REDUCTION,
    GP_LOSS_SMOOTHING
};

#endif
