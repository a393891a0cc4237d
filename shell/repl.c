/* The prompt: reads a chunk, first as an expression and then as statements, runs it and prints its
 * results. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "bindings/rewrite/rewrite.h"
#include "bindings/rewrite/truth.h"
#include "profile/sync/sync.h"
#include "shell/editor/line.h"
#include "shell/editor/screen.h"
#include "tensor/device/backends.h"

#include <ctype.h>
#include <lauxlib.h>
#include <stdbool.h>
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

static int load(lua_State *L, const char *text) {
    return gp_syntax_load(L, text, strlen(text), gp_input_name(true), "t");
}

static int l_block(lua_State *L) { return gp_shell_delegate(L, "block"); }

/* Whether the text ends in a colon and a name, as x:shape does. */
static bool ends_in_member(const char *text) {
    const char *c = strrchr(text, ':');
    if (!c || !c[1]) return false;
    do c++;
    while (isalpha((unsigned char)*c) || *c == '_');
    return !*c;
}

/* Whether the text has a line that opens a block in Python, for i in range(3):, or a list as an
 * index, x[[0, 2], :], or ends in x:shape, so that no further line makes it a chunk. Only a text
 * with such a colon or [[ is examined. */
static bool foreign(lua_State *L, const char *text) {
    const char *colon = text;
    while ((colon = strchr(colon, ':')) && !strchr(" \n", colon[1])) colon++;
    if (!colon && !ends_in_member(text) && !strstr(text, "[[")) return false;
    lua_pushcfunction(L, l_block);
    lua_pushstring(L, text);
    bool is = lua_pcall(L, 1, 1, 0) == LUA_OK && lua_toboolean(L, -1);
    lua_pop(L, 1);
    return is;
}

/* Whether the message on top, about text, says that the chunk is incomplete; then it is popped. */
static bool incomplete(lua_State *L, int status, const char *text) {
    static const char mark[] = "<eof>";
    size_t len, n = sizeof mark - 1;
    if (status != LUA_ERRSYNTAX) return false;
    const char *msg = lua_tolstring(L, -1, &len);
    if (len < n || strcmp(msg + len - n, mark) || foreign(L, text)) return false;
    lua_pop(L, 1);
    return true;
}

/* Whether the text ends with a semicolon, which mutes it. If so, *n is its length without it. */
static bool muted(const char *text, size_t *n) {
    *n = strlen(text);
    while (*n && isspace((unsigned char)text[*n - 1])) --*n;
    if (!*n || text[*n - 1] != ';') return false;
    while (*n && text[*n - 1] == ';') --*n;
    return true;
}

/* Loads the text at index 1 with a "return" before its byte `at`, where a line begins, and without
 * the semicolon that mutes it; false pushes nothing. A to-be-closed variable keeps the return from
 * being a tail call, so that errors and waits in called functions find this line. */
static bool load_returning(lua_State *L, size_t at) {
    size_t n;
    muted(lua_tostring(L, 1), &n);
    if (n < at) return false;
    lua_pushlstring(L, lua_tostring(L, 1), at);
    lua_pushliteral(L, "local gpush_line_ <close> = nil return ");
    lua_pushlstring(L, lua_tostring(L, 1) + at, n - at);
    lua_pushliteral(L, "\n;");
    lua_concat(L, 4);
    int status = load(L, lua_tostring(L, -1));
    lua_remove(L, -2);
    if (status != LUA_OK) lua_pop(L, 1);
    return status == LUA_OK;
}

static bool load_expression(lua_State *L) { return load_returning(L, 0); }

/* Whether the text at index 1 is an expression from its byte `at` on: not "x end" of a function. */
static bool is_expression(lua_State *L, size_t at) {
    lua_pushfstring(L, "return %s", lua_tostring(L, 1) + at);
    int status = load(L, lua_tostring(L, -1));
    lua_pop(L, 2);
    return status == LUA_OK;
}

enum { LAST_LINES = 20 }; /* and semicolons, that the expression at the end of a block may have */

/* Loads the block at index 1 if it is statements and then an expression, as in pasted text and in
 * "x = 1; x"; false pushes nothing. named: the block is Lua as it stands, so the expression must be
 * a line that begins with a name: "(f)(x)" continues the line before, and "; x" may be in a string.
 */
static bool load_last_expression(lua_State *L, bool named) {
    const char *text = lua_tostring(L, 1);
    size_t at;
    muted(text, &at);
    for (int lines = 0; lines < LAST_LINES; lines++) {
        while (at && text[at - 1] != '\n' && (named || text[at - 1] != ';')) at--;
        if (!at) return false;
        bool name = isalpha((unsigned char)text[at]) || text[at] == '_';
        if ((name || !named) && is_expression(L, at) && load_returning(L, at)) return true;
        at--;
    }
    return false;
}

/* Loads the text at index 1, pushing the function or the message: an expression, or statements of
 * which the last may be one. */
static int load_block(lua_State *L) {
    if (load_expression(L)) return LUA_OK;
    int status = load(L, lua_tostring(L, 1));
    if (load_last_expression(L, status == LUA_OK)) {
        lua_remove(L, 2); /* the statements, or the message */
        status = LUA_OK;
    }
    return status;
}

/* Loads the chunk that starts with the line at index 1, reading more lines while it is
 * incomplete. */
static gp_line load_statements(lua_State *L, int *status) {
    for (;;) {
        *status = load(L, lua_tostring(L, 1));
        if (*status != LUA_OK && load_last_expression(L, false)) {
            lua_remove(L, 2); /* the message */
            *status = LUA_OK;
        }
        if (!incomplete(L, *status, lua_tostring(L, 1))) return GP_LINE_TEXT;
        gp_line r = push_line(L, false);
        if (r == GP_LINE_CANCEL) return r;
        if (r == GP_LINE_END) { /* no more input: the message stays */
            load(L, lua_tostring(L, 1));
            return GP_LINE_TEXT;
        }
        lua_pushliteral(L, "\n");
        lua_insert(L, -2);
        lua_concat(L, 3);
    }
}

/* The editor compiles the text to see whether the chunk is complete; the prompt runs that function:
 * text and function are in the registry. */
#define WHOLE_TEXT "gpush.whole_text"
#define WHOLE "gpush.whole"

/* Pops the function on top, of the text at index 1. */
static void keep_whole(lua_State *L) {
    lua_setfield(L, LUA_REGISTRYINDEX, WHOLE);
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, WHOLE_TEXT);
}

/* Pushes the function of the text at index 1, once, if it was kept. */
static bool push_whole(lua_State *L) {
    lua_getfield(L, LUA_REGISTRYINDEX, WHOLE_TEXT);
    bool same = lua_rawequal(L, -1, 1);
    lua_pop(L, 1);
    if (same) lua_getfield(L, LUA_REGISTRYINDEX, WHOLE);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, WHOLE_TEXT);
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, WHOLE);
    return same;
}

/* Stores the gp_chunk_state of the text at index 1 in the light userdata. */
static int l_state(lua_State *L) {
    gp_chunk_state *state = lua_touserdata(L, 2);
    lua_settop(L, 1);
    *state = GP_CHUNK_COMPLETE;
    if (gp_shell_is_command(lua_tostring(L, 1))) return 0;
    int status = load_block(L);
    if (status == LUA_OK) keep_whole(L);
    else
        *state = incomplete(L, status, lua_tostring(L, 1)) ? GP_CHUNK_INCOMPLETE : GP_CHUNK_INVALID;
    return 0;
}

gp_chunk_state gp_shell_chunk_state(lua_State *L, const char *text) {
    gp_chunk_state state = GP_CHUNK_INVALID;
    lua_pushcfunction(L, l_state);
    lua_pushstring(L, text);
    lua_pushlightuserdata(L, &state);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
    return state;
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

static int l_constants(lua_State *L) { return gp_shell_delegate(L, "constants"); }

/* Notes what is Lua in the text at index 1 and means something else in Python: its constants, which
 * are variables, and f"…", a call of f. */
static void mention_constants(lua_State *L) {
    static const char *const marks[] = {"True", "False", "None", "f\"", "f'"};
    const char *text = lua_tostring(L, 1);
    size_t i = 0, n = sizeof marks / sizeof *marks;
    while (i < n && !strstr(text, marks[i])) i++;
    if (i == n) return;
    lua_pushcfunction(L, l_constants);
    lua_pushvalue(L, 1);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
}

/* Reports, once, a chunk that ends with a local variable, which nothing can read. */
static void mention_local(lua_State *L) {
    static bool said;
    size_t len, at, n;
    const char *text = lua_tolstring(L, 1, &len);
    if (said || !gp_rewrite_last_local(text, len, &at, &n)) return;
    const char *name = lua_pushlstring(L, text + at, n);
    gp_lua_note(L,
                lua_pushfstring(L, "local %s ends with this line: without 'local' it stays", name));
    lua_pop(L, 2);
    said = true;
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
    if (gp_shell_is_command(lua_tostring(L, 1))) gp_shell_push_command(L, lua_tostring(L, 1));
    else if (!push_whole(L) && !load_expression(L)) return load_statements(L, status);
    return GP_LINE_TEXT;
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
    if (*status == LUA_OK) mention_constants(L), mention_local(L);
    lua_rotate(L, 1, -1);
    gp_input_keep(L);
    return r;
}

/* Whether the only value has already been shown (__echo = false in its metatable). */
static bool told(lua_State *L) {
    if (lua_gettop(L) != 1 || luaL_getmetafield(L, 1, "__echo") == LUA_TNIL) return false;
    bool shown = !lua_toboolean(L, -1);
    lua_pop(L, 1);
    return shown;
}

/* A message handler: work that was queued earlier may fail where its values are printed. */
static int l_print_failed(lua_State *L) {
    gp_debug_keep(L, luaL_tolstring(L, 1, NULL));
    lua_settop(L, 1);
    return 1;
}

/* Prints all values on the stack, which may wait for a device: Ctrl-C works. */
static void print_values(lua_State *L) {
    int n = lua_gettop(L);
    if (n == 0 || told(L)) {
        lua_settop(L, 0);
        return;
    }
    luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
    lua_pushcfunction(L, gp_shell_echo);
    lua_insert(L, 1);
    lua_pushcfunction(L, l_print_failed);
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
        bool quiet = text && muted(text, &n);
        if (text && !gp_shell_is_command(text)) gp_shell_remember(L, text);
        if (!command) gp_debug_release(L);
        if (!quiet) print_values(L);
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
