/* Files of tensors in Lua: npy.load, npy.save, npz.load, npz.save, safetensors.load,
 * safetensors.save, image.load, image.save. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/io/npy.h"
#include "tensor/io/png.h"
#include "tensor/io/safetensors.h"

#define NPZ "gpush.npz"
#define SAFETENSORS "gpush.safetensors"

/* The file name at argument 1. */
static const char *check_file(lua_State *L, const char *fn) {
    size_t n;
    if (lua_type(L, 1) != LUA_TSTRING)
        luaL_error(L, "%s: argument 'file' (#1): expected a file name, got %s", fn,
                   luaL_typename(L, 1));
    const char *file = lua_tolstring(L, 1, &n);
    if (n != strlen(file) || n == 0) luaL_error(L, "%s: '%s' is not a file name", fn, file);
    gp_lua_enter(L);
    return file;
}

/* Raises if the table of options at idx holds other names than those given (NULL at the end);
 * replaces nothing by an empty table. */
static void check_options(lua_State *L, int idx, const char *fn, const char *const *names) {
    lua_settop(L, idx);
    if (lua_isnil(L, idx)) {
        lua_newtable(L);
        lua_replace(L, idx);
    }
    if (!lua_istable(L, idx))
        luaL_error(L, "%s: argument #%d: expected a table of options, got %s", fn, idx,
                   luaL_typename(L, idx));
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";
        int i = 0;
        while (names[i] && strcmp(names[i], key)) i++;
        if (!names[i]) luaL_error(L, "%s: unknown option '%s' (expected %s)", fn, key, names[0]);
    }
}

/* A userdata of that many zeroed bytes that owns what a file holds, so that an error on the way
 * releases it: gc does. name: of its metatable. */
static void *new_owner(lua_State *L, size_t size, const char *name, lua_CFunction gc) {
    void *owner = memset(lua_newuserdatauv(L, size, 0), 0, size);
    if (luaL_newmetatable(L, name)) {
        lua_pushcfunction(L, gc);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    return owner;
}

/* x in host memory, pushed; a recorded wait where it is on a device. */
static gp_tensor *on_cpu(lua_State *L, gp_tensor *x, const char *fn) {
    gp_tensor *host = gp_to_device(x, gp_device_cpu(), false, GP_WHY_copy, fn);
    gp_lua_push(L, host);
    return host;
}

/* Borrowed: the argument keeps it alive. */
static gp_tensor *check_tensor(lua_State *L, int arg, const char *fn) {
    gp_tensor *x = gp_lua_totensor(L, arg);
    if (!x)
        luaL_error(L, "%s: argument 'x' (#%d): expected a tensor, got %s", fn, arg,
                   luaL_typename(L, arg));
    return x;
}

/* ---- npy ---- */

/* npy.load(file): the array, on the cpu. */
static int l_npy_load(lua_State *L) {
    return gp_lua_push(L, gp_npy_load(check_file(L, "npy.load")));
}

/* npy.save(file, x): replaces file once all is written. */
static int l_npy_save(lua_State *L) {
    const char *file = check_file(L, "npy.save");
    gp_tensor *x = on_cpu(L, check_tensor(L, 2, "npy.save"), "npy.save");
    return gp_npy_save(file, x) ? 0 : gp_lua_raise(L);
}

/* ---- npz ---- */

static int l_npz_gc(lua_State *L) {
    gp_npz_free(lua_touserdata(L, 1));
    return 0;
}
static gp_npz *new_npz(lua_State *L) { return new_owner(L, sizeof(gp_npz), NPZ, l_npz_gc); }

/* Pushes a table of the tensors by name, which it takes over. */
static void push_tensors(lua_State *L, gp_npz *z) {
    lua_createtable(L, 0, z->n);
    for (int i = 0; i < z->n; i++) {
        gp_tensor *t = z->t[i];
        z->t[i] = NULL;
        gp_lua_push(L, t);
        lua_setfield(L, -2, z->name[i]);
    }
}

/* npz.load(file): a table of the arrays by name, on the cpu. */
static int l_npz_load(lua_State *L) {
    const char *file = check_file(L, "npz.load");
    gp_npz *z = new_npz(L);
    if (!gp_npz_load(file, z)) return gp_lua_raise(L);
    push_tensors(L, z);
    return 1;
}

/* Adds the pair that lua_next left at the top. */
static void add_pair(lua_State *L, gp_npz *z, const char *fn) {
    size_t n;
    if (lua_type(L, -2) != LUA_TSTRING)
        luaL_error(L, "%s: a key is a %s (expected names)", fn, luaL_typename(L, -2));
    const char *name = lua_tolstring(L, -2, &n);
    gp_tensor *x = gp_lua_totensor(L, -1);
    if (n == 0 || n != strlen(name))
        luaL_error(L, "%s: '%s' cannot be the name of an entry", fn, name);
    if (!x) luaL_error(L, "%s: '%s' is a %s (expected a tensor)", fn, name, luaL_typename(L, -1));
    gp_tensor *host = gp_to_device(x, gp_device_cpu(), false, GP_WHY_copy, fn);
    if (!host || !gp_npz_add(z, name, host)) gp_lua_raise(L);
}

/* Lua's tables have no order; sorted names make the same tables the same bytes. */
static void sort_names(gp_npz *z) {
    for (int i = 1; i < z->n; i++)
        for (int j = i; j > 0 && strcmp(z->name[j - 1], z->name[j]) > 0; j--) {
            char *name = z->name[j];
            gp_tensor *t = z->t[j];
            z->name[j] = z->name[j - 1], z->t[j] = z->t[j - 1];
            z->name[j - 1] = name, z->t[j - 1] = t;
        }
}

/* npz.save(file, {name = tensor, …}, {compressed = false}): replaces file once all is written. */
static int l_npz_save(lua_State *L) {
    static const char *const names[] = {"compressed", NULL};
    const char *file = check_file(L, "npz.save");
    if (!lua_istable(L, 2))
        return luaL_error(L, "npz.save: argument 'tensors' (#2): expected a table, got %s",
                          luaL_typename(L, 2));
    check_options(L, 3, "npz.save", names);
    lua_getfield(L, 3, "compressed");
    bool deflate = lua_toboolean(L, -1);
    gp_npz *z = new_npz(L);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) add_pair(L, z, "npz.save");
    sort_names(z);
    bool ok = gp_npz_save(file, z, deflate);
    gp_npz_free(z);
    return ok ? 0 : gp_lua_raise(L);
}

/* ---- safetensors ---- */

static int l_safetensors_gc(lua_State *L) {
    gp_safetensors_free(lua_touserdata(L, 1));
    return 0;
}
static gp_safetensors *new_safetensors(lua_State *L) {
    return new_owner(L, sizeof(gp_safetensors), SAFETENSORS, l_safetensors_gc);
}

/* safetensors.load(file): a table of the tensors by name, on the cpu, and one of the file's texts.
 * Tensors lie in a mapping of the file, of which writes in place make private copies. */
static int l_safetensors_load(lua_State *L) {
    const char *file = check_file(L, "safetensors.load");
    gp_safetensors *s = new_safetensors(L);
    if (!gp_safetensors_load(file, s)) return gp_lua_raise(L);
    push_tensors(L, &s->tensors);
    lua_createtable(L, 0, s->ntexts);
    for (int i = 0; i < s->ntexts; i++) {
        lua_pushstring(L, s->text[2 * i + 1]);
        lua_setfield(L, -2, s->text[2 * i]);
    }
    return 2;
}

/* The pair that lua_next left at the top; texts are copied. C strings hold no zero bytes. */
static void add_text(lua_State *L, gp_safetensors *s) {
    size_t n, m;
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &n) : NULL;
    const char *value = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &m) : NULL;
    if (!key || !value || n != strlen(key) || m != strlen(value))
        luaL_error(L, "safetensors.save: option 'metadata': expected texts by name, got %s for '%s'",
                   luaL_typename(L, -1), key ? key : luaL_typename(L, -2));
    if (!gp_safetensors_add_text(s, key, value)) gp_lua_raise(L);
}

/* As sort_names: the same tables make the same bytes. */
static void sort_texts(gp_safetensors *s) {
    for (int i = 1; i < s->ntexts; i++)
        for (int j = i; j > 0 && strcmp(s->text[2 * j - 2], s->text[2 * j]) > 0; j--)
            for (int k = 0; k < 2; k++) {
                char *text = s->text[2 * j + k];
                s->text[2 * j + k] = s->text[2 * j - 2 + k];
                s->text[2 * j - 2 + k] = text;
            }
}

/* safetensors.save(file, {name = tensor, …}, {metadata = {name = text, …}}): replaces file once all
 * is written. */
static int l_safetensors_save(lua_State *L) {
    static const char *const names[] = {"metadata", NULL};
    const char *fn = "safetensors.save", *file = check_file(L, fn);
    if (!lua_istable(L, 2))
        return luaL_error(L, "%s: argument 'tensors' (#2): expected a table, got %s", fn,
                          luaL_typename(L, 2));
    check_options(L, 3, fn, names);
    gp_safetensors *s = new_safetensors(L);
    if (lua_getfield(L, 3, "metadata") != LUA_TNIL) {
        if (!lua_istable(L, -1))
            return luaL_error(L, "%s: option 'metadata': expected a table of texts, got %s", fn,
                              luaL_typename(L, -1));
        for (lua_pushnil(L); lua_next(L, -2); lua_pop(L, 1)) add_text(L, s);
    }
    sort_texts(s);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) add_pair(L, &s->tensors, fn);
    bool ok = gp_safetensors_save(file, s);
    gp_safetensors_free(s);
    return ok ? 0 : gp_lua_raise(L);
}

/* ---- pictures ---- */

/* 0 to 1000, enough for what pictures are asked. */
static int int_option(lua_State *L, int idx, const char *fn, const char *name, int fallback) {
    int is = 1;
    lua_Integer v = fallback;
    if (lua_getfield(L, idx, name) != LUA_TNIL) v = lua_tointegerx(L, -1, &is);
    if (!is || v < 0 || v > 1000)
        luaL_error(L, "%s: option '%s': expected a small integer, got %s", fn, name,
                   luaL_tolstring(L, -1, NULL));
    lua_pop(L, 1);
    return (int)v;
}

/* image.load(file, {dtype = "u8", channels = nil}): channels x height x width on the cpu; u8 0 to
 * 255, f32 0 to 1, i32 as stored, by the bits of the file. */
static int l_image_load(lua_State *L) {
    static const char *const names[] = {"dtype", "channels", NULL};
    const char *file = check_file(L, "image.load");
    gp_dtype dt = GP_u8;
    check_options(L, 2, "image.load", names);
    int channels = int_option(L, 2, "image.load", "channels", 0);
    if (lua_getfield(L, 2, "dtype") != LUA_TNIL &&
        !gp_dtype_parse(luaL_tolstring(L, -1, NULL), &dt))
        return luaL_error(L, "image.load: option 'dtype': %s", gp_error());
    return gp_lua_push(L, gp_png_load(file, channels, dt));
}

/* image.save(file, x, {bits = 8}): height x width or channels x height x width; u8 0 to 255, floats
 * 0 to 1, bool. */
static int l_image_save(lua_State *L) {
    static const char *const names[] = {"bits", NULL};
    const char *file = check_file(L, "image.save");
    gp_tensor *x = check_tensor(L, 2, "image.save");
    check_options(L, 3, "image.save", names);
    int bits = int_option(L, 3, "image.save", "bits", 8);
    return gp_png_save(file, on_cpu(L, x, "image.save"), bits) ? 0 : gp_lua_raise(L);
}

/* name.load and name.save in the table at the top. */
static void add_table(lua_State *L, const char *name, lua_CFunction load, lua_CFunction save) {
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, load);
    lua_setfield(L, -2, "load");
    lua_pushcfunction(L, save);
    lua_setfield(L, -2, "save");
    lua_setfield(L, -2, name);
}

void gp_lua_open_data(lua_State *L) {
    add_table(L, "npy", l_npy_load, l_npy_save);
    add_table(L, "npz", l_npz_load, l_npz_save);
    add_table(L, "safetensors", l_safetensors_load, l_safetensors_save);
    add_table(L, "image", l_image_load, l_image_save);
}
