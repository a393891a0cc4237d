/* The list of words that completion offers. */
#include "shell/editor/choices.h"

#include "shell/editor/highlight.h"
#include "shell/editor/screen.h"
#include "tensor/base/safe_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { GP_CHOICE_SHOWN = 512 }; /* bytes of a choice that are listed */

static int plain(const char *s) {
    for (; *s; s++)
        if ((unsigned char)*s < ' ' || *s == 127) return 0;
    return 1;
}

void gp_choices_add(gp_choices *c, const char *text) {
    if (!plain(text)) return;
    if (c->n == c->cap) {
        int cap = c->cap ? 2 * c->cap : 64;
        gp_choice *more = realloc(c->choice, (size_t)cap * sizeof *more);
        if (!more) return;
        c->choice = more, c->cap = cap;
    }
    c->choice[c->n] = (gp_choice){strdup(text), NULL};
    if (c->choice[c->n].text) c->n++;
}

void gp_choices_explain(gp_choices *c, int i, const char *help) {
    if (plain(help)) c->choice[i].help = strdup(help);
}

static int by_text(const void *a, const void *b) {
    return strcmp(((const gp_choice *)a)->text, ((const gp_choice *)b)->text);
}

void gp_choices_sort(gp_choices *c) {
    int n = 0;
    if (c->n) qsort(c->choice, (size_t)c->n, sizeof *c->choice, by_text);
    for (int i = 0; i < c->n; i++) {
        if (n && !strcmp(c->choice[n - 1].text, c->choice[i].text))
            free(c->choice[i].text), free(c->choice[i].help);
        else c->choice[n++] = c->choice[i];
    }
    c->n = n;
}

size_t gp_choices_common(const gp_choices *c) {
    const char *last = c->choice[c->n - 1].text;
    size_t n = strlen(c->choice[0].text);
    while (strncmp(c->choice[0].text, last, n)) n--;        /* those between share that prefix */
    while (n && (c->choice[0].text[n] & 0xc0) == 0x80) n--; /* whole characters only */
    return n;
}

/* Prints as much of help as fits into that many columns; its width is its length unless it has
 * non-ASCII characters, and then it is cut early. */
static void print_help(const char *help, int width) {
    if (!help || width < 8) return;
    int n = (int)strlen(help);
    if (n > width) n = width;
    while (n && (help[n] & 0xc0) == 0x80) n--;
    printf("%s%.*s%s", gp_screen_style(GP_STYLE_COMMENT), n, help, gp_screen_style(GP_STYLE_PLAIN));
}

void gp_choices_print(const gp_choices *c, int columns) {
    int wide = 0, shown = c->n < GP_CHOICES_LISTED ? c->n : GP_CHOICES_LISTED;
    for (int i = 0; i < shown; i++) {
        char text[GP_CHOICE_SHOWN]; /* names of files contain any byte */
        int w = gp_screen_width(gp_safe_text(c->choice[i].text, text, sizeof text));
        if (w > wide) wide = w;
    }
    for (int i = 0; i < shown; i++) {
        char text[GP_CHOICE_SHOWN];
        gp_safe_text(c->choice[i].text, text, sizeof text);
        printf("  %s%*s", text, wide - gp_screen_width(text) + 2, "");
        print_help(c->choice[i].help, columns - wide - 5);
        fputs("\r\n", stdout);
    }
    if (c->n > shown) printf("  and %d more\r\n", c->n - shown);
}

void gp_choices_free(gp_choices *c) {
    for (int i = 0; i < c->n; i++) free(c->choice[i].text), free(c->choice[i].help);
    free(c->choice);
    *c = (gp_choices){0};
}
