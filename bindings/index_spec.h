/* A parsed index expression: the items of x[...], one per dim or group of dims. */
#ifndef GP_INDEX_SPEC_H
#define GP_INDEX_SPEC_H

#include "tensor/op.h"

typedef enum gp_item_kind {
    GP_ITEM_INT,
    GP_ITEM_RANGE,
    GP_ITEM_ALL,
    GP_ITEM_ELLIPSIS,
    GP_ITEM_NEW,
    GP_ITEM_INDEX,
    GP_ITEM_MASK
} gp_item_kind;

typedef struct gp_index_item {
    uint8_t kind;
    int64_t first, last, step; /* INT: first; RANGE: inclusive, from 1 or the end */
    gp_tensor *t;              /* INDEX, MASK; borrowed */
} gp_index_item;

#define GP_MAX_ITEMS 20
typedef struct gp_index_spec {
    int n;
    gp_index_item item[GP_MAX_ITEMS];
} gp_index_spec;

/* Appends the items in text, separated by commas: each an integer, "first:last", "first:last:step"
 * (any of them may be missing), "...", or "new". False with a message that shows the item. */
bool gp_index_parse(gp_index_spec *s, const char *text);

/* Appends an item; false with a message when there are too many. */
bool gp_index_add(gp_index_spec *s, gp_index_item item);

/* x[spec], a view where there are no tensors among the items. The caller owns the result; NULL with
 * a message. */
gp_tensor *gp_index_read(gp_tensor *x, const gp_index_spec *s);

/* x[spec] = a number, and = a tensor (broadcast, converted; from another device through a copy that
 * waits). */
bool gp_index_fill(gp_tensor *x, const gp_index_spec *s, gp_scalar value);
bool gp_index_assign(gp_tensor *x, const gp_index_spec *s, gp_tensor *value);

#endif
