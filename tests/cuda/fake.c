/* A Lua module for tests: injected faults of the stand-in for CUDA, and its counts
 * (tests/fake_cuda/include/fake_cuda.h). */
#include <dlfcn.h>
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <pthread.h>
#include <stdint.h>

#include "fake_cuda.h"

/* fake.fault "oom=1 late=2:50" */
static int l_fault(lua_State *L) {
    if (fakeFault(luaL_checkstring(L, 1)))
        return luaL_error(L, "fake.fault: %s", lua_tostring(L, 1));
    return 0;
}

/* fake.count "malloc" */
static int l_count(lua_State *L) {
    lua_pushinteger(L, (lua_Integer)fakeCount(luaL_checkstring(L, 1)));
    return 1;
}

enum { KERNELS = 10000 };

/* fake.kernels(): of the kernels that were launched since the last call, the plug-in's path and
 * their places in it, as nm has them. */
static int l_kernels(lua_State *L) {
    const void **all = lua_newuserdatauv(L, KERNELS * sizeof *all, 0);
    int n = fakeKernels(all, KERNELS);
    Dl_info of = {0};
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        dladdr(all[i], &of);
        lua_pushinteger(L, (lua_Integer)((uintptr_t)all[i] - (uintptr_t)of.dli_fbase));
        lua_rawseti(L, -2, i + 1);
    }
    lua_pushstring(L, of.dli_fname);
    return 2;
}

static void *run(void *of) {
    lua_State *L = of;
    return (void *)(intptr_t)(lua_pcall(L, lua_gettop(L) - 1, LUA_MULTRET, 0) == LUA_OK);
}

/* fake.thread(fn, ...): its results, or its error, on a fresh thread, for which this one waits, as
 * a host program's that calls gpush on several. */
static int l_thread(lua_State *L) {
    pthread_t t;
    void *ok;
    luaL_checktype(L, 1, LUA_TFUNCTION);
    if (pthread_create(&t, NULL, run, L)) return luaL_error(L, "no thread");
    pthread_join(t, &ok);
    return ok ? lua_gettop(L) : lua_error(L);
}

/* ---- a second Lua state, on a thread of its own ---- */

static struct beside {
    pthread_t thread;
    lua_State *L;
} beside;

static void *run_beside(void *of) {
    lua_State *L = of;
    return (void *)(intptr_t)(lua_pcall(L, 0, 1, 0) == LUA_OK);
}

/* fake.start(text): runs it beside this state, with gpush as `gpush`, until fake.join(). */
static int l_start(lua_State *L) {
    lua_CFunction open = (lua_CFunction)dlsym(RTLD_DEFAULT, "luaopen_gpush");
    lua_State *other = open && !beside.L ? luaL_newstate() : NULL;
    if (!other) return luaL_error(L, "fake.start: no second state");
    luaL_openlibs(other);
    luaL_requiref(other, "gpush", open, 1);
    lua_settop(other, 0);
    if (luaL_loadstring(other, luaL_checkstring(L, 1)) != LUA_OK)
        return luaL_error(L, "fake.start: %s", lua_tostring(other, -1));
    beside.L = other;
    if (pthread_create(&beside.thread, NULL, run_beside, other)) return luaL_error(L, "no thread");
    return 0;
}

/* fake.join(): the number that it returned; raises its error. */
static int l_join(lua_State *L) {
    void *ok;
    if (!beside.L) return luaL_error(L, "fake.join: nothing was started");
    pthread_join(beside.thread, &ok);
    if (ok) lua_pushnumber(L, lua_tonumber(beside.L, -1));
    else lua_pushstring(L, lua_tostring(beside.L, -1));
    lua_close(beside.L);
    beside.L = NULL;
    return ok ? 1 : lua_error(L);
}

/* ---- NVIDIA's own NVRTC ---- */

enum { HEADERS = 32 };
typedef struct nvrtc {
    int (*create)(void **, const char *, const char *, int, const char *const *,
                  const char *const *);
    int (*compile)(void *, int, const char *const *);
    int (*log_size)(void *, size_t *);
    int (*log)(void *, char *);
    int (*destroy)(void **);
} nvrtc;

static int find_nvrtc(lua_State *L, const char *path, nvrtc *n) {
    static const char *const names[] = {"nvrtcCreateProgram", "nvrtcCompileProgram",
                                        "nvrtcGetProgramLogSize", "nvrtcGetProgramLog",
                                        "nvrtcDestroyProgram"};
    void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!so) return luaL_error(L, "%s", dlerror());
    for (int i = 0; i < 5; i++)
        if (!(((void **)n)[i] = dlsym(so, names[i]))) return luaL_error(L, "no %s", names[i]);
    return 0;
}

/* fake.nvrtc(library, text, {{name, text} …}, {option …}): whether the real NVRTC, in that library,
 * compiles text; else its log. */
static int l_nvrtc(lua_State *L) {
    const char *names[HEADERS], *texts[HEADERS], *options[HEADERS];
    int n = (int)lua_rawlen(L, 3), nopt = (int)lua_rawlen(L, 4);
    nvrtc rtc;
    void *program;
    size_t size;
    luaL_argcheck(L, n <= HEADERS && nopt <= HEADERS, 3, "too many");
    find_nvrtc(L, luaL_checkstring(L, 1), &rtc);
    luaL_checkstack(L, 3 * n + nopt, NULL);
    for (int i = 0; i < n; i++) { /* the strings stay on the stack */
        lua_rawgeti(L, 3, i + 1);
        lua_rawgeti(L, -1, 1), lua_rawgeti(L, -2, 2);
        names[i] = luaL_checkstring(L, -2), texts[i] = luaL_checkstring(L, -1);
    }
    for (int i = 0; i < nopt; i++) lua_rawgeti(L, 4, i + 1), options[i] = luaL_checkstring(L, -1);
    if (rtc.create(&program, luaL_checkstring(L, 2), "program.cu", n, texts, names))
        return luaL_error(L, "nvrtcCreateProgram fails");
    lua_pushboolean(L, !rtc.compile(program, nopt, options));
    rtc.log_size(program, &size);
    rtc.log(program, lua_newuserdatauv(L, size, 0));
    lua_pushstring(L, lua_touserdata(L, -1));
    rtc.destroy(&program);
    lua_remove(L, -2);
    return 2;
}

__attribute__((visibility("default"))) int luaopen_fake(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"fault", l_fault}, {"count", l_count}, {"nvrtc", l_nvrtc},     {"thread", l_thread},
        {"start", l_start}, {"join", l_join},   {"kernels", l_kernels}, {NULL, NULL}};
    luaL_newlib(L, functions);
    return 1;
}
