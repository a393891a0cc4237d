/* A Lua module for tests: another library that takes and gives tensors by DLPack. Its structs are
 * dlpack.h's (version 1.0, https://github.com/dmlc/dlpack) written down again, not gpush's. */
#include <lauxlib.h>
#include <lua.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct DLDevice {
    int32_t type, id;
} DLDevice;
typedef struct DLDataType {
    uint8_t code, bits;
    uint16_t lanes;
} DLDataType;
typedef struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape, *strides;
    uint64_t byte_offset;
} DLTensor;
typedef struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensor *self);
} DLManagedTensor;
typedef struct DLManagedTensorVersioned {
    struct {
        uint32_t major, minor;
    } version;
    void *manager_ctx;
    void (*deleter)(struct DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
} DLManagedTensorVersioned;

static int deleted; /* how many tensors of this library */

/* One that this library owns: first, so that its address is the struct's. */
typedef struct owned {
    union {
        DLManagedTensor plain;
        DLManagedTensorVersioned versioned;
    };
    int64_t shape[16], strides[16];
    char *memory;
} owned;

static void drop(owned *o) {
    free(o->memory);
    free(o);
    deleted++;
}
static void drop_plain(DLManagedTensor *m) { drop(m->manager_ctx); }
static void drop_versioned(DLManagedTensorVersioned *m) { drop(m->manager_ctx); }

static lua_Integer field(lua_State *L, const char *key, lua_Integer otherwise) {
    lua_getfield(L, 1, key);
    lua_Integer v = lua_isnil(L, -1) ? otherwise : luaL_checkinteger(L, -1);
    lua_pop(L, 1);
    return v;
}

/* Reads the list t[key] into to; -1: there is none. */
static int list(lua_State *L, const char *key, int64_t to[16]) {
    int n = -1;
    if (lua_getfield(L, 1, key) == LUA_TTABLE)
        for (n = 0; lua_rawgeti(L, -1, n + 1) != LUA_TNIL && n < 16; lua_pop(L, 1))
            to[n++] = lua_tointeger(L, -1);
    lua_settop(L, 1);
    return n;
}

/* peer.make{bytes = "…", shape = {}, strides =, code = 2, bits = 32, …}: a tensor's address. Its
 * memory is a copy of the bytes, or what `data` says. */
static int l_make(lua_State *L) {
    size_t n = 0;
    owned *o = calloc(1, sizeof *o);
    lua_getfield(L, 1, "bytes");
    const char *bytes = lua_tolstring(L, -1, &n);
    o->memory = n ? memcpy(malloc(n), bytes, n) : NULL;
    lua_settop(L, 1);
    int ndim = list(L, "shape", o->shape), strided = list(L, "strides", o->strides);
    DLTensor t = {
        .data = n ? o->memory : (void *)(uintptr_t)field(L, "data", 0),
        .device = {(int32_t)field(L, "device", 1), (int32_t)field(L, "device_id", 0)},
        .ndim = (int32_t)field(L, "ndim", ndim),
        .dtype = {(uint8_t)field(L, "code", 2), (uint8_t)field(L, "bits", 32),
                  (uint16_t)field(L, "lanes", 1)},
        .shape = ndim < 0 ? NULL : o->shape,
        .strides = strided < 0 ? NULL : o->strides,
        .byte_offset = (uint64_t)field(L, "byte_offset", 0),
    };
    if (field(L, "older", 0))
        o->plain = (DLManagedTensor){.dl_tensor = t, .manager_ctx = o, .deleter = drop_plain};
    else
        o->versioned = (DLManagedTensorVersioned){
            .version = {(uint32_t)field(L, "major", 1), (uint32_t)field(L, "minor", 0)},
            .manager_ctx = o,
            .deleter = drop_versioned,
            .flags = (uint64_t)field(L, "flags", 0),
            .dl_tensor = t};
    lua_pushinteger(L, (lua_Integer)(uintptr_t)o);
    return 1;
}

static void put_list(lua_State *L, const char *key, const int64_t *v, int n) {
    lua_newtable(L);
    for (int i = 0; v && i < n; i++) lua_pushinteger(L, v[i]), lua_rawseti(L, -2, i + 1);
    lua_setfield(L, -2, key);
}

static void put(lua_State *L, const char *key, uint64_t v) {
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, -2, key);
}

static void *address(lua_State *L) { return (void *)(uintptr_t)luaL_checkinteger(L, 1); }

/* peer.read(address, [older]): what is in a tensor that somebody made. */
static int l_read(lua_State *L) {
    lua_settop(L, 2);
    const DLManagedTensor *p = address(L);
    const DLManagedTensorVersioned *v = address(L);
    const DLTensor *t = lua_toboolean(L, 2) ? &p->dl_tensor : &v->dl_tensor;
    lua_newtable(L);
    if (!lua_toboolean(L, 2))
        put(L, "major", v->version.major), put(L, "minor", v->version.minor),
            put(L, "flags", v->flags);
    put(L, "data", (uint64_t)(uintptr_t)t->data);
    put(L, "device", (uint64_t)t->device.type), put(L, "device_id", (uint64_t)t->device.id);
    put(L, "code", t->dtype.code), put(L, "bits", t->dtype.bits);
    put(L, "lanes", t->dtype.lanes), put(L, "byte_offset", t->byte_offset);
    put_list(L, "shape", t->shape, t->ndim);
    put_list(L, "strides", t->strides, t->ndim);
    return 1;
}

/* peer.delete(address, [older]): calls its deleter. */
static int l_delete(lua_State *L) {
    DLManagedTensor *p = address(L);
    DLManagedTensorVersioned *v = address(L);
    if (lua_toboolean(L, 2)) p->deleter(p);
    else v->deleter(v);
    return 0;
}

/* peer.deleted(): how many of this library's tensors were, since the last call. */
static int l_deleted(lua_State *L) {
    lua_pushinteger(L, deleted);
    deleted = 0;
    return 1;
}

/* peer.peek(address, bytes), peer.poke(address, text): memory itself. */
static int l_peek(lua_State *L) {
    lua_pushlstring(L, address(L), (size_t)luaL_checkinteger(L, 2));
    return 1;
}
static int l_poke(lua_State *L) {
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    memcpy(address(L), text, n);
    return 0;
}

/* peer.light(address): the same as a light userdata. */
static int l_light(lua_State *L) {
    lua_pushlightuserdata(L, address(L));
    return 1;
}

__attribute__((visibility("default"))) int luaopen_peer(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"make", l_make}, {"read", l_read}, {"delete", l_delete}, {"deleted", l_deleted},
        {"peek", l_peek}, {"poke", l_poke}, {"light", l_light},   {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
