#include "tensor/base/sort.h"

#include <stdlib.h>

void gp_sort(void *list, size_t n, size_t size, int (*compare)(const void *, const void *)) {
    const char *p = list;
    for (size_t i = 1; i < n; i++)
        if (compare(p + (i - 1) * size, p + i * size) > 0) {
            qsort(list, n, size, compare);
            return;
        }
}
