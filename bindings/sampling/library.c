/* What functions of Lua's libraries take where the host's time is counted. Such a function is one
 * instruction of Lua, however much it does: it counts by its arguments when it is called, and by
 * its results when it returns, with the host's rates of cards.def. What depends on more than these,
 * as where a pattern first matches, does not count: a script takes at least as long. */
#include "bindings/sampling/library.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/device/card/card.h"

/* What of its arguments a function works on, besides the text that it returns. */
typedef enum work {
    NOTHING = 1,
    NUMBERS, /* numbers that become text */
    SUBJECT, /* the whole text, by a pattern */
    SEARCH,  /* the same, where nothing is found */
    JOIN,    /* a list's elements */
    ORDER,   /* a list's, compared */
    MOVE,    /* elements from one place to another */
    INSERT,  /* elements from a place on, where one is given */
    REMOVE,  /* the same */
    UNPACK   /* results are a list's elements */
} work;

static const struct {
    const char *library, *name;
    work work;
} functions[] = {
    {"_G", "tostring", NUMBERS},    {"_G", "tonumber", NOTHING},    {"string", "byte", NOTHING},
    {"string", "char", NOTHING},    {"string", "find", SEARCH},     {"string", "format", NUMBERS},
    {"string", "gmatch", NOTHING},  {"string", "gsub", SUBJECT},    {"string", "len", NOTHING},
    {"string", "lower", NOTHING},   {"string", "match", SEARCH},    {"string", "pack", NOTHING},
    {"string", "rep", NOTHING},     {"string", "reverse", NOTHING}, {"string", "sub", NOTHING},
    {"string", "unpack", NOTHING},  {"string", "upper", NOTHING},   {"table", "concat", JOIN},
    {"table", "insert", INSERT},    {"table", "move", MOVE},        {"table", "remove", REMOVE},
    {"table", "sort", ORDER},       {"table", "unpack", UNPACK},    {"utf8", "char", NOTHING},
    {"utf8", "codepoint", NOTHING}, {"utf8", "len", NOTHING},       {"utf8", "offset", NOTHING},
};

static const char found; /* key of the registry: a table of works by function */

/* table[the function at the top, without upvalues] = work; pops it. */
static void add(lua_State *L, int table, work w) {
    lua_CFunction fn = lua_tocfunction(L, -1);
    if (fn) {
        lua_pushcfunction(L, fn);
        lua_pushinteger(L, w);
        lua_rawset(L, table);
    }
    lua_pop(L, 1);
}

void gp_library_find(lua_State *L) {
    lua_newtable(L);
    int table = lua_gettop(L);
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        if (lua_getglobal(L, functions[i].library) != LUA_TTABLE) {
            lua_pop(L, 1);
            continue;
        }
        lua_getfield(L, -1, functions[i].name);
        bool own = !lua_getupvalue(L, -1, 1); /* else its code may be shared by others */
        if (!own) lua_pop(L, 1);
        if (own) add(L, table, functions[i].work);
        else lua_pop(L, 1);
        lua_pop(L, 1);
    }
    if (lua_getglobal(L, "string") == LUA_TTABLE &&
        lua_getfield(L, -1, "gmatch") == LUA_TFUNCTION) {
        lua_pushliteral(L, ""), lua_pushliteral(L, "");
        lua_call(L, 2, 1);
        add(L, table, NOTHING); /* the iterator's code */
    }
    lua_settop(L, table);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &found);
}

/* 0: it does not count. */
static work work_of(lua_State *L, lua_Debug *ar) {
    lua_getinfo(L, "f", ar);
    lua_CFunction fn = lua_tocfunction(L, -1);
    lua_pop(L, 1);
    if (!fn) return 0;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &found);
    lua_pushcfunction(L, fn);
    work w = lua_istable(L, -2) && lua_rawget(L, -2) != LUA_TNIL ? (work)lua_tointeger(L, -1) : 0;
    lua_pop(L, 2);
    return w;
}

/* Argument i, or a result by its place: pushes it, or nothing and false. */
static bool push(lua_State *L, lua_Debug *ar, int i) { return lua_getlocal(L, ar, i) != NULL; }

static double integer(lua_State *L, lua_Debug *ar, int i, double otherwise) {
    if (!push(L, ar, i)) return otherwise;
    double n = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : otherwise;
    lua_pop(L, 1);
    return n;
}

/* Bytes of a text, elements of a table; else 0. */
static double length(lua_State *L, lua_Debug *ar, int i) {
    if (!push(L, ar, i)) return 0;
    int type = lua_type(L, -1);
    double n = type == LUA_TSTRING || type == LUA_TTABLE ? (double)lua_rawlen(L, -1) : 0;
    lua_pop(L, 1);
    return n;
}

/* The time of the number at the top as text. */
static uint64_t number_time(lua_State *L) {
    if (lua_type(L, -1) != LUA_TNUMBER) return 0;
    return gp_host_times(lua_isinteger(L, -1) ? GP_HOST_integer : GP_HOST_decimal, 1);
}

static uint64_t numbers_time(lua_State *L, lua_Debug *ar) {
    uint64_t ns = 0;
    for (int i = 1; push(L, ar, i); i++, lua_pop(L, 1)) ns += number_time(L);
    return ns;
}

static uint64_t join_time(lua_State *L, lua_Debug *ar) {
    double n = length(L, ar, 1);
    lua_Integer first = (lua_Integer)integer(L, ar, 3, 1), last = (lua_Integer)integer(L, ar, 4, n);
    uint64_t ns = 0;
    if (!push(L, ar, 1)) return 0;
    for (lua_Integer i = first; lua_istable(L, -1) && i <= last; i++) {
        if (lua_rawgeti(L, -1, i) == LUA_TNIL) last = i;
        ns += gp_host_times(GP_HOST_element, 1) + number_time(L);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return ns;
}

static uint64_t order_time(lua_State *L, lua_Debug *ar) {
    double n = length(L, ar, 1), compared = n > 1 ? n * log2(n) : 0;
    bool calls = push(L, ar, 2);
    if (calls) calls = lua_isfunction(L, -1), lua_pop(L, 1);
    return gp_host_times(GP_HOST_compared, compared) +
           (calls ? gp_host_times(GP_HOST_called, compared) : 0);
}

/* Elements from the place on of table.insert(t, place, value) or table.remove(t, place). */
static double behind(lua_State *L, lua_Debug *ar, work w) {
    bool given = push(L, ar, w == INSERT ? 3 : 2);
    if (!given) return 0;
    lua_pop(L, 1);
    double n = length(L, ar, 1) + (w == INSERT);
    return fmax(n - integer(L, ar, 2, n), 0);
}

static uint64_t call_time(lua_State *L, lua_Debug *ar, work w) {
    uint64_t called = gp_host_times(GP_HOST_called, 1);
    switch (w) {
    case NUMBERS: return called + numbers_time(L, ar);
    case SUBJECT: return called + gp_host_rate(GP_HOST_matched, length(L, ar, 1));
    case JOIN: return called + join_time(L, ar);
    case ORDER: return called + order_time(L, ar);
    case MOVE:
        return called + gp_host_times(GP_HOST_element,
                                      fmax(integer(L, ar, 3, 0) - integer(L, ar, 2, 1) + 1, 0));
    case INSERT:
    case REMOVE: return called + gp_host_times(GP_HOST_element, behind(L, ar, w));
    default: return called;
    }
}

/* Whether find or match looks through the whole text, where it finds nothing: not for a text that
 * stands in it as it is, nor at its beginning alone. */
static bool looks_through(lua_State *L, lua_Debug *ar) {
    if (!push(L, ar, 2)) return false;
    const char *pattern = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : "";
    bool all = *pattern != '^' && strpbrk(pattern, "*+?.([%-");
    lua_pop(L, 1);
    return all;
}

static uint64_t search_time(lua_State *L, lua_Debug *ar, bool nothing_found) {
    if (!nothing_found || !looks_through(L, ar)) return 0;
    double from = integer(L, ar, 3, 1), n = length(L, ar, 1);
    return gp_host_rate(GP_HOST_matched, from > 0 ? fmax(n - from + 1, 0) : fmin(-from, n));
}

static uint64_t return_time(lua_State *L, lua_Debug *ar, work w) {
    lua_getinfo(L, "r", ar);
    double bytes = 0;
    bool nothing = false;
    for (int i = 0; i < ar->ntransfer && push(L, ar, ar->ftransfer + i); i++, lua_pop(L, 1)) {
        if (lua_type(L, -1) == LUA_TSTRING) bytes += (double)lua_rawlen(L, -1);
        if (i == 0) nothing = lua_isnil(L, -1);
    }
    uint64_t ns = gp_host_rate(GP_HOST_text, bytes);
    if (w == SEARCH) ns += search_time(L, ar, nothing);
    if (w == UNPACK) ns += gp_host_times(GP_HOST_element, ar->ntransfer);
    return ns;
}

uint64_t gp_library_time(lua_State *L, lua_Debug *ar) {
    work w = work_of(L, ar);
    if (!w) return 0;
    return ar->event == LUA_HOOKRET ? return_time(L, ar, w) : call_time(L, ar, w);
}
