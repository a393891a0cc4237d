/* Deserializes what another Lua state has serialized: see serial.h. The bytes come from serialize.c
 * in the same process, so they are trusted. */
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/names.h"
#include "bindings/loader/serial.h"
#include "bindings/loader/serial_tags.h"

typedef struct reader {
    lua_State *L;
    const gp_serial *p;
    size_t at;
    int tensor; /* the next */
    int seen;   /* stack index of a list: number -> table or function; upvalues: {function, i} */
    lua_Integer count;
} reader;

static gp_tag get_tag(reader *r) { return (gp_tag)r->p->bytes[r->at++]; }

/* Bytes need no alignment: they are copied out. */
static void get(reader *r, void *to, size_t n) {
    memcpy(to, r->p->bytes + r->at, n);
    r->at += n;
}

static int64_t get_int(reader *r) {
    int64_t v;
    get(r, &v, sizeof v);
    return v;
}

/* Points into the bytes, which outlive the reader. */
static const char *get_text(reader *r, size_t *n) {
    *n = (size_t)get_int(r);
    const char *s = r->p->bytes + r->at;
    r->at += *n;
    return s;
}

static void push_value(reader *r, gp_tag tag);

/* Gives the value on top the next number. */
static void keep(reader *r) {
    lua_pushvalue(r->L, -1);
    lua_rawseti(r->L, r->seen, ++r->count);
}

/* A new view: states share memory, not structs, whose counts are not atomic. */
static void push_tensor(reader *r) {
    const gp_tensor *t = r->p->tensor[r->tensor++];
    gp_shape shape = gp_tensor_shape(t);
    gp_lua_push(r->L, gp_tensor_view(t, &shape, t->a.stride, 0));
}

/* Numbered before its fields are read, which may refer back to it. */
static void push_table(reader *r) {
    lua_State *L = r->L;
    lua_newtable(L);
    keep(r);
    for (gp_tag tag; (tag = get_tag(r)) != GP_TAG_end;) {
        push_value(r, tag);
        push_value(r, get_tag(r));
        lua_rawset(L, -3);
    }
    push_value(r, get_tag(r));
    if (lua_isnil(L, -1)) lua_pop(L, 1);
    else lua_setmetatable(L, -2);
}

/* Makes upvalue i of the function f that of number id. */
static void join(reader *r, int f, int i, lua_Integer id) {
    lua_State *L = r->L;
    lua_rawgeti(L, r->seen, id);
    lua_rawgeti(L, -1, 1);
    lua_rawgeti(L, -2, 2);
    lua_upvaluejoin(L, f, i, -2, (int)lua_tointeger(L, -1));
    lua_pop(L, 3);
}

/* Records that upvalue i of f has the next number. */
static void keep_upvalue(reader *r, int f, int i) {
    lua_State *L = r->L;
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, f);
    lua_rawseti(L, -2, 1);
    lua_pushinteger(L, i);
    lua_rawseti(L, -2, 2);
    keep(r);
    lua_pop(L, 1);
}

/* Loads bytecode that this process has dumped itself; its upvalues are shared as they were. */
static void push_function(reader *r) {
    lua_State *L = r->L;
    size_t n;
    const char *code = get_text(r, &n);
    if (luaL_loadbufferx(L, code, n, "=(loader)", "b") != LUA_OK) lua_error(L);
    keep(r);
    int f = lua_gettop(L), i = 1;
    for (gp_tag tag; (tag = get_tag(r)) != GP_TAG_end; i++) {
        if (tag == GP_TAG_shared) {
            join(r, f, i, get_int(r));
            continue;
        }
        keep_upvalue(r, f, i);
        push_value(r, tag);
        lua_setupvalue(L, f, i);
    }
}

/* Integers and floats keep their type. */
static void push_number(reader *r, gp_tag tag) {
    double v;
    if (tag == GP_TAG_int) {
        lua_pushinteger(r->L, get_int(r));
        return;
    }
    get(r, &v, sizeof v);
    lua_pushnumber(r->L, v);
}

/* Pushes one value, whose tag was read. */
static void push_value(reader *r, gp_tag tag) {
    lua_State *L = r->L;
    size_t n;
    const char *s;
    lua_CFunction f;
    luaL_checkstack(L, 12, "values of a worker");
    switch (tag) {
    case GP_TAG_no:
    case GP_TAG_yes: lua_pushboolean(L, tag == GP_TAG_yes); break;
    case GP_TAG_int:
    case GP_TAG_float: push_number(r, tag); break;
    case GP_TAG_string:
        s = get_text(r, &n);
        lua_pushlstring(L, s, n);
        break;
    case GP_TAG_tensor: push_tensor(r); break;
    case GP_TAG_table: push_table(r); break;
    case GP_TAG_function: push_function(r); break;
    case GP_TAG_c_function:
        get(r, &f, sizeof f);
        lua_pushcfunction(L, f);
        break;
    case GP_TAG_name:
        s = get_text(r, &n);
        lua_pushlstring(L, s, n); /* ends in a zero */
        gp_lua_push_named(L, lua_tostring(L, -1));
        lua_remove(L, -2);
        break;
    case GP_TAG_again: lua_rawgeti(L, r->seen, get_int(r)); break;
    default: lua_pushnil(L);
    }
}

/* ---- globals ---- */

/* _G's __index for globals that could not be serialized: upvalue 1 is name -> why. */
static int l_missing(lua_State *L) {
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TSTRING) return 0;
    return luaL_error(L, "the global '%s' was not copied into the worker: %s", lua_tostring(L, 2),
                      lua_tostring(L, -1));
}

/* The name is on top. */
static void refuse_global(reader *r) {
    lua_State *L = r->L;
    size_t n;
    const char *why = get_text(r, &n);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, "gpush.missing");
    lua_pushvalue(L, -2);
    lua_pushlstring(L, why, n);
    lua_rawset(L, -3);
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, l_missing, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_pop(L, 3);
}

/* Sets the globals that serialized functions name. One that could not be serialized raises when it
 * is used. */
static void set_globals(reader *r) {
    lua_State *L = r->L;
    for (gp_tag tag; (tag = get_tag(r)) != GP_TAG_end;) {
        push_value(r, tag);
        if ((tag = get_tag(r)) == GP_TAG_refused) {
            refuse_global(r);
            continue;
        }
        lua_pushglobaltable(L);
        lua_insert(L, -2);
        push_value(r, tag);
        lua_rawset(L, -3);
        lua_pop(L, 1);
    }
}

int gp_deserialize(lua_State *L, const gp_serial *p) {
    lua_newtable(L);
    reader r = {.L = L, .p = p, .seen = lua_gettop(L)};
    for (gp_tag tag; (tag = get_tag(&r)) != GP_TAG_end;) push_value(&r, tag);
    int n = lua_gettop(L) - r.seen;
    set_globals(&r);
    lua_remove(L, r.seen);
    return n;
}

/* ---- ownership ---- */

void gp_serial_clear(gp_serial *p) {
    for (int i = 0; i < p->ntensors; i++) gp_tensor_unref(p->tensor[i]);
    free(p->tensor);
    free(p->bytes);
    *p = (gp_serial){0};
}

static void release(void *p) { gp_serial_clear(p); }

gp_serial *gp_serial_push(lua_State *L) {
    static const gp_owner_type type = {"gpush.serialized", release};
    return gp_lua_push_owner(L, &type, sizeof(gp_serial));
}
