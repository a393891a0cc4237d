/* Shared by the files of shell/: running chunks, reporting, and the prompt. */
#ifndef GP_SHELL_H
#define GP_SHELL_H

#include "shell/editor/choices.h"

#include <lua.h>
#include <stdbool.h>
#include <stdio.h>

/* Prints a line that may have an outside source, by gp_safe_next. */
void gp_shell_write(FILE *out, const char *text);

/* Prints "progname: msg" to stderr; without the name while the prompt is active. */
void gp_shell_message(const char *msg);

/* If status is an error, prints the message on top of the stack and pops it. Returns status. */
int gp_shell_report(lua_State *L, int status);

/* lua_pcall of the function under narg arguments, with a traceback in the message. Ctrl-C raises
 * "interrupted!" in the running chunk, in whatever coroutine, or ends the wait for a device. */
int gp_shell_call(lua_State *L, int narg, int nres);

/* ---- end.c ---- */

/* First of all: what happens when the process exits, and to standard files that are closed. */
void gp_shell_begin(void);
/* os.exit of L ends the program as gp_shell_end does. May raise. */
void gp_shell_watch_end(lua_State *L);
/* The end of a script, which has succeeded or not, before L is closed; may come twice. Returns
 * whether it has still succeeded. */
bool gp_shell_end(lua_State *L, bool ok);
/* The same, and closes L; returns the program's exit status. */
int gp_shell_close(lua_State *L, bool ok);
/* Exit statuses of commands: what was found is EXIT_FAILURE. */
enum { GP_EXIT_USAGE = 2, GP_EXIT_FILES = 3 };
/* From here on what the program prints is a command's result: output that cannot be written makes
 * it fail with GP_EXIT_FILES, and not as a script's would. */
void gp_shell_reports(void);
/* Keeps the first line of an error's message, for the other ranks of a job. */
void gp_shell_keep_error(const char *text);

/* registry["gpush.attend"], for commands that run another program (attend.c). May raise. */
void gp_shell_open_attend(lua_State *L);

/* ours(source): whether gpush ships the Lua file, as a part of its library. */
int gp_shell_ours(lua_State *L);
bool gp_shell_is_ours(const char *source);
/* A message handler: error value -> text with the source line, its tensors and the calls. */
int gp_shell_traceback(lua_State *L);
/* about(coroutine, message) -> of one that has failed: that text without message and calls; the
 * calls. */
int gp_shell_about(lua_State *L);
/* ---- postmortem.c ---- */

/* Where the registry has what gp_debug_keep kept. */
#define GP_DEBUG_FRAMES "gpush.frames"
/* From here on errors that come out of coroutines are noted, before their frames are gone. */
void gp_debug_watch(lua_State *L);
/* In a message handler, with the error value at index 1: keeps the frames that led to the error,
 * and what devices have queued, for :debug. Waits for nothing; raises nothing. Returns whether it
 * was kept. */
bool gp_debug_keep(lua_State *L, const char *message);
/* A message handler that does so and returns the value as it is. */
int gp_debug_handler(lua_State *L);
/* Pushes a field of what was kept, and returns its text; NULL: nil, or kept is false. The message;
 * and of an error that came out of a coroutine what is about it there, and the calls. */
const char *gp_debug_field(lua_State *L, bool kept, const char *name);
void gp_debug_release(lua_State *L);
/* streams() -> a list of {device, stream, queued, op, file, line} of streams with work. */
int gp_debug_streams(lua_State *L);

/* Appends to the message on top of the stack, a syntax error, the source line (on a terminal), and
 * the Lua form of the line if it is in another language. */
void gp_shell_add_line(lua_State *L);

/* Appends to the message on top of the stack, a syntax error in the file, what the file is if it is
 * not Lua, such as Python or a picture; false: nothing was appended. */
bool gp_shell_add_kind(lua_State *L, const char *file);

/* The name of the running chunk, or of the next one, valid until the next call: "=stdin[3]" is the
 * third that was typed. */
const char *gp_input_name(bool next);
/* Pops the text of the chunk that is about to run. The oldest of many are dropped. */
void gp_input_keep(lua_State *L);
/* Keeps the text of a chunk that was not typed, such as -e's. */
void gp_input_name_text(lua_State *L, const char *name, const char *text);
/* input(text) -> name: the text that the running chunk, a command, runs itself; error messages then
 * show its lines. */
int gp_input_replace(lua_State *L);
/* inputs() -> the running input's number. */
int gp_input_count(lua_State *L);
/* The next input has number n, as a notebook counts its cells. */
void gp_input_number(int n);
/* The text of the chunk of that name, which the registry keeps, or NULL. */
const char *gp_input_text(lua_State *L, const char *name);

/* Reads, runs and prints until the end of the input. */
void gp_repl(lua_State *L);

/* ---- chunk.c ---- */

/* Loads the text under the name of the next input, pushing the function or the message. */
int gp_chunk_load(lua_State *L, const char *text);
/* Loads the text at index 1 if it is a command or an expression, or was just found to be complete;
 * false pushes nothing. */
bool gp_chunk_load_at_once(lua_State *L);
/* Loads the block at index 1 if it is statements and then an expression, as in pasted text and in
 * "x = 1; x"; false pushes nothing. named: the block is Lua as it stands, so the expression must be
 * a line that begins with a name: "(f)(x)" continues the line before, and "; x" may be in a string.
 */
bool gp_chunk_load_last(lua_State *L, bool named);
/* Loads the text at index 1, pushing the function or the message: a command, an expression, or
 * statements of which the last may be one. */
int gp_chunk_load_text(lua_State *L);
/* Whether the message on top, about text, says that the chunk is incomplete; then it is popped. */
bool gp_chunk_incomplete(lua_State *L, int status, const char *text);
/* Whether the text ends with a semicolon, which mutes it. If so, *n is its length without it. */
bool gp_chunk_muted(const char *text, size_t *n);
/* Says of the text at index 1 what is Lua in it and means something else in Python, and that a
 * local variable ends with it. */
void gp_chunk_mention(lua_State *L);
/* Whether the only value of the chunk with that text has already been shown (__echo = false in its
 * metatable), or is the file that io.write gives. */
bool gp_chunk_told(lua_State *L, const char *text);

/* A text needs further lines, will never be a chunk, or is one. */
typedef enum gp_chunk_state {
    GP_CHUNK_INCOMPLETE,
    GP_CHUNK_INVALID,
    GP_CHUNK_COMPLETE
} gp_chunk_state;
/* Whether text is a complete chunk, by compiling it; runs nothing, and leaves the stack as it was.
 * Without memory: GP_CHUNK_INVALID. */
gp_chunk_state gp_shell_chunk_state(lua_State *L, const char *text);

/* If the text at index 1, which compiled with that status, is several chunks, none of them starting
 * with `local`, the first replaces it, alone on the stack, and the others come from
 * gp_paste_next. */
bool gp_paste_split(lua_State *L, int status);
/* Pushes the next of them; false pushes nothing. */
bool gp_paste_next(lua_State *L);
bool gp_paste_left(lua_State *L);
void gp_paste_drop(lua_State *L);

/* Whether text is a command for the prompt (:time, ?conv2d, x?, !ls) and not Lua. */
bool gp_shell_is_command(const char *text);
/* Pushes a function that runs the command in text. */
void gp_shell_push_command(lua_State *L, const char *text);
/* Prints its arguments as the prompt does. */
int gp_shell_echo(lua_State *L);
/* Its arguments, where the prompt shows them otherwise than print, as the texts that it prints. */
int gp_shell_shown(lua_State *L);
/* Whether what is written to that file is read as it comes: on a terminal, or in a notebook. */
bool gp_shell_interactive(int fd);
extern bool gp_shell_notebook;
/* Pushes the table that scripts/lua/shell/init.lua returns, which is loaded on first use. */
void gp_shell_push_module(lua_State *L);
/* Ends a C function by returning the result, perhaps nil, of that table's function `name` for the
 * same arguments; raises. */
int gp_shell_delegate(lua_State *L, const char *name);

/* Completion, for gp_line_hooks; ctx is the Lua state. */
void gp_complete(void *ctx, const char *text, size_t cursor, gp_choices *out);
/* Adds the functions that scripts/lua/shell/complete.lua needs from C to the table on top of the
 * stack. */
void gp_complete_open(lua_State *L);

/* Keeps a chunk that succeeded: its text, for :save; its first value, as _ and _1, earlier ones as
 * _2 and _3. The values are on the stack from index 1 on. */
void gp_shell_remember(lua_State *L, const char *text);
/* Called around the running of a chunk: :status shows its cost. */
void gp_shell_started(void);
void gp_shell_ended(lua_State *L);

/* Replaces os.clock and os.time by ones that report, once, when the work between two calls has not
 * been done. May raise. */
void gp_shell_watch_clock(lua_State *L);

/* From here on, reads of a global that is nil are reported, once per line: as a warning, or,
 * between begin and end, at the end, if that shows it. */
void gp_shell_watch_globals(lua_State *L);
void gp_shell_globals_begin(lua_State *L);
void gp_shell_globals_end(lua_State *L, bool show);

/* From here on a crash reports its thread, op and line before it ends the program. L: the main
 * thread's state. */
void gp_crash_watch(lua_State *L);

/* gpush doctor: reports what works here; returns the exit status. Before it, and before the state
 * is made, for which Lua's files are needed: whether these are all there. */
void gp_doctor_begin(void);
int gp_doctor(lua_State *L);

/* From here on Ctrl-C only ends the wait for a line: the session continues. One that comes after
 * the line was read stops its chunk as it begins. */
void gp_interrupt_idle(void);

/* Ctrl-C between these two calls stops L. at_prompt: the shell continues, so a second one does not
 * end it. */
void gp_interrupt_begin(lua_State *L, int at_prompt);
void gp_interrupt_end(lua_State *L);
/* Whether one came between the last two. */
bool gp_interrupt_was(void);

#endif
