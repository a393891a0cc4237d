/* gp_safe_next: what a terminal would obey is escaped, the rest stays byte for byte. */
#include "tap.h"

#include <stdio.h>
#include <string.h>

#include "tensor/base/safe_text.h"

static const char *all(const char *text, size_t n, bool lines) {
    static char out[1000];
    char piece[GP_SAFE_MAX];
    const char *end = text + n;
    out[0] = 0;
    while (gp_safe_next(&text, end, lines, piece)) strcat(out, piece);
    return out;
}

static void is(const char *text, const char *expected, const char *name) {
    const char *got = all(text, strlen(text), true);
    tap_ok(!strcmp(got, expected), "%s: %s", name, got);
}

/* Each character of a range, in UTF-8. */
static void range(unsigned from, unsigned to, bool escaped) {
    bool right = true;
    for (unsigned c = from; c <= to; c++) {
        char text[5] = {0}, expected[16], *at = text;
        if (c < 0x800) *at++ = (char)(0xc0 | c >> 6);
        else if (c < 0x10000) *at++ = (char)(0xe0 | c >> 12);
        else *at++ = (char)(0xf0 | c >> 18), *at++ = (char)(0x80 | (c >> 12 & 63));
        if (c >= 0x800) *at++ = (char)(0x80 | (c >> 6 & 63));
        *at = (char)(0x80 | (c & 63));
        sprintf(expected, "\\u{%x}", c);
        right = right && !strcmp(all(text, strlen(text), true), escaped ? expected : text);
    }
    tap_ok(right, "U+%04X to U+%04X: %s", from, to, escaped ? "escaped" : "as they are");
}

/* Text of any bytes fits its buffer, and nothing of it is left that a terminal would obey. */
static void cuts(void) {
    char buf[40];
    bool right = true;
    for (size_t n = 1; n < sizeof buf; n++) {
        memset(buf, 'x', sizeof buf);
        gp_safe_text("é\x1b\u202e\n\xc2\x9b 31m größe", buf, n);
        size_t len = strlen(buf);
        const char *slash = strrchr(buf, '\\');
        right = right && len < n && (n == sizeof buf - 1 || buf[n] == 'x');
        if (slash && slash[1] == 'u') right = right && strchr(slash, '}');
    }
    tap_ok(right, "a buffer of any size ends after a whole piece");
    gp_safe_text("text", buf, 0); /* writes nothing */
}

int main(void) {
    is("größe 数 🙂 a\\b", "größe 数 🙂 a\\b", "text");
    is("a\tb\nc", "a\tb\nc", "lines");
    tap_ok(!strcmp(all("a\tb\nc", 5, false), "a\\x09b\\x0ac"), "or on one line");
    is("\x1b[31m\x7f\r", "\\x1b[31m\\x7f\\x0d", "control characters of ASCII");
    is("\x9b"
       "31m\xe9",
       "\\x9b31m\xe9", "outside UTF-8");
    is("\xe0\x82\x9b", "\\u{9b}", "an encoding that is too long");
    is("\xe2\x80", "\xe2\\x80", "a character that is cut off");
    tap_ok(!strcmp(all("a\0b", 3, true), "a\\x00b"), "a zero byte");
    range(0x80, 0x9f, true);
    range(0xa0, 0xac, false);
    range(0xad, 0xad, true);
    range(0xae, 0x61b, false);
    range(0x61c, 0x61c, true);
    range(0x61d, 0x180d, false);
    range(0x180e, 0x180e, true);
    range(0x180f, 0x200a, false);
    range(0x200b, 0x200b, true);
    range(0x200c, 0x200d, false); /* they join emoji */
    range(0x200e, 0x200f, true);
    range(0x2010, 0x2027, false);
    range(0x2028, 0x202e, true);
    range(0x202f, 0x205f, false);
    range(0x2060, 0x2064, true);
    range(0x2065, 0x2065, false);
    range(0x2066, 0x206f, true);
    range(0x2070, 0xd7ff, false);
    range(0xe000, 0xfefe, false);
    range(0xfeff, 0xfeff, true);
    range(0xff00, 0xfff8, false);
    range(0xfff9, 0xfffb, true);
    range(0xfffc, 0xdffff, false);
    range(0xe0000, 0xe007f, true);
    range(0xe0080, 0x10ffff, false);
    cuts();
    return tap_done();
}
