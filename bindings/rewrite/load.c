/* Loading Lua text through the rewrite: replacements for load, loadfile, dofile and the searcher of
 * Lua modules. */
#include "bindings/bind.h"
#include "bindings/rewrite/truth.h"
#include "bindings/rewrite/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char plain_key = 0; /* its address: registry key of the flag that says "no rewrite" */

static bool is_plain(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &plain_key);
    bool plain = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return plain;
}

static bool is_binary(const char *text, size_t len) { return len && text[0] == LUA_SIGNATURE[0]; }

/* Lua did not accept the rewritten text. Its message for the original text is the one to show; but
 * where Lua accepts that, the rewrite has a bug, and running the text unchanged could be silently
 * wrong. */
static int syntax_error(lua_State *L, const char *text, size_t len, const char *name,
                        const char *mode) {
    char *stock = gp_rewrite_stock(text, len);
    int status = luaL_loadbufferx(L, stock ? stock : text, len, name, mode);
    free(stock);
    if (status == LUA_OK) {
        lua_pop(L, 1);
        lua_pushfstring(
            L, "%s: too much for tensor syntax (--!plain as the first line turns it off)", name);
        return LUA_ERRSYNTAX;
    }
    return status;
}

static int load_text(lua_State *L, const char *text, size_t len, const char *name, const char *mode,
                     bool own_env) {
    char *out = NULL;
    size_t outlen = 0;
    if (is_binary(text, len) || is_plain(L)) return luaL_loadbufferx(L, text, len, name, mode);
    switch (gp_rewrite(text, len, own_env, &out, &outlen)) {
    case GP_REWRITE_SAME: return luaL_loadbufferx(L, text, len, name, mode);
    case GP_REWRITE_SYNTAX: return syntax_error(L, text, len, name, mode);
    case GP_REWRITE_MEMORY: lua_pushliteral(L, "not enough memory"); return LUA_ERRMEM;
    case GP_REWRITE_DONE: break;
    }
    int status =
        luaL_loadbufferx(L, out, outlen, name, mode); /* protected: out is freed in any case */
    free(out);
    if (status != LUA_ERRSYNTAX) return status;
    lua_pop(L, 1);
    return syntax_error(L, text, len, name, mode);
}

int gp_syntax_load(lua_State *L, const char *text, size_t len, const char *chunkname,
                   const char *mode) {
    return load_text(L, text, len, chunkname, mode, false);
}

/* ---- Files ---- */

/* Reads all of f into *out, malloc'ed; false with errno. */
static bool read_all(FILE *f, char **out, size_t *len) {
    size_t cap = 0;
    *out = NULL;
    *len = 0;
    do {
        if (cap - *len < BUFSIZ) {
            char *more = realloc(*out, cap = cap * 2 + 2 * BUFSIZ);
            if (!more) return false;
            *out = more;
        }
        *len += fread(*out + *len, 1, cap - *len, f);
    } while (!feof(f) && !ferror(f));
    return !ferror(f);
}

static int file_error(lua_State *L, const char *what, const char *filename, int err) {
    lua_pushfstring(L, "cannot %s %s: %s", what, filename, strerror(err));
    return LUA_ERRFILE;
}

/* Skips a byte order mark and a first line that starts with '#', as luaL_loadfilex does; the line's
 * end stays. */
static const char *skip_head(const char *text, size_t *len) {
    const char *p = text, *end = text + *len;
    if (*len >= 3 && !memcmp(p, "\xEF\xBB\xBF", 3)) p += 3;
    if (p < end && *p == '#') {
        while (p < end && *p != '\n') p++;
        if (end - p > 1 && is_binary(p + 1, 1)) p++;
    }
    *len = end - p;
    return p;
}

static int load_file(lua_State *L, const char *filename, const char *mode, bool own_env) {
    size_t len;
    int status;
    const char *name = filename ? filename : "stdin";
    const char *chunkname = lua_pushfstring(L, filename ? "@%s" : "=%s", name);
    char **box = gp_lua_push_block(L);
    FILE *f = filename ? fopen(filename, "rbe") : stdin;
    if (f) {
        bool ok = read_all(f, box, &len);
        int err = errno;
        if (filename) fclose(f);
        const char *text = skip_head(*box, &len);
        status = ok ? load_text(L, text, len, chunkname, mode, own_env)
                    : file_error(L, "read", name, err);
        free(*box);
        *box = NULL;
    } else {
        status = file_error(L, "open", name, errno);
    }
    lua_replace(L, -3); /* the result replaces the name */
    lua_pop(L, 1);
    return status;
}

int gp_syntax_loadfile(lua_State *L, const char *filename, const char *mode) {
    return load_file(L, filename, mode, false);
}

/* ---- load, loadfile, dofile ---- */

static bool has_own_env(lua_State *L, int i) {
    if (lua_isnone(L, i)) return false;
    lua_pushglobaltable(L);
    bool same = lua_rawequal(L, i, -1);
    lua_pop(L, 1);
    return !same;
}

/* As lbaselib's load_aux: env is the index of the function's environment, 0 for none. */
static int loaded(lua_State *L, int status, int env) {
    if (status != LUA_OK) {
        luaL_pushfail(L);
        lua_insert(L, -2);
        return 2;
    }
    if (env) {
        lua_pushvalue(L, env);
        if (!lua_setupvalue(L, -2, 1)) lua_pop(L, 1);
    }
    return 1;
}

/* Calls the reader at index 1 until it is done, protected as lua_load's reader is, and joins the
 * pieces. */
static int l_read_pieces(lua_State *L) {
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    for (;;) {
        lua_pushvalue(L, 1);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1)) break;
        if (!lua_isstring(L, -1)) return luaL_error(L, "reader function must return a string");
        if (lua_rawlen(L, -1) == 0 && lua_type(L, -1) == LUA_TSTRING) break;
        luaL_addvalue(&b);
    }
    lua_pop(L, 1);
    luaL_pushresult(&b);
    return 1;
}

static bool ends_in(const char *text, size_t len, const char *end) {
    size_t n = strlen(end);
    return len > n && !memcmp(text + len - n, end, n);
}

/* The text at index 1 did not compile. If it is the name of a file, a note says what reads that: a
 * caller that takes only load's first result sees nil, and no message. */
static void note_file(lua_State *L) {
    static const char *const reads[][2] = {
        {".npy", "npy.load"},   {".npz", "npz.load"}, {".safetensors", "safetensors.load"},
        {".png", "image.load"}, {".lua", "dofile"},   {".pt", NULL},
        {".pth", NULL}};
    size_t len;
    const char *text = lua_tolstring(L, 1, &len);
    if (!text || strcspn(text, " \t\r\n\"()=") != len) return;
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        if (!ends_in(text, len, reads[i][0])) continue;
        const char *by = reads[i][1];
        lua_pushfstring(L, "load compiles Lua, and '%s' is a file's name: ", text);
        if (by) lua_pushfstring(L, "%s \"%s\" reads that", by, text);
        else lua_pushliteral(L, "PyTorch's files are read once they are safetensors");
        lua_concat(L, 2);
        gp_lua_note(L, lua_tostring(L, -1));
        lua_pop(L, 1);
        return;
    }
}

static int l_load(lua_State *L) {
    size_t len;
    const char *mode = luaL_optstring(L, 3, "bt"), *text = lua_tolstring(L, 1, &len), *name;
    int env = lua_isnone(L, 4) ? 0 : 4;
    bool own_env = has_own_env(L, 4);
    if (text) {
        name = luaL_optstring(L, 2, text);
    } else {
        name = luaL_optstring(L, 2, "=(load)");
        luaL_checktype(L, 1, LUA_TFUNCTION);
        lua_pushcfunction(L, l_read_pieces);
        lua_pushvalue(L, 1);
        int status = lua_pcall(L, 1, 1, 0);
        if (status != LUA_OK) return loaded(L, status, env);
        text = lua_tolstring(L, -1, &len); /* its place on the stack keeps it alive */
    }
    int status = load_text(L, text, len, name, mode, own_env);
    if (status == LUA_ERRSYNTAX) note_file(L);
    return loaded(L, status, env);
}

static int l_loadfile(lua_State *L) {
    const char *filename = luaL_optstring(L, 1, NULL), *mode = luaL_optstring(L, 2, NULL);
    int env = lua_isnone(L, 3) ? 0 : 3; /* before the chunk may come to that index */
    return loaded(L, load_file(L, filename, mode, has_own_env(L, 3)), env);
}

static int dofile_results(lua_State *L, int status, lua_KContext ctx) { return lua_gettop(L) - 1; }

static int l_dofile(lua_State *L) {
    const char *filename = luaL_optstring(L, 1, NULL);
    lua_settop(L, 1);
    if (load_file(L, filename, "t", false) != LUA_OK) return lua_error(L);
    lua_callk(L, 0, LUA_MULTRET, 0, dofile_results);
    return dofile_results(L, LUA_OK, 0);
}

/* ---- require ---- */

/* Replaces package.searchers[2]; upvalues: the package table and its searchpath. */
static int l_searcher(lua_State *L) {
    const char *name = luaL_checkstring(L, 1), *filename;
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushvalue(L, 1);
    if (lua_getfield(L, lua_upvalueindex(1), "path") != LUA_TSTRING && !lua_isnumber(L, -1))
        return luaL_error(L, "'package.path' must be a string");
    lua_call(L, 2, 2);
    filename = lua_tostring(L, -2);
    if (!filename) return 1; /* the message lists what was tried */
    lua_pop(L, 1);
    if (load_file(L, filename, "t", false) == LUA_OK) {
        lua_insert(L, -2);
        return 2;
    }
    return luaL_error(L, "error loading module '%s' from file '%s':\n\t%s", name, filename,
                      lua_tostring(L, -1));
}

static void install_searcher(lua_State *L) {
    if (lua_getglobal(L, "package") == LUA_TTABLE &&
        lua_getfield(L, -1, "searchers") == LUA_TTABLE) {
        lua_pushvalue(L, -2);
        lua_getfield(L, -3, "searchpath");
        lua_pushcclosure(L, l_searcher, 2);
        lua_rawseti(L, -2, 2);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

void gp_syntax_plain(lua_State *L) {
    lua_pushboolean(L, 1);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &plain_key);
    install_searcher(L);
}

void gp_syntax_install(lua_State *L) {
    static const luaL_Reg base[] = {
        {"load", l_load}, {"loadfile", l_loadfile}, {"dofile", l_dofile}, {NULL, NULL}};
    gp_syntax_helpers(L);
    lua_pushglobaltable(L);
    luaL_setfuncs(L, base, 0);
    lua_pop(L, 1);
    install_searcher(L);
}
