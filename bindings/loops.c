/* The loops that run, found in the text of the functions on the stack. */
#include "bindings/loops.h"

#include <lauxlib.h>
#include <lua.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/rewrite/tree.h"
#include "tensor/base/intern.h"

/* ---- text ---- */

enum { DEPTH = 200 }; /* Lua's own limit */

typedef struct block {
    int kind, line; /* TK_FOR, TK_WHILE, TK_REPEAT; TK_FUNCTION; TK_DO and TK_IF */
    bool head;      /* of a loop whose `do` is still to come */
    bool leads;     /* it is the first on its line */
} block;

static bool is_loop(int kind) { return kind == TK_FOR || kind == TK_WHILE || kind == TK_REPEAT; }
static bool closes(int kind) { return kind == TK_END || kind == TK_UNTIL; }

/* Whether the token opens a block; n are open. */
static bool opens(int kind, block *stack, int n) {
    if (kind == TK_DO && n && stack[n - 1].head) return stack[n - 1].head = false;
    return is_loop(kind) || kind == TK_DO || kind == TK_IF || kind == TK_FUNCTION;
}

/* Whether only blanks stand before it on its line. */
static bool leads(const char *text, uint32_t at) {
    while (at && (text[at - 1] == ' ' || text[at - 1] == '\t')) at--;
    return !at || text[at - 1] == '\n';
}

/* Of a loop that ends on its line, and follows something there, it is not known what it repeats: it
 * counts where no other is around. */
int gp_loop_around(const char *text, size_t len, int line) {
    gp_tree t = {.text = text, .len = (uint32_t)len};
    block stack[DEPTH];
    int n = 0, at = 1, within = 0;
    uint32_t seen = 0;
    for (gp_token tok = gp_lex(&t, 0); tok.kind != TK_EOF; tok = gp_lex(&t, tok.end)) {
        for (; seen < tok.start; seen++) at += text[seen] == '\n';
        if (opens(tok.kind, stack, n)) {
            if (n == DEPTH) return 0;
            bool head = tok.kind == TK_FOR || tok.kind == TK_WHILE;
            stack[n++] = (block){tok.kind, at, head, leads(text, tok.start)};
        } else if (closes(tok.kind)) {
            if (!n) return 0;
            block b = stack[--n];
            if (b.line > line || at < line) continue;
            if (b.kind == TK_FUNCTION) return within;
            if (!is_loop(b.kind)) continue;
            if (b.line != at || b.leads) return b.line;
            if (!within) within = b.line;
        }
    }
    return within;
}

/* ---- the stack ---- */

/* Finds the loop around line `line` of the chunk whose text the file has; 0 as well where it cannot
 * be read. */
static int in_file(const char *name, int line) {
    enum { MOST = 1 << 24 };
    FILE *f = fopen(name, "rbe");
    char *text = f ? malloc(MOST + 1) : NULL;
    size_t n = text ? fread(text, 1, MOST, f) : 0;
    int found = n ? gp_loop_around(text, n, line) : 0;
    free(text);
    if (f) fclose(f);
    return found;
}

/* Typed input, whose text the registry has. */
typedef struct typed {
    const char *name;
    int line, found;
} typed;

static int l_typed(lua_State *L) {
    typed *t = lua_touserdata(L, 1);
    size_t len;
    if (lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_INPUTS) != LUA_TTABLE) return 0;
    lua_getfield(L, -1, t->name);
    const char *text = lua_tolstring(L, -1, &len);
    if (text) t->found = gp_loop_around(text, len, t->line);
    return 0;
}

static int in_typed(lua_State *L, const char *name, int line) {
    typed t = {name, line, 0};
    if (!lua_checkstack(L, LUA_MINSTACK)) return 0;
    lua_pushcfunction(L, l_typed);
    lua_pushlightuserdata(L, &t);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1); /* no memory for the name */
    return t.found;
}

static int around(lua_State *L, const lua_Debug *ar) {
    if (ar->source[0] == '@') return in_file(ar->source + 1, ar->currentline);
    if (ar->source[0] == '=') return in_typed(L, ar->source, ar->currentline);
    return gp_loop_around(ar->source, ar->srclen, ar->currentline);
}

gp_srcloc gp_lua_loop_here(void) {
    enum { CALLS = 4 };
    lua_State *L = gp_lua_state;
    lua_Debug ar;
    int users = 0;
    for (int level = 0; L && users < CALLS && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline < 0 || gp_lua_ours(ar.source)) continue;
        users++;
        int line = around(L, &ar);
        if (line) return (gp_srcloc){gp_intern_text(ar.short_src), line};
    }
    return (gp_srcloc){0};
}
