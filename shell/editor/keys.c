/* Reads keys byte by byte, so that nothing is taken from what a chunk may read after the prompt. */
#include "shell/editor/keys.h"
#include "tensor/base/env.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

const char gp_paste_on[] = "\033[?2004h", gp_paste_off[] = "\033[?2004l";

static struct termios cooked;
static bool opened;
static volatile sig_atomic_t new_size;
static char back[256]; /* bytes that were peeked at, still to be read */
static int nback;

enum { MOST_BOUND = 64, LONGEST = 24 };
static char bound[MOST_BOUND]
                 [LONGEST]; /* escape sequences that the editor has bound, without the escape */
static int nbound;
static bool whole;

bool gp_keys_usable(void) {
    return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && gp_env_text(GP_ENV_TERM) &&
           !gp_env_is(GP_ENV_TERM, "dumb");
}

static bool pending(int milliseconds) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    return poll(&in, 1, milliseconds) > 0;
}

bool gp_key_pending(void) { return nback || pending(0); }

void gp_key_unread(char c) {
    if (nback < (int)sizeof back) back[nback++] = c;
}

/* ---- Signals ---- */

static void on_winch(int sig) { new_size = 1; }

void gp_keys_restore(void) {
    if (!opened) return;
    tcsetattr(STDIN_FILENO, TCSANOW, &cooked);
    if (write(STDOUT_FILENO, gp_paste_off, strlen(gp_paste_off)) < 0) { /* the terminal is gone */
    }
}

bool gp_keys_used(void) { return opened; }

static void on_death(int sig) {
    gp_keys_restore();
    signal(sig, SIG_DFL);
    raise(sig);
}

void gp_keys_open(void) {
    static const int deadly[] = {SIGHUP, SIGTERM, SIGQUIT};
    /* no SA_RESTART: the wait returns */
    struct sigaction sa = {.sa_handler = on_winch, .sa_flags = SA_ONSTACK}, old;
    opened = tcgetattr(STDIN_FILENO, &cooked) == 0;
    sigemptyset(&sa.sa_mask);
    sigaction(SIGWINCH, &sa, NULL);
    sa.sa_handler = on_death;
    for (size_t i = 0; i < sizeof deadly / sizeof *deadly; i++)
        if (!sigaction(deadly[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(deadly[i], &sa, NULL);
}

/* ---- Bytes ---- */

/* SIGWINCH is unblocked only during the wait, so that none is lost just before. */
static bool wait_for_key(void (*resized)(void)) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    sigset_t winch, before;
    int got;
    sigemptyset(&winch);
    sigaddset(&winch, SIGWINCH);
    pthread_sigmask(SIG_BLOCK, &winch, &before);
    do {
        if (new_size && resized) resized();
        new_size = 0;
        got = ppoll(&in, 1, NULL, &before);
    } while (got < 0 && errno == EINTR);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return got > 0;
}

/* The i-th byte after those taken, which stays to be read; -1 where none follows immediately. */
static int peek(int i) {
    char c;
    if (i >= nback && i < (int)sizeof back && pending(20) && read(STDIN_FILENO, &c, 1) == 1)
        back[nback++] = c;
    return i < nback ? (unsigned char)back[i] : -1;
}

static void consume(int n) {
    nback -= n;
    memmove(back, back + n, (size_t)nback);
}

static bool next_byte(char *c, void (*resized)(void)) {
    ssize_t n;
    if (nback) {
        *c = back[0];
        consume(1);
        return true;
    }
    if (!wait_for_key(resized)) return false;
    do n = read(STDIN_FILENO, c, 1);
    while (n < 0 && errno == EINTR);
    return n == 1;
}

/* ---- Keys ---- */

char *gp_key_pasted(void) {
    static const char end[] = "\033[201~";
    size_t n = 0, cap = 4096, tail = sizeof end - 1;
    char *text = malloc(cap), c;
    while (text && next_byte(&c, NULL)) {
        if (n + 1 >= cap) {
            char *more = realloc(text, cap *= 2);
            if (!more) break;
            text = more;
        }
        text[n++] = c ? c : ' ';
        if (n >= tail && !memcmp(text + n - tail, end, tail)) {
            n -= tail;
            break;
        }
    }
    if (text) text[n] = 0;
    return text;
}

void gp_key_bind(const char *key) {
    static const char *const escapes[] = {"^[", "\\e", "\\E", "\\033", NULL};
    for (int i = 0; escapes[i]; i++) {
        size_t n = strlen(escapes[i]);
        if (!strncmp(key, escapes[i], n) && strlen(key + n) < LONGEST && nbound < MOST_BOUND)
            strcpy(bound[nbound++], key + n);
    }
}

/* The length of a terminal's sequence after an escape, whose bytes come together: a key, or a late
 * answer. 0: it is Escape, or Alt with a letter. */
static int sequence(void) {
    int i = 1, c = peek(0);
    if (c == 'O') return peek(1) < 0 ? 0 : 2;
    if (c == '[' && peek(1) == '[') return peek(2) < 0 ? 0 : 3; /* F1 to F5 of Linux's console */
    if (c == '[') {
        while ((c = peek(i)) >= ' ' && c < '@') i++;
        return c < 0 ? 0 : i + 1;
    }
    if (c != ']' && c != 'P' && c != '_') return 0;
    for (; (c = peek(i)) >= 0; i++)
        if (c == 7 || (c == 033 && peek(i + 1) == '\\')) return c == 7 ? i + 1 : i + 2;
    return 0;
}

static bool is_bound(int n) {
    for (int i = 0; i < nbound; i++)
        if (strlen(bound[i]) == (size_t)n && !memcmp(bound[i], back, (size_t)n)) return true;
    return false;
}

void gp_key_whole(bool are) { whole = are; }

/* The key for the letter or the number after "[". */
static wchar_t own_key(char c) {
    switch (c) {
    case 'D': return GP_KEY_LEFT;
    case 'C': return GP_KEY_RIGHT;
    case 'H':
    case '1':
    case '7': return GP_KEY_HOME;
    case '3': return GP_KEY_DELETE;
    default: return GP_KEY_END;
    }
}

/* The key that starts with the escape just read, or the escape itself; 0: a key without a meaning
 * here, which was consumed. */
static wchar_t escape(void) {
    static const char paste[] = "[200~", arrows[] = "ABCDFH",
                      keys[] = "13478" /* Home, Delete, End by their numbers */;
    int n = sequence(), last = n ? back[n - 1] : 0;
    if (n == 0) return 033;
    if (n > 4 && !is_bound(n) && !memcmp(back, "[1;", 3) &&
        strchr(arrows, last)) { /* with Shift or similar */
        consume(n - 2);
        back[0] = '[', n = 2;
    }
    if (n == 2 && (last == 'A' || last == 'B'))
        return consume(2), last == 'A' ? GP_KEY_UP : GP_KEY_DOWN;
    if (n == sizeof paste - 1 && !memcmp(back, paste, sizeof paste - 1))
        return consume(n), GP_KEY_PASTE;
    bool known =
        n == 2 ? strchr(arrows, last) != NULL : n == 3 && last == '~' && strchr(keys, back[1]);
    if (is_bound(n) || (known && !whole)) return 033;
    wchar_t key = known ? own_key(back[1]) : 0;
    consume(n);
    return key;
}

bool gp_key_read(wchar_t *key, void (*resized)(void)) {
    mbstate_t state = {0};
    for (char c; next_byte(&c, resized);) {
        if (c == 033) {
            if ((*key = escape())) return true;
            continue;
        }
        size_t n = mbrtowc(key, &c, 1, &state);
        if (n == (size_t)-1) memset(&state, 0, sizeof state); /* invalid: dropped */
        if (n == 0) *key = 0;
        if (n <= 1) return true;
    }
    return false;
}
