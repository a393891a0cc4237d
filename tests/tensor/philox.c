/* The random generator: Philox against the vectors that its authors publish, and the distributions'
 * formulas against libm. */
#include "tensor/rng.h"

#include "tap.h"

/* kat_vectors of Random123 1.14, philox 4x32-10: counter, key, result. */
static const uint32_t known[3][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
     0xa20bc7c6, 0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
     0x5001e420, 0x24126ea1},
};

static uint64_t wide(const uint32_t *w) { return w[0] | (uint64_t)w[1] << 32; }

static void philox(void) {
    for (int i = 0; i < 3; i++) {
        uint32_t out[4];
        gp_philox(wide(known[i] + 4), wide(known[i] + 2), wide(known[i]), out);
        tap_ok(!memcmp(out, known[i] + 6, sizeof out), "known answer %d", i + 1);
    }
}

static void uniform(void) {
    tap_ok(gp_uniform_f32(0, 24) == 0 && gp_uniform_f32(0xffffffff, 24) == 1 - 0x1p-24f,
           "f32 numbers reach from 0 to just below 1");
    tap_ok(gp_uniform_f32(0xffffffff, 11) == 1 - 0x1p-11f &&
               gp_uniform_f32(0xffffffff, 8) == 1 - 0x1p-8f,
           "with fewer bits too");
    tap_ok(gp_uniform_f64(0) == 0 && gp_uniform_f64(UINT64_MAX) == 1 - 0x1p-53, "and f64 numbers");
}

static void integers(void) {
    tap_ok(gp_integer(0, -3, 7) == -3 && gp_integer(UINT64_MAX, -3, 7) == 3,
           "integers reach from low to high");
    tap_ok(gp_integer(UINT64_MAX, INT64_MIN, 0) == INT64_MAX &&
               gp_integer(0, INT64_MIN, 0) == INT64_MIN,
           "the whole range of 64 bits as well");
    bool same = true;
    uint64_t w = 0x9e3779b97f4a7c15u;
    for (int i = 0; i < 10000; i++) {
        w = w * 6364136223846793005u + 1442695040888963407u;
        uint64_t range = w >> (i % 63) | 1;
        same = same && (uint64_t)gp_integer(w ^ w << 7, 0, range) ==
                           (uint64_t)((unsigned __int128)(w ^ w << 7) * range >> 64);
    }
    tap_ok(same, "the product's high half is that of 128-bit arithmetic");
}

/* The largest distance to Box and Muller's formulas in long double, in units of the type's
 * precision. */
static void normals(void) {
    const long double turn = 6.283185307179586476925286766559L;
    double worst32 = 0, worst64 = 0;
    for (uint64_t i = 0; i < 20000; i++) {
        uint32_t w[4];
        float a[2];
        double b[2];
        gp_philox(7, 0, i, w);
        gp_normal_f32(w[0], w[1], a);
        gp_normal_f64(wide(w), wide(w + 2), b);
        long double r32 = sqrtl(-2 * logl(((w[0] >> 9) + 0.5L) * 0x1p-23L)),
                    t32 = turn * w[1] * 0x1p-32L;
        long double r64 = sqrtl(-2 * logl(((wide(w) >> 12) + 0.5L) * 0x1p-52L)),
                    t64 = turn * wide(w + 2) * 0x1p-64L;
        for (int k = 0; k < 2; k++) {
            double e32 = (double)fabsl(a[k] - r32 * (k ? sinl(t32) : cosl(t32))),
                   e64 = (double)fabsl(b[k] - r64 * (k ? sinl(t64) : cosl(t64)));
            if (e32 > worst32) worst32 = e32;
            if (e64 > worst64) worst64 = e64;
        }
    }
    tap_ok(worst32 < 2e-6, "f32 normals are Box and Muller's (off by %.2g at most)", worst32);
    tap_ok(worst64 < 4e-15, "f64 normals are Box and Muller's (off by %.2g at most)", worst64);
    float z[2];
    gp_normal_f32(0, 0, z);
    tap_ok(z[0] > 5.7f && z[0] < 5.8f && z[1] == 0,
           "the smallest word gives the farthest number, and nothing infinite");
}

int main(void) {
    philox();
    uniform();
    integers();
    normals();
    return tap_done();
}
