/* Sorting of lists that mostly are in order already, as events of a record are. */
#ifndef GP_SORT_H
#define GP_SORT_H

#include <stddef.h>

/* qsort, but that a list which is in order costs one pass. */
void gp_sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *));

#endif
