/* Serializes values for another Lua state, that of a loader's worker: see serial.h for the form.
 * Tensors are passed by reference, as their storages are shared; functions go as bytecode with
 * their upvalues, each upvalue once, however many functions share it; and with them the globals
 * that their bytecode names, until no new name turns up. What cannot go (a coroutine, a file, a
 * tensor on a device) is refused with the path to it. */
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/names.h"
#include "bindings/loader/serial.h"
#include "bindings/loader/serial_tags.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/base/error.h"

enum { DEEPEST = 150 };

/* The path to a value: innermost step first. */
typedef struct step {
    const char *kind; /* "field", "upvalue", "metatable", "global" or NULL: the start */
    int key;          /* field: stack index of the key */
    const char *name; /* upvalue, global, start */
    const struct step *from;
    int depth;
} step;

typedef struct packer {
    lua_State *L;
    gp_serial *p;
    int seen;  /* stack index of a table: object, or identity of an upvalue -> its number */
    int names; /* of a table: value that goes by name -> the name */
    int code;  /* of a list: serialized bytecode */
    lua_Integer count;
} packer;

/* ---- bytes ---- */

/* Makes room for that many more bytes; at least doubles, so that serializing stays linear. */
static bool reserve(gp_serial *p, size_t more) {
    if (p->n + more <= p->capacity) return true;
    size_t want = 2 * p->capacity > p->n + more ? 2 * p->capacity : p->n + more + 256;
    char *bytes = realloc(p->bytes, want);
    if (!bytes) return gp_fail("out of memory");
    p->bytes = bytes;
    p->capacity = want;
    return true;
}

static bool write_bytes(gp_serial *p, const void *bytes, size_t n) {
    if (!reserve(p, n)) return false;
    if (n) memcpy(p->bytes + p->n, bytes, n);
    p->n += n;
    return true;
}

static bool write_tag(gp_serial *p, gp_tag tag) {
    uint8_t t = (uint8_t)tag;
    return write_bytes(p, &t, 1);
}

static bool write_int(gp_serial *p, gp_tag tag, int64_t v) {
    return write_tag(p, tag) && write_bytes(p, &v, sizeof v);
}

/* tag, length, bytes */
static bool write_text(gp_serial *p, gp_tag tag, const char *s, size_t n) {
    return write_int(p, tag, (int64_t)n) && write_bytes(p, s, n);
}

/* ---- refusing ---- */

static size_t add(char *buf, size_t size, size_t at, const char *text) {
    int n = snprintf(buf + at, size - at, "%s", text);
    return at + (size_t)n < size ? at + (size_t)n : size - 1;
}

/* Writes the path from the outermost value to s as text: "get, upvalue 'x'.field". */
static size_t describe(lua_State *L, const step *s, char *buf, size_t size) {
    char text[120];
    size_t at = s->from ? describe(L, s->from, buf, size) : 0;
    if (!s->kind) return add(buf, size, at, s->name);
    if (!strcmp(s->kind, "field")) {
        if (lua_type(L, s->key) == LUA_TSTRING)
            snprintf(text, sizeof text, ".%s", lua_tostring(L, s->key));
        else if (lua_isinteger(L, s->key))
            snprintf(text, sizeof text, "[%lld]", (long long)lua_tointeger(L, s->key));
        else snprintf(text, sizeof text, "[a %s]", luaL_typename(L, s->key));
    } else {
        snprintf(text, sizeof text, s->name ? ", %s '%s'" : ", %s", s->kind, s->name);
    }
    return add(buf, size, at, text);
}

/* Fails, naming the path to the value at idx and why it cannot go to another state. */
static bool refuse(packer *k, int idx, const step *s, const char *why) {
    lua_State *L = k->L;
    char way[400];
    const char *type = luaL_typename(L, idx);
    if (luaL_getmetafield(L, idx, "__name") == LUA_TSTRING) type = lua_tostring(L, -1);
    describe(L, s, way, sizeof way);
    return gp_fail("%s is a %s: %s", way + (*way == '.'), type,
                   why); /* a field of an unnamed value */
}

/* ---- values ---- */

static bool write_value(packer *k, int idx, const step *s);

/* The number of the value on top, which it pops; new ones get the next number. */
static bool number_of(packer *k, lua_Integer *id) {
    lua_State *L = k->L;
    lua_pushvalue(L, -1);
    bool known = lua_rawget(L, k->seen) == LUA_TNUMBER;
    *id = known ? lua_tointeger(L, -1) : ++k->count;
    lua_pop(L, 1);
    if (known) return lua_pop(L, 1), true;
    lua_pushinteger(L, *id);
    lua_rawset(L, k->seen);
    return false;
}

/* Serializes a view; tensors of a device are refused, since workers compute on the cpu. */
static bool write_tensor(packer *k, const gp_tensor *t, int idx, const step *s) {
    gp_serial *p = k->p;
    if (gp_tensor_device(t) != gp_device_cpu())
        return refuse(k, idx, s, "on a device; a worker's tensors are on the cpu (x:cpu())");
    if (!gp_host_ready(t->storage, GP_WHY_copy, "loader")) return false;
    if (p->ntensors == p->tensor_capacity) {
        int want = 2 * p->tensor_capacity + 8;
        gp_tensor **more = realloc(p->tensor, (size_t)want * sizeof *more);
        if (!more) return gp_fail("out of memory");
        p->tensor = more;
        p->tensor_capacity = want;
    }
    gp_shape shape = gp_tensor_shape(t);
    gp_tensor *view = gp_tensor_view(t, &shape, t->a.stride, 0);
    if (!view) return false;
    p->tensor[p->ntensors++] = view;
    return write_tag(p, GP_TAG_tensor);
}

/* table, then keys and values, then end and the metatable or nil. */
static bool write_table(packer *k, int idx, const step *s) {
    lua_State *L = k->L;
    bool ok = write_tag(k->p, GP_TAG_table);
    for (lua_pushnil(L); ok && lua_next(L, idx); lua_pop(L, 1)) {
        int value = lua_gettop(L);
        step field = {"field", value - 1, NULL, s, s->depth + 1};
        ok = write_value(k, value - 1, &field) && write_value(k, value, &field);
    }
    if (!ok) return lua_pop(L, 1), false;
    if (!lua_getmetatable(L, idx)) lua_pushnil(L);
    step meta = {"metatable", 0, NULL, s, s->depth + 1};
    ok = write_tag(k->p, GP_TAG_end) && write_value(k, lua_gettop(L), &meta);
    return lua_pop(L, 1), ok;
}

typedef struct code {
    luaL_Buffer b;
    bool begun; /* lua_dump wants the function on top when it starts, the buffer from then on */
} code;

static int add_code(lua_State *L, const void *bytes, size_t n, void *ud) {
    code *c = ud;
    if (!c->begun) luaL_buffinit(L, &c->b);
    c->begun = true;
    luaL_addlstring(&c->b, bytes, n);
    return 0;
}

/* Pushes the bytecode, line numbers included. */
static void push_code(lua_State *L, int idx) {
    code c = {.begun = false};
    lua_pushvalue(L, idx);
    int f = lua_gettop(L);
    lua_dump(L, add_code, &c, 0);
    luaL_pushresult(&c.b);
    lua_remove(L, f);
}

/* Upvalues are shared between functions: a number, then a value where it is new. */
static bool write_upvalue(packer *k, int idx, int i, const step *s) {
    lua_State *L = k->L;
    lua_Integer id;
    lua_pushlightuserdata(L, lua_upvalueid(L, idx, i));
    if (number_of(k, &id)) return write_int(k->p, GP_TAG_shared, id);
    step up = {"upvalue", 0, lua_getupvalue(L, idx, i), s, s->depth + 1};
    bool ok = write_value(k, lua_gettop(L), &up);
    return lua_pop(L, 1), ok;
}

/* function, bytecode, then the upvalues up to end. */
static bool write_function(packer *k, int idx, const step *s) {
    lua_State *L = k->L;
    size_t n;
    push_code(L, idx);
    lua_pushvalue(L, -1);
    lua_rawseti(L, k->code, (lua_Integer)lua_rawlen(L, k->code) + 1);
    const char *code = lua_tolstring(L, -1, &n);
    bool ok = write_text(k->p, GP_TAG_function, code, n);
    lua_pop(L, 1);
    for (int i = 1; ok && lua_getupvalue(L, idx, i); i++) {
        lua_pop(L, 1);
        ok = write_upvalue(k, idx, i, s);
    }
    return ok && write_tag(k->p, GP_TAG_end);
}

static bool plain_c_function(lua_State *L, int idx) {
    if (!lua_iscfunction(L, idx)) return false;
    if (!lua_getupvalue(L, idx, 1)) return true;
    lua_pop(L, 1);
    return false;
}

/* Objects: by name, as an earlier one, or whole. */
static bool write_object(packer *k, int idx, const step *s) {
    lua_State *L = k->L;
    lua_Integer id;
    size_t n;
    lua_pushvalue(L, idx);
    if (lua_rawget(L, k->names) == LUA_TSTRING) {
        const char *name = lua_tolstring(L, -1, &n);
        bool ok = write_text(k->p, GP_TAG_name, name, n);
        return lua_pop(L, 1), ok;
    }
    lua_pop(L, 1);
    if (plain_c_function(L, idx)) {
        lua_CFunction f = lua_tocfunction(L, idx);
        return write_tag(k->p, GP_TAG_c_function) && write_bytes(k->p, &f, sizeof f);
    }
    bool table = lua_istable(L, idx);
    if (!table && (!lua_isfunction(L, idx) || lua_iscfunction(L, idx)))
        return refuse(k, idx, s,
                      "it belongs to its Lua state, and workers have states of their own; make it "
                      "inside the function, or use workers = 0");
    lua_pushvalue(L, idx);
    if (number_of(k, &id)) return write_int(k->p, GP_TAG_again, id);
    return table ? write_table(k, idx, s) : write_function(k, idx, s);
}

static bool write_value(packer *k, int idx, const step *s) {
    lua_State *L = k->L;
    gp_serial *p = k->p;
    if (s->depth > DEEPEST) return refuse(k, idx, s, "nested too deeply");
    luaL_checkstack(L, 12, "values for a worker");
    switch (lua_type(L, idx)) {
    case LUA_TNIL: return write_tag(p, GP_TAG_nil);
    case LUA_TBOOLEAN: return write_tag(p, lua_toboolean(L, idx) ? GP_TAG_yes : GP_TAG_no);
    case LUA_TNUMBER: {
        if (lua_isinteger(L, idx)) return write_int(p, GP_TAG_int, lua_tointeger(L, idx));
        double v = lua_tonumber(L, idx);
        return write_tag(p, GP_TAG_float) && write_bytes(p, &v, sizeof v);
    }
    case LUA_TSTRING: {
        size_t n;
        const char *text = lua_tolstring(L, idx, &n);
        return write_text(p, GP_TAG_string, text, n);
    }
    case LUA_TUSERDATA: {
        const gp_tensor *t = gp_lua_totensor(L, idx);
        return t ? write_tensor(k, t, idx, s) : write_object(k, idx, s);
    }
    default: return write_object(k, idx, s);
    }
}

/* ---- globals ---- */

/* Whether serialized bytecode has the name as a constant, as Lua 5.4 dumps short strings: a tag,
 * the length + 1 with the high bit set, the bytes. Also true for a name that is only a field's. */
static bool mentioned(packer *k, int key) {
    lua_State *L = k->L;
    size_t n, size;
    const char *name = lua_tolstring(L, key, &n);
    char want[48];
    if (n > 40) return false; /* a long string: bytecode stores it differently */
    want[0] = 4;
    want[1] = (char)(0x80 | (n + 1));
    memcpy(want + 2, name, n);
    bool found = false;
    for (lua_Integer i = (lua_Integer)lua_rawlen(L, k->code); i > 0 && !found; i--) {
        lua_rawgeti(L, k->code, i);
        const char *code = lua_tolstring(L, -1, &size);
        found = memmem(code, size, want, n + 2) != NULL;
        lua_pop(L, 1);
    }
    return found;
}

static bool goes_by_name(packer *k, int idx) {
    lua_pushvalue(k->L, idx);
    bool known = lua_rawget(k->L, k->names) != LUA_TNIL;
    lua_pop(k->L, 1);
    return known || plain_c_function(k->L, idx);
}

/* Whether the value can be serialized: tries it separately; the message is in gp_error(). */
static bool packable(packer *k, int idx, const step *s) {
    lua_State *L = k->L;
    packer trial = *k;
    int top = lua_gettop(L);
    luaL_checkstack(L, 8, "values for a worker");
    trial.p = gp_serial_push(L);
    lua_newtable(L);
    trial.seen = lua_gettop(L);
    lua_newtable(L);
    trial.code = lua_gettop(L);
    bool ok = write_value(&trial, idx, s);
    gp_serial_clear(trial.p);
    lua_settop(L, top);
    return ok;
}

/* Writes the pair on top, a global that serialized code names: its name, then its value, or why it
 * has none. */
static bool write_global(packer *k) {
    lua_State *L = k->L;
    int value = lua_gettop(L);
    size_t n;
    const char *name = lua_tolstring(L, value - 1, &n);
    step s = {"global", 0, name, NULL, 0};
    step start = {NULL, 0, "the function", NULL, 0};
    s.from = &start;
    bool ok = packable(k, value, &s);
    if (!write_text(k->p, GP_TAG_string, name, n)) return false;
    if (ok) return write_value(k, value, &s);
    return write_text(k->p, GP_TAG_refused, gp_error(), strlen(gp_error()));
}

/* Writes pairs of name and value until no serialized function names another one; then end. */
static bool write_globals(packer *k) {
    lua_State *L = k->L;
    lua_newtable(L);
    int done = lua_gettop(L);
    lua_pushglobaltable(L);
    bool ok = true;
    for (bool more = true; more && ok;) {
        more = false;
        for (lua_pushnil(L); ok && lua_next(L, done + 1); lua_pop(L, 1)) {
            int value = lua_gettop(L);
            if (lua_type(L, value - 1) != LUA_TSTRING || goes_by_name(k, value)) continue;
            lua_pushvalue(L, value - 1);
            bool had = lua_rawget(L, done) != LUA_TNIL;
            lua_pop(L, 1);
            if (had || !mentioned(k, value - 1)) continue;
            lua_pushvalue(L, value - 1);
            lua_pushboolean(L, 1);
            lua_rawset(L, done);
            more = true;
            ok = write_global(k);
        }
    }
    return ok && write_tag(k->p, GP_TAG_end);
}

bool gp_serialize(lua_State *L, int first, int n, const char *what, bool globals, gp_serial *p) {
    int top = lua_gettop(L);
    luaL_checkstack(L, 16, "values for a worker");
    lua_newtable(L);
    lua_newtable(L);
    gp_lua_push_names(L);
    packer k = {.L = L, .p = p, .seen = top + 1, .code = top + 2, .names = top + 3};
    bool ok = true;
    for (int i = 0; ok && i < n; i++) {
        char name[80];
        snprintf(name, sizeof name, n > 1 ? "%s %d" : "%s", what, i + 1);
        step start = {NULL, 0, n > 1 ? name : what, NULL, 0};
        ok = write_value(&k, first + i, &start);
    }
    ok = ok && write_tag(p, GP_TAG_end) && (globals ? write_globals(&k) : write_tag(p, GP_TAG_end));
    lua_settop(L, top);
    if (!ok) gp_serial_clear(p);
    return ok;
}
