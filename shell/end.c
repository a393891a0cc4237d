/* The end of the program, however it comes: after its input, by an error or by os.exit. What a
 * script left for it is done, open budgets are checked, a command says what it has to say after the
 * script, and output that was lost is a failure. */
#include "shell/shell.h"

#include "bindings/memory.h"
#include "bindings/module.h"
#include "profile/sync/sync.h"
#include "tensor/autograd/checks.h"
#include "tensor/device/stream/failure.h"
#include "tensor/device/offload.h"
#include "tensor/base/process.h"
#include "tensor/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char last_error[252]; /* its first line, for the other ranks of a job */

void gp_shell_keep_error(const char *text) {
    snprintf(last_error, sizeof last_error, "%.*s", (int)strcspn(text, "\n"), text);
}

/* ---- the standard files ---- */

/* One that is closed would be the next file that is opened, which prints would go into: it becomes
 * one that cannot be used either, and which programs that are started find closed. */
static void hold_files(void) {
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        int other_way = (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC;
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", other_way) != fd) return;
    }
}

/* Whether something that was printed has not been written; says so. */
static bool lost_output(void) {
    char text[120] = "cannot write to standard output";
    errno = 0;
    bool lost = ferror(stdout) != 0;
    if (fflush(stdout)) {
        lost = true;
        snprintf(text, sizeof text, "cannot write to standard output: %s", strerror(errno));
    }
    if (lost) gp_shell_message(text);
    return lost || ferror(stderr);
}

/* ---- the script's end ---- */

static int failed_with = EXIT_FAILURE; /* the exit status of a program that fails, */
static int lost_with = EXIT_FAILURE;   /* and of one that has lost output */

void gp_shell_reports(void) { lost_with = GP_EXIT_FILES; }

/* (ok) -> the program's exit status. What a script left is delivered while tensors can still be
 * made (scripts/lua/sync/async.lua): what finalizers make in a closing state is never freed. A
 * command's function (scripts/lua/command_line.lua) comes last; what it raises is passed on. */
static int l_end(lua_State *L) {
    bool ok = lua_toboolean(L, 1);
    lua_settop(L, 0);
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.at_end") == LUA_TFUNCTION &&
        gp_shell_report(L, lua_pcall(L, 0, 0, 0)) != LUA_OK)
        ok = false;
    gp_lua_check_budgets();
    if (gp_scope_missed_any()) ok = false;
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.finish") == LUA_TFUNCTION) {
        lua_pushboolean(L, ok);
        lua_call(L, 1, 1);
        ok = lua_toboolean(L, -1);
    }
    bool given = lua_getfield(L, LUA_REGISTRYINDEX, "gpush.status") == LUA_TNUMBER;
    if (!ok) failed_with = given ? (int)lua_tointeger(L, -1) : EXIT_FAILURE;
    return lua_pushinteger(L, ok ? EXIT_SUCCESS : failed_with), 1;
}

bool gp_shell_end(lua_State *L, bool ok) {
    lua_pushcfunction(L, l_end);
    lua_pushboolean(L, ok);
    if (gp_shell_report(L, gp_shell_call(L, 1, 1)) != LUA_OK) return false;
    ok = lua_tointeger(L, -1) == EXIT_SUCCESS;
    lua_pop(L, 1);
    return ok;
}

void gp_shell_watch_end(lua_State *L) {
    lua_pushcfunction(L, l_end);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.end");
}

/* ---- the process's end ---- */

/* Reports failures on devices that were never raised, because nothing waited for them. */
static bool report_failures(void) {
    if (!gp_pending_check()) gp_error_clear(); /* a device that is dead says so */
    gp_device_drain();
    if (!gp_failure_collect_all(NULL)) return false;
    gp_shell_message(gp_error());
    return true;
}

/* An op that was interrupted may still be in a library, which must not be unloaded under it; nor is
 * it waited for. */
static void leave(int status, void *unused) {
    (void)unused;
    bool left = atomic_load(&gp_offload_abandoned) > 0;
    if (status)
        gp_process.abandon(*last_error ? last_error : "it called os.exit with a failure", status);
    int job = gp_process.end();
    bool failed = !left && report_failures();
    bool lost = lost_output();
    if (!left && !failed && !lost && (!job || job == status)) return;
    fflush(NULL);
    if (!status && lost) status = lost_with;
    _exit(job ? job : !status && failed ? EXIT_FAILURE : status);
}

static void leave_now(int status) {
    atomic_fetch_add(&gp_offload_abandoned, 1);
    leave(status, NULL);
}

void gp_shell_begin(void) {
    hold_files();
    gp_process.leave = leave_now;
    on_exit(leave, NULL);
}

int gp_shell_close(lua_State *L, bool ok) {
    if (!ok) gp_process.abandon(last_error, EXIT_FAILURE);
    ok = gp_shell_end(L, ok);
    gp_lua_closestate(L);
    if (atomic_load(&gp_offload_abandoned) == 0 && report_failures()) ok = false;
    return ok ? EXIT_SUCCESS : failed_with;
}
