/* Files of tensors in Lua: npy.load, npy.save, npz.load, npz.save, safetensors.load,
 * safetensors.save, image.load, image.save. */
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "tensor/io/npy.h"
#include "tensor/io/png.h"
#include "tensor/io/safetensors.h"

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

/* x in host memory, pushed; a recorded wait where it is on a device. */
static gp_tensor *on_cpu(lua_State *L, gp_tensor *x, const char *fn) {
    gp_tensor *host = gp_to_host(x, GP_WHY_copy, fn);
    gp_lua_push(L, host);
    return host;
}

/* ---- npy ---- */

/* npy.load(file): the array, on the cpu. */
static int l_npy_load(lua_State *L) {
    return gp_lua_push(L, gp_npy_load(check_file(L, "npy.load")));
}

/* npy.save(file, x): replaces file once everything is written. */
static int l_npy_save(lua_State *L) {
    const char *file = check_file(L, "npy.save");
    gp_tensor *x = on_cpu(L, gp_lua_totensor(L, 2), "npy.save");
    return gp_npy_save(file, x) ? 0 : gp_lua_raise(L);
}

/* ---- npz ---- */

static void npz_release(void *z) { gp_npz_free(z); }
static gp_npz *new_npz(lua_State *L) {
    static const gp_owner_type type = {"gpush.npz", npz_release};
    return gp_lua_push_owner(L, &type, sizeof(gp_npz));
}

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

/* A limit of size: an integer from 1, `otherwise` if not given. */
static uint64_t limit(lua_State *L, int idx, uint64_t otherwise, const char *fn, const char *name) {
    lua_Integer v = luaL_optinteger(L, idx, (lua_Integer)otherwise);
    if (v < 1)
        luaL_error(L, "%s: option '%s': expected 1 or more, got %I", fn, name, (LUAI_UACINT)v);
    return (uint64_t)v;
}

/* npz.load(file, {max_bytes = 4 GiB}): a table of the arrays by name, on the cpu. */
static int l_npz_load(lua_State *L) {
    const char *file = check_file(L, "npz.load");
    uint64_t most = limit(L, 2, GP_NPZ_BYTES, "npz.load", "max_bytes");
    gp_npz *z = new_npz(L);
    if (!gp_npz_load(file, most, z)) return gp_lua_raise(L);
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
    gp_tensor *host = gp_to_host(x, GP_WHY_copy, fn);
    if (!host || !gp_npz_add(z, name, host)) gp_lua_raise(L);
}

/* Lua's tables have no order; with sorted names equal tables give equal bytes. */
static void sort_names(gp_npz *z) {
    for (int i = 1; i < z->n; i++)
        for (int j = i; j > 0 && strcmp(z->name[j - 1], z->name[j]) > 0; j--) {
            char *name = z->name[j];
            gp_tensor *t = z->t[j];
            z->name[j] = z->name[j - 1], z->t[j] = z->t[j - 1];
            z->name[j - 1] = name, z->t[j - 1] = t;
        }
}

/* npz.save(file, {name = tensor, …}, {compressed = false}): replaces file once everything is
 * written. */
static int l_npz_save(lua_State *L) {
    const char *file = check_file(L, "npz.save");
    bool deflate = lua_toboolean(L, 3);
    gp_npz *z = new_npz(L);
    for (lua_pushnil(L); lua_next(L, 2); lua_pop(L, 1)) add_pair(L, z, "npz.save");
    sort_names(z);
    bool ok = gp_npz_save(file, z, deflate);
    gp_npz_free(z);
    return ok ? 0 : gp_lua_raise(L);
}

/* ---- safetensors ---- */

static void safetensors_release(void *s) { gp_safetensors_free(s); }
static gp_safetensors *new_safetensors(lua_State *L) {
    static const gp_owner_type type = {"gpush.safetensors", safetensors_release};
    return gp_lua_push_owner(L, &type, sizeof(gp_safetensors));
}

/* safetensors.load(file): a table of the tensors by name, on the cpu, and one of the file's texts.
 * Tensors lie in a mapping of the file; writes in place go to private copies of its pages. */
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

/* Adds the pair that lua_next left at the top; texts are copied. C strings contain no zero
 * bytes. */
static void add_text(lua_State *L, gp_safetensors *s) {
    size_t n, m;
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tolstring(L, -2, &n) : NULL;
    const char *value = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &m) : NULL;
    if (!key || !value || n != strlen(key) || m != strlen(value))
        luaL_error(L,
                   "safetensors.save: option 'metadata': expected texts by name, got %s for '%s'",
                   luaL_typename(L, -1), key ? key : luaL_typename(L, -2));
    if (!gp_safetensors_add_text(s, key, value)) gp_lua_raise(L);
}

/* As sort_names: equal tables give equal bytes. */
static void sort_texts(gp_safetensors *s) {
    for (int i = 1; i < s->ntexts; i++)
        for (int j = i; j > 0 && strcmp(s->text[2 * j - 2], s->text[2 * j]) > 0; j--)
            for (int k = 0; k < 2; k++) {
                char *text = s->text[2 * j + k];
                s->text[2 * j + k] = s->text[2 * j - 2 + k];
                s->text[2 * j - 2 + k] = text;
            }
}

/* safetensors.save(file, {name = tensor, …}, {metadata = {name = text, …}}): replaces file once
 * everything is written. */
static int l_safetensors_save(lua_State *L) {
    const char *fn = "safetensors.save", *file = check_file(L, fn);
    gp_safetensors *s = new_safetensors(L);
    lua_pushvalue(L, 3);
    if (!lua_isnil(L, -1)) {
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

/* Reads an integer from 0 to 1000, enough for pictures' options. */
static int small(lua_State *L, int idx, const char *fn, const char *name) {
    lua_Integer v = luaL_optinteger(L, idx, 0);
    if (v < 0 || v > 1000)
        luaL_error(L, "%s: option '%s': expected a small integer, got %I", fn, name,
                   (LUAI_UACINT)v);
    return (int)v;
}

/* image.load(file, {dtype = "u8", channels = nil, max_pixels = 2^28}): channels x height x width on
 * the cpu; u8 0 to 255, f32 0 to 1, i32 as stored, by the bits of the file. */
static int l_image_load(lua_State *L) {
    const char *file = check_file(L, "image.load");
    gp_dtype dt = GP_u8;
    int channels = small(L, 3, "image.load", "channels");
    if (!lua_isnoneornil(L, 2) && !gp_dtype_parse(lua_tostring(L, 2), &dt)) return gp_lua_raise(L);
    uint64_t most = limit(L, 4, GP_PNG_PIXELS, "image.load", "max_pixels");
    return gp_lua_push(L, gp_png_load(file, channels, dt, most));
}

/* image.save(file, x, {bits = 8}): height x width or channels x height x width; u8 0 to 255, floats
 * 0 to 1, bool. */
static int l_image_save(lua_State *L) {
    const char *file = check_file(L, "image.save");
    gp_tensor *x = gp_lua_totensor(L, 2);
    int bits = small(L, 3, "image.save", "bits");
    return gp_png_save(file, on_cpu(L, x, "image.save"), bits) ? 0 : gp_lua_raise(L);
}

void gp_lua_open_data(lua_State *L) {
    static const gp_lua_function files[][3] = {
        {{"npy.load", "text file", l_npy_load}, {"npy.save", "text file, tensor x", l_npy_save}},
        {{"npz.load", "text file, int max_bytes=4294967296", l_npz_load},
         {"npz.save", "text file, table tensors, bool compressed=false", l_npz_save}},
        {{"safetensors.load", "text file", l_safetensors_load},
         {"safetensors.save", "text file, table tensors, any? metadata", l_safetensors_save}},
        {{"image.load", "text file, dtype? dtype, int? channels, int max_pixels=268435456",
          l_image_load},
         {"image.save", "text file, tensor x, int bits=8", l_image_save}}};
    static const char *const names[] = {"npy", "npz", "safetensors", "image"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        lua_createtable(L, 0, 2);
        gp_lua_set_functions(L, files[i]);
        lua_setfield(L, -2, names[i]);
    }
}
