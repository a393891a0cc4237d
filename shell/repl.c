/* The prompt: reads a chunk, first as an expression and then as statements, runs it and prints its
 * results. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "profile/sync/sync.h"
#include "shell/editor/line.h"
#include "tensor/device/backends.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROMPT "> "
#define PROMPT2 ">> "

/* The prompt's text, which stays on the stack: the global _PROMPT or _PROMPT2, or lua's default. */
static const char *push_prompt(lua_State *L, bool first) {
    if (lua_getglobal(L, first ? "_PROMPT" : "_PROMPT2") == LUA_TNIL)
        return first ? PROMPT : PROMPT2;
    return luaL_tolstring(L, -1, NULL);
}

/* Says once how the CUDA plug-in's build, which scripts/gpush began beside this prompt, ended. */
static void tell_of_build(void) {
    static bool told;
    char text[200];
    bool runs;
    if (told || !gp_cuda_build(text, sizeof text, &runs) || runs) return;
    told = true;
    gp_shell_message(text);
}

/* Reads a line and pushes it; pushes nothing unless it returns GP_LINE_TEXT. */
static gp_line push_line(lua_State *L, bool first) {
    int top = lua_gettop(L);
    char *line;
    gp_sync_forget_idle();
    if (first) tell_of_build();
    gp_line r = gp_line_read(push_prompt(L, first), &line);
    lua_settop(L, top);
    if (r != GP_LINE_TEXT) return r;
    if (first && line[0] == '=')
        lua_pushfstring(L, "return %s", line + 1); /* the syntax of Lua 5.2 and older */
    else lua_pushstring(L, line);
    free(line);
    return r;
}

/* Loads the chunk that starts with the line at index 1, reading more lines while it is
 * incomplete. */
static gp_line load_statements(lua_State *L, int *status) {
    for (;;) {
        if (gp_chunk_load_at_once(L)) return *status = LUA_OK, GP_LINE_TEXT; /* dbg( of lines */
        *status = gp_chunk_load(L, lua_tostring(L, 1));
        if (*status != LUA_OK && gp_chunk_load_last(L, false)) {
            lua_remove(L, 2); /* the message */
            *status = LUA_OK;
        }
        if (!gp_chunk_incomplete(L, *status, lua_tostring(L, 1))) return GP_LINE_TEXT;
        gp_line r = push_line(L, false);
        if (r == GP_LINE_CANCEL) return r;
        if (r == GP_LINE_END) { /* no more input: the message stays */
            gp_chunk_load(L, lua_tostring(L, 1));
            return GP_LINE_TEXT;
        }
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
    }
}

/* Whether the editor's text needs no further line. */
static bool whole(void *ctx, const char *text) {
    return gp_shell_chunk_state(ctx, text) != GP_CHUNK_INCOMPLETE;
}

/* Whether the history is suggested: unless the global _SUGGEST is false. */
static bool suggests(void *ctx) {
    lua_State *L = ctx;
    lua_pushglobaltable(L);
    lua_pushliteral(L, "_SUGGEST");
    bool off = lua_rawget(L, -2) == LUA_TBOOLEAN && !lua_toboolean(L, -1);
    lua_pop(L, 2);
    return !off;
}

/* Pushes the next chunk's text: what remains of the last one, as if it were typed, or new input. */
static gp_line push_text(lua_State *L) {
    if (!gp_paste_next(L)) return push_line(L, true);
    fputs(push_prompt(L, true), stdout);
    gp_shell_write(stdout, lua_tostring(L, 1));
    lua_settop(L, 1);
    return GP_LINE_TEXT;
}

/* Loads the text at index 1, pushing the function or the message. */
static gp_line load_text(lua_State *L, int *status) {
    *status = LUA_OK;
    return gp_chunk_load_at_once(L) ? GP_LINE_TEXT : load_statements(L, status);
}

/* Reads and loads one chunk, leaving only the function or the message on the stack. */
static gp_line load_chunk(lua_State *L, int *status) {
    lua_settop(L, 0);
    bool typed = !gp_paste_left(L);
    if (typed) gp_interrupt_idle();
    gp_line r = push_text(L);
    if (r != GP_LINE_TEXT || (r = load_text(L, status)) != GP_LINE_TEXT) return r;
    if (typed) gp_line_save(lua_tostring(L, 1));
    if (gp_paste_split(L, *status)) load_text(L, status);
    if (*status == LUA_OK) gp_chunk_mention(L);
    lua_rotate(L, 1, -1);
    gp_input_keep(L);
    return r;
}

/* Prints all values of the text on the stack, which may wait for a device: Ctrl-C works. */
static void print_values(lua_State *L, const char *text) {
    int n = lua_gettop(L);
    if (n == 0 || gp_chunk_told(L, text)) {
        lua_settop(L, 0);
        return;
    }
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_pushcfunction(L, gp_shell_echo);
    lua_insert(L, 1);
    lua_pushcfunction(L, gp_debug_handler); /* earlier work may fail where its values are printed */
    lua_insert(L, 1);
    gp_interrupt_begin(L, 1);
    gp_sync_echo(1);
    int status = lua_pcall(L, n, 0, 1);
    gp_sync_echo(-1);
    gp_interrupt_end(L);
    if (status != LUA_OK)
        gp_shell_message(lua_pushfstring(L, "error calling 'print' (%s)", lua_tostring(L, -1)));
}

/* Runs the function on the stack, and prints its results unless its text mutes them. */
static void run_chunk(lua_State *L) {
    size_t n;
    const char *typed = gp_input_text(L, gp_input_name(false));
    bool command = typed && gp_shell_is_command(typed); /* before it runs a text of its own */
    gp_shell_started();
    gp_shell_globals_begin(L);
    int status = gp_shell_call(L, 0, LUA_MULTRET);
    gp_line_fresh();
    if (status != LUA_OK) {
        gp_shell_globals_end(L, false);
        gp_shell_report(L, status);
        gp_paste_drop(L);
    } else {
        luaL_checkstack(L, LUA_MINSTACK, "too many results");
        const char *text = gp_input_text(L, gp_input_name(false));
        bool quiet = text && gp_chunk_muted(text, &n);
        if (text && !gp_shell_is_command(text)) gp_shell_remember(L, text);
        bool empty = text && !text[strspn(text, " \t\n")]; /* Enter alone keeps the error */
        if (!command && !empty) gp_debug_release(L);
        if (!quiet) print_values(L, text);
        gp_shell_globals_end(L, true);
    }
    lua_settop(L, 0);
    gp_shell_ended(L);
}

void gp_repl(lua_State *L) {
    int status = LUA_OK;
    gp_line r;
    gp_interrupt_idle();
    const gp_line_hooks hooks = {
        .ctx = L, .complete = whole, .suggest = gp_complete, .grey = suggests};
    gp_line_open(&hooks);
    gp_lua_at_prompt = true;
    gp_shell_watch_globals(L);
    gp_debug_watch(L);
    while ((r = load_chunk(L, &status)) != GP_LINE_END) {
        if (r == GP_LINE_CANCEL) continue;
        if (status == LUA_OK) {
            run_chunk(L);
        } else {
            gp_shell_add_line(L);
            gp_shell_report(L, status);
        }
    }
    lua_settop(L, 0);
    gp_line_close();
    lua_writeline();
}
