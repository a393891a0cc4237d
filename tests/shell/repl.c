/* The prompt on a pseudo-terminal: values, blocks, history, errors, and Ctrl-C at any time. */
#include "tap.h"
#include "tty.h"

#include <stdlib.h>
#include <string.h>

static pty p;
static char program[4096];

static bool start(const char *term, const char *lua) {
    char *const argv[] = {program, "-e", (char *)lua, "-i", NULL};
    bool ok = pty_start_term(&p, argv, term);
    return ok && tap_ok(pty_expect(&p, "\n> ", 10), "TERM=%s: a prompt", term);
}

/* Types a line and waits for its output and for the next prompt. */
static void line(const char *typed, const char *shown, const char *name) {
    pty_send(&p, typed);
    pty_send(&p, "\r");
    if (shown) tap_ok(pty_expect(&p, shown, 10), "%s: shows %s", name, shown);
    tap_ok(pty_expect(&p, "> ", 10), "%s: prompt", name);
}

/* Types a line that runs forever, waits for its mark and stops it. */
static void interrupted(const char *typed, const char *name) {
    pty_send(&p, typed);
    pty_send(&p, "\r");
    tap_ok(pty_expect(&p, "\nstarted", 10), "%s: it runs", name);
    usleep(50000);
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, "interrupted!", 10), "%s: Ctrl-C stops it", name);
    tap_ok(pty_expect(&p, "\n> ", 10), "%s: and the prompt is back", name);
    line("21 * 2", "\n42", name);
}

static void values(void) {
    line("1 + 1", "\n2", "an expression");
    line("= 'a' .. 'b'", "\nab", "with the = of old");
    line("x = 6", NULL, "a statement");
    line("x * 7, nil", "\n42\tnil", "two values");
    line("error 'oh'", "oh", "an error");
    line("y = 5 '<eof>'", "unexpected symbol", "a text that looks like the mark of what goes on");
    line("'\\27[' .. '31mred'", "\n\"\\27[31mred\"", "a text that would steer the terminal");
    line("'\\u{9b}' .. '31m'", "\n\"\\u{9b}31m\"", "or does so in one character");
    line("x = 7 ?", "unexpected symbol", "no question for help");
    line("8;;", NULL, "several semicolons");
    line("_ + 1", "\n9", "mute as one does");
    line("_PROMPT = 'new> '", "new", "another prompt");
    line("_PROMPT = nil", "\n", "the prompt again");
}

/* Without an editor a second prompt asks for each further line. */
static void blocks(bool editor) {
    const char *more = editor ? "do\r\n    " : ">> ";
    pty_send(&p, "for i = 1, 2 do\r");
    tap_ok(pty_expect(&p, more, 10), "an open block asks for more");
    pty_send(&p, "print('row', i)\r");
    tap_ok(pty_expect(&p, editor ? "'row', i)\r\n    " : ">> ", 10), "and for more");
    pty_send(&p, "end\r");
    tap_ok(pty_expect(&p, "row\t1", 10) && pty_expect(&p, "row\t2", 10), "the block ran");
    tap_ok(pty_expect(&p, "> ", 10), "prompt");
}

static void cancels(bool editor) {
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, "\n> ", 10), "Ctrl-C at an empty prompt gives a new one");
    pty_send(&p, "x = 'not to run'\3");
    tap_ok(pty_expect(&p, "\n> ", 10), "Ctrl-C forgets the line");
    line("x", "\n6", "the line was not run");
    pty_send(&p, "for i = 1, 2 do\r");
    pty_expect(&p, editor ? "do\r\n    " : ">> ", 10);
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, "\n> ", 10), "Ctrl-C forgets an open block");
    line("x", "\n6", "after the block");
}

static void interrupts(void) {
    interrupted("print 'started' while true do end", "a loop");
    interrupted("print 'started' coroutine.wrap(function() while true do end end)()",
                "a loop in a coroutine");
    interrupted("print 'started' while true do pcall(function() while true do end end) end",
                "a loop that catches errors");
    interrupted("print 'started' while true do coroutine.resume(coroutine.create(function() while "
                "true do end end)) end",
                "a loop that resumes coroutines that fail");
    interrupted(
        "print 'started' setmetatable({}, {__index = function() while true do end end}).x()",
        "a metamethod");
}

/* Ctrl-D as soon as the prompt is there. */
static void end(bool editor, const char *name) {
    if (editor)
        tap_ok(pty_edits(&p), "%s: the keys are the program's when the prompt is shown", name);
    pty_send(&p, "\4");
    tap_is_int(pty_end(&p, 30), 0, "%s", name);
}

static void session(const char *term) {
    if (!start(term, "x = 0")) return;
    values();
    blocks(strcmp(term, "dumb"));
    cancels(strcmp(term, "dumb"));
    interrupts();
    end(strcmp(term, "dumb"), "Ctrl-D ends the session");
}

static void history(void) {
    if (!start("xterm", "")) return;
    line("\x1b[A", "\n42", "the last line of the session before");
    end(true, "end of the session before");
    char *const argv[] = {program, NULL};
    pty_start(&p, argv);
    tap_ok(pty_expect(&p, "PUC-Rio", 10), "without arguments it says what it is");
    tap_ok(pty_expect(&p, "> ", 10), "prompt");
    line("first = 'unusual'", NULL, "a line to remember");
    end(true, "end");
    pty_start(&p, argv);
    pty_expect(&p, "> ", 10);
    pty_send(&p, "\x1b[A");
    tap_ok(pty_expect(&p, "first = 'unusual'", 10), "the next session remembers it");
    pty_send(&p, "\3");
    pty_expect(&p, "\n> ", 10);
    end(true, "end");
}

/* Ctrl-Z at the prompt, from a shell that has job control. */
static void suspends(void) {
    char command[4200];
    snprintf(command, sizeof command, "'%s' -i\r", program);
    char *const argv[] = {"/bin/bash", "--norc", "--noprofile", "-i", NULL};
    if (!pty_start(&p, argv)) return;
    pty_send(&p, "PS1='shell'$'\\x24 '\r");
    tap_ok(pty_expect(&p, "shell$ ", 10), "a shell");
    pty_send(&p, command);
    tap_ok(pty_expect(&p, "PUC-Rio", 10) && pty_expect(&p, "> ", 10), "that starts gpush");
    pty_send(&p, "kept = 'half");
    tap_ok(pty_expect(&p, "half", 10), "a line is begun");
    pty_send(&p, "\32");
    tap_ok(pty_expect(&p, "shell$ ", 10), "Ctrl-Z gives the shell's prompt");
    pty_send(&p, "fg\r");
    tap_ok(pty_expect(&p, "> kept = 'half", 10), "fg brings the line back");
    pty_send(&p, "way'\r");
    tap_ok(pty_expect(&p, "\n> ", 10), "which is edited on");
    line("#kept", "\n7", "and ran");
    pty_send(&p, "\4");
    tap_ok(pty_expect(&p, "shell$ ", 10), "Ctrl-D gives the shell back");
    pty_send(&p, "exit\r");
    pty_end(&p, 10);
}

/* Ctrl-C until text is shown, or, for NULL, until the program has ended: on a busy machine two that
 * come before the first is delivered count as one. Never the first time: a single one is not
 * enough. */
static bool interrupts_until(const char *text) {
    int sent = 0;
    for (bool open = true; sent < 50 && open && !(text && strstr(p.text, text)); sent++) {
        pty_send(&p, "\3");
        double end = pty_now() + 0.2;
        while (open && pty_now() < end) open = pty_read(&p, end - pty_now());
    }
    return sent > 1 && (!text || pty_expect(&p, text, 0));
}

/* A second Ctrl-C offers to quit while the first has not stopped the chunk; a third and a fourth
 * do. */
static void insists(void) {
    if (!start("xterm", "")) return;
    /* One long call in C. */
    pty_send(&p, "print 'started' table.move({}, 1, math.maxinteger // 2, 2)\r");
    tap_ok(pty_expect(&p, "\nstarted", 10), "what cannot be stopped");
    usleep(100000); /* it is in C by then */
    tap_ok(interrupts_until("Ctrl-C twice more ends gpush"), "a second Ctrl-C offers to quit");
    interrupts_until(NULL);
    tap_is_int(pty_end(&p, 10), 128 + SIGINT, "and it does");
}

int main(void) {
    snprintf(program, sizeof program, "%s/gpush", getenv("GPUSH_BUILD"));
#if defined(__SANITIZE_THREAD__)
    return tap_skip_all("TSan holds a signal back until the next system call, which an endless "
                        "loop in Lua has none of");
#endif
    char *const probe[] = {"/bin/true", NULL};
    if (!pty_start(&p, probe)) return tap_skip_all("no pseudo-terminals here");
    pty_end(&p, 5);
    session("xterm");
    session("dumb");
    history();
    suspends();
    insists();
    return tap_done();
}
