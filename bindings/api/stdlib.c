/* Lua's own functions that need a value's number (math.*, string.rep, `..`), truth (assert) or
 * order (table.sort): a one-element tensor is converted to its value, a recorded wait. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/module.h"

/* Replaces the tensor at argument i by its number; raises unless it has one element. */
static void number(lua_State *L, int i) {
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

/* Replaces a false tensor by false: Lua takes every userdata as true. */
static void truth(lua_State *L, int i) {
    if (!gp_lua_totensor(L, i) || gp_lua_truth(L, i)) return;
    lua_pushboolean(L, 0);
    lua_replace(L, i);
}

/* For functions that take either: a bool tensor becomes a boolean, any other a number. */
static void item(lua_State *L, int i) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (t && t->a.dtype == GP_bool) lua_pushboolean(L, gp_lua_truth(L, i)), lua_replace(L, i);
    else number(L, i);
}

/* Refuses tensors as lists. Rows are views: moving them one by one overwrites what is read
 * later. */
static void no_list(lua_State *L, int i) {
    if (gp_lua_totensor(L, i))
        luaL_argerror(L, i, "table expected, got tensor (x:sort() and cat make a new tensor)");
}

/* Each replacement is a C function without upvalues, as debug.getinfo shows, and runs the library's
 * own function in its own frame: error messages then find the name of the call. */
enum { EVERY = 255 }; /* all arguments */

static struct {
#define X(lib, name, becomes, first, last) lua_CFunction lib##_##name;
#include "bindings/api/stdlib.def"
    lua_CFunction string_format, base_ipairs, table_sort, os_exit, os_time;
} original; /* the same in every state */

static inline void convert(lua_State *L, void (*becomes)(lua_State *, int), int first, int last) {
    int n = lua_gettop(L);
    for (int i = n < last ? n : last; i >= first; i--)
        if (lua_type(L, i) == LUA_TUSERDATA) becomes(L, i);
}

#define X(lib, name, becomes, first, last)                                                         \
    static int l_##lib##_##name(lua_State *L) {                                                    \
        convert(L, becomes, first, last);                                                          \
        return original.lib##_##name(L);                                                           \
    }
#include "bindings/api/stdlib.def"

static int l_table_sort(lua_State *L) {
    no_list(L, 1);
    return gp_lua_sort(L) ? 0 : original.table_sort(L);
}

bool gp_lua_is_sort(lua_State *L, int i) { return lua_tocfunction(L, i) == l_table_sort; }

static int l_os_exit(lua_State *L) {
    convert(L, item, 1, 1);
    convert(L, truth, 2, 2);
    return original.os_exit(L);
}

static int l_os_time(lua_State *L) {
    if (!lua_istable(L, 1)) return original.os_time(L);
    lua_pushliteral(L, "isdst");
    lua_rawget(L, 1);
    if (gp_lua_totensor(L, -1))
        return luaL_error(L, "field 'isdst' is a tensor (expected a boolean)");
    lua_settop(L, 1);
    return original.os_time(L);
}

/* Converts the arguments of conversions that need numbers; %s, %q and %p take tensors as they
 * are. */
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
            number(L, arg);
    }
}

static int l_string_format(lua_State *L) {
    bool any = false;
    for (int i = lua_gettop(L); i > 1; i--) any = any || lua_type(L, i) == LUA_TUSERDATA;
    if (any && lua_type(L, 1) == LUA_TSTRING) format_numbers(L);
    return original.string_format(L);
}

/* Over a tensor, ipairs gives its parts along the first dim; x[n + 1] would be an error, not the
 * end. */
static int l_base_ipairs(lua_State *L) {
    return gp_lua_totensor(L, 1) ? gp_lua_pairs(L) : original.base_ipairs(L);
}

/* t .. x: a one-element tensor is converted to its number here, too. */
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
        lua_insert(L, 1); /* the other value has a __concat */
        lua_call(L, 2, 1);
        return 1;
    }
    convert(L, number, 1, 2);
    lua_concat(L, 2);
    return 1;
}

/* Pushes the table of a library's functions; "base": of the global ones, "file": of a file's
 * methods. */
static void push_library(lua_State *L, const char *lib) {
    if (!strcmp(lib, "base")) lua_pushglobaltable(L);
    else if (strcmp(lib, "file") != 0) lua_getglobal(L, lib);
    else if (luaL_getmetatable(L, LUA_FILEHANDLE) == LUA_TTABLE) lua_getfield(L, -1, "__index");
}

/* Sets field `name` of a library to `by` and keeps the old value. Closures stay: run in another
 * frame, they would miss their upvalues. */
static void replace(lua_State *L, const char *lib, const char *name, lua_CFunction by,
                    lua_CFunction *was) {
    int top = lua_gettop(L);
    push_library(L, lib);
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, name);
        lua_CFunction f = lua_tocfunction(L, -1);
        if (f && f != by && !lua_getupvalue(L, -1, 1)) {
            if (*was != f) *was = f; /* a data loader's workers find it set */
            lua_pushcfunction(L, by);
            lua_setfield(L, -3, name);
        }
    }
    lua_settop(L, top);
}

void gp_lua_open_stdlib(lua_State *L) {
#define REPLACE(lib, name) replace(L, #lib, #name, l_##lib##_##name, &original.lib##_##name);
#define X(lib, name, becomes, first, last) REPLACE(lib, name)
#include "bindings/api/stdlib.def"
    REPLACE(string, format)
    REPLACE(base, ipairs)
    REPLACE(table, sort)
    REPLACE(os, exit)
    REPLACE(os, time)
}
