/* gpush kernel: starts the sockets' thread, puts pipes in place of the standard files, and runs
 * scripts/lua/shell/kernel, which answers requests, until the end. */
#include "shell/kernel/kernel.h"

#include <jansson.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "shell/editor/history.h"
#include "shell/shell.h"

/* What is left is sent, and the files are as they were: for os.exit, too. */
static void close_all(void) {
    fflush(stdout);
    gp_kconsole_end();
    gp_kthread_end();
    gp_kstreams_close();
}

static void leave(int status, void *unused) {
    (void)status, (void)unused;
    close_all();
}

static char *make_info(void) {
    json_t *j = json_pack(
        "{s:s, s:s, s:s, s:s, s:s, s:b, s:[s], s:[{s:s, s:s}],"
        " s:{s:s, s:s, s:s, s:s, s:s, s:s}}",
        "status", "ok", "protocol_version", "5.5", "implementation", "gpush",
        "implementation_version", GPUSH_VERSION, "banner",
        "gpush " GPUSH_VERSION ", " LUA_RELEASE "  ? for help", "debugger", 0, "supported_features",
        "kernel subshells", "help_links", "text", "Lua's manual", "url",
        "https://www.lua.org/manual/5.4/", "language_info", "name", "lua", "version",
        LUA_VERSION_MAJOR "." LUA_VERSION_MINOR "." LUA_VERSION_RELEASE, "mimetype", "text/x-lua",
        "file_extension", ".lua", "pygments_lexer", "lua", "codemirror_mode", "lua");
    char *out = j ? json_dumps(j, JSON_COMPACT) : NULL;
    json_decref(j);
    return out;
}

/* Answers requests until the end. */
static int l_serve(lua_State *L) {
    gp_shell_push_module(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    gp_knative_push(L);
    lua_setfield(L, -2, "kernel.native");
    lua_settop(L, 0);
    gp_lua_require(L, "shell.kernel");
    lua_call(L, 0, 0);
    return 0;
}

void gp_kernel_listen(int argc, char **argv) {
    int i = argc == 6 && !strcmp(argv[1], "--card") ? 3 : 1;
    if (argc == i + 3 && !strcmp(argv[i], "kernel") && !strcmp(argv[i + 1], "--connection"))
        gp_kwire_listen(argv[i + 2]);
}

bool gp_kernel_run(lua_State *L, const char *file) {
    char why[500] = "out of memory";
    gp_kinfo = make_info();
    gp_interrupt_idle();
    if (!gp_kinfo || !gp_kwire_open(file, why, sizeof why) || !gp_kstreams_open() ||
        !gp_kthread_start()) {
        gp_kstreams_close();
        gp_shell_message(why);
        return false;
    }
    on_exit(leave, NULL);
    gp_shell_notebook = gp_lua_at_prompt = true;
    gp_kinput_open(L);
    gp_history_open();
    gp_shell_watch_globals(L);
    gp_debug_watch(L);
    lua_pushcfunction(L, l_serve);
    int status = lua_pcall(L, 0, 0, 0);
    close_all();
    return gp_shell_report(L, status) == LUA_OK;
}
