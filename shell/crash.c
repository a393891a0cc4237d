/* Reports a crash: which thread, in which op, at which line. In a worker it becomes an error where
 * crash_policy.c allows the thread to be abandoned. Otherwise it ends the program, since the memory
 * may be damaged; but the terminal is restored. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "bindings/paths.h"
#include "shell/editor/keys.h"
#include "shell/crash_policy.h"
#include "tensor/op.h"
#include "tensor/device/stream/recovery.h"
#include "tensor/device/stream/thread.h"
#include "tensor/base/safe_text.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

static const struct {
    int sig;
    const char *id, *name, *hint;
} faults[] = {
    {SIGSEGV, "SIGSEGV", "segmentation fault", NULL},
    {SIGBUS, "SIGBUS", "bus error",
     "a file that is shortened while tensors are mapped from it does this"},
    {SIGFPE, "SIGFPE", "arithmetic fault", NULL},
    {SIGILL, "SIGILL", "illegal instruction",
     "another processor's build does this: gpush doctor names the core"},
    {SIGABRT, "SIGABRT", "abort", NULL},
};
enum { FAULTS = sizeof faults / sizeof *faults };

static lua_State *session; /* the state of the main thread */
static pthread_t main_thread;

/* The text is built without malloc or stdio: the fault may have been in them. */
typedef struct text {
    char s[1024];
    size_t n;
} text;

static void append(text *t, const char *s) {
    char piece[GP_SAFE_MAX]; /* a file's name may contain any byte */
    const char *end = s + strlen(s);
    for (size_t n; (n = gp_safe_next(&s, end, true, piece)) && t->n + n < sizeof t->s; t->n += n)
        memcpy(t->s + t->n, piece, n);
}

static void append_number(text *t, int n) {
    char digits[12], *p = digits + sizeof digits;
    *--p = '\0';
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    append(t, p);
}

static void say(text *t) {
    if (write(STDERR_FILENO, t->s, t->n) < 0) { /* no one reads it */
    }
    t->n = 0;
}

/* Writes the thread's name: its own, such as "loader 2", or its program's: a pool's. */
static void append_thread(text *t) {
    char name[17] = "";
    if (pthread_equal(pthread_self(), main_thread)) return;
    prctl(PR_GET_NAME, name);
    bool named = strchr(name, ' ') != NULL;
    append(t, named ? " in the worker '" : " in a thread of the pool");
    if (named) append(t, name), append(t, "'");
}

static void append_location(text *t, const char *file, int line) {
    append(t, ", at ");
    append(t, file);
    append(t, ":");
    append_number(t, line);
}

/* Writes the first line up the stack that is not in gpush's own Lua. Only reads; a pool's thread
 * works for the main one, which waits for it. */
static void append_line(text *t, const gp_call *c) {
    const char *dir = gp_scripts_dir();
    lua_State *L = gp_lua_state ? gp_lua_state : session;
    lua_Debug ar;
    if (c && c->loc.file) return append_location(t, c->loc.file, c->loc.line);
    if (gp_thread_worker() || !L) return;
    for (int level = 0; level < 100 && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        bool own = *ar.source == '@' && dir && !strncmp(ar.source + 1, dir, strlen(dir));
        if (ar.currentline > 0 && !own) return append_location(t, ar.short_src, ar.currentline);
    }
}

static void append_hint(text *t, int i) {
    if (!faults[i].hint) return;
    append(t, "(");
    append(t, faults[i].hint);
    append(t, ")");
}

static void describe(int i) {
    static text t;
    const gp_call *c = gp_running;
    gp_keys_restore();
    append(&t, "\ngpush: crashed: ");
    append(&t, faults[i].name);
    append_thread(&t);
    if (c) append(&t, ", in the op "), append(&t, c->name);
    say(&t); /* printed first: the search for the line may itself fault */
    append_line(&t, c);
    append(&t, ".\n");
    append_hint(&t, i);
    if (faults[i].hint) append(&t, "\n");
    if (gp_keys_used())
        append(&t, "Variables and tensors are lost; what was typed is in the history.\n");
    say(&t);
}

/* Describes the fault for r's thread, in a sentence that begins with the worker's name. */
static void describe_to(gp_rescue *r, int i) {
    text t = {.n = 0};
    const gp_call *c = gp_running;
    append(&t, "crashed (");
    append(&t, faults[i].id);
    append(&t, ", ");
    append(&t, faults[i].name);
    append(&t, c ? ") in the op " : ")");
    if (c) append(&t, c->name);
    append_line(&t, c);
    if (faults[i].hint) append(&t, " ");
    append_hint(&t, i);
    memcpy(r->text, t.s, sizeof r->text - 1);
    r->text[t.n < sizeof r->text ? t.n : sizeof r->text - 1] = '\0';
}

/* The fault handler. After it the fault recurs, or is raised again, and ends the program as it
 * would have. A fault during the search for another one's place is reported in its stead; one
 * during the report ends the program. */
static void on_fault(int sig, siginfo_t *info, void *ctx) {
    static atomic_flag entered = ATOMIC_FLAG_INIT;
    static _Thread_local volatile enum { CALM, LEAVING, TELLING } doing;
    bool again = doing == TELLING;
    int i = 0;
    while (i < FAULTS - 1 && faults[i].sig != sig) i++;
    if (doing == CALM) {
        doing = LEAVING;
        if (gp_may_leave(sig, info, ctx)) {
            describe_to(gp_rescue_here, i);
            doing = CALM;
            siglongjmp(gp_rescue_here->out, 1);
        }
    }
    if (!again && atomic_flag_test_and_set(&entered))
        for (;;) pause(); /* another thread reports */
    doing = TELLING;
    if (!again) describe(i);
    for (int i = 0; i < FAULTS; i++) signal(faults[i].sig, SIG_DFL);
    if (info->si_code <= 0 || sig == SIGABRT) raise(sig);
}

void gp_crash_watch(lua_State *L) {
    struct sigaction sa = {.sa_sigaction = on_fault,
                           .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER},
                     old;
    session = L;
    main_thread = pthread_self();
    gp_handler_stack();
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < FAULTS; i++) /* a sanitizer's own handler stays */
        if (!sigaction(faults[i].sig, NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(faults[i].sig, &sa, NULL);
}
