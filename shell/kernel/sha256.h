/* HMAC-SHA-256, by which a notebook's messages are signed. */
#ifndef GP_SHA256_H
#define GP_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct gp_sha256 {
    uint32_t h[8];
    uint64_t bytes;
    uint8_t block[64];
} gp_sha256;

/* Begins a digest. */
void gp_sha256_begin(gp_sha256 *s);
/* Adds n bytes to it. */
void gp_sha256_add(gp_sha256 *s, const void *data, size_t n);
/* The digest of all that was added. */
void gp_sha256_end(gp_sha256 *s, uint8_t out[32]);

/* The signature of n texts, one after the other, as 64 hexadecimal digits and a zero. */
void gp_hmac_sha256(const char *key, size_t key_n, const char *const *text, const size_t *len,
                    int n, char out[65]);

#endif
