/* Reading lines without an editor: from pipes, files and terminals that cannot move the cursor. */
#include "shell/editor/plain.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* Shows the prompt and waits until there is input; false when Ctrl-C came instead, which is
 * unblocked only during the wait, so that none is lost just before. */
static bool wait_for_input(const char *prompt) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t interrupt, before;
    sigemptyset(&interrupt);
    sigaddset(&interrupt, SIGINT);
    pthread_sigmask(SIG_BLOCK, &interrupt, &before);
    fputs(prompt, stdout);
    fflush(stdout);
    bool ok = ppoll(&in, 1, NULL, &before) >= 0 || errno != EINTR;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return ok;
}

gp_line gp_plain_read(const char *prompt, char **line) {
    bool terminal = isatty(STDIN_FILENO);
    size_t cap = 0;
    *line = NULL;
    if (terminal && !wait_for_input(prompt)) {
        putchar('\n');
        return GP_LINE_CANCEL;
    }
    if (!terminal) fputs(prompt, stdout), fflush(stdout);
    ssize_t n = getline(line, &cap, stdin);
    int err = errno;
    if (n > 0) {
        if ((*line)[n - 1] == '\n') (*line)[n - 1] = 0;
        return GP_LINE_TEXT;
    }
    free(*line);
    if (!terminal || !ferror(stdin) || err != EINTR) return GP_LINE_END;
    clearerr(stdin);
    putchar('\n');
    return GP_LINE_CANCEL;
}
