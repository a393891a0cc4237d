/* Escapes what a terminal would obey in text from outside. */
#include "tensor/safe_text.h"

#include <string.h>

/* The character at s, of n bytes: its length, and its code in *code; 0 if it is not UTF-8. */
static size_t decode(const unsigned char *s, size_t n, unsigned *code) {
    size_t len = *s < 0x80                 ? 1
                 : *s >= 0xc2 && *s < 0xe0 ? 2
                 : *s >= 0xe0 && *s < 0xf0 ? 3
                 : *s >= 0xf0 && *s < 0xf5 ? 4
                                           : 0;
    if (len > n) return 0;
    *code = len < 2 ? *s : *s & (0x7fu >> len);
    for (size_t i = 1; i < len; i++) {
        if ((s[i] & 0xc0) != 0x80) return 0;
        *code = *code << 6 | (s[i] & 0x3f);
    }
    return len;
}

bool gp_turns_text(unsigned c) {
    return c == 0x61c || c == 0x200e || c == 0x200f || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2066 && c <= 0x2069);
}

static bool controls(unsigned c, bool lines) {
    if (lines && (c == '\n' || c == '\t')) return false;
    return c < ' ' || (c >= 0x7f && c < 0xa0);
}

/* Writes "\x1b", or "\u{9b}" for characters of several bytes. */
static size_t escape(unsigned c, bool byte, char *out) {
    static const char digits[] = "0123456789abcdef";
    char *to = out;
    *to++ = '\\';
    *to++ = byte ? 'x' : 'u';
    if (!byte) *to++ = '{';
    int shift = byte || c < 0x100 ? 4 : c < 0x1000 ? 8 : 12;
    for (; shift >= 0; shift -= 4) *to++ = digits[c >> shift & 15];
    if (!byte) *to++ = '}';
    *to = 0;
    return (size_t)(to - out);
}

size_t gp_safe_next(const char **s, const char *end, bool lines, char out[GP_SAFE_MAX]) {
    unsigned code;
    const unsigned char *p = (const unsigned char *)*s;
    if (*s >= end) return out[0] = 0;
    size_t len = decode(p, (size_t)(end - *s), &code);
    bool byte = len < 2;
    if (!len) code = *p, len = 1;
    *s += len;
    if (controls(code, lines)) return escape(code, byte, out);
    if (!byte && gp_turns_text(code)) return escape(code, false, out);
    memcpy(out, p, len);
    out[len] = 0;
    return len;
}

char *gp_safe_text(const char *text, char *buf, size_t n) {
    char piece[GP_SAFE_MAX];
    size_t at = 0, len;
    const char *end = text + strlen(text);
    while ((len = gp_safe_next(&text, end, false, piece)) && at + len < n) {
        memcpy(buf + at, piece, len);
        at += len;
    }
    if (n) buf[at] = 0;
    return buf;
}
