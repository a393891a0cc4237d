/* Reductions and argument positions of losses, shared by their shape rules and kernels. */
#ifndef GP_LOSS_H
#define GP_LOSS_H

/* What infer turns the argument `reduction` into. */
typedef enum gp_loss_reduction { GP_LOSS_EACH, GP_LOSS_MEAN, GP_LOSS_SUM } gp_loss_reduction;

/* Argument positions of cross_entropy and nll_loss; in their gradients g precedes them. */
enum {
    GP_LOSS_X,
    GP_LOSS_TARGET,
    GP_LOSS_WEIGHT,
    GP_LOSS_IGNORE,
    GP_LOSS_REDUCTION,
    GP_LOSS_SMOOTHING
};

#endif
