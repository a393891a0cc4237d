/* Folds and shortens output to the terminal's width, which only this file queries. */
#include "profile/show/fit.h"
#include "tensor/base/env.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    LEAST = 30,
    INDENT = 4
}; /* minimum width of text beside other columns; narrower text goes below, indented by */

/* The width that the terminal reports; 0: none. */
static int terminal_columns(int fd) {
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) ? 0 : size.ws_col;
}

int gp_fit_terminal(int fd) {
    int n = terminal_columns(fd);
    return n ? n : isatty(fd) ? 80 : 0;
}

int gp_fit_columns(void) {
    int asked = (int)gp_env_number(GP_ENV_COLUMNS, 0);
    return !terminal_columns(STDOUT_FILENO) && asked > 0 ? asked : gp_fit_terminal(STDOUT_FILENO);
}

static int begins(char c) { return ((unsigned char)c & 0xc0) != 0x80; }

int gp_fit_width(const char *s) {
    int n = 0;
    for (; *s; s++) n += begins(*s);
    return n;
}

/* The address of the character of that number, from 0. */
static char *character(char *s, int n) {
    for (; *s; s++)
        if (begins(*s) && n-- == 0) break;
    return s;
}

void gp_fit_shorten(char *s, int most) {
    static const char dots[] = "…";
    int n = gp_fit_width(s), head = (most - 1) / 3;
    if (n <= most || most < 2) return;
    char *from = character(s, n - (most - 1 - head)), *to = character(s, head);
    while (from - to < (int)sizeof dots - 1)
        from = character(from, 1); /* the ellipsis has three bytes */
    memmove(to + sizeof dots - 1, from, strlen(from) + 1);
    memcpy(to, dots, sizeof dots - 1);
}

void gp_fit_fold(FILE *f, const char *text, int at, int columns) {
    int lead = (int)strspn(text, " "), indent = at + lead;
    if (columns && at && at + gp_fit_width(text) > columns && columns - indent < LEAST)
        fprintf(f, "\n%*s", indent = INDENT, "");
    else fprintf(f, "%*s", lead, "");
    at = indent;
    text += lead;
    for (size_t n; *text; text += n) {
        n = strcspn(text + 1, " ") + 1; /* a word with the space before it */
        int wide = 0;
        for (size_t i = 0; i < n; i++) wide += begins(text[i]);
        if (columns && at > indent && at + wide > columns) {
            fprintf(f, "\n%*s", indent, "");
            at = indent;
            if (*text == ' ') text++, n--, wide--;
        }
        fwrite(text, 1, n, f);
        at += wide;
    }
    putc('\n', f);
}
