/* Where Lua wants a number (math.*, tonumber, string.rep, `..` and others), a one-element tensor gives
 * its own, a recorded wait; ipairs walks a tensor. */
#include <string.h>

#include "bindings/bind.h"

/* Puts the number of the tensor at argument i in its place; raises for more elements than one. */
static void to_number(lua_State *L, int i) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t) return;
    if (t->a.numel != 1) {
        char text[200];
        luaL_argerror(L, i,
                      lua_pushfstring(L, "number expected, got tensor %s",
                                      gp_tensor_text(t, text, sizeof text)));
    }
    gp_lua_number(L, i);
    lua_replace(L, i);
}

/* The functions that stand before the library's own take its place without upvalues, as
   debug.getinfo shows, and run it in their own frame: its error messages find the name it is called
   by. Library, function, and the first and last argument that is a number. */
enum { EVERY = 255 };
/* clang-format off */
#define NUMBERS(X)                                                                                 \
    X(math, abs, 1, 1) X(math, acos, 1, 1) X(math, asin, 1, 1) X(math, atan, 1, 2)                 \
    X(math, ceil, 1, 1) X(math, cos, 1, 1) X(math, deg, 1, 1) X(math, exp, 1, 1)                   \
    X(math, floor, 1, 1) X(math, fmod, 1, 2) X(math, log, 1, 2) X(math, max, 1, EVERY)             \
    X(math, min, 1, EVERY) X(math, modf, 1, 1) X(math, rad, 1, 1) X(math, sin, 1, 1)               \
    X(math, sqrt, 1, 1) X(math, tan, 1, 1) X(math, tointeger, 1, 1) X(math, ult, 1, 2)             \
    X(string, char, 1, EVERY) X(string, rep, 2, 2) X(string, sub, 2, 3) X(utf8, char, 1, EVERY)    \
    X(table, concat, 3, 4) X(table, unpack, 2, 3) X(io, write, 1, EVERY) X(file, write, 2, EVERY)  \
    X(base, select, 1, 1) X(base, tonumber, 1, 1)
/* clang-format on */

static struct {
#define FIELD(lib, name, first, last) lua_CFunction lib##_##name;
    NUMBERS(FIELD)
    lua_CFunction string_format, base_ipairs;
} original; /* the same in every state */

static void numbers(lua_State *L, int first, int last) {
    int n = lua_gettop(L);
    for (int i = n < last ? n : last; i >= first; i--)
        if (lua_type(L, i) == LUA_TUSERDATA) to_number(L, i);
}

#define DEFINE(lib, name, first, last)                                                             \
    static int l_##lib##_##name(lua_State *L) {                                                    \
        numbers(L, first, last);                                                                   \
        return original.lib##_##name(L);                                                           \
    }
NUMBERS(DEFINE)

/* The arguments of conversions that want numbers; %s, %q and %p take tensors as they are. */
static void format_numbers(lua_State *L) {
    const char *s = lua_tostring(L, 1);
    int arg = 1;
    while ((s = strchr(s, '%')) != NULL) {
        s++;
        if (*s == '%') {
            s++;
            continue;
        }
        arg++;
        s += strspn(s, "-+ #0123456789.");
        if (*s && strchr("diouxXcaAeEfFgG", *s) && lua_type(L, arg) == LUA_TUSERDATA)
            to_number(L, arg);
    }
}

static int l_string_format(lua_State *L) {
    bool any = false;
    for (int i = lua_gettop(L); i > 1; i--) any = any || lua_type(L, i) == LUA_TUSERDATA;
    if (any && lua_type(L, 1) == LUA_TSTRING) format_numbers(L);
    return original.string_format(L);
}

/* For a tensor, its parts along the first dim; x[n + 1] would be an error, not the end. */
static int l_base_ipairs(lua_State *L) {
    return gp_lua_totensor(L, 1) ? gp_lua_pairs(L) : original.base_ipairs(L);
}

/* t .. x: a one-element tensor is its number here, too. */
int gp_lua_concat(lua_State *L) {
    for (int i = 1; i <= 2; i++) {
        gp_tensor *t = gp_lua_totensor(L, i);
        char text[200];
        if (t && t->a.numel != 1)
            return luaL_error(L, "attempt to concatenate a tensor %s (tostring makes a text of it)",
                              gp_tensor_text(t, text, sizeof text));
        if (t || lua_isstring(L, i)) continue;
        if (i == 1 || luaL_getmetafield(L, i, "__concat") == LUA_TNIL)
            return luaL_error(L, "attempt to concatenate a %s value", luaL_typename(L, i));
        lua_insert(L, 1); /* the other value knows how */
        lua_call(L, 2, 1);
        return 1;
    }
    numbers(L, 1, 2);
    lua_concat(L, 2);
    return 1;
}

/* Pushes the table of a library's functions; "base": of the global ones, "file": of a file's methods. */
static void push_library(lua_State *L, const char *lib) {
    if (!strcmp(lib, "base")) lua_pushglobaltable(L);
    else if (strcmp(lib, "file") != 0) lua_getglobal(L, lib);
    else if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE) lua_getfield(L, -1, "__index");
}

/* Puts `by` into field `name` of a library and keeps what was there. A closure stays: run in a frame
   that is not its own, it would miss its upvalues. */
static void replace(lua_State *L, const char *lib, const char *name, lua_CFunction by,
                    lua_CFunction *was) {
    int top = lua_gettop(L);
    push_library(L, lib);
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, name);
        lua_CFunction f = lua_tocfunction(L, -1);
        if (f && f != by && !lua_getupvalue(L, -1, 1)) {
            if (*was != f) *was = f; /* a loader's workers find it set */
            lua_pushcfunction(L, by);
            lua_setfield(L, -3, name);
        }
    }
    lua_settop(L, top);
}

void gp_lua_open_numbers(lua_State *L) {
#define REPLACE(lib, name, first, last)                                                            \
    replace(L, #lib, #name, l_##lib##_##name, &original.lib##_##name);
    NUMBERS(REPLACE)
    REPLACE(string, format, 1, 1)
    REPLACE(base, ipairs, 1, 1)
}
