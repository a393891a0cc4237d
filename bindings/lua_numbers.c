/* Tensors where Lua's own library wants a number: math.* and string.format take a one-element tensor for its number, a recorded wait. */
#include <string.h>

#include "bindings/bind.h"

/* Puts the number of the tensor at argument i in its place; raises for more elements than one. */
static void to_number(lua_State *L, int i) {
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t) return;
    if (t->a.numel != 1) {
        char text[200];
        luaL_argerror(L, i, lua_pushfstring(L, "number expected, got tensor %s", gp_tensor_text(t, text, sizeof text)));
    }
    gp_lua_number(L, i);
    lua_replace(L, i);
}

/* The function of the library, run in this very frame: its error messages find the name it is called by. Upvalue: the function. */
static int run_original(lua_State *L) {
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int l_math(lua_State *L) {
    for (int i = lua_gettop(L); i > 0; i--)
        if (lua_type(L, i) == LUA_TUSERDATA) to_number(L, i);
    return run_original(L);
}

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
        if (*s && strchr("diouxXcaAeEfFgG", *s) && lua_type(L, arg) == LUA_TUSERDATA) to_number(L, arg);
    }
}

static int l_format(lua_State *L) {
    bool any = false;
    for (int i = lua_gettop(L); i > 1; i--) any = any || lua_type(L, i) == LUA_TUSERDATA;
    if (any && lua_type(L, 1) == LUA_TSTRING) format_numbers(L);
    return run_original(L);
}

/* Puts `by` into field `name` of the table at the top, with the function that is there as its upvalue. A closure stays: run in a frame
   that is not its own, it would miss its upvalues. */
static void replace(lua_State *L, const char *name, lua_CFunction by) {
    int top = lua_gettop(L);
    lua_getfield(L, top, name);
    if (lua_iscfunction(L, -1) && !lua_getupvalue(L, -1, 1)) {
        lua_pushcclosure(L, by, 1);
        lua_setfield(L, top, name);
    }
    lua_settop(L, top);
}

void gp_lua_open_numbers(lua_State *L) {
    static const char *const math[] = {"abs", "acos", "asin", "atan", "ceil", "cos", "deg", "exp",
                                       "floor", "fmod", "log", "max", "min", "modf", "rad", "sin",
                                       "sqrt", "tan", "tointeger", "ult"};
    if (lua_getglobal(L, "math") == LUA_TTABLE)
        for (size_t i = 0; i < sizeof math / sizeof *math; i++) replace(L, math[i], l_math);
    if (lua_getglobal(L, "string") == LUA_TTABLE) replace(L, "format", l_format);
    lua_pop(L, 2);
}
