/* Runs another program, waits for its end, and passes on the signals that come to this one alone.
 */
#include "shell/shell.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>

#include "tensor/device/card/clock.h"

enum {
    SETTLE = 100,   /* ms in which a signal reaches all to whom it is sent */
    AGAIN = 1000,   /* ms within which a second one is still the first: timeout sends it twice */
    PATIENCE = 2000 /* ms until it is said what is waited for */
};

static const struct {
    int sig;
    const char *name;
    bool ends; /* programs, as a rule */
} passed[] = {{SIGHUP, "SIGHUP", true},
              {SIGINT, "SIGINT", true},
              {SIGTERM, "SIGTERM", true},
              {SIGUSR1, "SIGUSR1", false},
              {SIGUSR2, "SIGUSR2", false}};
enum { PASSED = sizeof passed / sizeof *passed };

typedef struct running {
    pid_t pid;
    pid_t witness;
    int asked;     /* index of the signal that was to end the program; -1: none was */
    uint64_t when; /* it came */
    bool told;     /* that the program still runs */
    bool killed;   /* by a second one */
    struct sigaction before[PASSED], child, quit;
} running;

static int woken[2] = {-1, -1}; /* a pipe: the signals that came, as bytes */

static void on_signal(int sig) {
    int kept = errno;
    char byte = (char)sig;
    if (write(woken[1], &byte, 1) < 0) { /* full: enough to wake up for */
    }
    errno = kept;
}

/* Those that are ignored, as by nohup, stay so, here and in the program. */
static void listen(running *r) {
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_RESTART};
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < PASSED; i++) {
        sigaction(passed[i].sig, NULL, &r->before[i]);
        if (r->before[i].sa_handler != SIG_IGN) sigaction(passed[i].sig, &sa, NULL);
    }
    sigaction(SIGCHLD, &sa, &r->child);
    sigaction(SIGQUIT, NULL, &r->quit);
    signal(SIGQUIT, SIG_IGN); /* the terminal's reaches the program, too */
}

static void restore(const running *r) {
    for (int i = 0; i < PASSED; i++) sigaction(passed[i].sig, &r->before[i], NULL);
    sigaction(SIGCHLD, &r->child, NULL);
    sigaction(SIGQUIT, &r->quit, NULL);
}

/* fork, whose child has no handler of this process's. */
static pid_t fork_without(const running *r) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pid_t pid = fork();
    if (!pid) {
        restore(r);
        for (int i = 0; i < PASSED; i++)
            if (r->before[i].sa_handler != SIG_IGN) signal(passed[i].sig, SIG_DFL);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return pid;
}

/* A process of the same group that does nothing: a signal that ends it was sent to the group, as by
 * a terminal, so that the program has it, too. */
static pid_t start_witness(const running *r) {
    pid_t parent = getpid(), pid = fork_without(r);
    if (pid) return pid;
    signal(SIGQUIT, SIG_IGN);
    if (prctl(PR_SET_PDEATHSIG, SIGKILL) || getppid() != parent) _exit(0);
    for (;;) pause();
}

static pid_t start(const running *r, const char *line) {
    pid_t pid = fork_without(r);
    if (pid) return pid;
    execl("/bin/sh", "sh", "-c", line, (char *)NULL);
    _exit(127);
}

static int ms_since(uint64_t when) { return (int)((gp_real_ns() - when) / 1000000); }

/* Waits until a signal comes, or that many ms; -1: without end. */
static void sleep_until_signal(int ms) {
    struct pollfd in = {.fd = woken[0], .events = POLLIN};
    poll(&in, 1, ms);
}

static void settle(void) {
    uint64_t began = gp_real_ns();
    for (int past = 0; past < SETTLE; past = ms_since(began)) poll(NULL, 0, SETTLE - past);
}

static bool has_asked(const running *r) { return r->asked >= 0; }

/* program_has_it: it was sent to it, too. */
static void pass_on(running *r, int i, bool program_has_it) {
    if (passed[i].ends && has_asked(r) && ms_since(r->when) > AGAIN) {
        r->killed = true;
        kill(r->pid, SIGKILL);
        return;
    }
    if (passed[i].ends && !has_asked(r)) r->asked = i, r->when = gp_real_ns();
    if (!program_has_it) kill(r->pid, passed[i].sig);
}

/* The signals that came, but for a child's end, as a set of bits. */
static unsigned came(void) {
    char bytes[256];
    unsigned set = 0;
    for (ssize_t n; (n = read(woken[0], bytes, sizeof bytes)) > 0;)
        for (ssize_t k = 0; k < n; k++)
            for (int i = 0; i < PASSED; i++)
                if (bytes[k] == passed[i].sig) set |= 1u << i;
    return set;
}

/* Passes on what came, once each, unless it was sent to all. */
static void answer(running *r) {
    unsigned set = came();
    if (!set) return;
    settle();
    set |= came();
    bool to_all = r->witness > 0 && waitpid(r->witness, NULL, WNOHANG) == r->witness;
    for (int i = 0; i < PASSED; i++)
        if (set >> i & 1) pass_on(r, i, to_all);
    if (to_all) r->witness = start_witness(r);
}

static void tell(running *r) {
    if (!has_asked(r) || r->told || r->killed || ms_since(r->when) < PATIENCE) return;
    r->told = true;
    fprintf(stderr,
            "gpush: waiting for the program, process %d, which has had %s; another kills it\n",
            (int)r->pid, passed[r->asked].name);
}

/* Until the program ends; returns its status, as waitpid gives it. */
static int attend(running *r) {
    int status = 0;
    while (waitpid(r->pid, &status, WNOHANG) == 0) {
        sleep_until_signal(has_asked(r) && !r->told ? PATIENCE : -1);
        answer(r);
        tell(r);
    }
    return status;
}

static int push_end(lua_State *L, const running *r, int status) {
    bool exited = WIFEXITED(status);
    int code = r->killed ? 128 + passed[r->asked].sig
               : exited  ? WEXITSTATUS(status)
                         : 128 + WTERMSIG(status);
    lua_pushinteger(L, code);
    lua_pushstring(L, r->killed ? "killed" : exited ? "exit" : "signal");
    lua_pushboolean(L, has_asked(r));
    return 3;
}

/* attend(line [, file]) -> status, how, asked: runs a shell's command, which does not inherit the
 * file, and passes on what signals come to this process alone. status: as a shell gives it. how:
 * "exit", "signal", or "killed", since a second signal came that ends programs. asked: whether a
 * first one did. */
static int l_attend(lua_State *L) {
    const char *line = luaL_checkstring(L, 1);
    luaL_Stream *file = lua_isnoneornil(L, 2) ? NULL : luaL_checkudata(L, 2, LUA_FILEHANDLE);
    if (file) fcntl(fileno(file->f), F_SETFD, FD_CLOEXEC);
    if (pipe2(woken, O_CLOEXEC | O_NONBLOCK))
        return luaL_error(L, "cannot start a program: %s", strerror(errno));
    running r = {.asked = -1};
    fflush(NULL);
    listen(&r);
    r.pid = start(&r, line);
    int reason = errno, status = 0;
    if (r.pid > 0) r.witness = start_witness(&r), status = attend(&r);
    if (r.witness > 0) kill(r.witness, SIGKILL), waitpid(r.witness, NULL, 0);
    restore(&r);
    close(woken[0]), close(woken[1]);
    if (r.pid < 0) return luaL_error(L, "cannot start a program: %s", strerror(reason));
    return push_end(L, &r, status);
}

void gp_shell_open_attend(lua_State *L) {
    lua_pushcfunction(L, l_attend);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.attend");
}
