/* A key's bits in the order that a radix sort gives: signs turned, -0 as 0; a NaN comes where its bits say. */
#ifndef FAKE_CUB_KEY_CUH
#define FAKE_CUB_KEY_CUH

namespace cub {
template <size_t> struct fake_word;
template <> struct fake_word<1> { typedef uint8_t type; };
template <> struct fake_word<2> { typedef uint16_t type; };
template <> struct fake_word<4> { typedef uint32_t type; };
template <> struct fake_word<8> { typedef uint64_t type; };
template <class K> struct radix {
    typedef typename fake_word<sizeof(K)>::type bits;
    static bits of(K k) {
        bits u, top = (bits)((bits)1 << (sizeof(K) * 8 - 1));
        memcpy(&u, &k, sizeof u);
        bool real = std::is_floating_point<K>::value || std::is_same<K, __half>::value || std::is_same<K, __nv_bfloat16>::value;
        if (!real) return std::is_signed<K>::value ? (bits)(u ^ top) : u;
        if (u == top) u = 0;
        return u & top ? (bits)~u : (bits)(u | top);
    }
};
} // namespace cub

#endif
