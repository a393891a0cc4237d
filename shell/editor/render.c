/* The edited text, as libedit has it, and its rendering on the terminal: see render.h. */
#include "shell/editor/render.h"

#include "shell/editor/grapheme.h"
#include "shell/editor/edit.h"
#include "shell/editor/highlight.h"
#include "shell/editor/keys.h"
#include "shell/editor/screen.h"

#include <histedit.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>

struct gp_picture gp_picture;

/* ---- The text ---- */

/* Reads the line editor's text by one of grapheme.h's readers into *text, and the cursor's offset
 * in it, in bytes. */
static const char *get(char **text, size_t *cursor,
                       char *read(const wchar_t *line, size_t n, size_t *at)) {
    const LineInfoW *line = el_wline(gp_picture.el);
    size_t at = (size_t)(line->cursor - line->buffer);
    free(*text);
    *text = read(line->buffer, (size_t)(line->lastchar - line->buffer), &at);
    if (cursor) *cursor = *text ? at : 0;
    return *text ? *text : "";
}

/* The text, valid until the next call. */
const char *gp_text_get(size_t *cursor) {
    static char *text;
    return get(&text, cursor, gp_cluster_decode);
}

/* The same with the line editor's code points, one for each character: the cells on the screen. */
static const char *get_cells(size_t *cursor) {
    static char *text;
    return get(&text, cursor, gp_cluster_cells);
}

void gp_text_insert(const char *text) {
    wchar_t *points = gp_cluster_encode(text);
    if (points && *points) el_winsertstr(gp_picture.el, points);
    free(points);
}

void gp_text_go(size_t to) {
    size_t now;
    const char *text = gp_text_get(&now);
    el_cursor(gp_picture.el, gp_edit_characters(text, to) - gp_edit_characters(text, now));
}

void gp_text_set(const char *text, size_t cursor) {
    const LineInfoW *line = el_wline(gp_picture.el);
    el_cursor(gp_picture.el, (int)(line->lastchar - line->cursor));
    line = el_wline(gp_picture.el);
    el_deletestr(gp_picture.el, (int)(line->lastchar - line->buffer));
    gp_text_insert(text);
    gp_text_go(cursor);
}

/* ---- Rendering ---- */

/* The row of text[pos], on a terminal of unlimited height. */
static int row_at(const char *text, size_t pos) {
    return gp_screen_at(gp_picture.prompt, text, pos, gp_picture.columns).row;
}

/* Measures the terminal: libedit takes the number of rows from it at the start of each text. */
void gp_picture_measure(void) {
    gp_screen_size(&gp_picture.rows, &gp_picture.columns);
    gp_picture.told = gp_picture.rows;
}

/* The row and column of text[pos] on the screen, where the rows that do not fit have scrolled
 * away. */
static gp_spot cell_of(const char *text, size_t pos) {
    gp_spot at = gp_screen_at(gp_picture.prompt, text, pos, gp_picture.columns);
    int last = row_at(text, strlen(text));
    if (last >= gp_picture.rows) at.row -= last - gp_picture.rows + 1;
    if (at.row < 0) at.row = 0;
    return at;
}

/* Switches between our own drawing of a part of the text and libedit's. */
void gp_picture_fill(bool tall) {
    if (!gp_picture.nowhere) gp_picture.nowhere = fopen("/dev/null", "we");
    if (!gp_picture.nowhere || tall == gp_picture.tall) return;
    gp_picture.tall = tall;
    gp_picture.top = 0;
    el_set(gp_picture.el, EL_SETFP, 1, tall ? gp_picture.nowhere : stdout);
}

/* Draws the rows around the cursor's, which moves within them as far as it can. */
static void paint_window(const char *text, const unsigned char *style, size_t cursor) {
    gp_spot at = gp_screen_at(gp_picture.prompt, text, cursor, gp_picture.columns);
    int end = row_at(text, strlen(text));
    if (gp_picture.top > end - gp_picture.rows + 1) gp_picture.top = end - gp_picture.rows + 1;
    if (gp_picture.top < at.row - gp_picture.rows + 1)
        gp_picture.top = at.row - gp_picture.rows + 1;
    if (gp_picture.top > at.row) gp_picture.top = at.row;
    gp_screen_window(stdout, gp_picture.prompt, text, style, at, gp_picture.top, gp_picture.rows,
                     gp_picture.columns);
}

/* Redraws on a terminal that we had filled, once the text has fewer rows again. */
static void settle_height(const char *text) {
    bool was = gp_picture.tall;
    gp_picture_fill(row_at(text, strlen(text)) >= gp_picture.rows);
    if (!was || gp_picture.tall) return;
    fputs("\033[H\033[J", stdout);
    el_set(gp_picture.el, EL_REFRESH);
}

/* When a letter overwrites the last one of a full row, libedit moves to the row after the text's
 * end, without checking that it has one: this adds rows. */
static void add_rows(int end) {
    char rows[16];
    gp_picture_erase();
    gp_picture.told = end + 3;
    snprintf(rows, sizeof rows, "%d", gp_picture.told);
    el_set(gp_picture.el, EL_SETTC, "li", rows, NULL);
    gp_picture_redraw();
}

/* Called before libedit gets a key. libedit does not track its cursor past the terminal's rows, and
 * would write a letter typed there outside its screen buffer: for a tall text it recomputes
 * everything. */
void gp_picture_settle(void) {
    size_t cursor;
    const char *text = get_cells(&cursor);
    const LineInfoW *line = el_wline(gp_picture.el);
    settle_height(text);
    int end = row_at(text, strlen(text));
    gp_picture.overhangs = line->lastchar - line->cursor == 1 && row_at(text, cursor) < end;
    if (gp_picture.overhangs && end + 1 == gp_picture.told) add_rows(end);
    if (gp_picture.tall) el_set(gp_picture.el, EL_REFRESH);
}

/* Called after the key. Such a letter made it count one row too many, and vi's $ in an empty text
 * left the cursor before it. */
void gp_picture_check(void) {
    const LineInfoW *line = el_wline(gp_picture.el);
    if (line->cursor < line->buffer) el_cursor(gp_picture.el, 1);
    if (!gp_picture.overhangs) return;
    gp_picture.overhangs = false;
    gp_picture_erase();
    gp_picture_redraw();
}

void gp_picture_paint(bool pair_too) {
    size_t cursor, pair[2];
    settle_height(get_cells(NULL));
    const char *text = get_cells(&cursor);
    size_t n = strlen(text);
    unsigned char *style = malloc(n + 1);
    if (!style) return;
    gp_highlight(text, n, style);
    gp_picture.painted = !(pair_too && gp_highlight_pair(text, n, style, cursor, pair));
    if (!gp_picture.painted) style[pair[0]] = style[pair[1]] = GP_STYLE_BRACKET;
    if (gp_picture.tall) paint_window(text, style, cursor);
    else
        gp_screen_paint(stdout, gp_picture.prompt, text, style, cell_of(text, cursor),
                        gp_picture.columns);
    free(style);
    fflush(stdout);
}

/* In the rest of the cursor's row, of which libedit assumes that it is empty. */
bool gp_picture_suggest(const char *rest) {
    size_t cursor;
    const char *text = get_cells(&cursor);
    if (gp_picture.tall || !gp_screen_colour()) return false;
    int free = gp_picture.columns - cell_of(text, cursor).col - 2; /* one for the dots */
    size_t n = free > 0 ? gp_screen_fits(rest, free) : 0;
    if (!n) return false;
    printf("\0337\033[?7l%s%.*s%s%s\033[?7h\0338", gp_screen_style(GP_STYLE_SUGGESTED), (int)n,
           rest, rest[n] ? "…" : "", gp_screen_style(GP_STYLE_PLAIN));
    fflush(stdout);
    return true;
}

void gp_picture_unsuggest(void) { fputs("\033[K", stdout); }

/* Clears the text and moves the terminal's cursor to its start; gp_picture_redraw() follows. */
void gp_picture_erase(void) {
    size_t cursor;
    if (gp_picture.tall) return;
    const char *text = get_cells(&cursor);
    gp_screen_move(stdout, cell_of(text, cursor), (gp_spot){0, 0});
    fputs("\033[J", stdout);
}

void gp_picture_redraw(void) {
    el_set(gp_picture.el, EL_REFRESH);
    gp_picture.painted = false;
}

/* Moves the terminal's cursor to the line below the text. */
void gp_picture_leave(const char *mark) {
    size_t cursor;
    gp_picture.overhangs = false;
    const char *text = get_cells(&cursor);
    if (gp_picture.tall) { /* its last rows stay */
        const LineInfoW *line = el_wline(gp_picture.el);
        el_cursor(gp_picture.el, (int)(line->lastchar - line->cursor));
        gp_picture_paint(false);
        gp_picture_fill(false);
    } else {
        gp_screen_move(stdout, cell_of(text, cursor), cell_of(text, strlen(text)));
    }
    printf("%s%s\r\n", mark, gp_paste_off);
    fflush(stdout);
}

void gp_picture_resize(void) {
    gp_picture_measure();
    if (gp_picture.tall) fputs("\033[H\033[J", stdout);
    else gp_picture_erase();
    gp_picture_fill(false);
    el_resize(gp_picture.el);
    gp_picture_redraw();
    gp_picture_paint(true);
}
