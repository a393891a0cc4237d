/* What may stand at the cursor: a list of words, each with a line of help. */
#ifndef GP_CHOICES_H
#define GP_CHOICES_H

#include <stddef.h>

typedef struct gp_choice {
    char *text; /* the whole word, to replace what stands from `from` to the cursor */
    char *help; /* or NULL */
} gp_choice;

typedef struct gp_choices {
    size_t from; /* byte offset in the text */
    int n, cap;
    gp_choice *choice;
} gp_choices;

/* How many are listed, with help. */
enum { GP_CHOICES_LISTED = 40 };

/* Adds a copy; text with control characters is left out. Memory that is short loses a choice. */
void gp_choices_add(gp_choices *c, const char *text);
/* A copy of help becomes that of choice i, unless it has control characters. */
void gp_choices_explain(gp_choices *c, int i, const char *help);

/* By the alphabet, each once. */
void gp_choices_sort(gp_choices *c);

/* How many bytes all begin with. c->n > 0, and they are sorted. */
size_t gp_choices_common(const gp_choices *c);

/* Writes a line for each of the first few, as wide as the terminal at most; ends with \r\n. */
void gp_choices_print(const gp_choices *c, int columns);

void gp_choices_free(gp_choices *c);

#endif
