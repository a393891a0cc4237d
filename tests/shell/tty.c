/* The pseudo-terminal helper, on programs whose behaviour is known: cat and sh. */
#include "tty.h"

#include "tap.h"

int main(void) {
    static pty p;
    char *const cat[] = {"/bin/cat", NULL};
    if (!pty_start(&p, cat)) return tap_skip_all("no pseudo-terminals here");
    pty_send(&p, "hello\n");
    tap_ok(pty_expect(&p, "hello\r\n", 5), "the terminal echoes what is typed");
    tap_ok(pty_expect(&p, "hello\r\n", 5), "and the program answers");
    pty_send(&p, "\4");
    tap_is_int(pty_end(&p, 5), 0, "Ctrl-D ends it");

    char *const wait[] = {"/bin/sh", "-c",
                          "trap 'echo caught; exit 3' INT; echo ready; while :; do sleep 0.1; done",
                          NULL};
    pty_start(&p, wait);
    tap_ok(pty_expect(&p, "ready", 5), "a program with a handler");
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, "caught", 5), "Ctrl-C reaches it as a signal");
    tap_is_int(pty_end(&p, 5), 3, "its exit status is seen");

    pty_start(&p, cat);
    fclose(stderr); /* the two that follow are meant to fail */
    tap_ok(!pty_expect(&p, "never", 0.1), "what is not shown is missed");
    tap_is_int(pty_end(&p, 0.1), -1, "a program that does not end is killed");
    return tap_done();
}
