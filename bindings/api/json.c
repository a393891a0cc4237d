/* JSON in Lua: json.encode(value), json.decode(text), json.null. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "tensor/device/card/card.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/device.h"

enum { DEEPEST = 200 };

static void release(void *owner) {
    json_t **j = owner;
    json_decref(*j);
    *j = NULL;
}

/* A userdata that owns a JSON value, so that an error releases it. */
static json_t **new_holder(lua_State *L) {
    static const gp_owner_type type = {"gpush.json", release};
    return gp_lua_push_owner(L, &type, sizeof(json_t *));
}

/* Counts what j and text of that many bytes take, where the host's time is counted. */
static void count(const json_t *j, size_t bytes) {
    if (!gp_clock_op_ns()) return;
    gp_clock_work(gp_host_rate(GP_HOST_matched, (double)bytes));
    if (j) gp_clock_work(gp_host_times(json_is_real(j) ? GP_HOST_decimal : GP_HOST_json, 1));
}

/* ---- encoding ---- */

/* Whether the table at the top says that it is an array, by its metatable's __jsontype. */
static bool says_array(lua_State *L) {
    if (luaL_getmetafield(L, -1, "__jsontype") == LUA_TNIL) return false;
    const char *type = lua_tostring(L, -1);
    bool array = type && !strcmp(type, "array");
    lua_pop(L, 1);
    return array;
}

/* Whether the table at the top holds exactly 1 … n. An empty one is an object unless it says so. */
static bool is_array(lua_State *L) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1), seen = 0;
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > n)
            return lua_pop(L, 2), false;
        seen++;
    }
    return n > 0 ? seen == n : says_array(L);
}

/* The value at the top if it is not a table; NULL for types that JSON does not have. */
static json_t *plain(lua_State *L) {
    size_t n;
    switch (lua_type(L, -1)) {
    case LUA_TSTRING: {
        const char *s = lua_tolstring(L, -1, &n);
        return json_stringn(s, n);
    }
    case LUA_TBOOLEAN: return json_boolean(lua_toboolean(L, -1));
    case LUA_TNUMBER:
        return lua_isinteger(L, -1) ? json_integer(lua_tointeger(L, -1))
                                    : json_real(lua_tonumber(L, -1));
    case LUA_TLIGHTUSERDATA: return lua_touserdata(L, -1) ? NULL : json_null();
    default: return NULL;
    }
}

static void fill(lua_State *L, json_t *to, int depth);

/* Large values take seconds. */
static bool stopped(void) { return gp_thread_stopped(); }

/* The JSON value for the one at the top; a table's is still empty. */
static json_t *begin(lua_State *L, int depth) {
    if (stopped()) luaL_error(L, "json.encode: interrupted");
    if (depth > DEEPEST) luaL_error(L, "json.encode: tables are nested deeper than %d", DEEPEST);
    json_t *j = lua_istable(L, -1) ? (is_array(L) ? json_array() : json_object()) : plain(L);
    if (!j && gp_lua_totensor(L, -1))
        luaL_error(L, "json.encode: expected a table, number, boolean or text, got a tensor: "
                      "x:item() is its number, x:tolist() its elements");
    if (!j)
        luaL_error(L, "json.encode: expected a table, finite number, boolean or UTF-8 text, got %s",
                   luaL_tolstring(L, -1, NULL));
    count(j, 0);
    return j;
}

static void fill_array(lua_State *L, json_t *to, int depth) {
    lua_Integer n = (lua_Integer)lua_rawlen(L, -1);
    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, -1, i);
        json_t *j = begin(L, depth);
        json_array_append_new(to, j);
        fill(L, j, depth);
        lua_pop(L, 1);
    }
}

static void fill_object(lua_State *L, json_t *to, int depth) {
    for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) {
        size_t n;
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "json.encode: a key is a %s (expected names, or 1 to n)",
                       luaL_typename(L, -2));
        const char *key = lua_tolstring(L, -2, &n);
        json_t *j = begin(L, depth);
        if (json_object_setn_new(to, key, n, j))
            luaL_error(L, "json.encode: the key '%s' is not UTF-8 text", key);
        fill(L, j, depth);
    }
}

/* Fills a container. Its parent already holds it: nothing that is built is without an owner. */
static void fill(lua_State *L, json_t *to, int depth) {
    luaL_checkstack(L, 6, "json.encode");
    if (json_is_array(to)) fill_array(L, to, depth + 1);
    else if (json_is_object(to)) fill_object(L, to, depth + 1);
}

typedef struct text {
    char *s;
    size_t n, capacity;
    bool failed; /* stays: jansson goes on after a failure in a key */
} text;

/* Appends jansson's output; -1 if stopped or out of memory. */
static int append(const char *piece, size_t n, void *to) {
    text *t = to;
    if (t->failed || stopped()) return t->failed = true, -1;
    if (t->capacity - t->n < n) {
        size_t capacity = 2 * t->capacity + n;
        char *s = realloc(t->s, capacity);
        if (!s) return t->failed = true, -1;
        t->s = s, t->capacity = capacity;
    }
    memcpy(t->s + t->n, piece, n);
    t->n += n;
    return 0;
}

/* json.encode(value): text; keys are sorted, floats keep full precision, integers have no dot. An
   empty table is an object, or an array if its metatable's __jsontype is "array". */
static int l_encode(lua_State *L) {
    luaL_checkany(L, 1);
    lua_settop(L, 1);
    json_t **root = new_holder(L);
    lua_insert(L, 1);
    char **box = gp_lua_push_block(L);
    lua_insert(L, 1);
    *root = begin(L, 0);
    fill(L, *root, 0);
    text t = {0};
    int bad = json_dump_callback(*root, append, &t,
                                 JSON_COMPACT | JSON_SORT_KEYS | JSON_ENCODE_ANY |
                                     JSON_REAL_PRECISION(17));
    *box = t.s;
    if (bad || t.failed)
        return luaL_error(L, "json.encode: %s", stopped() ? "interrupted" : "out of memory");
    count(NULL, t.n);
    lua_pushlstring(L, t.s, t.n);
    return 1;
}

/* ---- decoding ---- */

static void push(lua_State *L, const json_t *j) {
    luaL_checkstack(L, 6, "json.decode");
    if (stopped()) luaL_error(L, "json.decode: interrupted");
    count(j, 0);
    switch (json_typeof(j)) {
    case JSON_OBJECT: {
        const char *key;
        json_t *value;
        lua_createtable(L, 0, (int)json_object_size(j));
        json_object_foreach((json_t *)j, key, value) {
            push(L, value);
            lua_setfield(L, -2, key);
        }
        return;
    }
    case JSON_ARRAY:
        lua_createtable(L, (int)json_array_size(j), 0);
        for (size_t i = 0; i < json_array_size(j); i++) {
            push(L, json_array_get(j, i));
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        return;
    case JSON_STRING: lua_pushlstring(L, json_string_value(j), json_string_length(j)); return;
    case JSON_INTEGER: lua_pushinteger(L, json_integer_value(j)); return;
    case JSON_REAL: lua_pushnumber(L, json_real_value(j)); return;
    case JSON_NULL: lua_pushlightuserdata(L, NULL); return;
    default: lua_pushboolean(L, json_is_true(j)); return;
    }
}

/* Gives jansson the next piece of the remaining text. */
static size_t more(void *piece, size_t capacity, void *from) {
    text *t = from;
    if (stopped()) return (size_t)-1;
    size_t n = t->n < capacity ? t->n : capacity;
    memcpy(piece, t->s, n);
    t->s += n, t->n -= n;
    return n;
}

/* json.decode(text): tables, numbers, booleans, strings; null is json.null. */
static int l_decode(lua_State *L) {
    text t = {0};
    json_error_t err;
    t.s = (char *)luaL_checklstring(L, 1, &t.n);
    count(NULL, t.n);
    json_t **root = new_holder(L);
    *root = json_load_callback(more, &t, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &err);
    if (stopped()) return luaL_error(L, "json.decode: interrupted");
    if (!*root)
        return luaL_error(L, "json.decode: line %d, column %d: %s", err.line, err.column, err.text);
    push(L, *root);
    return 1;
}

void gp_lua_open_json(lua_State *L) {
    static const gp_lua_function functions[] = {{"json.encode", "value value", l_encode},
                                                {"json.decode", "text text", l_decode},
                                                {NULL, NULL, NULL}};
    lua_createtable(L, 0, 3);
    gp_lua_set_functions(L, functions);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_setfield(L, -2, "json");
}
