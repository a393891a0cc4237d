/* Random access by index tensors: every index tuple is checked and converted into a byte offset in
 * a table (c->tmp[0]); then elements move between an array, at those offsets, and the flat side. */
#ifndef GP_CPU_GATHER_H
#define GP_CPU_GATHER_H

#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/infer.h"

/* Dims of what is moved, with the strides (elements) in each of x, the array that is indexed, and
 * of the table. */
typedef struct gp_gather_dims {
    int ndim;
    int64_t dim[GP_MAX_DIM], x[GP_MAX_DIM], table[GP_MAX_DIM];
} gp_gather_dims;

/* x, table: elements that one step along the dim moves in each; 0 where it is broadcast. */
static inline void gp_gather_dims_add(gp_gather_dims *l, int64_t dim, int64_t x, int64_t table) {
    l->dim[l->ndim] = dim;
    l->x[l->ndim] = x;
    l->table[l->ndim++] = table;
}

/* Makes `index` part of c's table: it runs over dim (from 1, for messages) of an array that has
 * `size` elements there, `step` bytes apart; `first`: the table holds nothing yet; `alone`: one
 * thread fills it. False with a message that names the first index out of range. */
#define gp_index_to_offsets GP_NAME(gp_index_to_offsets)
bool gp_index_to_offsets(const gp_call *c, const gp_array *index, int64_t size, int64_t step,
                         int dim, bool first, bool alone);

/* An index tensor along a dim, of which offsets are made a block at a time, where they are used.
 * For ops whose result is thrown away if an index is out of range. */
typedef struct gp_offsets {
    const gp_array *index;
    gp_load load;
    int64_t size, step; /* of the dim: its elements, the bytes between them */
    int dim;            /* from 1, for messages */
    _Atomic bool bad;
} gp_offsets;
/* Makes *o for dim d of x, and the layout that gp_indexed_along makes, with the index as the table.
 */
#define gp_offsets_along GP_NAME(gp_offsets_along)
void gp_offsets_along(gp_offsets *o, const gp_array *x, const gp_array *index, int d,
                      gp_gather_dims *l);
/* Offsets of n indices, stride bytes apart; false, which o notes, if one is out of range. */
#define gp_offsets_make GP_NAME(gp_offsets_make)
bool gp_offsets_make(gp_offsets *o, const char *p, int64_t stride, int64_t n, int64_t *to);
/* True, or false with a message that names the first bad index. */
#define gp_offsets_good GP_NAME(gp_offsets_good)
bool gp_offsets_good(const gp_call *c, const gp_offsets *o);

/* The layouts of the ops, over x (the one read, or the one written); each fills the table too.
 * Where `written` and no two threads will write (scatter.c), one fills it: fetching what another
 * core has just made would take the writer longer. along: gather, scatter: an index of x's dims; d
 * the dim from 0. along_one: index_select, index_add …: a 1-d index, argument 2, in place of dim d.
 * tuples: gather_nd, scatter_nd: indices (argument 1) hold tuples in their last dim.
 * by_indices: index, index_put: a list of index tensors in argument 1, their dims in argument
 * dims_at; where the table's dims stand says gp_index_position. */
#define gp_indexed_along GP_NAME(gp_indexed_along)
bool gp_indexed_along(const gp_call *c, const gp_array *x, const gp_array *index, int d,
                      bool written, gp_gather_dims *l);
#define gp_indexed_one GP_NAME(gp_indexed_one)
bool gp_indexed_one(const gp_call *c, const gp_array *x, int d, bool written, gp_gather_dims *l);
#define gp_indexed_tuples GP_NAME(gp_indexed_tuples)
bool gp_indexed_tuples(const gp_call *c, const gp_array *x, int batch, bool written,
                       gp_gather_dims *l);
#define gp_indexed_by_list GP_NAME(gp_indexed_by_list)
bool gp_indexed_by_list(const gp_call *c, const gp_array *x, int dims_at, bool written,
                        gp_gather_dims *l);

/* Copies n rows of `bytes` from the offsets in `from` to consecutive rows of `to`. */
#define gp_gather_rows GP_NAME(gp_gather_rows)
void gp_gather_rows(char *to, const char *x, const int64_t *from, int64_t n, size_t bytes);

/* What a loop over the moves runs over, all of l's dims: row-major order (no memory), the flat side
 * (broadcast to them), x, the table. */
typedef struct gp_moves {
    gp_array order, flat, x, table;
} gp_moves;
/* Fills in *m: views of flat, x and table with l's dims. They own no memory, and hold the addresses
 * of the three. */
#define gp_indexed_moves GP_NAME(gp_indexed_moves)
void gp_indexed_moves(gp_moves *m, const gp_gather_dims *l, const gp_array *flat, const gp_array *x,
                      const gp_array *table);

#endif
