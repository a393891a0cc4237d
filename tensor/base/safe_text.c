/* Escapes what a terminal would obey in text from outside. */
#include "tensor/base/safe_text.h"

#include <string.h>

size_t gp_text_code(const char *text, size_t n, unsigned *code) {
    const unsigned char *s = (const unsigned char *)text;
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

bool gp_hides_text(unsigned c) {
    static const unsigned ranges[][2] = {
        {0xad, 0xad},     /* soft hyphen */
        {0x180e, 0x180e}, /* Mongolian vowel separator */
        {0x200b, 0x200b}, /* zero width space */
        {0x2028, 0x2029}, /* separators of lines and paragraphs */
        {0x2060, 0x2064}, /* word joiner, invisible operators */
        {0x206a, 0x206f}, /* formatting that Unicode has given up */
        {0xfeff, 0xfeff}, /* zero width no-break space */
        {0xfff9, 0xfffb}, /* annotations */
        {0xe0000, 0xe007f} /* tags */};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (c >= ranges[i][0] && c <= ranges[i][1]) return true;
    return gp_turns_text(c);
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
    int shift = 4;
    while (c >> shift > 15) shift += 4;
    for (; shift >= 0; shift -= 4) *to++ = digits[c >> shift & 15];
    if (!byte) *to++ = '}';
    *to = 0;
    return (size_t)(to - out);
}

size_t gp_safe_next(const char **s, const char *end, bool lines, char out[GP_SAFE_MAX]) {
    unsigned code;
    const char *p = *s;
    if (*s >= end) return out[0] = 0;
    size_t len = gp_text_code(p, (size_t)(end - *s), &code);
    bool byte = len < 2;
    if (!len) code = (unsigned char)*p, len = 1;
    *s += len;
    if (controls(code, lines)) return escape(code, byte, out);
    if (!byte && gp_hides_text(code)) return escape(code, false, out);
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
