/* How the packets of two ranks become one: the extremes of their hashes, and their data reduced. */
#include "tensor/dist/world.h"

/* W: in which sums and products of T wrap around, or round, as the type's do. NaN is smaller, and
 * larger, than any number. */
#define FOLD(T, W)                                                                                 \
    static void fold_##T(gp_wire_op op, const T *in, T *into, int n) {                             \
        for (int i = 0; i < n; i++) {                                                              \
            T a = into[i], b = in[i];                                                              \
            if (op == GP_WIRE_SUM) into[i] = (T)((W)a + (W)b);                                     \
            else if (op == GP_WIRE_PROD) into[i] = (T)((W)a * (W)b);                               \
            else if (b != b || (op == GP_WIRE_MIN ? b < a : b > a)) into[i] = b;                   \
        }                                                                                          \
    }
FOLD(uint8_t, uint64_t)
FOLD(int8_t, uint64_t)
FOLD(int16_t, uint64_t)
FOLD(int32_t, uint64_t)
FOLD(int64_t, uint64_t)
FOLD(float, float)
FOLD(double, double)

static void fold_data(const gp_packet *in, gp_packet *into) {
    gp_wire_op op = (gp_wire_op)into->op;
    const void *a = in->data;
    void *b = into->data;
    int n = into->count;
    switch ((gp_dtype)into->dtype) {
    case GP_bool:
    case GP_u8: fold_uint8_t(op, a, b, n); break;
    case GP_i8: fold_int8_t(op, a, b, n); break;
    case GP_i16: fold_int16_t(op, a, b, n); break;
    case GP_i32: fold_int32_t(op, a, b, n); break;
    case GP_i64: fold_int64_t(op, a, b, n); break;
    case GP_f32: fold_float(op, a, b, n); break;
    case GP_f64: fold_double(op, a, b, n); break;
    default: break; /* 16-bit floats are joined in f32 */
    }
}

/* Where the hashes differ, the data mean nothing, and nobody reads them. */
void gp_dist_fold(const gp_packet *in, gp_packet *into) {
    if (in->most > into->most) into->most = in->most;
    if (in->least > into->least) into->least = in->least;
    fold_data(in, into);
}
