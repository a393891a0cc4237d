/* Order-preserving unsigned keys of every dtype: a < b as elements where key(a) < key(b). The zeros
 * have one key; NaN has the largest. */
#ifndef GP_CUDA_KEYS_CUH
#define GP_CUDA_KEYS_CUH

#include "kernels/cuda/runtime/loop.cuh"

/* Bits of a key. */
static inline int gp_key_bits(gp_dtype dt) { return dt == GP_bool ? 1 : 8 * gp_dtype_sizes[dt]; }

/* Integers: the sign bit inverted. Floats: negative ones complemented, others above them. */
template <class U> __device__ static inline uint64_t gp_float_key(U v, U inf, U sign) {
    U magnitude = (U)(v & ~sign);
    return magnitude > inf   ? (U) ~(U)0
           : magnitude == 0  ? sign
           : (v & sign) != 0 ? (U)~v
                             : (U)(v | sign);
}
/* Of an element's bits (gp_bits_at), and of the element at p. */
__device__ static inline uint64_t gp_key_of(uint64_t bits, gp_dtype dt) {
    switch (dt) {
    case GP_f64: return gp_float_key<uint64_t>(bits, 0x7ff0000000000000u, (uint64_t)1 << 63);
    case GP_f32: return gp_float_key<uint32_t>((uint32_t)bits, 0x7f800000u, 0x80000000u);
    case GP_f16: return gp_float_key<uint16_t>((uint16_t)bits, 0x7c00, 0x8000);
    case GP_bf16: return gp_float_key<uint16_t>((uint16_t)bits, 0x7f80, 0x8000);
    case GP_i64: return bits ^ (uint64_t)1 << 63;
    case GP_i32: return bits ^ 0x80000000u;
    case GP_i16: return bits ^ 0x8000u;
    case GP_i8: return bits ^ 0x80u;
    case GP_u8: return bits;
    default: return bits != 0;
    }
}
__device__ static inline uint64_t gp_key_at(const char *p, gp_dtype dt) {
    return gp_key_of(gp_bits_at(p, gp_bytes_of(dt)), dt);
}

/* Sets *bits to those of the element with this key; false where several elements have it: zeros,
 * NaNs, true ones. */
template <class U> __device__ static inline bool gp_float_of_key(U key, U sign, uint64_t *bits) {
    *bits = (key & sign) != 0 ? (U)(key ^ sign) : (U)~key;
    return key != sign && key != (U) ~(U)0;
}
__device__ static inline bool gp_bits_of_key(uint64_t key, gp_dtype dt, uint64_t *bits) {
    switch (dt) {
    case GP_f64: return gp_float_of_key<uint64_t>(key, (uint64_t)1 << 63, bits);
    case GP_f32: return gp_float_of_key<uint32_t>((uint32_t)key, 0x80000000u, bits);
    case GP_f16:
    case GP_bf16: return gp_float_of_key<uint16_t>((uint16_t)key, 0x8000, bits);
    case GP_bool: return false;
    default: *bits = gp_key_of(key, dt); return true; /* which inverts a sign bit again */
    }
}

#endif
