/* Lua's own functions that need a value's number (math.*, string.rep, `..`), truth (assert) or
 * order (table.sort): a one-element tensor is converted to its value, a recorded wait. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/intercept.h"

/* Pushes what else to write where function LIBRARY.NAME needs numbers, or "". */
static const char *push_advice(lua_State *L, const char *function) {
    const char *name = strchr(function, '.') + 1;
    if (!strcmp(function, "string.format")) return lua_pushliteral(L, "; %s shows it");
    if (!strcmp(name, "write")) return lua_pushliteral(L, "; tostring(x) is its text");
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    if (!strncmp(function, "math.", 5) && lua_getfield(L, -1, name) == LUA_TFUNCTION)
        return lua_pushfstring(L, "; x:%s(…) takes tensors", name);
    return lua_pushliteral(L, "");
}

/* Replaces the tensor at argument i of the function by its number; raises unless it has one
 * element. */
static void number(lua_State *L, int i, const char *function) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t) return;
    if (t->a.numel != 1) {
        char text[200];
        gp_tensor_text(t, text, sizeof text);
        const char *advice = push_advice(L, function);
        luaL_argerror(L, i, lua_pushfstring(L, "number expected, got tensor %s%s", text, advice));
    }
    gp_lua_number(L, i, function);
    lua_replace(L, i);
}

/* Replaces a false tensor by false: Lua takes every userdata as true. */
static void truth(lua_State *L, int i, const char *function) {
    const char *form = strcmp(function, "base.assert") ? NULL : "assert";
    if (!gp_lua_totensor(L, i) || gp_lua_truth_in(L, i, form)) return;
    lua_pushboolean(L, 0);
    lua_replace(L, i);
}

/* For functions whose fourth argument is a boolean, and those before it places in a string. */
static void position_or_flag(lua_State *L, int i, const char *function) {
    if (i == 4) truth(L, i, function);
    else number(L, i, function);
}

/* For functions that take either: a bool tensor becomes a boolean, any other a number. */
static void item(lua_State *L, int i, const char *function) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (t && t->a.dtype == GP_bool && t->a.numel == 1)
        lua_pushboolean(L, gp_lua_truth(L, i)), lua_replace(L, i);
    else number(L, i, function);
}

/* Refuses tensors as lists. Rows are views: moving them one by one overwrites what is read
 * later. */
static void no_list(lua_State *L, int i) {
    if (gp_lua_totensor(L, i))
        luaL_argerror(L, i, "table expected, got tensor (x:sort() and cat make a new tensor)");
}

static void list_or_position(lua_State *L, int i, const char *function) {
    if (i == 1) no_list(L, i);
    else number(L, i, function);
}

/* Each replacement is a C function without upvalues, as debug.getinfo shows, and runs the library's
 * own function in its own frame: error messages then find the name of the call. */
enum { EVERY = 255 }; /* all arguments */

static struct {
#define X(lib, name, becomes, first, last) lua_CFunction lib##_##name;
#include "bindings/api/stdlib.def"
    lua_CFunction string_format, base_ipairs, table_concat, table_insert, table_sort, os_exit,
        os_time, math_random, math_randomseed;
} original; /* the same in every state */

static inline void convert(lua_State *L, void (*becomes)(lua_State *, int, const char *), int first,
                           int last, const char *function) {
    int n = lua_gettop(L);
    for (int i = n < last ? n : last; i >= first; i--)
        if (lua_type(L, i) == LUA_TUSERDATA) becomes(L, i, function);
}

#define X(lib, name, becomes, first, last)                                                         \
    static int l_##lib##_##name(lua_State *L) {                                                    \
        convert(L, becomes, first, last, #lib "." #name);                                          \
        return original.lib##_##name(L);                                                           \
    }
#include "bindings/api/stdlib.def"

/* A function that is captured or traced would have the number that it drew then for good. */
static int l_math_random(lua_State *L) {
    if (!gp_at(GP_AT_DRAW, "math.random", NULL)) return gp_lua_raise(L);
    convert(L, number, 1, 2, "math.random");
    return original.math_random(L);
}

static int l_math_randomseed(lua_State *L) {
    if (!gp_at(GP_AT_DRAW, "math.randomseed", NULL)) return gp_lua_raise(L);
    convert(L, number, 1, 2, "math.randomseed");
    return original.math_randomseed(L);
}

/* Whether os.exit's first argument is a success, as the system keeps eight bits of a number. */
static bool is_success(lua_State *L) {
    return lua_isboolean(L, 1) ? lua_toboolean(L, 1) : !(luaL_optinteger(L, 1, 0) & 255);
}

static int l_os_exit(lua_State *L) {
    convert(L, item, 1, 1, "os.exit");
    convert(L, truth, 2, 2, "os.exit");
    lua_settop(L, 2);
    bool fine = is_success(L);
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.end") == LUA_TFUNCTION) {
        lua_pushboolean(L, fine);
        lua_call(L, 1, 1);
        if (fine && lua_tointeger(L, -1) != 0) lua_copy(L, -1, 1);
    }
    lua_settop(L, 2);
    return original.os_exit(L);
}

static int l_os_time(lua_State *L) {
    static const char *const fields[] = {"year", "month", "day", "hour", "min", "sec", "isdst"};
    if (!lua_istable(L, 1)) return original.os_time(L);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushstring(L, fields[i]);
        lua_rawget(L, 1);
        if (gp_lua_totensor(L, -1))
            return luaL_error(L, "field '%s' is a tensor (expected %s; x:item() gives it)",
                              fields[i], i < 6 ? "an integer" : "a boolean");
        lua_settop(L, 1);
    }
    return original.os_time(L);
}

/* ---- table ---- */

static int l_table_sort(lua_State *L) {
    no_list(L, 1);
    return gp_lua_sort(L) ? 0 : original.table_sort(L);
}

bool gp_lua_is_sort(lua_State *L, int i) { return lua_tocfunction(L, i) == l_table_sort; }

/* What is inserted may be a tensor; only with three arguments there is a place. */
static int l_table_insert(lua_State *L) {
    no_list(L, 1);
    if (lua_gettop(L) == 3) convert(L, number, 2, 2, "table.insert");
    return original.table_insert(L);
}

/* Replaces concat's list by a copy with the numbers of its tensors, if it has any: `..` takes them,
 * too. The copy ends at the first nil, of which concat then says where it is. */
static void numbers_of(lua_State *L) {
    enum { LIST = 1, FIRST = 3, LAST = 4, COPY = 5 };
    int n = lua_gettop(L);
    bool any = false;
    lua_settop(L, LAST);
    lua_Integer i = luaL_optinteger(L, FIRST, 1),
                last = luaL_optinteger(L, LAST, (lua_Integer)lua_rawlen(L, LIST));
    lua_newtable(L);
    for (; i <= last && lua_rawgeti(L, LIST, i) != LUA_TNIL; i++) {
        gp_tensor *t = gp_lua_totensor(L, -1);
        char text[200];
        if (t && t->a.numel != 1)
            luaL_error(L, "element %I of the list is a tensor %s (tostring makes a text of it)", i,
                       gp_tensor_text(t, text, sizeof text));
        if (t) gp_lua_number(L, -1, "table.concat"), lua_replace(L, -2), any = true;
        lua_rawseti(L, COPY, i);
        if (i == LUA_MAXINTEGER) break;
    }
    if (!any) {
        lua_settop(L, n < LAST ? n : LAST);
        return;
    }
    lua_settop(L, COPY);
    lua_replace(L, LIST);
    lua_pushinteger(L, last);
    lua_replace(L, LAST);
}

/* Looking for tensors first would cost lists of texts a fifth; a list without a metatable can be
 * read twice. */
static int l_table_concat(lua_State *L) {
    int n = lua_gettop(L);
    if (gp_lua_totensor(L, 1))
        luaL_argerror(L, 1, "table expected, got tensor (x:tolist() makes one)");
    convert(L, number, 3, 4, "table.concat");
    if (!lua_istable(L, 1) || lua_getmetatable(L, 1) || !lua_checkstack(L, n + 4))
        return lua_settop(L, n), original.table_concat(L);
    lua_pushcfunction(L, original.table_concat);
    for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
    if (lua_pcall(L, n, 1, 0) == LUA_OK) return 1;
    lua_settop(L, n);
    numbers_of(L);
    return original.table_concat(L);
}

/* ---- string.format, ipairs, .. ---- */

/* Converts the arguments of conversions that need values; %s and %p take tensors as they are. */
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
        if (!*s || lua_type(L, arg) != LUA_TUSERDATA) continue;
        if (*s == 'q') item(L, arg, "string.format");
        else if (strchr("diouxXcaAeEfFgG", *s)) number(L, arg, "string.format");
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
    convert(L, number, 1, 2, "..");
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

/* Sets field `name` of a library to `by`, with the upvalues of the old value, and keeps that: it
 * runs in the frame of `by`, where it finds them. */
static void replace(lua_State *L, const char *lib, const char *name, lua_CFunction by,
                    lua_CFunction *was) {
    int top = lua_gettop(L);
    push_library(L, lib);
    if (lua_istable(L, -1)) {
        lua_getfield(L, -1, name);
        lua_CFunction f = lua_tocfunction(L, -1);
        int old = lua_gettop(L), n = 0;
        if (f && f != by) {
            if (*was != f) *was = f; /* a data loader's workers find it set */
            while (lua_getupvalue(L, old, n + 1)) n++;
            lua_pushcclosure(L, by, n);
            lua_setfield(L, old - 1, name);
        }
    }
    lua_settop(L, top);
}

void gp_lua_open_stdlib(lua_State *L) {
#define REPLACE(lib, name) replace(L, #lib, #name, l_##lib##_##name, &original.lib##_##name);
#define X(lib, name, becomes, first, last) REPLACE(lib, name)
#include "bindings/api/stdlib.def"
    REPLACE(math, random)
    REPLACE(math, randomseed)
    REPLACE(string, format)
    REPLACE(base, ipairs)
    REPLACE(table, concat)
    REPLACE(table, insert)
    REPLACE(table, sort)
    REPLACE(os, exit)
    REPLACE(os, time)
}
