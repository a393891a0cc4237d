/* What waits of the host call meanwhile, so that ranks which are not in step end. */
#ifndef GP_CUDA_DIST_WATCH_H
#define GP_CUDA_DIST_WATCH_H

/* Looks, each millisecond at most, whether the collectives that are queued can still end: whether
 * the ranks call the same, none has ended, all have come within the timeout, and NCCL has met no
 * error. Where not, they are aborted and fail. Sets no message. */
void gp_cuda_dist_watch(void);

#endif
