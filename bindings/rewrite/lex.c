/* The rewrite's scanner: where Lua's tokens start and end. */
#include "bindings/rewrite/tree.h"

#include <stdlib.h>
#include <string.h>

static bool is_alpha(int c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(int c) { return c >= '0' && c <= '9'; }
static bool is_hex(int c) {
    return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}
static bool is_space(int c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool gp_tree_grow(gp_tree *t, void **at, uint32_t n, uint32_t *cap, size_t size) {
    if (n < *cap) return true;
    uint32_t more = *cap ? *cap * 2 : 64;
    void *p = realloc(*at, more * size);
    if (!p) {
        t->bad = t->nomem = true;
        return false;
    }
    *at = p;
    *cap = more;
    return true;
}

static int peek(const gp_tree *t, uint32_t at) {
    return at < t->len ? (unsigned char)t->text[at] : -1;
}

/* The end of a long bracket that opens at byte at ("[", "="*, "["), 0 if none opens there, NONE if
 * it has no end. */
static uint32_t long_bracket(const gp_tree *t, uint32_t at) {
    uint32_t level = 0, p = at + 1;
    while (peek(t, p) == '=') p++, level++;
    if (peek(t, p) != '[') return 0;
    while (++p < t->len) {
        if (t->text[p] != ']') continue;
        uint32_t q = p + 1;
        while (peek(t, q) == '=') q++;
        if (peek(t, q) == ']' && q - p - 1 == level) return q + 1;
        p = q - 1;
    }
    return NONE;
}

/* at: after "--". The end of the comment: a short one ends before its line end; NONE where a long
 * one does not end. */
static uint32_t skip_comment(const gp_tree *t, uint32_t at) {
    if (peek(t, at) == '[') {
        uint32_t end = long_bracket(t, at);
        if (end) return end;
    }
    while (at < t->len && t->text[at] != '\n' && t->text[at] != '\r') at++;
    return at;
}

/* Blanks, line ends and comments. */
static uint32_t skip_blank(const gp_tree *t, uint32_t at) {
    for (;;) {
        while (is_space(peek(t, at))) at++;
        if (peek(t, at) != '-' || peek(t, at + 1) != '-') return at;
        at = skip_comment(t, at + 2);
        if (at == NONE) return NONE;
    }
}

/* at: the opening quote. Returns the byte after the closing one; NONE where there is none. */
static uint32_t string_end(const gp_tree *t, uint32_t at) {
    int quote = t->text[at++];
    for (;;) {
        int c = peek(t, at++);
        if (c == quote) return at;
        if (c < 0 || c == '\n' || c == '\r') return NONE;
        if (c != '\\') continue;
        c = peek(t, at++);
        if (c == 'z') {
            while (is_space(peek(t, at))) at++;
        } else if ((c == '\r' && peek(t, at) == '\n') || (c == '\n' && peek(t, at) == '\r')) {
            at++; /* one line break of two characters */
        }
    }
}

/* As Lua's read_numeral: takes everything that looks like part of a number. */
static uint32_t number_end(const gp_tree *t, uint32_t at) {
    int lower = 'e';
    if (t->text[at] == '0' && (peek(t, at + 1) | 32) == 'x') lower = 'p', at += 2;
    for (;; at++) {
        int c = peek(t, at);
        if (c >= 0 && (c | 32) == lower) {
            int sign = peek(t, at + 1);
            if (sign == '+' || sign == '-') at++;
        } else if (!is_hex(c) && c != '.') {
            break;
        }
    }
    return is_alpha(peek(t, at)) ? NONE : at;
}

static const char keywords[][9] = {"and",   "break", "do",       "else", "elseif", "end",
                                   "false", "for",   "function", "goto", "if",     "in",
                                   "local", "nil",   "not",      "or",   "repeat", "return",
                                   "then",  "true",  "until",    "while"};

static int keyword(const char *s, size_t len) {
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++)
        if (s[0] == keywords[i][0] && strlen(keywords[i]) == len && !memcmp(s, keywords[i], len))
            return TK_AND + (int)i;
    return TK_NAME;
}

static gp_token name(gp_tree *t, uint32_t at) {
    uint32_t end = at;
    while (is_alpha(peek(t, end)) || is_digit(peek(t, end))) end++;
    const char *s = t->text + at;
    if (end - at == 4 && !memcmp(s, "_ENV", 4)) t->env = true;
    int kind = end - at > 8 || s[0] < 'a' ? TK_NAME : keyword(s, end - at);
    return (gp_token){kind, at, end};
}

static gp_token operator(const gp_tree *t, uint32_t at) {
    static const struct {
        char text[3];
        int kind;
    } pairs[] = {{"..", TK_CONCAT}, {"//", TK_IDIV}, {"<<", TK_SHL},
                 {">>", TK_SHR},    {"==", TK_EQ},   {"~=", TK_NE},
                 {"<=", TK_LE},     {">=", TK_GE},   {"::", TK_DBCOLON}};
    int c = peek(t, at), d = peek(t, at + 1);
    if (c == '.' && d == '.' && peek(t, at + 2) == '.') return (gp_token){TK_DOTS, at, at + 3};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (c == pairs[i].text[0] && d == pairs[i].text[1])
            return (gp_token){pairs[i].kind, at, at + 2};
    return (gp_token){strchr("+-*/%^#&~|<>=(){}[];:,.@", c) && c ? c : TK_EOF, at, at + 1};
}

gp_token gp_lex(gp_tree *t, uint32_t at) {
    at = t->bad ? NONE : skip_blank(t, at);
    if (at == t->len) return (gp_token){TK_EOF, at, at};
    gp_token tok = {TK_EOF, t->len, NONE};
    int c = at == NONE ? -1 : peek(t, at);
    if (is_alpha(c)) return name(t, at);
    if (c == '"' || c == '\'') tok = (gp_token){TK_STRING, at, string_end(t, at)};
    else if (is_digit(c) || (c == '.' && is_digit(peek(t, at + 1))))
        tok = (gp_token){TK_NUMBER, at, number_end(t, at)};
    else if (c == '[') {
        tok = (gp_token){TK_STRING, at, long_bracket(t, at)};
        if (!tok.end) tok = (gp_token){'[', at, at + 1};
    } else if (c >= 0) {
        tok = operator(t, at);
        if (tok.kind == TK_EOF) tok.end = NONE;
    }
    if (tok.end != NONE) return tok;
    t->bad = true;
    return (gp_token){TK_EOF, t->len, t->len};
}
