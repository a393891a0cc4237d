/* A pull reader of JSON that lies in memory: RFC 8259, and besides it what programs that write
 * traces get wrong: inf and nan where a value is skipped, control characters in texts, backslashes
 * that begin no escape and stand for themselves, as in paths of Windows, and a comma after the last
 * element. */
#include "profile/load/json.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/base/error.h"
#include "tensor/base/safe_text.h"

enum { LEVELS = 512 };

bool gp_json_fail(gp_json *j, const char *fmt, ...) {
    char text[400], file[300];
    va_list ap;
    if (j->failed) return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    j->failed = true;
    return gp_fail("profile.load: %s: byte %lld: %s%s", gp_safe_text(j->file, file, sizeof file),
                   (long long)gp_json_byte(j), text,
                   j->ended && j->cut ? ": the packed data end early" : "");
}

/* Fails for what is there instead of `expected`. */
static bool unexpected(gp_json *j, const char *expected) {
    char c = gp_json_peek(j);
    if (j->failed) return false;
    j->ended = j->at + strcspn(j->at, ",:[]{}\" \n\r\t") >= j->end; /* nothing follows this word */
    if (j->at >= j->end) return gp_json_fail(j, "expected %s, got the end of the file", expected);
    if (c > 32 && c < 127) return gp_json_fail(j, "expected %s, got '%c'", expected, c);
    return gp_json_fail(j, "expected %s, got the byte 0x%02x", expected, (unsigned char)c);
}

/* Lines of a trace begin with many: a pretty one is mostly these. */
void gp_json_space(gp_json *j) {
    static const char spaces[] = "                ";
    const size_t step = sizeof spaces - 1;
    const char *at = j->at;
    do {
        while ((size_t)(j->end - at) >= step && !memcmp(at, spaces, step)) at += step;
        while (*at == ' ') at++;
    } while (gp_json_is_space(*at) && *++at);
    j->at = at;
}

bool gp_json_open(gp_json *j, char bracket) {
    if (gp_json_peek(j) != bracket) return unexpected(j, bracket == '[' ? "a list" : "an object");
    j->at++;
    return true;
}

bool gp_json_more(gp_json *j, char close, bool *first) {
    char c = gp_json_peek(j);
    if (c == close) return j->at++, false;
    if (*first) return *first = false, !j->failed;
    if (c != ',') return unexpected(j, close == ']' ? "',' or ']'" : "',' or '}'");
    j->at++;
    return gp_json_peek(j) != close || (j->at++, false); /* a comma after the last one */
}

/* The number that four hexadecimal digits at p make; -1: they are not. */
static int hex4(const char *p) {
    int v = 0;
    for (int i = 0; i < 4; i++) {
        if (!isxdigit((unsigned char)p[i])) return -1;
        v = v * 16 + (p[i] <= '9' ? p[i] - '0' : (p[i] | 32) - 'a' + 10);
    }
    return v;
}

/* The bytes of the escape at p, a backslash; 1: it is none, and that stands for itself. */
static int escape(const char *p) {
    if (p[1] && strchr("\"\\/bfnrt", p[1])) return 2;
    return p[1] == 'u' && hex4(p + 2) >= 0 ? 6 : 1;
}

bool gp_json_string(gp_json *j, gp_json_text *text) {
    if (gp_json_peek(j) != '"') return unexpected(j, "a text");
    const char *p = j->at + 1;
    text->p = p;
    text->escaped = false;
    for (;;) {
        while (*p != '"' && *p != '\\' && *p) p++;
        if (*p != '\\') break;
        text->escaped = true;
        p += escape(p);
    }
    if (*p != '"') {
        j->ended = p >= j->end;
        if (j->ended) return gp_json_fail(j, "a text that does not end");
        j->at = p;
        return gp_json_fail(j, "the byte 0x00 in a text");
    }
    text->n = (size_t)(p - text->p);
    j->at = p + 1;
    return true;
}

bool gp_json_next(gp_json *j) {
    bool first = false;
    return gp_json_more(j, ']', &first) ||
           gp_json_fail(j, "expected another element, got the end of the list");
}

bool gp_json_close(gp_json *j) {
    bool first = false;
    return !gp_json_more(j, ']', &first) ? !j->failed
                                         : gp_json_fail(j, "expected the end of the list");
}

bool gp_json_key(gp_json *j, gp_json_text *key) {
    if (gp_json_peek(j) != '"') return unexpected(j, "a key");
    if (!gp_json_string(j, key)) return false;
    if (gp_json_peek(j) != ':') return unexpected(j, "':'");
    j->at++;
    return true;
}

/* ---- numbers ---- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* The end of the number at p, as JSON writes one; NULL: there is none. */
static const char *number_end(const char *p) {
    p += *p == '-';
    if (!is_digit(*p)) return NULL;
    if (*p == '0') p++;
    else
        while (is_digit(*p)) p++;
    if (*p == '.') {
        if (!is_digit(*++p)) return NULL;
        while (is_digit(*p)) p++;
    }
    if (*p == 'e' || *p == 'E') {
        p += 1 + (p[1] == '+' || p[1] == '-');
        if (!is_digit(*p)) return NULL;
        while (is_digit(*p)) p++;
    }
    return p;
}

/* v * 10 + d; false where that does not fit. */
static bool push_digit(int64_t *v, int d) {
    return !__builtin_mul_overflow(*v, 10, v) && !__builtin_add_overflow(*v, d, v);
}

bool gp_json_int(gp_json *j, int64_t *value) {
    bool negative = gp_json_peek(j) == '-';
    const char *end = j->failed ? NULL : number_end(j->at), *p = j->at + negative;
    int64_t v = 0;
    if (!end) return unexpected(j, "an integer");
    for (; p < end; p++)
        if (!is_digit(*p) || !push_digit(&v, *p - '0'))
            return gp_json_fail(j, "expected an integer of 64 bits, got %.*s",
                                (int)(end - j->at > 40 ? 40 : end - j->at), j->at);
    *value = negative ? -v : v;
    j->at = end;
    return true;
}

/* A number with an exponent, or with more digits than fit. */
static bool scaled_double(gp_json *j, const char *end, int decimals, int64_t *value) {
    double v = strtod(j->at, NULL) * pow(10, decimals);
    if (!(fabs(v) < 9e18)) return gp_json_fail(j, "a time that does not fit in 64 bits");
    *value = llround(v);
    j->at = end;
    return true;
}

/* A number times a power of ten, rounded. */
static inline bool scaled(gp_json *j, int decimals, int64_t *value) {
    bool negative = gp_json_peek(j) == '-';
    const char *end = j->failed ? NULL : number_end(j->at), *p = j->at + negative;
    int64_t v = 0;
    int digits = 0;
    if (!end) return unexpected(j, "a number");
    for (; is_digit(*p); p++)
        if (!push_digit(&v, *p - '0')) return scaled_double(j, end, decimals, value);
    if (*p == '.')
        for (p++; is_digit(*p) && digits < decimals; p++, digits++)
            if (!push_digit(&v, *p - '0')) return scaled_double(j, end, decimals, value);
    bool up = is_digit(*p) && *p >= '5';
    while (is_digit(*p)) p++;
    if (p != end) return scaled_double(j, end, decimals, value);
    for (; digits < decimals; digits++)
        if (!push_digit(&v, 0)) return scaled_double(j, end, decimals, value);
    v += up;
    *value = negative ? -v : v;
    j->at = end;
    return true;
}

bool gp_json_milli(gp_json *j, int64_t *value) { return scaled(j, 3, value); }

bool gp_json_micro(gp_json *j, int64_t *value) { return scaled(j, 6, value); }

/* ---- other values ---- */

static bool word(gp_json *j, const char *text) {
    size_t n = strlen(text);
    if (strncmp(j->at, text, n) != 0) return false;
    j->at += n;
    return true;
}

bool gp_json_bool(gp_json *j, bool *value) {
    gp_json_peek(j);
    if (j->failed) return false;
    if (word(j, "true")) return *value = true;
    if (word(j, "false")) return *value = false, true;
    return unexpected(j, "true or false");
}

static bool scalar(gp_json *j, char c) {
    static const char *const words[] = {"true", "false", "null", "nan",      "-nan",
                                        "inf",  "-inf",  "NaN",  "Infinity", "-Infinity"};
    gp_json_text text;
    if (c == '"') return gp_json_string(j, &text);
    const char *end = number_end(j->at);
    if (end) return j->at = end, true;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (word(j, words[i])) return true;
    return unexpected(j, "a value");
}

/* Reads a key where the innermost bracket is an object's. */
static bool key_of(gp_json *j, char close) {
    gp_json_text key;
    return close != '}' || gp_json_key(j, &key);
}

bool gp_json_skip(gp_json *j) {
    char close[LEVELS];
    int depth = 0;
    bool first = false;
    do {
        char c = gp_json_peek(j);
        if (j->failed) return false;
        if (c == '{' || c == '[') {
            if (depth == LEVELS) return gp_json_fail(j, "more than %d levels", LEVELS);
            close[depth++] = c == '{' ? '}' : ']';
            j->at++;
            first = true;
        } else if (!scalar(j, c)) {
            return false;
        }
        while (depth && !gp_json_more(j, close[depth - 1], &first)) {
            if (j->failed) return false;
            depth--, first = false;
        }
        if (depth && !key_of(j, close[depth - 1])) return false;
    } while (depth);
    return true;
}

bool gp_json_done(gp_json *j) {
    gp_json_peek(j);
    if (j->failed || j->at == j->end) return !j->failed;
    unexpected(j, "the end of the file");
    return j->ended = false; /* it does not end too early */
}

/* ---- texts ---- */

static size_t encode_utf8(unsigned c, char *to) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xc0 | c >> 6), to[1] = (char)(0x80 | (c & 63)), 2;
    int n = c < 0x10000 ? 3 : 4;
    for (int i = n - 1; i > 0; i--, c >>= 6) to[i] = (char)(0x80 | (c & 63));
    to[0] = (char)((n == 3 ? 0xe0 : 0xf0) | c);
    return (size_t)n;
}

/* The character of the \u escape at *p, which advances past it, and its second half if it is
 * one of a pair. */
static unsigned unicode(const char **p, const char *end) {
    unsigned c = (unsigned)hex4(*p + 2);
    *p += 6;
    if (c < 0xd800 || c > 0xdfff) return c;
    if (c > 0xdbff || end - *p < 6 || (*p)[0] != '\\' || (*p)[1] != 'u') return 0xfffd;
    unsigned low = (unsigned)hex4(*p + 2);
    if (low < 0xdc00 || low > 0xdfff) return 0xfffd;
    *p += 6;
    return 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00);
}

size_t gp_json_unescape(const gp_json_text *t, char *to) {
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    const char *p = t->p, *end = p + t->n;
    size_t n = 0;
    while (p < end) {
        int length = *p == '\\' ? escape(p) : 1;
        if (length == 1) to[n++] = *p++;
        else if (length == 6) n += encode_utf8(unicode(&p, end), to + n);
        else to[n++] = into[strchr(from, p[1]) - from], p += 2;
    }
    return n;
}

bool gp_json_text_int(const gp_json_text *t, int64_t *value) {
    int64_t v = 0;
    bool negative = t->n && *t->p == '-';
    if (t->n == negative) return false;
    for (size_t i = negative; i < t->n; i++)
        if (!is_digit(t->p[i]) || !push_digit(&v, t->p[i] - '0')) return false;
    *value = negative ? -v : v;
    return true;
}
