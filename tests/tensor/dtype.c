/* Element types: names, all promotions against a stored table, and every 16-bit float against an
 * independent conversion. */
#include "promotion.h"

static void names(void) {
    static const char *const all[GP_DTYPES] = {"bool", "u8",  "i8",   "i16", "i32",
                                               "i64",  "f16", "bf16", "f32", "f64"};
    static const struct {
        const char *alias, *name;
    } others[] = {{"float64", "f64"}, {"double", "f64"}, {"float32", "f32"},   {"float", "f32"},
                  {"float16", "f16"}, {"half", "f16"},   {"bfloat16", "bf16"}, {"int64", "i64"},
                  {"long", "i64"},    {"int32", "i32"},  {"int", "i32"},       {"int16", "i16"},
                  {"int8", "i8"},     {"uint8", "u8"},   {"bool", "bool"}};
    gp_dtype dt;
    for (int i = 0; i < GP_DTYPES; i++) {
        tap_ok(gp_dtype_parse(all[i], &dt) && !strcmp(gp_dtype_name(dt), all[i]), "%s is a dtype",
               all[i]);
        tap_is_int((long long)gp_dtype_size(dt), (long long)dt_size(dt), "size of %s", all[i]);
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        tap_ok(gp_dtype_parse(others[i].alias, &dt) && !strcmp(gp_dtype_name(dt), others[i].name),
               "%s is %s", others[i].alias, others[i].name);
    tap_ok(!gp_dtype_parse("f8", &dt) && strstr(gp_error(), "f8") && strstr(gp_error(), "bf16"),
           "the message for an unknown name lists the known ones");
}

static void promotions(void) {
    for (int a = 0; a < 10; a++)
        for (int b = 0; b < 10; b++) {
            gp_dtype x = (gp_dtype)promoted_order[a], y = (gp_dtype)promoted_order[b],
                     got = gp_dtype_promote(x, y);
            if (got != promoted[a][b])
                complain("%s and %s: got %s", gp_dtype_name(x), gp_dtype_name(y),
                         gp_dtype_name(got));
        }
    tap_quiet("100 pairs of dtypes are promoted as torch.promote_types does");
}

/* The dtype of add's result for the given operands; tensors are of 1 element, 0-d where zero is
 * set. */
static gp_dtype sum_of(gp_dtype a, bool zero, gp_scalar number) {
    gp_shape s = {.ndim = zero ? 0 : 1, .dim = {1}};
    gp_tensor *x = need(gp_tensor_new(gp_device_cpu(), a, &s));
    memset(x->a.data, 0, dt_size(a));
    gp_call c;
    gp_call_begin(&c, GP_OP(add));
    gp_call_tensor(&c, x);
    gp_call_number(&c, number);
    gp_tensor *y = need(gp_call_one(&c));
    gp_dtype dt = (gp_dtype)y->a.dtype;
    gp_tensor_unref(y), gp_tensor_unref(x);
    return dt;
}

static void numbers(void) {
    for (int dt = 0; dt < GP_DTYPES; dt++)
        for (int zero = 0; zero < 2; zero++) {
            gp_dtype whole = dt == GP_bool ? GP_i64 : (gp_dtype)dt,
                     real = dt_float((gp_dtype)dt) ? (gp_dtype)dt : GP_f32;
            tap_is_int(sum_of((gp_dtype)dt, zero, (gp_scalar){.i = 1}), whole, "%s%s + 1",
                       zero ? "0-d " : "", gp_dtype_name((gp_dtype)dt));
            tap_is_int(sum_of((gp_dtype)dt, zero, (gp_scalar){.is_float = true, .f = 1}), real,
                       "%s%s + 1.0", zero ? "0-d " : "", gp_dtype_name((gp_dtype)dt));
        }
}

/* Every 16-bit pattern: its value, and the conversion back. */
static void decode_all(gp_dtype dt) {
    for (int h = 0; h < 65536; h++) {
        float got = dt == GP_f16 ? gp_f16_to_f32((uint16_t)h) : gp_bf16_to_f32((uint16_t)h);
        ld want = decode16(dt, (uint16_t)h);
        if (!near_enough(GP_f32, got, want, 0, 0, false))
            complain("%04x is %.9g, not %.9Lg", h, (double)got, want);
        uint16_t back = dt == GP_f16 ? gp_f32_to_f16(got) : gp_f32_to_bf16(got);
        if (isnan(want) ? !isnan(decode16(dt, back)) : back != h)
            complain("%04x comes back as %04x", h, back);
    }
    tap_quiet("all 65536 values of %s", gp_dtype_name(dt));
}

static void encode_one(gp_dtype dt, float f) {
    uint16_t got = dt == GP_f16 ? gp_f32_to_f16(f) : gp_f32_to_bf16(f),
             want = encode16(dt, round_to(dt, f));
    if (isnan(f) ? !isnan(decode16(dt, got)) : got != want)
        complain("%.9g becomes %04x, not %04x", (double)f, got, want);
}

/* Every midpoint of neighbours and the adjacent f32 values, and random bit patterns: nearest,
 * halves to even. */
static void encode_all(gp_dtype dt) {
    uint32_t u;
    float f;
    for (int h = 0; h < 65536; h++) {
        ld a = decode16(dt, (uint16_t)h), b = decode16(dt, (uint16_t)(h + 1));
        if (!isfinite(a) || !isfinite(b)) continue;
        f = (float)((a + b) / 2);
        encode_one(dt, f), encode_one(dt, nextafterf(f, INFINITY)),
            encode_one(dt, nextafterf(f, -INFINITY));
    }
    for (int k = 0; k < 400000; k++) {
        u = (uint32_t)rand64();
        memcpy(&f, &u, 4);
        encode_one(dt, f);
    }
    const float edge[] = {65504,           65519.996f,     65520, 65536,    0x1p-24f,  0x1p-25f,
                          0x1.000002p-25f, 0x1p-149f,      -0.0f, INFINITY, -INFINITY, NAN,
                          0x1.fffffep127f, 0x1.feffffp127f};
    for (size_t k = 0; k < sizeof edge / sizeof *edge; k++) encode_one(dt, edge[k]);
    tap_quiet("f32 becomes %s by rounding to nearest even", gp_dtype_name(dt));
}

/* The same conversions by kernels, which may be vectorised: copy to and from the dtype. */
static void kernels_agree(gp_device *dev) {
    static const gp_dtype halves[] = {GP_f16, GP_bf16};
    for (int d = 0; d < 2; d++) {
        static uint16_t h[65536];
        for (int k = 0; k < 65536; k++) h[k] = (uint16_t)k;
        gp_tensor *x = upload(dev, halves[d], h, 65536), *wide = need(gp_cast(x, GP_f32)),
                  *back = need(gp_cast(wide, halves[d]));
        float *f = download(wide);
        uint16_t *b = download(back);
        for (int k = 0; k < 65536; k++) {
            ld want = decode16(halves[d], (uint16_t)k);
            if (!near_enough(GP_f32, f[k], want, 0, 0, false))
                complain("%04x is %.9g", k, (double)f[k]);
            if (isnan(want) ? !isnan(decode16(halves[d], b[k])) : b[k] != k)
                complain("%04x comes back as %04x", k, b[k]);
        }
        gp_tensor_unref(x), gp_tensor_unref(wide), gp_tensor_unref(back);
        free(f), free(b);
        tap_quiet("kernels convert all values of %s on %s", gp_dtype_name(halves[d]), dev->name);
    }
}

int main(void) {
    names();
    promotions();
    numbers();
    decode_all(GP_f16), decode_all(GP_bf16);
    encode_all(GP_f16), encode_all(GP_bf16);
    on_devices(kernels_agree);
    gp_device_shutdown();
    return tap_done();
}
