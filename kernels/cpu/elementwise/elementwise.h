/* The driver of elementwise loops, for the files that make loops from formulas. */
#ifndef GP_CPU_ELEMENTWISE_H
#define GP_CPU_ELEMENTWISE_H

#include <string.h>

#include "kernels/cpu/runtime/kernel.h"
#include "tensor/cost.h"
#include "tensor/ops/elementwise.h"

/* Operands of an elementwise op, at most: a gradient, three operands and a result. */
enum { GP_MAX_IN = 5 };
_Static_assert(1 + GP_MAX_IN <= GP_LOOP_MAX, "a loop has the output and all operands");

/* A block of n elements in compute type: out, inputs, and the parameters p, q and r. */
typedef void (*gp_block_fn)(int64_t n, void *out, const void *const *in, const gp_scalar *par);

/* The compiler's vector functions (exp, cos …) and the library's for one number differ in the last
 * bit: the remainder after whole vectors is padded to one more vector, so that equal elements give
 * equal results at any index. */
enum { GP_LANES = 16 };
static inline void padded(gp_block_fn full, size_t size, int nin, int64_t n, char *out,
                          const void *const *in, const gp_scalar *par) {
    size_t whole = (size_t)n / GP_LANES * GP_LANES, rest = (size_t)n - whole;
    double buffer[GP_MAX_IN + 1][GP_LANES];
    const void *at[GP_MAX_IN];
    if (whole) full((int64_t)whole, out, in, par);
    if (!rest) return;
    for (int k = 0; k < nin; k++) {
        char *to = (char *)buffer[k];
        memcpy(to, (const char *)in[k] + whole * size, rest * size);
        for (size_t i = rest; i < GP_LANES; i++) memcpy(to + i * size, to, size);
        at[k] = to;
    }
    full(GP_LANES, buffer[GP_MAX_IN], at, par);
    memcpy(out + whole * size, buffer[GP_MAX_IN], rest * size);
}

/* Runs c, whose first nin arguments are operands (tensors or numbers), by the loop of its compute
 * type; compare: the loops write bool. */
#define gp_run_elementwise GP_NAME(gp_run_elementwise)
_Bool gp_run_elementwise(const gp_call *c, const gp_block_fn *fns, int nin, _Bool compare);

/* False with a message where a kernel noted a fault, FAULT_…. */
#define gp_check_faults GP_NAME(gp_check_faults)
_Bool gp_check_faults(const gp_call *c, int fault);

/* False with a message where an integer op in place would fail: nothing was written. c: of two
 * operands or more, the second of which is looked at, all of it once. */
#define gp_check_divisors GP_NAME(gp_check_divisors)
_Bool gp_check_divisors(const gp_call *c);

/* The loop that computes a block for c, whose op, arguments and compute type are set: a faster one
 * than the formula's where there is one. For elementwise rows, and for their derivatives. */
#define gp_elementwise_loop GP_NAME(gp_elementwise_loop)
gp_block_fn gp_elementwise_loop(const gp_call *c);
#define gp_derivative_loop GP_NAME(gp_derivative_loop)
gp_block_fn gp_derivative_loop(const gp_call *c);

/* The formula of that loop: NULL where it is not made of one. */
#define gp_elementwise_text GP_NAME(gp_elementwise_text)
gp_step_text gp_elementwise_text(const gp_call *c);
#define gp_derivative_text GP_NAME(gp_derivative_text)
gp_step_text gp_derivative_text(const gp_call *c);

/* The loop of op's row over operands of dt that writes dt (comparisons: bool); NULL where bools and
 * integers of 8 and 16 bits are widened. Its formulas cannot fail. */
#define gp_narrow_loop GP_NAME(gp_narrow_loop)
gp_block_fn gp_narrow_loop(const gp_op *op, gp_dtype dt);

/* `rows` rows of n elements; one operand is a number per row. out, a and b begin at p; the next row
 * is step bytes on. */
typedef void (*gp_row_scalar_fn)(int64_t rows, int64_t n, char *const *p, const int64_t *step);

/* The loop of op's row where operand `which` of two is such a number; NULL where there is none and
 * the number must fill a block. */
#define gp_row_scalar_loop GP_NAME(gp_row_scalar_loop)
gp_row_scalar_fn gp_row_scalar_loop(const gp_op *op, gp_ctype ct, int which);

/* The store of comparisons' results, uint8_t, as `to`. */
#define gp_bool_store GP_NAME(gp_bool_store)
gp_store gp_bool_store(gp_dtype to);

/* A parameter in compute type. */
static inline double limit_double(gp_scalar s) { return s.is_float ? s.f : (double)s.i; }
static inline float limit_float(gp_scalar s) { return s.is_float ? (float)s.f : (float)s.i; }

#endif
