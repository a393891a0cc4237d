/* What the files of shell/ share: running chunks, reporting, and the prompt. */
#ifndef GP_SHELL_H
#define GP_SHELL_H

#include "shell/editor/choices.h"

#include <lua.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints a line that may come from outside: control characters are shown, not sent. */
void gp_shell_put(FILE *out, const char *text);

/* Prints "progname: msg" to stderr; without the name while the prompt is active. */
void gp_shell_message(const char *msg);

/* If status is an error, prints the message on top of the stack and pops it. Returns status. */
int gp_shell_report(lua_State *L, int status);

/*
 * lua_pcall of the function under narg arguments, with a traceback in the message and Ctrl-C
 * raising "interrupted!" in the running chunk, in whatever coroutine it is, or ending the wait for
 * a
 * device. */
int gp_shell_call(lua_State *L, int narg, int nres);

/* A message handler: error value -> text with the source line, its tensors and the calls. */
int gp_shell_traceback(lua_State *L);
/* Puts under the message on top of the stack, which says why a chunk does not compile, the source
 * line (on a terminal), and how Lua says it if the line is another language's. */
void gp_shell_add_line(lua_State *L);

/* Puts under the message on top of the stack, which says why the file does not compile, what it is
 * if that is no Lua, as Python or a picture; false: nothing was added. */
bool gp_shell_add_kind(lua_State *L, const char *file);

/* Registry key of a table of what was typed: name of the chunk -> text. */
#define GP_SHELL_INPUTS "gpush.inputs"
/* The name of the chunk that runs, or of the next one, until the next call: "=stdin[3]" is the
 * third that was typed. */
const char *gp_input_name(bool next);
/* Pops the text of the chunk that is about to run. The oldest of many are forgotten. */
void gp_input_keep(lua_State *L);
/* Keeps the text of a chunk that was not typed, as of -e. */
void gp_input_name_text(lua_State *L, const char *name, const char *text);
/* input(text) -> name: what the running chunk, a command, runs in its turn; its lines count. */
int gp_input_replace(lua_State *L);
/* The text of the chunk of that name, which the registry keeps, or NULL. */
const char *gp_input_text(lua_State *L, const char *name);

/* Reads, runs and prints until the end of the input. */
void gp_repl(lua_State *L);

/* How far a text is a chunk that the prompt can run: it needs further lines, it never will be one,
 * it is one. */
typedef enum gp_chunk_state {
    GP_CHUNK_INCOMPLETE,
    GP_CHUNK_INVALID,
    GP_CHUNK_COMPLETE
} gp_chunk_state;
gp_chunk_state gp_shell_chunk_state(lua_State *L, const char *text);

/* If the text at index 1, which compiled with that status, is several chunks, none of which is a
 * `local` one, the first takes its place, alone on the stack, and the others come from
 * gp_paste_next. */
bool gp_paste_split(lua_State *L, int status);
/* Pushes the next of them; false pushes nothing. */
bool gp_paste_next(lua_State *L);
bool gp_paste_left(lua_State *L);
void gp_paste_drop(lua_State *L);

/* Is text for the prompt itself (:time, ?conv2d, x?, !ls) and not Lua? */
bool gp_shell_is_command(const char *text);
/* Pushes a function that runs the command that text is. */
void gp_shell_push_command(lua_State *L, const char *text);
/* Prints the values that are its arguments as the prompt does. */
int gp_shell_echo(lua_State *L);
/* Pushes the table that scripts/lua/shell/init.lua returns, which is read at the first use. */
void gp_shell_push_module(lua_State *L);
/* Ends a C function by what that table's function `name` gives, which may be nil, for the same
 * arguments; raises. */
int gp_shell_ask(lua_State *L, const char *name);

/* Completion, for gp_line_hooks; ctx is the Lua state. */
void gp_complete(void *ctx, const char *text, size_t cursor, gp_choices *out);
/* Adds what scripts/lua/shell/complete.lua asks of C to the table on top of the stack. */
void gp_complete_open(lua_State *L);

/* What is kept of a chunk that went well: its text, for :save; its first value, as _ and _1, those
 * before as _2 and _3. The values are on the stack from index 1 on. */
void gp_shell_remember(lua_State *L, const char *text);
/* Around the running of a chunk: :status shows what it took. */
void gp_shell_started(void);
void gp_shell_ended(lua_State *L);

/* os.clock and os.time that say, once, when the work between two of them has not been done. May
 * raise. */
void gp_shell_watch_clock(lua_State *L);

/* From here on a read of a global that is nil is said, once a place: as a warning, or, between
 * begin and end, at the end, if that shows it. */
void gp_shell_watch_globals(lua_State *L);
void gp_shell_globals_begin(lua_State *L);
void gp_shell_globals_end(lua_State *L, bool show);

/* From here on a crash says in which thread, op and line it was before it ends the program. L: the
 * main thread's state. */
void gp_crash_watch(lua_State *L);

/* gpush doctor: says what works here; the exit status. */
int gp_doctor(lua_State *L);

/* From here on Ctrl-C does no more than end the waiting for a line: the session lives on. */
void gp_interrupt_idle(void);

/* Ctrl-C during the time between these two stops L. at_prompt: the shell lives on, so a second one
 * does not end it. */
void gp_interrupt_begin(lua_State *L, int at_prompt);
void gp_interrupt_end(lua_State *L);

#endif
