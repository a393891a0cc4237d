/* What the files of shell/ share: running chunks, reporting, and the prompt. */
#ifndef GP_SHELL_H
#define GP_SHELL_H

#include <lua.h>

/* Prints "progname: msg" to stderr; without the name while the prompt is active. */
void gp_shell_message(const char *msg);

/* If status is an error, prints the message on top of the stack and pops it. Returns status. */
int gp_shell_report(lua_State *L, int status);

/*
 * lua_pcall of the function under narg arguments, with a traceback in the message and Ctrl-C
 * raising "interrupted!" in the running chunk, in whatever coroutine it is, or ending the wait for
 * a device.
 */
int gp_shell_call(lua_State *L, int narg, int nres);

/* Reads, runs and prints until the end of the input. */
void gp_repl(lua_State *L);

/* From here on Ctrl-C does no more than end the waiting for a line: the session lives on. */
void gp_interrupt_idle(void);

/* Ctrl-C during the time between these two stops L. at_prompt: the shell lives on, so a second one
 * does not end it. */
void gp_interrupt_begin(lua_State *L, int at_prompt);
void gp_interrupt_end(lua_State *L);

#endif
