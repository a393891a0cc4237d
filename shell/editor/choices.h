/* The candidates of a completion: a list of words, each with a line of help. */
#ifndef GP_CHOICES_H
#define GP_CHOICES_H

#include <stddef.h>

typedef struct gp_choice {
    char *text; /* the whole word, which replaces the text from `from` to the cursor */
    char *help; /* or NULL */
} gp_choice;

typedef struct gp_choices {
    size_t from; /* byte offset in the text */
    int n, cap;
    gp_choice *choice;
} gp_choices;

/* How many are listed with help. */
enum { GP_CHOICES_LISTED = 40 };

/* Adds a copy; text with control characters is left out. Without memory the choice is lost. */
void gp_choices_add(gp_choices *c, const char *text);
/* Copies help to choice i, unless it has control characters. */
void gp_choices_explain(gp_choices *c, int i, const char *help);

/* Sorts the choices and removes duplicates. */
void gp_choices_sort(gp_choices *c);

/* The length in bytes of their common prefix. c->n > 0, and they are sorted. */
size_t gp_choices_common(const gp_choices *c);

/* Writes a line for each of the first ones, at most as wide as the terminal; ends with \r\n. */
void gp_choices_print(const gp_choices *c, int columns);

/* Frees the choices and their texts, not c itself. */
void gp_choices_free(gp_choices *c);

#endif
