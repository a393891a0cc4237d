/* A text of several chunks, such as a copied session: they run one after the other, as if each had
 * been typed, up to the first that fails. */
#include "shell/shell.h"

#include <lauxlib.h>
#include <string.h>

#define PIECES "gpush.pieces" /* in the registry: the remaining chunks, the next one last */

enum { LINES = 500 }; /* that such a text may have: each prefix of a piece is compiled */

/* Whether text, a chunk that is not the last, declares local variables, which would end with it. */
static bool makes_locals(const char *text) {
    text += strspn(text, " \t\n");
    return !strncmp(text, "local", 5) && (text[5] == ' ' || text[5] == '\t' || text[5] == '\n');
}

/* Pushes the shortest chunk of lines from text on, and returns what follows it; NULL pushes
 * nothing. */
static const char *push_piece(lua_State *L, const char *text, int *lines) {
    for (const char *end = text; *end && ++*lines <= LINES;) {
        end += strcspn(end, "\n");
        const char *piece = lua_pushlstring(L, text, (size_t)(end - text));
        gp_chunk_state state = gp_shell_chunk_state(L, piece);
        bool fit = state == GP_CHUNK_COMPLETE && !(*end && makes_locals(piece));
        if (fit) return end + (*end == '\n');
        lua_pop(L, 1);
        if (state != GP_CHUNK_INCOMPLETE) return NULL;
        end += *end == '\n';
    }
    return NULL;
}

/* Pushes text's chunks, first to last; 0 pushes nothing. */
static int push_pieces(lua_State *L, const char *text) {
    int top = lua_gettop(L), lines = 0;
    for (text += strspn(text, "\n"); *text; text += strspn(text, "\n")) {
        luaL_checkstack(L, LUA_MINSTACK, "too many lines");
        text = push_piece(L, text, &lines);
        if (text) continue;
        lua_settop(L, top);
        break;
    }
    return lua_gettop(L) - top;
}

bool gp_paste_split(lua_State *L, int status) {
    const char *text = lua_tostring(L, 1);
    bool wrong = status == LUA_ERRSYNTAX || (gp_shell_is_command(text) && *text != '!');
    if (!wrong || !strchr(text, '\n')) return false;
    int top = lua_gettop(L), n = push_pieces(L, text);
    if (n < 2) {
        lua_settop(L, top);
        return false;
    }
    lua_createtable(L, n - 1, 0);
    lua_insert(L, top + 2);
    for (int i = 1; i < n; i++) lua_rawseti(L, top + 2, i); /* from the last to the second */
    lua_setfield(L, LUA_REGISTRYINDEX, PIECES);
    lua_replace(L, 1);
    lua_settop(L, 1);
    return true;
}

bool gp_paste_left(lua_State *L) {
    bool left = lua_getfield(L, LUA_REGISTRYINDEX, PIECES) == LUA_TTABLE && lua_rawlen(L, -1) > 0;
    lua_pop(L, 1);
    return left;
}

bool gp_paste_next(lua_State *L) {
    if (!gp_paste_left(L)) return false;
    lua_getfield(L, LUA_REGISTRYINDEX, PIECES);
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    lua_rawgeti(L, -1, n);
    lua_pushnil(L);
    lua_rawseti(L, -3, n);
    lua_remove(L, -2);
    return true;
}

void gp_paste_drop(lua_State *L) {
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, PIECES);
}
