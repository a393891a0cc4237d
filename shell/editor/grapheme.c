/* Characters of several code points, and the single code points that replace them in the line
 * editor. utf8proc decides where characters end, by UAX 29; columns are those of the C library, as
 * in libedit and most terminals, and utf8proc's for characters newer than the C library. */
#include "shell/editor/grapheme.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

#include "tensor/base/safe_text.h"

enum {
    LONGEST = 40, /* code points of a character: longer ones do not occur */
    JOINER = 0x200d,
    EMOJI_STYLE = 0xfe0f,
    TOKENS = 4096,
    /* Replacements for characters of one column and of two: printable, of that width, and unlikely
     * in any text; where they do occur, they are replaced as well. */
    NARROW = 0xf0000,
    WIDE = 0x30000
};

static struct {
    char *text[TOKENS];
    int n;
} tokens[2]; /* by width - 1 */

/* ---- Characters ---- */

/* The code point at s, with its length in *n; 0 for an invalid byte. */
static wchar_t point(const char *s, size_t *n) {
    wchar_t c = 0;
    mbstate_t state = {0};
    *n = 1;
    if ((unsigned char)*s < 0x80) return *s;
    *n = mbrtowc(&c, s, strnlen(s, MB_LEN_MAX), &state);
    if (*n - 1 < MB_LEN_MAX) return c;
    *n = 1;
    return 0;
}

static bool control(wchar_t c) { return c < ' ' || (c >= 0x7f && c < 0xa0); }
static int boundclass(wchar_t c) { return utf8proc_get_property(c)->boundclass; }
static bool flag_letter(wchar_t c) {
    return boundclass(c) == UTF8PROC_BOUNDCLASS_REGIONAL_INDICATOR;
}
static bool skin_tone(wchar_t c) { return c >= 0x1f3fb && c <= 0x1f3ff; }

/* Whether c is newer than utf8proc, in the ranges where emoji and ideographs are added. */
static bool future(wchar_t c) {
    return c >= 0x1f000 && c < 0x40000 && utf8proc_category(c) == UTF8PROC_CATEGORY_CN;
}

/* Whether c is a part of emoji, which together have the width of the widest. */
static bool emoji(wchar_t c) {
    return boundclass(c) == UTF8PROC_BOUNDCLASS_EXTENDED_PICTOGRAPHIC || flag_letter(c) ||
           skin_tone(c) || future(c);
}

/* The width of c on its own. */
static int columns(wchar_t c) {
    int w = wcwidth(c);
    if (flag_letter(c) || (w < 0 && future(c))) return 2;
    return w < 0 ? utf8proc_charwidth(c) : w;
}

/* A partly read character: w columns, `count` code points. */
typedef struct reading {
    wchar_t first, last;
    int w, count;
    utf8proc_int32_t state;
} reading;

/* The width of the character with c added. */
static int with(const reading *r, wchar_t c) {
    int w = c == EMOJI_STYLE ? 2 : columns(c);
    if (c != EMOJI_STYLE && !(emoji(r->first) && emoji(c))) w += r->w;
    return w > r->w ? w : r->w;
}

/* Whether c is part of the character. Code points of no width always are, for the editor has no
 * cell for them; one that would make a third column is not, for no replacement has that width. */
static bool joins(reading *r, wchar_t c) {
    if (control(r->first) || control(c) || r->count == LONGEST) return false;
    bool ends = utf8proc_grapheme_break_stateful(r->last, c, &r->state);
    return wcwidth(c) == 0 || (!ends && with(r, c) <= 2);
}

size_t gp_cluster(const char *s, int *width) {
    size_t n, len;
    wchar_t c = point(s, &n);
    int w = control(c) ? 1 : columns(c);
    reading r = {.first = c, .last = c, .w = w > 0 ? w : 1, .count = 1};
    for (; s[n]; n += len) {
        c = point(s + n, &len);
        if (!joins(&r, c)) break;
        r.w = with(&r, c);
        r.last = c;
        r.count++;
    }
    *width = r.w;
    return n;
}

/* ---- Replacements ---- */

static bool stands_for_one(wchar_t c) {
    return (c >= NARROW && c < NARROW + TOKENS) || (c >= WIDE && c < WIDE + TOKENS);
}

/* The replacement for the n bytes at s; 0 where none is left. */
static wchar_t token(const char *s, size_t n, int width) {
    char **text = tokens[width - 1].text;
    int i = 0, have = tokens[width - 1].n;
    while (i < have && (strncmp(text[i], s, n) || text[i][n])) i++;
    if (i == TOKENS) return 0;
    if (i == have) {
        if (!(text[i] = strndup(s, n))) return 0;
        tokens[width - 1].n++;
    }
    return (width > 1 ? WIDE : NARROW) + i;
}

/* Whether the editor shows c, a single code point, at its own width. */
static bool plain(wchar_t c, int width) {
    if (control(c)) return c == '\n' || c == '\t';
    return wcwidth(c) == width && !flag_letter(c) && !stands_for_one(c);
}

wchar_t *gp_cluster_encode(const char *text) {
    wchar_t *out = malloc((strlen(text) + 1) * sizeof *out), *to = out;
    int width;
    for (size_t n, len; out && *text; text += n) {
        wchar_t c = point(text, &len), t = 0;
        n = gp_cluster(text, &width);
        if (n > len || !plain(c, width)) t = token(text, n, width);
        if (!t) t = c ? c : L'?', n = len;
        *to++ = t;
    }
    if (out) *to = 0;
    return out;
}

static const char *text_of(wchar_t c) {
    int w = c >= NARROW ? 0 : 1, i = (int)(c - (w ? WIDE : NARROW));
    return stands_for_one(c) && i < tokens[w].n ? tokens[w].text[i] : NULL;
}

/* Writes the bytes of c, which is not a replacement, to out; returns their number. */
static size_t encode_point(char *out, wchar_t c) {
    mbstate_t state = {0};
    if (c >= 0 && c < 0x80) return *out = (char)c, 1;
    size_t n = wcrtomb(out, c, &state);
    return n == (size_t)-1 ? 0 : n;
}

/* As gp_cluster_decode; the function gives the text of replacements, or reports that c is not
 * one. */
static char *decode(const wchar_t *line, size_t n, size_t *at, const char *(*as)(wchar_t)) {
    size_t bytes = 1, done = 0, column = 0;
    for (size_t i = 0; i < n; i++) {
        const char *text = as(line[i]);
        bytes += text ? strlen(text) : MB_LEN_MAX;
    }
    char *out = malloc(bytes);
    for (size_t i = 0; out && i < n; i++) {
        const char *text = as(line[i]);
        size_t len = text ? strlen(text) : encode_point(out + done, line[i]);
        if (i == *at) column = done;
        if (text) memcpy(out + done, text, len);
        done += len;
    }
    if (*at >= n) column = done;
    if (out) out[done] = 0;
    *at = column;
    return out;
}

static const char *itself(wchar_t c) { return (void)c, NULL; }

char *gp_cluster_decode(const wchar_t *line, size_t n, size_t *at) {
    return decode(line, n, at, text_of);
}

char *gp_cluster_cells(const wchar_t *line, size_t n, size_t *at) {
    return decode(line, n, at, itself);
}

bool gp_cluster_any(const wchar_t *line, size_t n) {
    for (size_t i = 0; i < n; i++)
        if (line[i] < 0x80 && !plain(line[i], 1)) return true;
    return tokens[0].n || tokens[1].n;
}

void gp_cluster_forget(void) {
    for (int w = 0; w < 2; w++)
        while (tokens[w].n) free(tokens[w].text[--tokens[w].n]);
}

/* ---- Typing and showing ---- */

bool gp_cluster_joins(const char *text, size_t at, wchar_t c) {
    size_t from = at, len;
    if (c < 0x80) return false;
    if (!plain(c, wcwidth(c) > 1 ? 2 : 1)) return true;
    while (from && at - from < MB_CUR_MAX && (text[--from] & 0xc0) == 0x80) {
    }
    wchar_t last = from < at ? point(text + from, &len) : 0;
    return last == JOINER || !utf8proc_grapheme_break(last, c);
}

const char *gp_cluster_shown(wchar_t c) {
    const char *text = text_of(c);
    for (size_t i = 0, len; text && text[i]; i += len) {
        wchar_t part = point(text + i, &len);
        if (control(part) || gp_turns_text((unsigned)part)) return "?";
    }
    return text;
}
