/* math.* and string.format take a one-element tensor for its number, a recorded wait. */
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
   by. */
/* clang-format off */
#define MATH(X)                                                                    \
    X(abs) X(acos) X(asin) X(atan) X(ceil) X(cos) X(deg) X(exp) X(floor) X(fmod)   \
    X(log) X(max) X(min) X(modf) X(rad) X(sin) X(sqrt) X(tan) X(tointeger) X(ult)
/* clang-format on */

static struct {
#define FIELD(name) lua_CFunction name;
    MATH(FIELD)
    FIELD(format)
} original; /* the same in every state */

static void all_numbers(lua_State *L) {
    for (int i = lua_gettop(L); i > 0; i--)
        if (lua_type(L, i) == LUA_TUSERDATA) to_number(L, i);
}

#define DEFINE(name)                                                                               \
    static int l_math_##name(lua_State *L) {                                                       \
        all_numbers(L);                                                                            \
        return original.name(L);                                                                   \
    }
MATH(DEFINE)

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

static int l_math_format(lua_State *L) {
    bool any = false;
    for (int i = lua_gettop(L); i > 1; i--) any = any || lua_type(L, i) == LUA_TUSERDATA;
    if (any && lua_type(L, 1) == LUA_TSTRING) format_numbers(L);
    return original.format(L);
}

/* Puts `by` into field `name` of the table at the top and keeps what was there. A closure stays:
   run in a frame that is not its own, it would miss its upvalues. */
static void replace(lua_State *L, const char *name, lua_CFunction by, lua_CFunction *was) {
    int top = lua_gettop(L);
    lua_getfield(L, top, name);
    lua_CFunction f = lua_tocfunction(L, -1);
    if (f && f != by && !lua_getupvalue(L, -1, 1)) {
        if (*was != f) *was = f; /* a loader's workers find it set */
        lua_pushcfunction(L, by);
        lua_setfield(L, top, name);
    }
    lua_settop(L, top);
}

void gp_lua_open_numbers(lua_State *L) {
#define REPLACE(name) replace(L, #name, l_math_##name, &original.name);
    if (lua_getglobal(L, "math") == LUA_TTABLE) {
        MATH(REPLACE)
    }
    if (lua_getglobal(L, "string") == LUA_TTABLE) REPLACE(format)
    lua_pop(L, 2);
}
