/* Reading lines: with libedit on a terminal, plainly elsewhere; the only file that knows the line
 * editor. */
#include "shell/line.h"

#include <errno.h>
#include <histedit.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HISTORY_SIZE 2000

static struct {
    EditLine *el;
    History *history;
    char *history_file; /* NULL where there is no place for one */
    locale_t locale;    /* the user's, while a line is edited: Lua keeps "C" */
    const char *prompt;
    bool cancelled;
} editor;

/* ---- The history file ---- */

/* $XDG_STATE_HOME/gpush/history or ~/.local/state/gpush/history, malloc'ed; makes its folders. */
static char *find_history_file(void) {
    const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    bool own = state && *state == '/';
    char *path = NULL;
    if (!own && !(home && *home)) return NULL;
    if (asprintf(&path, "%s%s/gpush/history", own ? state : home, own ? "" : "/.local/state") < 0)
        return NULL;
    for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
        *p = 0;
        mkdir(path, 0700); /* where it cannot be made, saving fails and nothing else */
        *p = '/';
    }
    return path;
}

static void open_history(void) {
    HistEvent ev;
    editor.history = history_init();
    editor.history_file = find_history_file();
    if (!editor.history) return;
    history(editor.history, &ev, H_SETSIZE, HISTORY_SIZE);
    history(editor.history, &ev, H_SETUNIQUE, 1);
    if (editor.history_file) history(editor.history, &ev, H_LOAD, editor.history_file);
    el_set(editor.el, EL_HIST, history, editor.history);
}

void gp_line_save(const char *chunk) {
    HistEvent ev;
    if (editor.history && *chunk) history(editor.history, &ev, H_ENTER, chunk);
}

/* ---- The editor ---- */

static char *show_prompt(EditLine *el) { return (char *)editor.prompt; }

/* Ends the line as Enter does, so that libedit leaves it properly; the text is dropped later. */
static unsigned char on_cancel(EditLine *el, int ch) {
    const LineInfo *line = el_line(el);
    el_cursor(el, (int)(line->lastchar - line->cursor));
    el_insertstr(el, "^C");
    el_push(el, "\n");
    editor.cancelled = true;
    return CC_REFRESH;
}

static unsigned char on_suspend(EditLine *el, int ch) {
    el_set(el, EL_PREP_TERM, 0);
    raise(SIGTSTP);
    el_set(el, EL_PREP_TERM, 1);
    return CC_REDISPLAY;
}

/* The terminal gives Ctrl-C and Ctrl-Z to the editor as keys; while a line runs they are signals
 * again. */
static void bind_keys(void) {
    el_set(editor.el, EL_EDITOR, "emacs");
    el_source(editor.el, NULL); /* the user's ~/.editrc */
    el_set(editor.el, EL_SETTY, "-d", "-isig", NULL);
    el_set(editor.el, EL_ADDFN, "gpush-cancel", "Forget this line", on_cancel);
    el_set(editor.el, EL_ADDFN, "gpush-suspend", "Suspend the program", on_suspend);
    el_set(editor.el, EL_BIND, "^C", "gpush-cancel", NULL);
    el_set(editor.el, EL_BIND, "^Z", "gpush-suspend", NULL);
    el_set(editor.el, EL_BIND, "^R", "em-inc-search-prev", NULL);
}

static bool can_edit(void) {
    const char *term = getenv("TERM");
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && term && *term && strcmp(term, "dumb");
}

void gp_line_open(void) {
    if (!can_edit()) return;
    editor.locale = newlocale(LC_CTYPE_MASK, "", (locale_t)0);
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    editor.el = el_init("gpush", stdin, stdout, stderr);
    if (editor.el) {
        el_set(editor.el, EL_PROMPT, show_prompt);
        el_set(editor.el, EL_SIGNAL, 1); /* the window's size */
        bind_keys();
        open_history();
    }
    uselocale(old);
}

static gp_line edit_line(const char *prompt, char **line) {
    int n;
    editor.prompt = prompt;
    editor.cancelled = false;
    fflush(stdout);
    locale_t old = uselocale(editor.locale ? editor.locale : LC_GLOBAL_LOCALE);
    /* libedit takes the keys over at its first read, after the prompt: a Ctrl-C typed in between
     * would be the terminal's, which drops the line and shows no new prompt. */
    el_set(editor.el, EL_PREP_TERM, 1);
    const char *text = el_gets(editor.el, &n);
    uselocale(old);
    if (editor.cancelled) return GP_LINE_CANCEL;
    if (!text || n <= 0) return GP_LINE_END;
    if (text[n - 1] == '\n') n--;
    *line = strndup(text, n);
    return *line ? GP_LINE_TEXT : GP_LINE_END;
}

/* ---- Plain reading ---- */

/* Shows the prompt and waits until there is something to read; false when Ctrl-C came instead. It is
 * let in only during the wait, so that none is lost just before. */
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

static gp_line read_plainly(const char *prompt, char **line) {
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

gp_line gp_line_read(const char *prompt, char **line) {
    return editor.el ? edit_line(prompt, line) : read_plainly(prompt, line);
}

void gp_line_close(void) {
    HistEvent ev;
    if (editor.history && editor.history_file)
        history(editor.history, &ev, H_SAVE, editor.history_file);
    if (editor.el) el_end(editor.el);
    if (editor.history) history_end(editor.history);
    if (editor.locale) freelocale(editor.locale);
    free(editor.history_file);
    memset(&editor, 0, sizeof editor);
}
