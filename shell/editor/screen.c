/* The edited text on the terminal. The line editor draws it without colours and assumes that it
 * knows every cell; so each character is painted again in place. */
#include "shell/editor/screen.h"

#include "shell/editor/grapheme.h"
#include "shell/editor/highlight.h"
#include "tensor/base/env.h"

#include <langinfo.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

locale_t gp_screen_locale(void) {
    locale_t user = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    if (user && strcmp(nl_langinfo_l(CODESET, user), "ANSI_X3.4-1968") != 0) return user;
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8) return user;
    if (user) freelocale(user);
    return utf8;
}

bool gp_screen_colour(void) { return !gp_env_text(GP_ENV_NO_COLOR); }

const char *gp_screen_style(int style) {
    static const char *const codes[GP_STYLES] = {
        [GP_STYLE_PLAIN] = "\033[0m",       [GP_STYLE_KEYWORD] = "\033[0;35m",
        [GP_STYLE_CONSTANT] = "\033[0;36m", [GP_STYLE_NUMBER] = "\033[0;36m",
        [GP_STYLE_STRING] = "\033[0;32m",   [GP_STYLE_COMMENT] = "\033[0;2m",
        [GP_STYLE_COMMAND] = "\033[0;34m",  [GP_STYLE_BRACKET] = "\033[0;1;4m",
        [GP_STYLE_SUGGESTED] = "\033[0;90m"};
    return gp_screen_colour() ? codes[style] : "";
}

/* The character at s: its length in bytes (1 for an invalid one), its width in *w. */
static size_t character(const char *s, int *w) {
    wchar_t c;
    mbstate_t state = {0};
    *w = 1;
    if (*s >= ' ' && *s < 127) return 1;
    size_t n = mbrtowc(&c, s, strlen(s), &state);
    if (n == 0 || n > 8) return 1;
    *w = c < ' ' || c == 127 ? 2 : wcwidth(c); /* the line editor shows ^G */
    if (*w < 0) *w = 0;
    return n;
}

static gp_spot wrap(gp_spot at, int columns) {
    return at.col >= columns ? (gp_spot){at.row + 1, 0} : at;
}

/* The cell of a character of that width when `at` is free. */
static gp_spot wrapped(gp_spot at, int w, int columns) {
    return w > 1 && at.col + w > columns ? (gp_spot){at.row + 1, 0} : at;
}

/* The free cell after the character at s, which is at `at`; *n: its bytes. */
static gp_spot step(gp_spot at, const char *s, int columns, size_t *n) {
    int w;
    *n = 1;
    if (*s == '\n') return (gp_spot){at.row + 1, 0};
    if (*s == '\t') {
        do at = wrap((gp_spot){at.row, at.col + 1}, columns);
        while (at.col & 7);
        return at;
    }
    *n = character(s, &w);
    at = wrapped(at, w, columns);
    return wrap((gp_spot){at.row, at.col + w}, columns);
}

static gp_spot walk(gp_spot at, const char *s, size_t n, int columns) {
    for (size_t i = 0, len; i < n && s[i]; i += len) at = step(at, s + i, columns, &len);
    return at;
}

gp_spot gp_screen_at(const char *prompt, const char *text, size_t pos, int columns) {
    gp_spot at = walk((gp_spot){0, 0}, prompt, strlen(prompt), columns);
    at = walk(at, text, pos, columns);
    int w = 1;
    if (text[pos] && text[pos] != '\n') character(text + pos, &w);
    return wrapped(at, w, columns);
}

int gp_screen_width(const char *text) {
    return walk((gp_spot){0, 0}, text, strlen(text), 1 << 30).col;
}

void gp_screen_size(int *rows, int *columns) {
    struct winsize size;
    bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row;
    *rows = known ? size.ws_row : 24;
    *columns = known ? size.ws_col : 80;
}

int gp_screen_columns(void) {
    int rows, columns;
    gp_screen_size(&rows, &columns);
    return columns;
}

void gp_screen_move(FILE *out, gp_spot from, gp_spot to) {
    if (to.row < from.row) fprintf(out, "\033[%dA", from.row - to.row);
    if (to.row > from.row) fprintf(out, "\033[%dB", to.row - from.row);
    fputc('\r', out);
    if (to.col) fprintf(out, "\033[%dC", to.col);
}

size_t gp_screen_fits(const char *s, int columns) {
    size_t i = 0, len;
    for (int w; (unsigned char)s[i] >= ' ' && s[i] != 127; i += len, columns -= w) {
        len = character(s + i, &w);
        if (w > columns) break;
    }
    return i;
}

/* The width of the character at s, and in *as what to send to the terminal, NULL for itself. */
static int look(const char *s, const char **as) {
    wchar_t c = 0;
    mbstate_t state = {0};
    int w;
    *as = NULL;
    character(s, &w);
    if (*s >= ' ' && *s < 127) return w;
    mbrtowc(&c, s, strnlen(s, 8), &state);
    *as = gp_cluster_shown(c);
    return w;
}

/* Terminals disagree about the width of characters of several code points: such a one gets w empty
 * cells, and the cursor is moved past them, wherever it was left. At the edge the terminal must not
 * continue on the next row. */
static void print_odd(FILE *out, const char *text, gp_spot at, int w) {
    fprintf(out, "\033[?7l%*s", w, "");
    gp_screen_move(out, at, at);
    fprintf(out, "%s\033[?7h", text);
}

/* Paints the cells of text in the rows from..to, starting at `at`, with the pen at its place or, if
 * that is above `from`, in from's first cell. Returns where the pen is afterwards. */
static gp_spot paint_rows(FILE *out, const char *text, const unsigned char *style, gp_spot at,
                          int from, int to, int columns) {
    gp_spot pen = at.row < from ? (gp_spot){from, 0} : at;
    int now = GP_STYLE_PLAIN;
    bool odd = false;
    for (size_t i = 0, len; text[i] && at.row <= to; i += len) {
        const char *as = NULL;
        bool blank = text[i] == '\n' || text[i] == '\t';
        int w = blank ? 0 : look(text + i, &as);
        if (!blank) at = wrapped(at, w, columns);
        gp_spot next = step(at, text + i, columns, &len);
        if (!blank && at.row >= from && at.row <= to) {
            if (pen.row != at.row || pen.col != at.col) gp_screen_move(out, pen, at);
            if (style[i] != now) fputs(gp_screen_style(now = style[i]), out);
            if (as) print_odd(out, as, at, w), odd = true;
            else fwrite(text + i, 1, len, out);
            pen = (gp_spot){at.row, as ? -1 : at.col + w};
        }
        at = next;
    }
    if (now != GP_STYLE_PLAIN) fputs(gp_screen_style(GP_STYLE_PLAIN), out);
    if (odd && at.row == pen.row) gp_screen_move(out, pen, at), fputs("\033[K", out), pen = at;
    return pen;
}

void gp_screen_paint(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                     gp_spot cursor, int columns) {
    gp_spot at = walk((gp_spot){0, 0}, prompt, strlen(prompt), columns);
    if (!*text) return;
    gp_screen_move(out, cursor, at);
    gp_screen_move(out, paint_rows(out, text, style, at, 0, INT_MAX, columns), cursor);
}

void gp_screen_window(FILE *out, const char *prompt, const char *text, const unsigned char *style,
                      gp_spot cursor, int top, int rows, int columns) {
    gp_spot at = walk((gp_spot){0, 0}, prompt, strlen(prompt), columns);
    fputs("\033[H\033[J", out);
    if (top == 0) fputs(prompt, out);
    gp_screen_move(out, paint_rows(out, text, style, at, top, top + rows - 1, columns), cursor);
}
