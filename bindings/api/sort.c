/* table.sort with a comparator that may return a tensor, whose truth counts. The algorithm is that
 * of Lua's ltablib.c (R. Sedgewick's quicksort), step for step: same calls, same order of equals,
 * same errors. Wrapping the comparator would also work, but makes sorting plain values 50 %
 * slower. */
#include <limits.h>
#include <string.h>
#include <time.h>

#include "bindings/bind.h"

typedef unsigned int position; /* lengths are less than INT_MAX */

#define RANDOM_LIMIT 100u /* from this length on a pivot may be chosen at random */

/* Compares a and b, stack indices; the list is at 1 and the comparator at 2. */
static bool less(lua_State *L, int a, int b) {
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a - 1);
    lua_pushvalue(L, b - 2);
    lua_call(L, 2, 1);
    bool r = lua_type(L, -1) == LUA_TUSERDATA && gp_lua_totensor(L, -1) ? gp_lua_truth(L, -1)
                                                                        : lua_toboolean(L, -1);
    lua_pop(L, 1);
    return r;
}

/* list[i], list[j] = the top of the stack, the value below it */
static void set_two(lua_State *L, position i, position j) {
    lua_seti(L, 1, i);
    lua_seti(L, 1, j);
}

static void get_two(lua_State *L, position i, position j) {
    lua_geti(L, 1, i);
    lua_geti(L, 1, j);
}

/* Swaps list[i] and list[j], i before j, if the second is less. */
static void order_two(lua_State *L, position i, position j) {
    get_two(L, i, j);
    if (less(L, -1, -2)) set_two(L, i, j);
    else lua_pop(L, 2);
}

/* The pivot P is list[up - 1] and on top of the stack; list[lo] <= P <= list[up]. Moves it to where
 * the parts meet, and returns that index. */
static position partition(lua_State *L, position lo, position up) {
    position i = lo, j = up - 1;
    for (;;) {
        while (lua_geti(L, 1, ++i), less(L, -1, -2)) {
            if (i == up - 1) luaL_error(L, "invalid order function for sorting");
            lua_pop(L, 1);
        }
        while (lua_geti(L, 1, --j), less(L, -3, -1)) {
            if (j < i) luaL_error(L, "invalid order function for sorting");
            lua_pop(L, 1);
        }
        if (j < i) break;
        set_two(L, i, j);
    }
    lua_pop(L, 1);
    set_two(L, up - 1, i);
    return i;
}

/* A random position in the middle half of lo to up. */
static position choose_pivot(position lo, position up, unsigned int seed) {
    position quarter = (up - lo) / 4;
    return seed % (quarter * 2) + (lo + quarter);
}

static unsigned int random_seed(void) {
    clock_t c = clock();
    time_t t = time(NULL);
    unsigned int parts[sizeof c / sizeof(unsigned) + sizeof t / sizeof(unsigned)], sum = 0;
    memcpy(parts, &c, sizeof c);
    memcpy((char *)parts + sizeof c, &t, sizeof t);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) sum += parts[i];
    return sum;
}

/* Puts the median of three at up - 1, with its value on the stack. */
static void place_pivot(lua_State *L, position lo, position up, position p) {
    get_two(L, p, lo);
    if (less(L, -2, -1)) {
        set_two(L, p, lo);
    } else {
        lua_pop(L, 1);
        lua_geti(L, 1, up);
        if (less(L, -1, -2)) set_two(L, p, up);
        else lua_pop(L, 2);
    }
    if (up - lo == 2) return;
    lua_geti(L, 1, p);
    lua_pushvalue(L, -1);
    lua_geti(L, 1, up - 1);
    set_two(L, p, up - 1);
}

/* Sorts list[lo … up]: recursion into the smaller part, iteration over the larger. */
static void sort(lua_State *L, position lo, position up, unsigned int seed) {
    while (lo < up) {
        order_two(L, lo, up);
        if (up - lo == 1) return;
        bool random = up - lo >= RANDOM_LIMIT && seed;
        place_pivot(L, lo, up, random ? choose_pivot(lo, up, seed) : (lo + up) / 2);
        if (up - lo == 2) return;
        position p = partition(L, lo, up), part;
        if (p - lo < up - p) {
            sort(L, lo, p - 1, seed);
            part = p - lo;
            lo = p + 1;
        } else {
            sort(L, p + 1, up, seed);
            part = up - p;
            up = p - 1;
        }
        if (lo < up && (up - lo) / 128 > part) seed = random_seed();
    }
}

/* Whether table.sort accepts it as a list: a table, or an object that acts like one. */
static bool is_list(lua_State *L) {
    return lua_istable(L, 1) || (luaL_getmetafield(L, 1, "__index") != LUA_TNIL &&
                                 luaL_getmetafield(L, 1, "__newindex") != LUA_TNIL &&
                                 luaL_getmetafield(L, 1, "__len") != LUA_TNIL);
}

bool gp_lua_sort(lua_State *L) {
    if (lua_type(L, 2) != LUA_TFUNCTION || !is_list(L)) return false;
    lua_Integer n = luaL_len(L, 1);
    if (n <= 1) return true;
    luaL_argcheck(L, n < INT_MAX, 1, "array too big");
    lua_settop(L, 2);
    sort(L, 1, (position)n, 0);
    return true;
}
