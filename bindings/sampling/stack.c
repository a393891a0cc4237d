/* The stack of the running script, for profiles: lines and functions of the user's code, and the
 * module that is called. */
#include "bindings/sampling/stack.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/stop.h"
#include "profile/record/record.h"
#include "tensor/base/intern.h"

bool gp_lua_outwards(gp_lua_frame *f) {
    while (f->L && !lua_getstack(f->L, ++f->level, &f->ar)) {
        f->L = gp_stop_resumer(f->L);
        f->level = -1;
    }
    if (f->L) lua_getinfo(f->L, "Sl", &f->ar);
    return f->L != NULL;
}

/* ---- frames ---- */

/* As gp_intern_text; the same few texts come again and again, most of them at the same places. */
static const char *interned(const char *text, const void *where) {
    enum { PLACES = 64 };
    static _Thread_local const char *last[PLACES];
    const char **at = &last[(uintptr_t)where / 16 % PLACES];
    if (!*at || strcmp(*at, text) != 0) *at = gp_intern_text(text);
    return *at;
}

/* The function's name where it is a word of the language: a text can hold "evil" < "x:1". */
static const char *function_of(const lua_Debug *ar) {
    if (!ar->name || *ar->what == 'm') return NULL;
    for (const char *p = ar->name; *p; p++)
        if (!isalnum((unsigned char)*p) && *p != '_') return NULL;
    return interned(ar->name, ar->name);
}

/* False without memory. */
static bool set_frame(gp_frame *to, lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "n", ar);
    to->file = interned(ar->short_src, ar->source);
    to->function = function_of(ar);
    to->line = ar->currentline;
    return to->file != NULL;
}

/* ---- modules ---- */

/* The modules that are called; their values are on the stack of L, innermost first. */
typedef struct modules {
    lua_State *L;
    int n;
} modules;

/* Pushes the module that f calls; scripts/lua/nn/init.lua has the function whose frame that is. */
static void note_module(modules *m, const gp_lua_frame *f) {
    enum { MOST = 64 };
    lua_Debug ar = f->ar;
    if (m->n == MOST || !lua_checkstack(m->L, 4) || !lua_checkstack(f->L, 4)) return;
    lua_getinfo(f->L, "f", &ar);
    lua_getfield(f->L, LUA_REGISTRYINDEX, "gpush.module_call");
    bool calls = lua_rawequal(f->L, -1, -2);
    lua_pop(f->L, 2);
    if (!calls || !lua_getlocal(f->L, &ar, 1)) return;
    lua_xmove(f->L, m->L, 1);
    m->n++;
}

/* What scripts/lua/nn/init.lua has found before for these two, or finds now; NULL: nothing. */
static const char *path_of(const modules *m) {
    lua_State *L = m->L;
    int first = lua_gettop(L) - m->n + 1;
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.module_paths") != LUA_TTABLE) return NULL;
    lua_pushvalue(L, first + m->n - 1); /* the outermost */
    if (lua_rawget(L, -2) == LUA_TTABLE) {
        lua_pushvalue(L, first);
        if (lua_rawget(L, -2) == LUA_TSTRING) return gp_intern_text(lua_tostring(L, -1));
    }
    lua_settop(L, first + m->n - 1);
    if (!lua_checkstack(L, m->n + 2)) return NULL;
    lua_getfield(L, LUA_REGISTRYINDEX, "gpush.module_path");
    for (int i = 0; i < m->n; i++) lua_pushvalue(L, first + i);
    if (lua_pcall(L, m->n, 1, 0) != LUA_OK || lua_type(L, -1) != LUA_TSTRING) return NULL;
    return gp_intern_text(lua_tostring(L, -1));
}

/* ---- the stack ---- */

/* Frames of the user's code; where there are none, those of gpush's library. */
static int stack(gp_frame *frame, int max, const char **module) {
    lua_State *L = gp_lua_state;
    int n = 0, ours = 0, top = L ? lua_gettop(L) : 0;
    modules m = {.L = L};
    for (gp_lua_frame f = gp_lua_innermost(L); gp_lua_outwards(&f);) {
        if (f.ar.currentline < 0) continue;
        bool library = gp_lua_ours(f.ar.source);
        if (library) note_module(&m, &f);
        if (library && n > 0) continue;
        if (!library && ours > 0) ours = 0; /* replaced */
        int at = library ? ours : n;
        if (at == max) continue;
        if (!set_frame(&frame[at], f.L, &f.ar)) break;
        if (library) ours++;
        else n++;
    }
    *module = m.n ? path_of(&m) : NULL;
    if (L) lua_settop(L, top);
    return n ? n : ours;
}

/* ---- the option ---- */

int gp_lua_check_depth(lua_State *L, int idx, const char *fname) {
    if (lua_isnoneornil(L, idx)) return 0;
    if (lua_isboolean(L, idx)) return lua_toboolean(L, idx) ? GP_STACK_DEPTH : 0;
    lua_Integer n = lua_isinteger(L, idx) ? lua_tointeger(L, idx) : 0;
    if (n < 1 || n > GP_STACK_DEPTH)
        luaL_error(L, "%s: stack: expected true, false or 1 to %d frames, got %s", fname,
                   (int)GP_STACK_DEPTH, luaL_tolstring(L, idx, NULL));
    return (int)n;
}

static int l_check_depth(lua_State *L) {
    return (void)gp_lua_check_depth(L, 1, luaL_checkstring(L, 2)), 0;
}

void gp_lua_install_stack(lua_State *L) {
    if (gp_record_stack != stack) gp_record_stack = stack;
    lua_pushcfunction(L, l_check_depth);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.check_depth");
}
