/* Indentation, pasted text and undo for the prompt's editor. */
#include "shell/editor/edit.h"

#include "shell/editor/grapheme.h"
#include "shell/editor/highlight.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

size_t gp_edit_line_start(const char *text, size_t at) {
    while (at && text[at - 1] != '\n') at--;
    return at;
}

size_t gp_edit_line_end(const char *text, size_t at) { return at + strcspn(text + at, "\n"); }

static size_t spaces_at(const char *s, const char *end) {
    size_t n = 0;
    while (s + n < end && s[n] == ' ') n++;
    return n;
}

/* How far the line text[start … end) should be indented. */
static size_t indent_of(const char *text, size_t start, size_t end) {
    int depth = gp_highlight_depth(text, start);
    if (depth && gp_highlight_closes(text + start, end - start)) depth--;
    return (size_t)depth * GP_INDENT;
}

/* The text up to end, with space for `more` bytes after it; its last line is unindented if it
 * closes a block and is indented too far. */
static gp_edit brought_out(const char *text, size_t end, size_t more) {
    size_t start = gp_edit_line_start(text, end), want = indent_of(text, start, end);
    size_t have = spaces_at(text + start, text + end), drop = 0;
    if (have > want && gp_highlight_closes(text + start, end - start)) drop = have - want;
    gp_edit e = {malloc(end + more + 1), end - drop};
    if (!e.text) return e;
    memcpy(e.text, text, start);
    memcpy(e.text + start, text + start + drop, end - start - drop);
    e.text[e.cursor] = 0;
    return e;
}

gp_edit gp_edit_newline(const char *text, size_t cursor) {
    const char *rest = text + cursor;
    size_t depth = (size_t)gp_highlight_depth(text, cursor);
    gp_edit e = brought_out(text, cursor, 1 + depth * GP_INDENT + strlen(rest));
    if (!e.text) return e;
    rest += strspn(rest, " ");
    if (depth && gp_highlight_closes(rest, strcspn(rest, "\n"))) depth--;
    e.text[e.cursor++] = '\n';
    memset(e.text + e.cursor, ' ', depth * GP_INDENT);
    e.cursor += depth * GP_INDENT;
    strcpy(e.text + e.cursor, rest);
    return e;
}

gp_edit gp_edit_finish(const char *text) {
    size_t n = strlen(text);
    gp_edit e = brought_out(text, n, 0);
    if (e.text && e.cursor == n) free(e.text), e.text = NULL;
    return e;
}

gp_edit gp_edit_insert(const char *text, size_t cursor, wchar_t key) {
    mbstate_t state = {0};
    gp_edit e = {malloc(strlen(text) + MB_LEN_MAX + 1), cursor};
    if (!e.text) return e;
    memcpy(e.text, text, cursor);
    size_t n = wcrtomb(e.text + cursor, key, &state);
    e.cursor += n == (size_t)-1 ? 0 : n;
    strcpy(e.text + e.cursor, text + cursor);
    return e;
}

/* ---- Pasted text ---- */

/* Whose prompts a copied session has. */
typedef enum owner { NOBODY, GPUSH, PYTHON, IPYTHON } owner;

/* The length of the owner's prompt at the start of the line at s: of gpush "> " or ">> ", of Python
 * ">>> " or "... ", of IPython "In [1]: " or "   ...: "; the space may be missing at a line's end.
 * *first: it begins a chunk. */
static size_t prompt_at(owner who, const char *s, bool *first) {
    const char *c = s;
    *first = false;
    if (who == IPYTHON) {
        *first = !strncmp(s, "In [", 4);
        c += *first ? 4 + strspn(s + 4, "0123456789") : strspn(s, " ");
        if (strncmp(c, *first ? "]:" : "...:", *first ? 2 : 4)) return 0;
        c += *first ? 2 : 4;
    } else if (who == PYTHON) {
        *first = !strncmp(s, ">>>", 3);
        if (!*first && strncmp(s, "...", 3)) return 0;
        c += 3;
    } else {
        size_t n = strspn(s, ">");
        *first = n == 1;
        if (n == 0 || n > 2) return 0;
        c += n;
    }
    if (*c == ' ') return (size_t)(c + 1 - s);
    return !*c || *c == '\n' ? (size_t)(c - s) : 0;
}

/* Whose first prompt the text begins with. */
static owner session_of(const char *text) {
    bool first;
    for (owner who = GPUSH; who <= IPYTHON; who++)
        if (prompt_at(who, text, &first) && (first || who == GPUSH)) return who;
    return NOBODY;
}

bool gp_edit_is_session(const char *text) { return session_of(text) != NOBODY; }

/* Removes bytes that a terminal would not show, in place. */
static void without_controls(char *pasted) {
    char *to = pasted;
    for (const char *s = pasted; *s; s++) {
        if (*s == '\r' && s[1] == '\n') continue;
        if (*s == '\xc2' && (s[1] & 0xe0) == 0x80) s++; /* control characters in UTF-8 */
        else if (*s == '\r') *to++ = '\n';
        else if ((unsigned char)*s >= ' ' ? *s != 127 : *s == '\n' || *s == '\t') *to++ = *s;
    }
    *to = 0;
    while (to > pasted && to[-1] == '\n') *--to = 0;
}

void gp_edit_clean(char *pasted, bool complete(void *ctx, const char *text), void *ctx) {
    without_controls(pasted);
    owner who = session_of(pasted);
    if (who == NOBODY) return;
    char *to = pasted, *chunk = pasted; /* the text so far; its last chunk begins here */
    bool open = true; /* that chunk continues; otherwise what follows is its output */
    for (const char *s = pasted; *s;) {
        bool first;
        size_t prompt = prompt_at(who, s, &first), n = strcspn(s, "\n");
        if (prompt || open) {
            if (to > pasted) *to++ = '\n';
            if (prompt && first) chunk = to;
            memmove(to, s + prompt, n - prompt);
            to += n - prompt;
        }
        s += n;
        if (*s) s++;
        *to = 0;
        if (prompt || open) open = !complete || !complete(ctx, chunk);
    }
}

/* ---- Characters and columns ---- */

int gp_edit_characters(const char *text, size_t n) {
    int count = 0, width;
    for (size_t i = 0; i < n; i += gp_cluster(text + i, &width)) count++;
    return count;
}

size_t gp_edit_same_column(const char *text, size_t cursor, size_t line) {
    size_t start = gp_edit_line_start(text, cursor), end = gp_edit_line_end(text, line), to = line;
    int width;
    for (int i = gp_edit_characters(text + start, cursor - start); i > 0 && to < end; i--)
        to += gp_cluster(text + to, &width);
    return to;
}

/* ---- A query ---- */

bool gp_edit_query(char query[128], wchar_t key) {
    size_t n = strlen(query);
    if (key == 127 || key == 8) {
        while (n && (query[--n] & 0xc0) == 0x80) continue;
        query[n] = 0;
        return true;
    }
    mbstate_t state = {0};
    if (key < 32 || n + MB_LEN_MAX >= 128) return false;
    if (wcwidth(key) < 1) return true;
    size_t len = wcrtomb(query + n, key, &state);
    query[len == (size_t)-1 ? n : n + len] = 0;
    return true;
}

/* ---- Undo ---- */

enum { DEPTH = 200 };

static struct {
    gp_edit state[DEPTH];
    int n;
    gp_edit now; /* as last recorded */
    bool typing; /* the last change was a character that was typed */
} undo;

/* Whether one more character was typed at the cursor. */
static bool typed_on(const char *text, size_t cursor) {
    size_t was = strlen(undo.now.text), is = strlen(text);
    return is == was + 1 && cursor == undo.now.cursor + 1 &&
           !memcmp(text, undo.now.text, cursor - 1);
}

static bool begins_word(const char *text, size_t cursor) {
    return cursor >= 2 && text[cursor - 2] == ' ' && text[cursor - 1] != ' ';
}

static void push(gp_edit e) {
    if (undo.n == DEPTH) {
        free(undo.state[0].text);
        memmove(undo.state, undo.state + 1, (DEPTH - 1) * sizeof *undo.state);
        undo.n--;
    }
    undo.state[undo.n++] = e;
}

void gp_undo_note(const char *text, size_t cursor) {
    if (undo.now.text && !strcmp(undo.now.text, text)) {
        if (undo.now.cursor != cursor) undo.typing = false;
        undo.now.cursor = cursor;
        return;
    }
    gp_edit e = {strdup(text), cursor};
    if (!e.text) return;
    bool on = undo.now.text && typed_on(text, cursor);
    if (!undo.now.text) undo.n = 0;
    else if (on && undo.typing && !begins_word(text, cursor)) free(undo.now.text);
    else push(undo.now);
    undo.typing = on;
    undo.now = e;
}

gp_edit gp_undo_back(void) {
    gp_edit none = {NULL, 0};
    if (!undo.n) return none;
    gp_edit e = undo.state[--undo.n];
    free(undo.now.text);
    undo.now = (gp_edit){strdup(e.text), e.cursor};
    undo.typing = false;
    return e;
}

void gp_undo_reset(void) {
    while (undo.n) free(undo.state[--undo.n].text);
    free(undo.now.text);
    memset(&undo, 0, sizeof undo);
}
