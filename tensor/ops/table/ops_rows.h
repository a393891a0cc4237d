/* Reads ops.def once with ROW(name) for every row, whatever its kind: for ids and name tables. With
   OPS_WITH_KERNELS defined, only those that kernels run: all but views. */
#define UNARY(n, ...) ROW(n)
#define PARAM(n, ...) ROW(n)
#define PARAM3(n, ...) ROW(n)
#define PREDICATE(n, ...) ROW(n)
#define BINARY(n, ...) ROW(n)
#define COMPARE(n, ...) ROW(n)
#define TERNARY(n, ...) ROW(n)
#define REDUCE(n, ...) ROW(n)
#ifndef OPS_WITH_KERNELS
#define VIEW(n, ...) ROW(n)
#endif
#define RANDOM(n, ...) ROW(n)
#define CUSTOM(n, ...) ROW(n)
#include "tensor/ops/table/ops.def"
#undef ROW
