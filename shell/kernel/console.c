/* Consoles on a running kernel (subshells): while a cell runs, a thread with a Lua state of its own
 * answers what can be known without the cell's: the ledger of waits, memory, devices, all of which
 * are the process's. It reads; it neither stops the cell nor resets anything. */
#include "shell/kernel/kernel.h"

#include <jansson.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/memory.h"
#include "bindings/module.h"
#include "shell/shell.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/stream/thread.h"

enum { MOST = 32, WAITING = 64 }; /* consoles; requests that wait for an answer */

static struct {
    char name[MOST][64]; /* "": free */
    unsigned made;
    bool started;
    pthread_t thread;
} own;
static gp_kqueue asked = GP_KQUEUE(asked);

/* ---- the list, which only the sockets' thread uses ---- */

static int find(const char *name) {
    for (int i = 0; i < MOST; i++)
        if (!strcmp(own.name[i], name)) return i;
    return -1;
}

bool gp_kconsole_known(const char *name) { return *name && find(name) >= 0; }

bool gp_kconsole_new(char name[64]) {
    int i = find("");
    if (i < 0) return false;
    snprintf(name, 64, "console-%u", ++own.made);
    strcpy(own.name[i], name);
    return true;
}

bool gp_kconsole_delete(const char *name) {
    int i = *name ? find(name) : -1;
    if (i >= 0) own.name[i][0] = 0;
    return i >= 0;
}

char *gp_kconsole_list(void) {
    json_t *list = json_array();
    for (int i = 0; i < MOST; i++)
        if (*own.name[i]) json_array_append_new(list, json_string(own.name[i]));
    json_t *j = json_pack("{s:s, s:o}", "status", "ok", "subshell_id", list);
    char *out = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    return out;
}

/* ---- the thread ---- */

atomic_ullong gp_kbegan;
atomic_int gp_kcell;

static void status(const gp_kmessage *m, const char *state) {
    gp_ksend(gp_kmessage_new(GP_K_IOPUB, m, "status", state, NULL));
}

/* send(type, content): to the console that asks, or for all where it is a reply. Upvalue 1 is the
 * request. */
static int l_send(lua_State *L) {
    const gp_kmessage *m = lua_touserdata(L, lua_upvalueindex(1));
    const char *type = luaL_checkstring(L, 1), *content = luaL_checkstring(L, 2);
    bool reply = strstr(type, "_reply") != NULL;
    gp_ksend(gp_kmessage_new(reply ? GP_K_SHELL : GP_K_IOPUB, m, type, content, NULL));
    return 0;
}

/* (request): answers it by scripts/lua/shell/kernel/console.lua. */
static int l_answer(lua_State *L) {
    const gp_kmessage *m = lua_touserdata(L, 1);
    gp_shell_push_module(L);
    gp_lua_require(L, "shell.kernel.console");
    lua_pushlightuserdata(L, (void *)m);
    lua_pushcclosure(L, l_send, 1);
    lua_pushstring(L, m->type);
    lua_pushlstring(L, m->part[GP_K_CONTENT].p, m->part[GP_K_CONTENT].n);
    lua_pushnumber(L, (double)(gp_real_ns() - atomic_load(&gp_kbegan)) * 1e-9);
    lua_pushinteger(L, atomic_load(&gp_kcell));
    lua_call(L, 5, 0);
    return 0;
}

static void answer(lua_State *L, const gp_kmessage *m) {
    status(m, "{\"execution_state\":\"busy\"}");
    lua_pushcfunction(L, l_answer);
    lua_pushlightuserdata(L, (void *)m);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) lua_pop(L, 1);
    lua_settop(L, 0);
    status(m, "{\"execution_state\":\"idle\"}");
}

static int l_open(lua_State *L) {
    gp_lua_open_state(L, GP_LUA_SYNTAX);
    return 0;
}

static void *serve(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "console");
    lua_State *L = gp_lua_newstate();
    lua_pushcfunction(L, l_open);
    bool ok = lua_pcall(L, 0, 0, 0) == LUA_OK;
    for (gp_kmessage *m; ok && (m = gp_kqueue_take(&asked, true));) {
        answer(L, m);
        gp_kmessage_free(m);
    }
    gp_lua_closestate(L);
    return NULL;
}

void gp_kconsole_ask(gp_kmessage *m) {
    if (!own.started) own.started = gp_thread_start(&own.thread, serve, NULL);
    if (own.started && gp_kqueue_count(&asked) < WAITING) gp_kqueue_put(&asked, m);
    else gp_kmessage_free(m);
}

void gp_kconsole_end(void) {
    gp_kqueue_close(&asked);
    if (own.started) pthread_join(own.thread, NULL);
    own.started = false;
}
