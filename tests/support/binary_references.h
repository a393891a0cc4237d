/* References of binary ops and those of three operands, in long double and in integers: written
 * from their definitions, for tests/kernels/ops_binary.c. */
#ifndef GP_TEST_BINARY_REFERENCES_H
#define GP_TEST_BINARY_REFERENCES_H

#include <float.h>

#include "ops.h"

static bool wide; /* the result is f64: quotients are rounded to f64, else to f32, before they are
                     rounded down */
static ld quotient(ld a, ld b) {
    return wide ? (ld)((double)a / (double)b) : (ld)((float)a / (float)b);
}

static ld f_add(ld a, ld b, ld c) { return a + b; }
static ld f_sub(ld a, ld b, ld c) { return a - b; }
static ld f_mul(ld a, ld b, ld c) { return a * b; }
static ld f_div(ld a, ld b, ld c) { return a / b; }
static ld f_floor_divide(ld a, ld b, ld c) { return floorl(quotient(a, b)); }
static ld f_remainder(ld a, ld b, ld c) {
    ld r = fmodl(a, b);
    return r * b < 0 ? r + b : r; /* the Lua manual's a - floor(a/b)*b */
}
static ld f_trunc_divide(ld a, ld b, ld c) { return truncl(quotient(a, b)); }
static ld f_fmod(ld a, ld b, ld c) { return fmodl(a, b); }
static ld f_hypot(ld a, ld b, ld c) { return hypotl(a, b); }
static ld f_copysign(ld a, ld b, ld c) { return copysignl(a, b); }
static ld f_addcmul(ld a, ld b, ld c) { return a + b * c; }
static ld f_addcmul_3(ld a, ld b, ld c) { return a - 3 * b * c; }
static ld f_addcdiv(ld a, ld b, ld c) { return a + b / c; }
static ld f_addcdiv_half(ld a, ld b, ld c) { return a + b / 2 / c; }
static ld f_pow(ld a, ld b, ld c) { return powl(a, b); }
static ld f_maximum(ld a, ld b, ld c) { return isnan(a) || isnan(b) ? NAN : a > b ? a : b; }
static ld f_minimum(ld a, ld b, ld c) { return isnan(a) || isnan(b) ? NAN : a < b ? a : b; }
static ld f_clamp_min(ld a, ld b, ld c) { return isnan(a) || isnan(b) ? NAN : a < b ? b : a; }
static ld f_clamp_max(ld a, ld b, ld c) { return isnan(a) || isnan(b) ? NAN : a > b ? b : a; }
static ld f_fmax(ld a, ld b, ld c) { return fmaxl(a, b); }
static ld f_fmin(ld a, ld b, ld c) { return fminl(a, b); }
static ld f_logaddexp(ld a, ld b, ld c) {
    return a == b ? a + logl(2) : fmaxl(a, b) + log1pl(expl(-fabsl(a - b)));
}
/* Terms that cancel: near 0 the error is theirs. */
static ld s_logaddexp(ld a, ld b, ld c) { return fabsl(a) + fabsl(b) + 1; }
static ld f_atan2(ld a, ld b, ld c) { return atan2l(a, b); }
static ld log_or_less(ld x) { return x < -100 ? -100 : x; }
static ld f_logaddexp2(ld a, ld b, ld c) {
    return a == b ? a + 1 : fmaxl(a, b) + log1pl(exp2l(-fabsl(a - b))) / logl(2);
}
static ld f_xlog1py(ld a, ld b, ld c) { return isnan(b) ? b : a == 0 ? 0 : a * log1pl(b); }
static ld f_ldexp(ld a, ld b, ld c) {
    return isfinite(b) && (a == 0 || isinf(a)) ? a : a * exp2l(b);
}
static ld f_nextafter(ld a, ld b, ld c) {
    return wide ? nextafter((double)a, (double)b) : nextafterf((float)a, (float)b);
}
/* The terms up to 60, then an integral and its first corrections. */
static ld f_zeta(ld s, ld q, ld c) {
    ld sum = 0;
    if (isnan(s) || isnan(q) || s < 1) return NAN;
    if (s == 1 || (q <= 0 && q == rintl(q))) return INFINITY;
    if (q <= 0 && s != rintl(s)) return NAN;
    if (isinf(q)) return 0;
    for (ld most = 60 + 4 * fminl(s, 200); q < most; q += 1) sum += powl(q, -s);
    ld t = powl(q, -s);
    if (t == 0) return sum;
    return sum + t * q / (s - 1) + t / 2 + s * t / q / 12 -
           s * (s + 1) * (s + 2) * t / (q * q * q) / 720 +
           s * (s + 1) * (s + 2) * (s + 3) * (s + 4) * t / powl(q, 5) / 30240;
}
/* Terms that cancel below 0. */
static ld s_zeta(ld s, ld q, ld c) { return q < 0 ? powl(fabsl(q - rintl(q)), -s) : 0; }
/* A series of positive terms; of large a, where the tests' x is the same or far away, its limit. */
static ld f_igamma(ld a, ld x, ld c) {
    ld sum = 0, term = 1;
    if (!(a >= 0 && x >= 0) || (a == 0 && x == 0) || (isinf(a) && isinf(x))) return NAN;
    if (x == 0 || isinf(a)) return 0;
    if (x > 2 * a + 2000 || a == 0) return 1;
    if (a > 1e5L || x > 1e5L) return a == x ? 0.5L + 1 / (3 * sqrtl(2 * acosl(-1) * a)) : x > a;
    for (int n = 1; term > 1e-22L * sum; n++) sum += term, term *= x / (a + n);
    return sum * expl(a * logl(x) - x - lgammal(a + 1));
}
static ld f_igammac(ld a, ld x, ld c) { return 1 - f_igamma(a, x, c); }
static ld s_one(ld a, ld b, ld c) { return 1; }
static ld f_xlogy(ld a, ld b, ld c) { return isnan(b) ? b : a == 0 ? 0 : a * logl(b); }
static ld f_bce(ld a, ld b, ld c) {
    return -(b * log_or_less(logl(a)) + (1 - b) * log_or_less(log1pl(-a)));
}
/* The magnitude of its terms, which may cancel where the target is not from 0 to 1. */
static ld s_bce(ld a, ld b, ld c) {
    return fabsl(b * log_or_less(logl(a))) + fabsl((1 - b) * log_or_less(log1pl(-a)));
}
static ld f_squared_error(ld a, ld b, ld c) { return powl(fabsl(a - b), 2); }
static ld f_absolute_error(ld a, ld b, ld c) { return fabsl(a - b); }
static ld f_kl_term(ld a, ld b, ld c) { return b == 0 ? -b * a : b * (logl(b) - a); }
static ld s_kl_term(ld a, ld b, ld c) { return (b == 0 ? 0 : fabsl(b * logl(b))) + fabsl(a * b); }
/* Where exp(b) is subnormal or infinite in the compute type, or b - a infinite, it counts as that:
 * the product may be NaN. */
static ld f_kl_log_term(ld a, ld b, ld c) {
    ld e = wide ? (ld)exp((double)b) : (ld)expf((float)b),
       d = wide ? (ld)(double)(b - a) : (ld)(float)(b - a);
    return (e < (wide ? DBL_MIN : FLT_MIN) || isinf(e) ? e : expl(b)) * (isinf(d) ? d : b - a);
}
static ld f_smooth_l1(ld a, ld b, ld c) {
    return fabsl(a - b) < c ? (a - b) * (a - b) * 0.5L / c : fabsl(a - b) - 0.5L * c;
}
static ld f_huber(ld a, ld b, ld c) {
    return fabsl(a - b) <= c ? (a - b) * (a - b) * 0.5L : c * (fabsl(a - b) - 0.5L * c);
}
static ld s_differences(ld a, ld b, ld c) {
    return 1 + (fabsl(a) + fabsl(b) + fabsl(c)) * (fabsl(a) + fabsl(b) + fabsl(c));
}
/* -c b log(sigmoid(a)) - (1 - b) log(1 - sigmoid(a)) */
static ld softplus(ld a) { return fmaxl(a, 0) + log1pl(expl(-fabsl(a))); }
static ld f_bce_with_logits(ld a, ld b, ld c) {
    return isinf(c) && isinf(a) ? NAN : c * b * softplus(-a) + (1 - b) * softplus(a);
} /* infinitely often 0 */
static ld s_bce_with_logits(ld a, ld b, ld c) {
    return fabsl(c * b * softplus(-a)) + (1 + fabsl(b)) * softplus(a) + fabsl(b * softplus(-a));
}
static ld f_lerp(ld a, ld b, ld c) {
    return fabsl(c) < 0.5L ? a + c * (b - a) : b - (b - a) * (1 - c);
} /* from the nearer end: matters where one is infinite */
static ld s_lerp(ld a, ld b, ld c) {
    return (fabsl(a) + fabsl(b)) * (1 + fabsl(c));
} /* the largest of the terms and factors */
static ld f_between(ld a, ld b, ld c) {
    return isnan(a) || isnan(b) || isnan(c) ? NAN : fminl(fmaxl(a, b), c);
}
static ld f_eq(ld a, ld b, ld c) { return a == b; }
static ld f_ne(ld a, ld b, ld c) { return a != b; }
static ld f_lt(ld a, ld b, ld c) { return a < b; }
static ld f_le(ld a, ld b, ld c) { return a <= b; }
static ld f_gt(ld a, ld b, ld c) { return a > b; }
static ld f_ge(ld a, ld b, ld c) { return a >= b; }
static ld f_land(ld a, ld b, ld c) { return a != 0 && b != 0; }
static ld f_lor(ld a, ld b, ld c) { return a != 0 || b != 0; }
static ld f_lxor(ld a, ld b, ld c) { return (a != 0) ^ (b != 0); }

typedef uint64_t u64;
static int64_t i_add(int64_t a, int64_t b) { return (int64_t)((u64)a + (u64)b); }
static int64_t i_sub(int64_t a, int64_t b) { return (int64_t)((u64)a - (u64)b); }
static int64_t i_mul(int64_t a, int64_t b) { return (int64_t)((u64)a * (u64)b); }
static int64_t i_floor_divide(int64_t a, int64_t b) {
    return b == -1 ? i_sub(0, a) : (int64_t)floorl((ld)a / b);
}
static int64_t i_remainder(int64_t a, int64_t b) {
    return i_sub(a, i_mul(i_floor_divide(a, b), b));
}
static int64_t i_trunc_divide(int64_t a, int64_t b) {
    return b == -1 ? i_sub(0, a) : (int64_t)truncl((ld)a / b);
}
static int64_t i_fmod(int64_t a, int64_t b) { return i_sub(a, i_mul(i_trunc_divide(a, b), b)); }
static uint64_t magnitude(int64_t a) { return a < 0 ? 0 - (uint64_t)a : (uint64_t)a; }
static int64_t i_gcd(int64_t a, int64_t b) {
    uint64_t u = magnitude(a), v = magnitude(b);
    for (uint64_t rest; v != 0; u = v, v = rest) rest = u % v;
    return (int64_t)u;
}
static int64_t i_lcm(int64_t a, int64_t b) {
    uint64_t d = magnitude(i_gcd(a, b));
    return d == 0 ? 0 : (int64_t)(magnitude(a) / d * magnitude(b));
}
static int64_t i_left(int64_t a, int64_t b) {
    for (int k = 0; k < 64 && (b < 0 || k < b); k++) a = i_add(a, a);
    return a;
}
static int64_t i_right(int64_t a, int64_t b) {
    for (int k = 0; k < 64 && (b < 0 || k < b); k++) a = a < 0 ? -1 - (-1 - a) / 2 : a / 2;
    return a;
}
static int64_t i_addcmul(int64_t a, int64_t b, int64_t c) { return i_add(a, i_mul(b, c)); }
static int64_t i_addcmul_3(int64_t a, int64_t b, int64_t c) {
    return i_sub(a, i_mul(3, i_mul(b, c)));
}
static int64_t i_pow(int64_t a, int64_t b) {
    int64_t r = 1;
    for (int64_t k = 0; k < b; k++) r = i_mul(r, a);
    return b < 0 ? (b % 2 ? a : 1) : r; /* only of 1 and -1 */
}
static int64_t i_maximum(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t i_absolute_error(int64_t a, int64_t b) { return a > b ? i_sub(a, b) : i_sub(b, a); }
static int64_t i_between(int64_t a, int64_t b, int64_t c) {
    return a < b ? (b < c ? b : c) : a < c ? a : c;
}
static int64_t i_minimum(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t i_and(int64_t a, int64_t b) { return a & b; }
static int64_t i_or(int64_t a, int64_t b) { return a | b; }
static int64_t i_xor(int64_t a, int64_t b) { return (a | b) - (a & b); }
static int64_t i_eq(int64_t a, int64_t b) { return a == b; }
static int64_t i_ne(int64_t a, int64_t b) { return a != b; }
static int64_t i_lt(int64_t a, int64_t b) { return a < b; }
static int64_t i_le(int64_t a, int64_t b) { return a <= b; }
static int64_t i_gt(int64_t a, int64_t b) { return a > b; }
static int64_t i_ge(int64_t a, int64_t b) { return a >= b; }
static int64_t i_land(int64_t a, int64_t b) { return a && b; }
static int64_t i_lor(int64_t a, int64_t b) { return a || b; }
static int64_t i_lxor(int64_t a, int64_t b) { return !a != !b; }

#endif
