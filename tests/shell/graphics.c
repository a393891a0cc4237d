/* Pictures on a terminal that reports its abilities: kitty's protocol, sixel, or neither. */
#include "tap.h"
#include "tty.h"

static char program[4096];

/* On a terminal with that answer (NULL: none) the call's output begins with this. */
static void shows(const char *call, const char *answer, const char *want, const char *name) {
    static pty p;
    char *const argv[] = {program, "-i", NULL};
    pty_start(&p, argv);
    tap_ok(pty_expect(&p, "\n> ", 10), "%s: a prompt", name);
    pty_send(&p, call);
    tap_ok(pty_expect(&p, "\033_Gi=31", 10) && pty_expect(&p, "\033[c", 10), "%s: it is asked",
           name);
    if (answer) pty_send(&p, answer);
    tap_ok(pty_expect(&p, want, 10), "%s", name);
    tap_ok(pty_expect(&p, "> ", 10), "%s: and the prompt", name);
    pty_send(&p, "6 * 7\r");
    tap_ok(pty_expect(&p, "\n42", 10), "%s: nothing of the answer is taken for typed", name);
    pty_expect(&p, "> ", 10); /* before that Ctrl-D is the terminal's own, and lost */
    pty_send(&p, "\4");
    tap_is_int(pty_end(&p, 5), 0, "%s: the end", name);
}

int main(void) {
    const char *build = getenv("GPUSH_BUILD");
    snprintf(program, sizeof program, "%s/gpush", build ? build : "build/default");
    static const char *const say[] = {"GPUSH_GRAPHICS", "TMUX", "TERM_PROGRAM", "KITTY_WINDOW_ID",
                                      "NO_COLOR"};
    for (size_t i = 0; i < sizeof say / sizeof *say; i++) unsetenv(say[i]);
    static pty p;
    char *const cat[] = {"/bin/cat", NULL};
    if (!pty_start(&p, cat)) return tap_skip_all("no pseudo-terminals here");
    pty_send(&p, "\4");
    pty_end(&p, 5);
    static const char image[] = "imshow(ones(2, 2))\r", chart[] = "plot{1, 2}\r";
    shows(image, "\033_Gi=31;OK\033\\\033[?62;22c", "\033_Ga=T,f=100", "kitty");
    shows(image, "\033[?62;4;22c", "\033Pq", "sixel");
    shows(image, "\033[?62;22c", "▀", "neither");
    shows(image, NULL, "▀", "no answer");
    shows(chart, "\033_Gi=31;OK\033\\\033[?62;22c", "\033_Ga=T,f=100", "a chart for kitty");
    /* 80 columns, 21 of 24 rows; the background is the first colour of those in ascending order */
    shows(chart, "\033]11;rgb:0000/0000/3333\033\\\033[6;20;10t\033[?62;4;22c",
          "\033Pq\"1;1;800;420#0;2;0;0;20", "a chart for sixel on a dark background");
    shows(chart, "\033[?62;22c", "⣀", "a chart of characters");
    return tap_done();
}
