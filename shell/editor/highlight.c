/* A scanner of Lua text for the prompt: colours, bracket pairs, nesting. It accepts anything: text
 * that is not Lua gets no colours. */
#include "shell/editor/highlight.h"

#include <ctype.h>
#include <string.h>

bool gp_highlight_in_word(char c) { return isalnum((unsigned char)c) || c == '_' || (c & 0x80); }

static bool is_word(const char *s, size_t n, const char *const *list) {
    for (; *list; list++)
        if (strlen(*list) == n && !memcmp(*list, s, n)) return true;
    return false;
}

/* The length of the long bracket, contents included, that starts at s, 0 if none does. */
static size_t long_bracket(const char *s, size_t n) {
    size_t level = 0;
    if (n < 2 || s[0] != '[') return 0;
    while (level + 1 < n && s[level + 1] == '=') level++;
    if (level + 1 >= n || s[level + 1] != '[') return 0;
    for (size_t i = level + 2; i + level + 1 < n; i++) {
        if (s[i] != ']' || s[i + level + 1] != ']') continue;
        size_t k = 0;
        while (k < level && s[i + 1 + k] == '=') k++;
        if (k == level) return i + level + 2;
    }
    return n;
}

static size_t line_end(const char *s, size_t n) {
    const char *end = memchr(s, '\n', n);
    return end ? (size_t)(end - s) : n;
}

static size_t quoted(const char *s, size_t n) {
    for (size_t i = 1; i < n; i++) {
        if (s[i] == '\\' && i + 1 < n) i++;
        else if (s[i] == s[0]) return i + 1;
        else if (s[i] == '\n') return i;
    }
    return n;
}

static size_t number(const char *s, size_t n) {
    size_t i = 0;
    while (i < n && (isalnum((unsigned char)s[i]) || s[i] == '.' ||
                     ((s[i] == '+' || s[i] == '-') && strchr("eEpP", s[i - 1]))))
        i++;
    return i;
}

static size_t word(const char *s, size_t n, gp_style *style) {
    static const char *const keywords[] = {
        "and", "break", "do",  "else", "elseif", "end",    "for",  "function", "goto",  "if",
        "in",  "local", "not", "or",   "repeat", "return", "then", "until",    "while", NULL};
    static const char *const constants[] = {"nil", "true", "false", NULL};
    size_t i = 0;
    while (i < n && gp_highlight_in_word(s[i])) i++;
    if (is_word(s, i, keywords)) *style = GP_STYLE_KEYWORD;
    else if (is_word(s, i, constants)) *style = GP_STYLE_CONSTANT;
    return i;
}

size_t gp_highlight_token(const char *text, size_t n, gp_style *style) {
    gp_style none;
    size_t len;
    if (!style) style = &none;
    *style = GP_STYLE_PLAIN;
    if (n >= 2 && text[0] == '-' && text[1] == '-') {
        *style = GP_STYLE_COMMENT;
        len = long_bracket(text + 2, n - 2);
        return len ? len + 2 : line_end(text, n);
    }
    if ((len = long_bracket(text, n)) || (*text == '"' || *text == '\'')) {
        *style = GP_STYLE_STRING;
        return len ? len : quoted(text, n);
    }
    if (isdigit((unsigned char)*text) ||
        (*text == '.' && n > 1 && isdigit((unsigned char)text[1]))) {
        *style = GP_STYLE_NUMBER;
        return number(text, n);
    }
    if (gp_highlight_in_word(*text)) return word(text, n, style);
    return 1;
}

/* Whether the prompt handles it before Lua sees it. */
static bool is_command(const char *s, size_t n) {
    if (!n) return false;
    return strchr("?!%", *s) || (*s == ':' && !(n > 1 && s[1] == ':'));
}

void gp_highlight(const char *text, size_t n, unsigned char *style) {
    size_t i = 0;
    if (is_command(text, n)) {
        while (i < n && !isspace((unsigned char)text[i])) style[i++] = GP_STYLE_COMMAND;
        if (*text == '!') memset(style + i, GP_STYLE_PLAIN, n - i), i = n;
    }
    while (i < n) {
        gp_style s;
        size_t len = gp_highlight_token(text + i, n - i, &s);
        memset(style + i, s, len);
        i += len;
    }
}

/* +1 for an opening bracket, -1 for a closing one, else 0. */
static int bracket(char c) {
    if (c == '(' || c == '[' || c == '{') return 1;
    return c == ')' || c == ']' || c == '}' ? -1 : 0;
}

bool gp_highlight_pair(const char *text, size_t n, const unsigned char *style, size_t cursor,
                       size_t pair[2]) {
    size_t at = cursor;
    if (at >= n || style[at] != GP_STYLE_PLAIN || !bracket(text[at])) {
        if (at == 0 || at > n) return false;
        at--;
        if (style[at] != GP_STYLE_PLAIN || !bracket(text[at])) return false;
    }
    int step = bracket(text[at]), depth = 0;
    for (size_t i = at; i < n; i += (size_t)step) { /* an index below 0 wraps to a large number */
        if (style[i] != GP_STYLE_PLAIN) continue;
        depth += bracket(text[i]);
        if (depth) continue;
        pair[0] = at, pair[1] = i;
        return true;
    }
    return false;
}

/* The effect of a token on the nesting. `if` opens at its `then`; `elseif` cancels that. */
static int nesting(const char *s, size_t n, gp_style style) {
    static const char *const opens[] = {"do", "then", "repeat", "function", NULL};
    static const char *const shuts[] = {"end", "until", "elseif", NULL};
    if (style == GP_STYLE_PLAIN) return bracket(*s);
    if (style != GP_STYLE_KEYWORD) return 0;
    return is_word(s, n, opens) ? 1 : is_word(s, n, shuts) ? -1 : 0;
}

int gp_highlight_depth(const char *text, size_t n) {
    int depth = 0;
    for (size_t i = 0, len; i < n; i += len) {
        gp_style style;
        len = gp_highlight_token(text + i, n - i, &style);
        depth += nesting(text + i, len, style);
        if (depth < 0) depth = 0;
    }
    return depth;
}

bool gp_highlight_closes(const char *line, size_t n) {
    static const char *const words[] = {"end", "until", "else", "elseif", NULL};
    gp_style style;
    while (n && isspace((unsigned char)*line)) line++, n--;
    if (!n) return false;
    size_t len = gp_highlight_token(line, n, &style);
    return style == GP_STYLE_KEYWORD ? is_word(line, len, words)
                                     : style == GP_STYLE_PLAIN && bracket(*line) < 0;
}
