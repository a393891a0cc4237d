/* Reads ops.def once with ROW(name) for every row, whatever its kind: for ids and name tables. */
#define UNARY(n, ...) ROW(n)
#define PARAM(n, ...) ROW(n)
#define BINARY(n, ...) ROW(n)
#define COMPARE(n, ...) ROW(n)
#define TERNARY(n, ...) ROW(n)
#define REDUCE(n, ...) ROW(n)
#define VIEW(n, ...) ROW(n)
#define RANDOM(n, ...) ROW(n)
#define CUSTOM(n, ...) ROW(n)
#include "tensor/ops.def"
#undef ROW
