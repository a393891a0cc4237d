/* Reading chunks with libedit on a terminal, plainly elsewhere; this file and editrc.c alone know the
 * line editor. A block is one text with line ends in it; colours are painted over what libedit draws. */
#include "shell/line.h"

#include "shell/cluster.h"
#include "shell/edit.h"
#include "shell/editrc.h"
#include "shell/highlight.h"
#include "shell/history.h"
#include "shell/keys.h"
#include "shell/plain.h"
#include "shell/screen.h"

#include <histedit.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

static struct {
    EditLine *el;
    gp_line_hooks hooks;
    locale_t locale; /* the user's, while a line is edited: Lua keeps "C" */
    const char *prompt;
    gp_line result;
    char *accepted;       /* the chunk, when Enter took it */
    int cancels;          /* Ctrl-C at an empty prompt, one after the other */
    int rows, columns;    /* of the terminal */
    int recalled;         /* index of the chunk of the history that is shown */
    char *prefix, *typed; /* what those shown start with; what stood there before */
    char *shown;
    bool fresh;           /* the prompt was just drawn */
    bool painted;         /* in its colours, with no bracket marked */
    bool searching;       /* keys are the query's */
} editor;

/* ---- The text ---- */

/* The line editor's text by one of cluster.h's readers into *text, and the cursor's place in it, in bytes. */
static const char *get(char **text, size_t *cursor,
                       char *read(const wchar_t *line, size_t n, size_t *at)) {
    const LineInfoW *line = el_wline(editor.el);
    size_t at = (size_t)(line->cursor - line->buffer);
    free(*text);
    *text = read(line->buffer, (size_t)(line->lastchar - line->buffer), &at);
    if (cursor) *cursor = *text ? at : 0;
    return *text ? *text : "";
}

/* The text, until the next call. */
static const char *get_text(size_t *cursor) {
    static char *text;
    return get(&text, cursor, gp_cluster_decode);
}

/* The same as the line editor has it, a code point for each character: what is where on the screen. */
static const char *get_cells(size_t *cursor) {
    static char *text;
    return get(&text, cursor, gp_cluster_cells);
}

static void insert(const char *text) {
    wchar_t *points = gp_cluster_encode(text);
    if (points && *points) el_winsertstr(editor.el, points);
    free(points);
}

static void set_cursor(size_t to) {
    size_t now;
    const char *text = get_text(&now);
    el_cursor(editor.el, gp_edit_characters(text, to) - gp_edit_characters(text, now));
}

static void set_text(const char *text, size_t cursor) {
    const LineInfoW *line = el_wline(editor.el);
    el_cursor(editor.el, (int)(line->lastchar - line->cursor));
    line = el_wline(editor.el);
    el_deletestr(editor.el, (int)(line->lastchar - line->buffer));
    insert(text);
    set_cursor(cursor);
}

/* ---- The picture ---- */

static void measure(void) { gp_screen_size(&editor.rows, &editor.columns); }

/* The row and column of text[pos] on the screen, where rows that do not fit have gone. */
static gp_spot cell_of(const char *text, size_t pos) {
    gp_spot at = gp_screen_at(editor.prompt, text, pos, editor.columns);
    int last = gp_screen_at(editor.prompt, text, strlen(text), editor.columns).row;
    if (last >= editor.rows) at.row -= last - editor.rows + 1;
    if (at.row < 0) at.row = 0;
    return at;
}

static void paint(bool pair_too) {
    size_t cursor, pair[2];
    const char *text = get_cells(&cursor);
    size_t n = strlen(text);
    unsigned char *style = malloc(n + 1);
    if (!style) return;
    gp_highlight(text, n, style);
    editor.painted = !(pair_too && gp_highlight_pair(text, n, style, cursor, pair));
    if (!editor.painted) style[pair[0]] = style[pair[1]] = GP_STYLE_BRACKET;
    gp_screen_paint(stdout, editor.prompt, text, style, cell_of(text, cursor), editor.rows,
                    editor.columns);
    free(style);
    fflush(stdout);
}

/* Clears the picture and puts the terminal's cursor where it began; redraw() follows. */
static void erase(void) {
    size_t cursor;
    const char *text = get_cells(&cursor);
    gp_screen_move(stdout, cell_of(text, cursor), (gp_spot){0, 0});
    fputs("\033[J", stdout);
}

static void redraw(void) {
    el_set(editor.el, EL_REFRESH);
    editor.painted = false;
}

/* The terminal's cursor goes to the line below the text. */
static void leave(const char *mark) {
    size_t cursor;
    const char *text = get_cells(&cursor);
    gp_screen_move(stdout, cell_of(text, cursor), cell_of(text, strlen(text)));
    printf("%s%s\r\n", mark, gp_paste_off);
    fflush(stdout);
}

static unsigned char replace(const char *text, size_t cursor) {
    erase();
    set_text(text, cursor);
    redraw();
    return CC_NORM;
}

/* Takes over e.text. */
static unsigned char replace_edit(gp_edit e) {
    if (!e.text) return CC_NORM;
    replace(e.text, e.cursor);
    free(e.text);
    return CC_NORM;
}

/* ---- Keys ---- */

static void on_resize(void) {
    measure();
    erase();
    el_resize(editor.el);
    redraw();
    paint(true);
}

/* What is pasted goes to the cursor; it never runs by itself. */
static void paste(void) {
    char *text = gp_key_pasted();
    if (!text) return;
    gp_edit_clean(text);
    erase();
    insert(text);
    redraw();
    free(text);
}

/* A key that goes on with the character before it. */
static bool join(wchar_t key) {
    size_t cursor;
    const char *text = get_text(&cursor);
    if (editor.searching || !gp_cluster_joins(text, cursor, key)) return false;
    replace_edit(gp_edit_insert(text, cursor, key));
    return true;
}

/* What a deletion brought together may be one character now. */
static void settle(void) {
    size_t cursor;
    if (!gp_cluster_any()) return;
    const char *text = get_text(&cursor);
    const LineInfoW *line = el_wline(editor.el);
    wchar_t *points = gp_cluster_encode(text);
    size_t n = (size_t)(line->lastchar - line->buffer);
    if (points && (wcslen(points) != n || wmemcmp(points, line->buffer, n)))
        replace_edit((gp_edit){strdup(text), cursor});
    free(points);
}

/* libedit's source of characters: 0 at the end of the input, else 1. */
static int on_key(EditLine *el, wchar_t *key) {
    for (size_t cursor;;) {
        settle();
        const char *text = get_text(&cursor);
        gp_undo_note(text, cursor);
        if (editor.fresh) fputs(gp_paste_on, stdout), editor.fresh = false;
        editor.painted = false;
        if (!gp_key_pending()) paint(true);
        if (!gp_key_read(key, on_resize)) return 0;
        if (*key == GP_KEY_PASTE) paste();
        else if (!join(*key)) return 1;
    }
}

/* ---- Commands ---- */

static unsigned char finish(gp_line result, const char *mark) {
    if (!editor.painted) paint(false);
    editor.result = result;
    if (result == GP_LINE_TEXT) editor.accepted = strdup(get_text(NULL));
    leave(mark);
    return CC_NEWLINE;
}

static unsigned char on_enter(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    if (editor.hooks.complete && !editor.hooks.complete(editor.hooks.ctx, text))
        return replace_edit(gp_edit_newline(text, cursor));
    editor.cancels = 0;
    replace_edit(gp_edit_finish(text));
    return finish(GP_LINE_TEXT, "");
}

static unsigned char on_newline(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    return replace_edit(gp_edit_newline(text, cursor));
}

static unsigned char on_cancel(EditLine *el, int ch) {
    editor.cancels = *get_text(NULL) ? 0 : editor.cancels + 1;
    finish(GP_LINE_CANCEL, "^C");
    if (editor.cancels == 2) fputs("Ctrl-D or os.exit() ends the session.\r\n", stdout);
    return CC_NEWLINE;
}

static unsigned char on_suspend(EditLine *el, int ch) {
    leave("");
    el_set(el, EL_PREP_TERM, 0);
    raise(SIGTSTP);
    el_set(el, EL_PREP_TERM, 1);
    fputs(gp_paste_on, stdout);
    redraw();
    return CC_NORM;
}

static unsigned char on_undo(EditLine *el, int ch) { return replace_edit(gp_undo_back()); }

static unsigned char on_home(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    set_cursor(gp_edit_line_start(text, cursor));
    return CC_CURSOR;
}

static unsigned char on_end(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    set_cursor(gp_edit_line_end(text, cursor));
    return CC_CURSOR;
}

static void keep(char **where, char *text) {
    free(*where);
    *where = text;
}

/* The next older (-1) or newer chunk that starts as what stood before the cursor. */
static unsigned char recall(int step) {
    size_t cursor;
    const char *text = get_text(&cursor);
    if (!editor.shown || strcmp(editor.shown, text)) {
        editor.recalled = gp_history_count();
        keep(&editor.prefix, strndup(text, cursor));
        keep(&editor.typed, strdup(text));
    }
    if (!editor.prefix || !editor.typed) return CC_NORM;
    int i = gp_history_find(editor.recalled, step, editor.prefix, (int)strlen(editor.prefix), false,
                            text);
    if (i < 0 && (step < 0 || editor.recalled == gp_history_count())) return CC_NORM;
    const char *to = i < 0 ? editor.typed : gp_history_get(i);
    editor.recalled = i < 0 ? gp_history_count() : i;
    keep(&editor.shown, strdup(to));
    return replace(to, strlen(to));
}

static unsigned char to_line(const char *text, size_t cursor, size_t line) {
    set_cursor(gp_edit_same_column(text, cursor, line));
    return CC_CURSOR;
}

static unsigned char on_up(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    size_t start = gp_edit_line_start(text, cursor);
    return start ? to_line(text, cursor, gp_edit_line_start(text, start - 1)) : recall(-1);
}

static unsigned char on_down(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
    size_t end = gp_edit_line_end(text, cursor);
    return text[end] ? to_line(text, cursor, end + 1) : recall(1);
}

/* ---- Completion ---- */

static void choose(const gp_choices *c, size_t cursor) {
    size_t typed = cursor - c->from, n = gp_choices_common(c);
    if (c->n > 1 && n <= typed) {
        leave("");
        gp_choices_print(c, editor.columns);
        fputs(gp_paste_on, stdout);
        redraw();
        return;
    }
    char *add = strndup(c->choice[0].text, n);
    erase();
    el_deletestr(editor.el, gp_edit_characters(get_text(NULL) + c->from, typed));
    if (add) insert(add);
    redraw();
    free(add);
}

static unsigned char on_tab(EditLine *el, int ch) {
    size_t cursor;
    const char *text = get_text(&cursor);
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

/* Shows chunk i of the history, or text where i is none, behind a prompt with what is searched. */
static void show_search(char prompt[200], const char *query, int i, const char *text) {
    erase();
    snprintf(prompt, 200, "(search: %s) ", query);
    editor.prompt = prompt;
    if (i >= 0 && i < gp_history_count()) text = gp_history_get(i);
    set_text(text, strlen(text));
    redraw();
}

/* Ctrl-R and Ctrl-S go on to the older and newer ones that have the query, Ctrl-G and Ctrl-C give
 * back what stood there; any other key is the found text's. */
static unsigned char on_search(EditLine *el, int ch) {
    enum { NEWER = 'S' & 31, OLDER = 'R' & 31, GIVE_UP = 'G' & 31, INTERRUPT = 'C' & 31 };
    char query[128] = "", prompt[200];
    const char *own_prompt = editor.prompt;
    size_t cursor;
    char *before = strdup(get_text(&cursor));
    int at = gp_history_count();
    wchar_t key = GIVE_UP;
    while (before) {
        show_search(prompt, query, at, before);
        editor.searching = true;
        int got = on_key(el, &key);
        editor.searching = false;
        if (got != 1) break;
        bool step = key == OLDER || key == NEWER;
        if (!step && !gp_edit_query(query, key)) break;
        int from = step ? at : gp_history_count();
        int found = *query ? gp_history_find(from, key == NEWER ? 1 : -1, query, 0, true, NULL) : -1;
        if (found >= 0) at = found;
    }
    erase();
    editor.prompt = own_prompt;
    if (before && (key == GIVE_UP || key == INTERRUPT)) set_text(before, cursor);
    else if (key > 0 && key < 128) gp_key_unread((char)key);
    redraw();
    free(before);
    return CC_NORM;
}

/* ---- Opening and reading ---- */

static char *show_prompt(EditLine *el) { return (char *)editor.prompt; }

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
};

static void bind_key(const char *key, const char *name) {
    el_set(editor.el, EL_BIND, key, name, NULL);
}

/* The keys of both of libedit's modes; in vi's, escape is the way to its commands. The terminal gives
 * Ctrl-C and Ctrl-Z to the editor as keys; while a chunk runs they are signals again. */
static void bind_keys(void) {
    const char *mode = NULL;
    el_set(editor.el, EL_EDITOR, "emacs");
    el_source(editor.el, NULL); /* the user's ~/.editrc */
    el_set(editor.el, EL_SETTY, "-d", "-isig", "-icrnl", "-inlcr", "-ixon", NULL);
    bool vi = !el_get(editor.el, EL_EDITOR, &mode) && mode && !strcmp(mode, "vi");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        const char *name = commands[i].name;
        el_set(editor.el, EL_ADDFN, name, commands[i].help, commands[i].run);
        for (int k = 0; k < 5 && commands[i].keys[k]; k++) {
            const char *key = commands[i].keys[k];
            if (vi && *key == '\\' && key[3] == '3') continue;
            bind_key(key, name);
            if (vi && !key[2]) el_set(editor.el, EL_BIND, "-a", key, name, NULL);
        }
    }
    if (vi) {
        static const char *const also[][2] = {{"u", "gpush-undo"}, {"k", "gpush-up"},
            {"j", "gpush-down"}, {"\\034", "gpush-up"}, {"\\035", "gpush-down"}};
        for (size_t i = 0; i < sizeof also / sizeof *also; i++)
            el_set(editor.el, EL_BIND, "-a", also[i][0], also[i][1], NULL);
    } else {
        bind_key("\\033[3~", "ed-delete-next-char");
        bind_key("\\033[1;5C", "em-next-word");
        bind_key("\\033[1;5D", "ed-prev-word");
    }
    gp_editrc_again(editor.el);
}

bool gp_line_open(const gp_line_hooks *hooks) {
    if (!gp_keys_usable()) return false;
    if (hooks) editor.hooks = *hooks;
    editor.locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    editor.el = el_init("gpush", stdin, stdout, stderr);
    if (editor.el) {
        el_set(editor.el, EL_PROMPT, show_prompt);
        el_set(editor.el, EL_GETCFN, on_key);
        bind_keys();
        gp_keys_open();
        gp_history_open();
    }
    uselocale(old);
    return editor.el != NULL;
}

static gp_line edit(const char *prompt, char **line) {
    int n;
    editor.prompt = prompt;
    editor.result = GP_LINE_END;
    editor.accepted = NULL;
    keep(&editor.shown, NULL);
    gp_undo_reset();
    gp_cluster_forget();
    measure();
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    /* libedit takes the keys over at its first read, after the prompt: a Ctrl-C typed in between
     * would be the terminal's, which drops the line and shows no new prompt. */
    fflush(stdout);
    el_set(editor.el, EL_PREP_TERM, 1);
    editor.fresh = true;
    el_gets(editor.el, &n);
    uselocale(old);
    if (editor.result == GP_LINE_END) fputs(gp_paste_off, stdout), fflush(stdout);
    *line = editor.accepted;
    return editor.result == GP_LINE_TEXT && !*line ? GP_LINE_END : editor.result;
}

gp_line gp_line_read(const char *prompt, char **line) {
    return editor.el ? edit(prompt, line) : gp_plain_read(prompt, line);
}

void gp_line_save(const char *chunk) {
    if (editor.el) gp_history_add(chunk);
}

void gp_line_close(void) {
    if (editor.el) el_end(editor.el);
    if (editor.locale) freelocale(editor.locale);
    keep(&editor.shown, NULL);
    keep(&editor.prefix, NULL);
    keep(&editor.typed, NULL);
    gp_undo_reset();
    gp_cluster_forget();
    gp_history_close();
    memset(&editor, 0, sizeof editor);
}
