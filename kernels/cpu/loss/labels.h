/* What losses over classes share: pixels taken in tiles, and their labels. */
#ifndef GP_CPU_LABELS_H
#define GP_CPU_LABELS_H

#include "kernels/cpu/runtime/kernel.h"

/* Pixels in tiles of at most width neighbours, whatever the number of threads. */
typedef struct gp_pixels {
    gp_loop loop;
    int64_t width, a_row, tiles; /* pixels of a tile; tiles of a row of the loop, and in all */
} gp_pixels;

#define gp_pixels_init GP_NAME(gp_pixels_init)
/* n arrays without the dim of classes, all of one shape. */
void gp_pixels_init(gp_pixels *p, int n, const gp_array *const *arrays, int64_t width);
/* Pixels of tile u; their addresses go to at. */
#define gp_pixels_tile GP_NAME(gp_pixels_tile)
int64_t gp_pixels_tile(const gp_pixels *p, int64_t u, char **at);

/* Labels count from 1; one that is `ignore`, whatever that is, takes no part. */
typedef struct gp_labels {
    gp_load load; /* NULL: i64 side by side */
    int64_t classes, ignore;
    _Atomic bool bad; /* there was one that is no class */
} gp_labels;

#define gp_labels_init GP_NAME(gp_labels_init)
/* classes: labels are 1 to that; ignore: the user's ignore_index. */
void gp_labels_init(gp_labels *l, const gp_array *target, int64_t classes, int64_t ignore);
/* n labels, step bytes apart, counted from 0; -1 where ignored, or bad. */
#define gp_labels_read GP_NAME(gp_labels_read)
void gp_labels_read(gp_labels *l, const char *p, int64_t step, int64_t n, int32_t *label);
/* True, or false with a message that names the first bad label of target. */
#define gp_labels_good GP_NAME(gp_labels_good)
bool gp_labels_good(const gp_call *c, const gp_labels *l, const gp_array *target);

/* The weights of n classes as compute type; into to. */
#define gp_class_weights GP_NAME(gp_class_weights)
void gp_class_weights(const gp_array *weight, gp_ctype ct, int64_t n, void *to);

#endif
