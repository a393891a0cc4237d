/* Reading chunks with libedit on a terminal, plainly elsewhere; only this file, render.c and
 * editrc.c use the line editor. A block is one text with line ends in it. */
#include "shell/editor/line.h"

#include "shell/editor/grapheme.h"
#include "shell/editor/highlight.h"
#include "shell/editor/edit.h"
#include "shell/editor/editrc.h"
#include "shell/editor/history.h"
#include "shell/editor/keys.h"
#include "shell/editor/render.h"
#include "shell/editor/plain.h"
#include "shell/editor/screen.h"
#include "shell/editor/search.h"
#include "shell/shell.h"

#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static struct {
    gp_line_hooks hooks;
    locale_t locale; /* the user's, while a line is edited: Lua keeps "C" */
    gp_line result;
    char *accepted;       /* the chunk that Enter accepted */
    int cancels;          /* consecutive Ctrl-C at an empty prompt */
    int recalled;         /* index in the history of the chunk shown */
    char *prefix, *typed; /* the prefix of those shown; the text before */
    char *shown;
    bool grey;         /* the history is suggested */
    const char *chunk; /* whose rest was shown last, or NULL */
    bool fresh;        /* the prompt was just drawn */
    bool searching;    /* keys go to the query */
} editor;

static unsigned char replace(const char *text, size_t cursor) {
    gp_picture_erase();
    gp_text_set(text, cursor);
    gp_picture_redraw();
    return CC_NORM;
}

/* Takes over e.text. */
static unsigned char replace_edit(gp_edit e) {
    if (!e.text) return CC_NORM;
    replace(e.text, e.cursor);
    free(e.text);
    return CC_NORM;
}

/* ---- Suggestions ---- */

/* Shows the rest of the newest chunk that begins with the text, if the cursor is at its end. */
static bool suggest_rest(void) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    editor.chunk = NULL;
    if (!editor.grey || editor.searching || !cursor || text[cursor]) return false;
    int i = gp_history_find(gp_history_count(), -1, text, cursor, text);
    if (i < 0 || !gp_picture_suggest(gp_history_get(i) + cursor)) return false;
    editor.chunk = gp_history_get(i);
    return true;
}

/* What was shown after the text, which is unchanged, or NULL. */
static const char *shown_rest(void) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    bool same = editor.chunk && !text[cursor] && !strncmp(editor.chunk, text, cursor);
    return same ? editor.chunk + cursor : NULL;
}

/* The length of the first word of text, with what is before it that belongs to none. */
static size_t word(const char *text) {
    size_t n = 0;
    while (text[n] && !gp_highlight_in_word(text[n])) n++;
    while (gp_highlight_in_word(text[n])) n++;
    return n;
}

/* Inserts what is suggested, or its first word; false where nothing is. */
static bool take_rest(bool one_word) {
    const char *rest = shown_rest();
    char *text = rest ? strndup(rest, (one_word ? word : strlen)(rest)) : NULL;
    editor.chunk = NULL;
    if (!text) return false;
    gp_picture_erase();
    gp_text_insert(text);
    gp_picture_redraw();
    free(text);
    return true;
}

/* ---- Keys ---- */

/* Inserts the pasted text at the cursor; it never runs on its own. */
static void paste(void) {
    char *text = gp_key_pasted();
    if (!text) return;
    gp_edit_clean(text, editor.hooks.complete, editor.hooks.ctx);
    gp_picture_erase();
    gp_text_insert(text);
    gp_picture_redraw();
    free(text);
}

/* Handles a key that moves within the text, or deletes, where libedit has no sequences for it: vi's
 * Escape is a key of its own. */
static bool move(wchar_t key) {
    if (key <= GP_KEY_PASTE || editor.searching) return false;
    if ((key == GP_KEY_RIGHT || key == GP_KEY_END) && take_rest(false)) return true;
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    bool more = text[cursor];
    gp_picture_erase();
    if (key == GP_KEY_LEFT && cursor) el_cursor(gp_picture.el, -1);
    if ((key == GP_KEY_RIGHT || key == GP_KEY_DELETE) && more) el_cursor(gp_picture.el, 1);
    if (key == GP_KEY_DELETE && more) el_deletestr(gp_picture.el, 1);
    if (key == GP_KEY_HOME) gp_text_go(gp_edit_line_start(text, cursor));
    if (key == GP_KEY_END) gp_text_go(gp_edit_line_end(text, cursor));
    gp_picture_redraw();
    return true;
}

/* Handles a key that extends the character before it. */
static bool join(wchar_t key) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    if (editor.searching || !gp_cluster_joins(text, cursor, key)) return false;
    replace_edit(gp_edit_insert(text, cursor, key));
    return true;
}

/* Re-encodes the text: a deletion may have joined code points into one character, and a typed
 * control character is not encoded yet. */
static void settle(void) {
    size_t cursor;
    const LineInfoW *line = el_wline(gp_picture.el);
    size_t n = (size_t)(line->lastchar - line->buffer);
    if (!gp_cluster_any(line->buffer, n)) return;
    const char *text = gp_text_get(&cursor);
    wchar_t *points = gp_cluster_encode(text);
    if (points && (wcslen(points) != n || wmemcmp(points, line->buffer, n)))
        replace_edit((gp_edit){strdup(text), cursor});
    free(points);
}

/* libedit's source of characters: 0 at the end of the input, else 1. */
static int on_key(EditLine *el, wchar_t *key) {
    gp_picture_check();
    for (size_t cursor;;) {
        settle();
        const char *text = gp_text_get(&cursor);
        gp_undo_note(text, cursor);
        if (editor.fresh) { /* from here on Ctrl-C is a key: one before it stops no later chunk */
            gp_interrupt_idle();
            fputs(gp_paste_on, stdout), editor.fresh = false;
        }
        gp_picture.painted = false;
        bool idle = !gp_key_pending() && !gp_picture.hold;
        if (idle) gp_picture_paint(true);
        bool grey = idle && suggest_rest();
        gp_picture.hold = false;
        bool got = gp_key_read(key, gp_picture_resize);
        if (grey) gp_picture_unsuggest();
        if (!got) return 0;
        if (*key == GP_KEY_PASTE) paste();
        else if (!move(*key) && !join(*key)) break;
    }
    if (*key > GP_KEY_PASTE) *key = 033; /* ends the search */
    gp_picture_settle();
    return 1;
}

/* ---- Commands ---- */

static unsigned char finish(gp_line result, const char *mark) {
    if (!gp_picture.painted) gp_picture_paint(false);
    editor.result = result;
    if (result == GP_LINE_TEXT) editor.accepted = strdup(gp_text_get(NULL));
    gp_picture_leave(mark);
    return CC_NEWLINE;
}

static unsigned char on_enter(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    if (editor.hooks.complete && !editor.hooks.complete(editor.hooks.ctx, text))
        return replace_edit(gp_edit_newline(text, cursor));
    editor.cancels = 0;
    replace_edit(gp_edit_finish(text));
    return finish(GP_LINE_TEXT, "");
}

static unsigned char on_newline(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    return replace_edit(gp_edit_newline(text, cursor));
}

static unsigned char on_cancel(EditLine *el, int ch) {
    editor.cancels = *gp_text_get(NULL) ? 0 : editor.cancels + 1;
    finish(GP_LINE_CANCEL, "^C");
    if (editor.cancels == 2) fputs("Ctrl-D or os.exit() ends the session.\r\n", stdout);
    return CC_NEWLINE;
}

static unsigned char on_suspend(EditLine *el, int ch) {
    gp_picture_leave("");
    el_set(el, EL_PREP_TERM, 0);
    raise(SIGTSTP);
    el_set(el, EL_PREP_TERM, 1);
    fputs(gp_paste_on, stdout);
    gp_picture_redraw();
    return CC_NORM;
}

static unsigned char on_undo(EditLine *el, int ch) { return replace_edit(gp_undo_back()); }

static unsigned char on_home(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    gp_text_go(gp_edit_line_start(text, cursor));
    return CC_CURSOR;
}

static unsigned char on_end(EditLine *el, int ch) {
    size_t cursor;
    if (take_rest(false)) return CC_NORM;
    const char *text = gp_text_get(&cursor);
    gp_text_go(gp_edit_line_end(text, cursor));
    return CC_CURSOR;
}

static unsigned char on_right(EditLine *el, int ch) {
    if (take_rest(false)) return CC_NORM;
    el_cursor(el, 1);
    return CC_CURSOR;
}

/* To the end of the next word. */
static unsigned char on_word(EditLine *el, int ch) {
    size_t cursor;
    if (take_rest(true)) return CC_NORM;
    const char *text = gp_text_get(&cursor);
    gp_text_go(cursor + word(text + cursor));
    return CC_CURSOR;
}

static void keep(char **where, char *text) {
    free(*where);
    *where = text;
}

/* Shows the next older (-1) or newer chunk with the prefix before the cursor. */
static unsigned char recall(int step) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    if (!editor.shown || strcmp(editor.shown, text)) {
        editor.recalled = gp_history_count();
        keep(&editor.prefix, strndup(text, cursor));
        keep(&editor.typed, strdup(text));
    }
    if (!editor.prefix || !editor.typed) return CC_NORM;
    int i = gp_history_find(editor.recalled, step, editor.prefix, strlen(editor.prefix), text);
    if (i < 0 && (step < 0 || editor.recalled == gp_history_count())) return CC_NORM;
    const char *to = i < 0 ? editor.typed : gp_history_get(i);
    editor.recalled = i < 0 ? gp_history_count() : i;
    keep(&editor.shown, strdup(to));
    return replace(to, strlen(to));
}

static unsigned char to_line(const char *text, size_t cursor, size_t line) {
    gp_text_go(gp_edit_same_column(text, cursor, line));
    return CC_CURSOR;
}

static unsigned char on_up(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    size_t start = gp_edit_line_start(text, cursor);
    return start ? to_line(text, cursor, gp_edit_line_start(text, start - 1)) : recall(-1);
}

static unsigned char on_down(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    size_t end = gp_edit_line_end(text, cursor);
    return text[end] ? to_line(text, cursor, end + 1) : recall(1);
}

/* ---- Completion ---- */

static void choose(const gp_choices *c, size_t cursor) {
    size_t typed = cursor - c->from, n = gp_choices_common(c);
    if (c->n > 1 && n <= typed) {
        bool tall = gp_picture.tall;
        gp_picture_leave("");
        gp_choices_print(c, gp_picture.columns);
        fputs(gp_paste_on, stdout);
        gp_text_go(cursor);
        gp_picture_fill(tall);
        gp_picture.hold = tall;
        gp_picture_redraw();
        return;
    }
    char *add = strndup(c->choice[0].text, n);
    gp_picture_erase();
    el_deletestr(gp_picture.el, gp_edit_characters(gp_text_get(NULL) + c->from, typed));
    if (add) gp_text_insert(add);
    gp_picture_redraw();
    free(add);
}

static unsigned char on_tab(EditLine *el, int ch) {
    size_t cursor;
    const char *text = gp_text_get(&cursor);
    size_t start = gp_edit_line_start(text, cursor);
    gp_choices c = {0};
    if (start + strspn(text + start, " ") >= cursor) {
        el_insertstr(el, &"    "[(cursor - start) % GP_INDENT]);
        return CC_REFRESH;
    }
    if (editor.hooks.suggest) editor.hooks.suggest(editor.hooks.ctx, text, cursor, &c);
    if (c.n) choose(&c, cursor);
    gp_choices_free(&c);
    return CC_NORM;
}

/* ---- Searching the history ---- */

/* A key of the search. */
static bool search_key(wchar_t *key) {
    editor.searching = true;
    int got = on_key(gp_picture.el, key);
    editor.searching = false;
    return got == 1;
}

/* Handles a key of the search: Ctrl-R and Ctrl-S move to the next match and back, Ctrl-G and Ctrl-C
 * restore the old text; any other key goes to the text found. */
static unsigned char on_search(EditLine *el, int ch) {
    enum { GIVE_UP = 'G' & 31, INTERRUPT = 'C' & 31 };
    const char *own_prompt = gp_picture.prompt;
    size_t cursor;
    char *before = strdup(gp_text_get(&cursor));
    if (!before) return CC_NORM;
    wchar_t key = gp_search(before, search_key);
    gp_picture.prompt = own_prompt;
    if (key == GIVE_UP || key == INTERRUPT) gp_text_set(before, cursor);
    else if (key > 0 && key < 128) gp_key_unread((char)key);
    gp_picture_redraw();
    free(before);
    return CC_NORM;
}

/* ---- Opening and reading ---- */

static char *show_prompt(EditLine *el) { return (char *)gp_picture.prompt; }

static const struct {
    const char *name, *help, *keys[5];
    unsigned char (*run)(EditLine *, int);
} commands[] = {
    {"gpush-enter", "Run a complete chunk, else begin a new line", {"^M", "^J"}, on_enter},
    {"gpush-newline", "Begin a new line", {"\\033^M", "\\033^J"}, on_newline},
    {"gpush-cancel", "Forget this text", {"^C"}, on_cancel},
    {"gpush-suspend", "Suspend the program", {"^Z"}, on_suspend},
    {"gpush-undo", "Undo", {"^_", "^X^U"}, on_undo},
    {"gpush-complete", "Complete the word", {"^I"}, on_tab},
    {"gpush-search", "Search the history", {"^R"}, on_search},
    {"gpush-up", "Line above, then older chunks", {"\\034", "^P"}, on_up},
    {"gpush-down", "Line below, then newer chunks", {"\\035", "^N"}, on_down},
    {"gpush-line-start", "Start of the line", {"^A", "\\033[H", "\\033OH", "\\033[1~"}, on_home},
    {"gpush-line-end", "End of the line", {"^E", "\\033[F", "\\033OF", "\\033[4~"}, on_end},
    {"gpush-right", "Next character", {"^F", "\\033[C", "\\033OC"}, on_right},
    {"gpush-word", "Next word", {"\\033f", "\\033F"}, on_word},
};

static void bind_key(const char *key, const char *name) {
    el_set(gp_picture.el, EL_BIND, key, name, NULL);
}

/* The keys of both of libedit's modes; in vi's, escape leads to its commands. The terminal passes
 * Ctrl-C and Ctrl-Z to the editor as keys; while a chunk runs they are signals again. */
static void bind_keys(void) {
    const char *mode = NULL;
    el_set(gp_picture.el, EL_EDITOR, "emacs");
    el_source(gp_picture.el, NULL); /* the user's ~/.editrc */
    el_set(gp_picture.el, EL_SETTY, "-d", "-isig", "-icrnl", "-inlcr", "-ixon", NULL);
    bool vi = !el_get(gp_picture.el, EL_EDITOR, &mode) && mode && !strcmp(mode, "vi");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *name = commands[i].name;
        el_set(gp_picture.el, EL_ADDFN, name, commands[i].help, commands[i].run);
        for (int k = 0; k < 5 && commands[i].keys[k]; k++) {
            const char *key = commands[i].keys[k];
            if (vi && *key == '\\' && key[3] == '3') continue;
            bind_key(key, name);
            if (vi && !key[2]) el_set(gp_picture.el, EL_BIND, "-a", key, name, NULL);
        }
    }
    gp_key_whole(vi);
    gp_editrc_mode(gp_picture.el, vi);
    gp_editrc_again(gp_picture.el);
}

bool gp_line_open(const gp_line_hooks *hooks) {
    if (!gp_keys_usable()) return false;
    if (hooks) editor.hooks = *hooks;
    editor.locale = gp_screen_locale();
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    gp_picture.el = el_init("gpush", stdin, stdout, stderr);
    if (gp_picture.el) {
        el_set(gp_picture.el, EL_PROMPT, show_prompt);
        el_set(gp_picture.el, EL_GETCFN, on_key);
        bind_keys();
        gp_keys_open();
        gp_history_open();
    }
    uselocale(old);
    return gp_picture.el != NULL;
}

/* Handles a key that the user bound to libedit's own end of line, which is in the text. */
static void accept_line(void) {
    editor.result = GP_LINE_TEXT;
    editor.accepted = strdup(gp_text_get(NULL));
    size_t n = editor.accepted ? strlen(editor.accepted) : 0;
    if (n && editor.accepted[n - 1] == '\n') editor.accepted[n - 1] = 0;
}

static gp_line edit(const char *prompt, char **line) {
    int n;
    gp_picture.prompt = prompt;
    editor.chunk = NULL;
    editor.grey = editor.hooks.grey && editor.hooks.grey(editor.hooks.ctx);
    editor.result = GP_LINE_END;
    editor.accepted = NULL;
    keep(&editor.shown, NULL);
    gp_undo_reset();
    gp_cluster_forget();
    gp_picture_measure();
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    /* libedit takes over the keys at its first read, after the prompt: a Ctrl-C typed in between
     * would go to the terminal, which drops the line and shows no new prompt. */
    fflush(stdout);
    el_set(gp_picture.el, EL_PREP_TERM, 1);
    editor.fresh = true;
    if (el_gets(gp_picture.el, &n) && editor.result == GP_LINE_END) accept_line();
    uselocale(old);
    if (editor.result == GP_LINE_END) fputs(gp_paste_off, stdout), fflush(stdout);
    *line = editor.accepted;
    return editor.result == GP_LINE_TEXT && !*line ? GP_LINE_END : editor.result;
}

gp_line gp_line_read(const char *prompt, char **line) {
    return gp_picture.el ? edit(prompt, line) : gp_plain_read(prompt, line);
}

void gp_line_save(const char *chunk) {
    if (gp_picture.el) gp_history_add(chunk);
}

/* Prints as many spaces as a row has: in the first column they fill it, in another they end on the
 * next row. */
void gp_line_fresh(void) {
    if (!gp_picture.el) return;
    printf("%*s\r\033[K", gp_screen_columns(), "");
    fflush(stdout);
}

void gp_line_close(void) {
    if (gp_picture.el) el_end(gp_picture.el);
    if (gp_picture.nowhere) fclose(gp_picture.nowhere);
    if (editor.locale) freelocale(editor.locale);
    keep(&editor.shown, NULL);
    keep(&editor.prefix, NULL);
    keep(&editor.typed, NULL);
    gp_undo_reset();
    gp_cluster_forget();
    gp_history_close();
    memset(&editor, 0, sizeof editor);
}
