/* Chunks of Lua as they are typed, at the prompt and in a notebook's cell: an expression, or
 * statements of which the last may be one; whether a text is complete; and what is said of one
 * that means something else elsewhere. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "bindings/rewrite/rewrite.h"
#include "bindings/rewrite/truth.h"

#include <ctype.h>
#include <lauxlib.h>
#include <string.h>

int gp_chunk_load(lua_State *L, const char *text) {
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
bool gp_chunk_incomplete(lua_State *L, int status, const char *text) {
    static const char mark[] = "<eof>";
    size_t len, n = sizeof mark - 1;
    if (status != LUA_ERRSYNTAX) return false;
    const char *msg = lua_tolstring(L, -1, &len);
    if (len < n || strcmp(msg + len - n, mark) || foreign(L, text)) return false;
    lua_pop(L, 1);
    return true;
}

/* Whether the text ends with a semicolon, which mutes it. If so, *n is its length without it. */
bool gp_chunk_muted(const char *text, size_t *n) {
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
    gp_chunk_muted(lua_tostring(L, 1), &n);
    if (n < at) return false;
    lua_pushlstring(L, lua_tostring(L, 1), at);
    lua_pushliteral(L, "local gpush_line_ <close> = nil return ");
    lua_pushlstring(L, lua_tostring(L, 1) + at, n - at);
    lua_pushliteral(L, "\n;");
    lua_concat(L, 4);
    int status = gp_chunk_load(L, lua_tostring(L, -1));
    lua_remove(L, -2);
    if (status != LUA_OK) lua_pop(L, 1);
    return status == LUA_OK;
}

static bool load_expression(lua_State *L) { return load_returning(L, 0); }

/* Whether the text at index 1 is an expression from its byte `at` on: not "x end" of a function. */
static bool is_expression(lua_State *L, size_t at) {
    lua_pushfstring(L, "return %s", lua_tostring(L, 1) + at);
    int status = gp_chunk_load(L, lua_tostring(L, -1));
    lua_pop(L, 2);
    return status == LUA_OK;
}

enum { LAST_LINES = 20 }; /* and semicolons, that the expression at the end of a block may have */

/* Loads the block at index 1 if it is statements and then an expression, as in pasted text and in
 * "x = 1; x"; false pushes nothing. named: the block is Lua as it stands, so the expression must be
 * a line that begins with a name: "(f)(x)" continues the line before, and "; x" may be in a string.
 */
bool gp_chunk_load_last(lua_State *L, bool named) {
    const char *text = lua_tostring(L, 1);
    size_t at;
    gp_chunk_muted(text, &at);
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
    int status = gp_chunk_load(L, lua_tostring(L, 1));
    if (gp_chunk_load_last(L, status == LUA_OK)) {
        lua_remove(L, 2); /* the statements, or the message */
        status = LUA_OK;
    }
    return status;
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
        *state = gp_chunk_incomplete(L, status, lua_tostring(L, 1)) ? GP_CHUNK_INCOMPLETE
                                                                    : GP_CHUNK_INVALID;
    return 0;
}

bool gp_chunk_load_at_once(lua_State *L) {
    const char *text = lua_tostring(L, 1);
    if (gp_shell_is_command(text)) return gp_shell_push_command(L, text), true;
    return push_whole(L) || load_expression(L);
}

int gp_chunk_load_text(lua_State *L) { return gp_chunk_load_at_once(L) ? LUA_OK : load_block(L); }

gp_chunk_state gp_shell_chunk_state(lua_State *L, const char *text) {
    gp_chunk_state state = GP_CHUNK_INVALID;
    lua_pushcfunction(L, l_state);
    lua_pushstring(L, text);
    lua_pushlightuserdata(L, &state);
    if (lua_pcall(L, 2, 0, 0) != LUA_OK) lua_pop(L, 1);
    return state;
}

static int l_constants(lua_State *L) { return gp_shell_delegate(L, "constants"); }

/* Notes what is Lua in the text at index 1 and means something else in Python: its constants, which
 * are variables, f"…", a call of f, x.size, a method, [[1], [2]], a text, and A * B. */
static void mention_constants(lua_State *L) {
    static const char *const marks[] = {"True", "False", "None", "f\"", "f'", ".size", "[[", "*"};
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

void gp_chunk_mention(lua_State *L) {
    mention_constants(L);
    mention_local(L);
}

/* Whether the text, without a semicolon that mutes it, is a statement: a call, for one. */
static bool is_statement(lua_State *L, const char *text) {
    int status = gp_chunk_load(L, text);
    lua_pop(L, 1);
    return status == LUA_OK;
}

bool gp_chunk_told(lua_State *L, const char *text) {
    if (lua_gettop(L) == 1 && text && luaL_testudata(L, 1, LUA_FILEHANDLE))
        return strstr(text, "write") && is_statement(L, text);
    if (lua_gettop(L) != 1 || luaL_getmetafield(L, 1, "__echo") == LUA_TNIL) return false;
    bool shown = !lua_toboolean(L, -1);
    lua_pop(L, 1);
    return shown;
}
