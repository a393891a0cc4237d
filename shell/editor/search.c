/* The search of the history: each key narrows the query, and the text found follows it. */
#include "shell/editor/search.h"

#include "shell/editor/edit.h"
#include "shell/editor/history.h"
#include "shell/editor/render.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What a search has found, best first; at: which of them is shown, -1 for none. */
typedef struct found {
    int *order, n, at;
    bool lost; /* the query is nowhere: what is shown is of a shorter one */
} found;

/* Whether the i-th found has the text of one before it. */
static bool repeats(const found *f, int i) {
    const char *text = gp_history_get(f->order[i]);
    for (int k = 0; k < i; k++)
        if (!strcmp(gp_history_get(f->order[k]), text)) return true;
    return false;
}

/* Goes to the next one found (1), or the one before (-1), where there is one. */
static void step_found(found *f, int step) {
    int i = f->at + step;
    while (i >= 0 && i < f->n && repeats(f, i)) i += step;
    if (i >= 0 && i < f->n) f->at = i;
}

/* Searches again; what is shown stays where nothing has the query. */
static void search_again(found *f, const char *query) {
    int *order, n = gp_history_search(query, &order);
    f->lost = !n && *query;
    if (!n) return;
    free(f->order);
    *f = (found){order, n, 0, false};
}

/* Shows what was found, or text where that is nothing, after a prompt with the query. */
static void show_search(char prompt[200], const char *query, const found *f, const char *text) {
    gp_picture_erase();
    snprintf(prompt, 200, f->lost ? "(not found: %s) " : "(search: %s) ", query);
    gp_picture.prompt = prompt;
    if (f->at >= 0) text = gp_history_get(f->order[f->at]);
    gp_text_set(text, strlen(text));
    gp_picture_redraw();
}

wchar_t gp_search(const char *before, bool read(wchar_t *key)) {
    enum { BACK = 'S' & 31, ON = 'R' & 31, GIVE_UP = 'G' & 31 };
    char query[128] = "", prompt[200];
    found f = {.at = -1};
    wchar_t key = GIVE_UP;
    for (;;) {
        show_search(prompt, query, &f, before);
        if (!read(&key)) break;
        if (key == ON || key == BACK) step_found(&f, key == ON ? 1 : -1);
        else if (gp_edit_query(query, key)) search_again(&f, query);
        else break;
    }
    free(f.order);
    gp_picture_erase(); /* while the prompt is the query */
    return key;
}
