/* SHA-256 as FIPS 180-4 describes it, and HMAC by RFC 2104: so little that no library of
 * cryptography need be linked for it. */
#include "shell/kernel/sha256.h"

#include <stdio.h>
#include <string.h>

/* The first 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void extend(uint32_t w[64], const uint8_t *p) {
    for (int i = 0; i < 16; i++, p += 4)
        w[i] = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = rotate(w[i - 15], 7) ^ rotate(w[i - 15], 18) ^ w[i - 15] >> 3;
        uint32_t b = rotate(w[i - 2], 17) ^ rotate(w[i - 2], 19) ^ w[i - 2] >> 10;
        w[i] = w[i - 16] + a + w[i - 7] + b;
    }
}

static void compress(uint32_t h[8], const uint8_t *block) {
    uint32_t w[64], v[8];
    extend(w, block);
    memcpy(v, h, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t s1 = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t choice = (v[4] & v[5]) ^ (~v[4] & v[6]);
        uint32_t t1 = v[7] + s1 + choice + k[i] + w[i];
        uint32_t s0 = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
        memmove(v + 1, v, 7 * sizeof *v);
        v[4] += t1;
        v[0] = t1 + s0 + majority;
    }
    for (int i = 0; i < 8; i++) h[i] += v[i];
}

void gp_sha256_begin(gp_sha256 *s) {
    static const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                      0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memcpy(s->h, start, sizeof start);
    s->bytes = 0;
}

void gp_sha256_add(gp_sha256 *s, const void *data, size_t n) {
    const uint8_t *p = data;
    size_t held = s->bytes % 64;
    s->bytes += n;
    while (held + n >= 64) {
        size_t part = 64 - held;
        if (held) memcpy(s->block + held, p, part);
        compress(s->h, held ? s->block : p);
        p += part, n -= part, held = 0;
    }
    if (n) memcpy(s->block + held, p, n);
}

void gp_sha256_end(gp_sha256 *s, uint8_t out[32]) {
    uint64_t bits = s->bytes * 8;
    uint8_t tail[72] = {0x80};
    size_t zeros = (119 - s->bytes % 64) % 64 + 1; /* the 0x80 included */
    for (int i = 0; i < 8; i++) tail[zeros + (size_t)i] = (uint8_t)(bits >> (56 - 8 * i));
    gp_sha256_add(s, tail, zeros + 8);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(s->h[i / 4] >> (24 - 8 * (i % 4)));
}

static void begin_with(gp_sha256 *s, const uint8_t pad[64], uint8_t mask) {
    uint8_t block[64];
    for (int i = 0; i < 64; i++) block[i] = pad[i] ^ mask;
    gp_sha256_begin(s);
    gp_sha256_add(s, block, sizeof block);
}

void gp_hmac_sha256(const char *key, size_t key_n, const char *const *text, const size_t *len,
                    int n, char out[65]) {
    gp_sha256 s;
    uint8_t pad[64] = {0}, digest[32];
    if (key_n > sizeof pad) {
        gp_sha256_begin(&s);
        gp_sha256_add(&s, key, key_n);
        gp_sha256_end(&s, pad);
    } else if (key_n) {
        memcpy(pad, key, key_n);
    }
    begin_with(&s, pad, 0x36);
    for (int i = 0; i < n; i++) gp_sha256_add(&s, text[i], len[i]);
    gp_sha256_end(&s, digest);
    begin_with(&s, pad, 0x5c);
    gp_sha256_add(&s, digest, sizeof digest);
    gp_sha256_end(&s, digest);
    for (int i = 0; i < 32; i++) snprintf(out + 2 * i, 3, "%02x", digest[i]);
}
