/* A scope's mode, allow or budget is its thread's: a wait of another thread meets the process's
 * mode, or that of its own scopes. */
#include "ops.h"

#include <pthread.h>

#include "bindings/bind.h"
#include "bindings/memory.h"
#include "bindings/module.h"
#include "profile/sync/sync.h"

#include <lauxlib.h>

/* ---- a wait in another thread ---- */

typedef struct waiter {
    bool scoped; /* a scope of its own, of this mode */
    gp_sync_mode mode;
    bool refused;
    char message[300];
} waiter;

static gp_tensor *ones(void) {
    gp_call c;
    gp_call_begin(&c, GP_OP(full));
    gp_call_ints(&c, (int64_t[]){4}, 1);
    gp_call_number(&c, (gp_scalar){.is_float = true, .f = 1});
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = GP_f32};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DEVICE, .dev = gp_device_get("sim")};
    return need(gp_call_one(&c));
}

/* Runs in a state of the thread's own, where its scope is open. */
static int l_wait(lua_State *L) {
    waiter *w = lua_touserdata(L, 1);
    gp_scope s = {.kind = GP_SCOPE_MODE, .mode = w->mode, .coroutine = L};
    gp_tensor *x = ones();
    float to[4] = {0};
    gp_lua_enter(L);
    if (w->scoped) gp_scope_open(&s);
    w->refused = !gp_read(x, to, GP_WHY_tolist, "tolist");
    if (w->scoped) gp_scope_close(&s);
    snprintf(w->message, sizeof w->message, "%s", w->refused ? gp_error() : "");
    if (!w->refused && to[3] != 1) complain("read %g", (double)to[3]);
    gp_tensor_unref(x);
    return 0;
}

static void *run(void *arg) {
    lua_State *L = luaL_newstate();
    lua_pushcfunction(L, l_wait);
    lua_pushlightuserdata(L, arg);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) complain("%s", lua_tostring(L, -1));
    lua_close(L);
    gp_lua_enter(NULL);
    return NULL;
}

/* beside([mode]): whether a wait in another thread is refused, there in a scope of that mode. */
static int l_beside(lua_State *L) {
    static const char *const modes[] = {"off", "warn", "error", NULL};
    waiter w = {.scoped = !lua_isnone(L, 1)};
    pthread_t thread;
    if (w.scoped) w.mode = (gp_sync_mode)luaL_checkoption(L, 1, NULL, modes);
    if (pthread_create(&thread, NULL, run, &w)) return luaL_error(L, "no thread");
    pthread_join(thread, NULL);
    if (w.refused && !strstr(w.message, "tolist would wait on sim:0")) complain("%s", w.message);
    lua_pushboolean(L, w.refused);
    return 1;
}

/* ---- what a script sees ---- */

/* `here` is whether a wait of the script's own thread is refused. */
static const char before[] =
    "local x = ones(4, {device = 'sim'}) "
    "local function here() return not pcall(function() return x:tolist() end) end ";
static const struct {
    const char *name, *expression;
} cases[] = {
    {"sync.error() here, not there",
     "(function() local _ <close> = sync.error() return here() and not beside() end)()"},
    {"error mode in a scope there, not here", "beside 'error' and not here()"},
    {"and not there after it", "not beside()"},
    {"both", "sync.error(function() return here() and beside 'error' end)"},
    {"the process's mode holds where there is no scope",
     "(function() sync.mode = 'error' local a, b = here(), beside() sync.mode = 'off' "
     "return a and b end)()"},
    {"sync.off() is for this thread",
     "(function() sync.mode = 'error' local _ <close> = sync.off() "
     "local a, b = here(), beside() sync.mode = 'off' return not a and b end)()"},
    {"and that of another for that one",
     "(function() sync.mode = 'error' local a, b = here(), beside 'off' sync.mode = 'off' "
     "return a and not b end)()"},
    {"allow does not reach there",
     "(function() sync.mode = 'error' local a, b = sync.allow('test', function() "
     "return here(), beside() end) sync.mode = 'off' return not a and b end)()"},
    {"a budget does not count what waits there",
     "pcall(sync.budget, {max = 1}, function() here() beside() beside() end)"},
    {"but what waits here", "not pcall(sync.budget, {max = 1}, function() here() here() end)"},
    {"the ledger has both", "(function() sync.reset() here() beside() local n = 0 "
                            "for _, l in ipairs(sync.lines()) do n = n + l.times end "
                            "return n == 2 end)()"},
};

static void look(lua_State *L, int i) {
    char text[1000];
    snprintf(text, sizeof text, "%s return %s", before, cases[i].expression);
    bool ran = luaL_dostring(L, text) == LUA_OK;
    if (!tap_ok(ran && lua_toboolean(L, -1), "%s", cases[i].name) && !ran)
        fprintf(stderr, "# %s\n", lua_tostring(L, -1));
    lua_settop(L, 0);
}

int main(void) {
    lua_State *L = gp_lua_newstate();
    gp_lua_open_state(L, GP_LUA_SYNTAX);
    lua_register(L, "beside", l_beside);
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) look(L, i);
    tap_quiet("and nothing complained");
    lua_close(L);
    return tap_done();
}
