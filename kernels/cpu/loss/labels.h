/* Tiles of pixels, and their labels, shared by losses over classes. */
#ifndef GP_CPU_LABELS_H
#define GP_CPU_LABELS_H

#include "kernels/cpu/runtime/kernel.h"

/* Pixels in tiles of at most `width` adjacent ones, whatever the number of threads. */
typedef struct gp_pixel_tiles {
    gp_nd_loop loop;
    int64_t width, a_row, tiles; /* pixels of a tile; tiles per row of the loop, and in all */
} gp_pixel_tiles;

#define gp_pixel_tiles_init GP_NAME(gp_pixel_tiles_init)
/* n arrays without the class dim, all of one shape. */
void gp_pixel_tiles_init(gp_pixel_tiles *p, int n, const gp_array *const *arrays, int64_t width);
/* Pixels of tile u; their addresses go to at. */
#define gp_pixel_tiles_at GP_NAME(gp_pixel_tiles_at)
int64_t gp_pixel_tiles_at(const gp_pixel_tiles *p, int64_t u, char **at);

/* Labels count from 1; those equal to `ignore` are left out. */
typedef struct gp_label_reader {
    gp_load load; /* NULL: contiguous i64 */
    int64_t classes, ignore;
    _Atomic bool bad; /* there was one that is not a class */
} gp_label_reader;

#define gp_label_reader_init GP_NAME(gp_label_reader_init)
/* classes: labels are 1 to classes; ignore: the user's ignore_index. */
void gp_label_reader_init(gp_label_reader *l, const gp_array *target, int64_t classes,
                          int64_t ignore);
/* Reads n labels, step bytes apart, counted from 0; -1 where ignored, or bad. */
#define gp_label_reader_read GP_NAME(gp_label_reader_read)
void gp_label_reader_read(gp_label_reader *l, const char *p, int64_t step, int64_t n,
                          int32_t *label);
/* True, or false with a message that names the first bad label of target. */
#define gp_label_reader_good GP_NAME(gp_label_reader_good)
bool gp_label_reader_good(const gp_call *c, const gp_label_reader *l, const gp_array *target);

/* Converts the weights of n classes to compute type, into `to`. */
#define gp_class_weights GP_NAME(gp_class_weights)
void gp_class_weights(const gp_array *weight, gp_ctype ct, int64_t n, void *to);

#endif
