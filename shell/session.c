/* What the prompt does besides running Lua: its commands, showing values, what it remembers. Most
 * of it is in scripts/shell, loaded on demand. */
#include "shell/shell.h"

#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/chunks.h"
#include "bindings/loader/workers.h"
#include "profile/record/kind.h"
#include "profile/record/record.h"
#include "profile/sync/sync.h"
#include "shell/editor/line.h"
#include "shell/editor/screen.h"
#include "tensor/base/env.h"
#include "tensor/base/safe_text.h"

#include <ctype.h>
#include <fcntl.h>
#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MODULE "gpush.shell"
#define SESSION "gpush.session"

bool gp_shell_notebook;
bool gp_shell_interactive(int fd) { return gp_shell_notebook || isatty(fd); }

static bool status_line; /* :status is on */
static uint64_t started_ns, waits_before;

/* ---- Functions for the Lua side ---- */

static int l_now(lua_State *L) {
    lua_pushnumber(L, (double)gp_now_ns() * 1e-9);
    return 1;
}

/* busy(on): starts counting device time; busy(): its seconds so far and their kind, and stops
 * counting. */
static int l_busy(lua_State *L) {
    bool on = lua_toboolean(L, 1);
    char kind[GP_KIND_TEXT];
    lua_pushnumber(L, (double)gp_busy_ns(true) * 1e-9);
    lua_pushstring(L, gp_kind_now(gp_busy_sim(), kind));
    gp_busy_on(on);
    return 2;
}

static int l_columns(lua_State *L) {
    lua_pushinteger(L, gp_screen_columns());
    return 1;
}

/* width(text): the columns that it takes on the user's terminal. */
static int l_width(lua_State *L) {
    const char *text = luaL_checkstring(L, 1);
    locale_t users = gp_screen_locale(), old = uselocale(users ? users : LC_GLOBAL_LOCALE);
    lua_pushinteger(L, gp_screen_width(text));
    uselocale(old);
    if (users) freelocale(users);
    return 1;
}

static int l_terminal(lua_State *L) {
    lua_pushboolean(L, isatty(STDOUT_FILENO));
    return 1;
}

static int l_status(lua_State *L) {
    status_line = lua_toboolean(L, 1);
    gp_busy_on(status_line);
    gp_busy_ns(true);
    return 0;
}

/* crashed(): workers that crashed, bytes of their Lua states. */
static int l_crashed(lua_State *L) {
    int64_t bytes;
    lua_pushinteger(L, gp_worker_pool_crashed(&bytes));
    lua_pushinteger(L, bytes);
    return 2;
}

/* history(chunk): adds it, so that Up finds it. */
static int l_history(lua_State *L) {
    gp_line_save(luaL_checkstring(L, 1));
    return 0;
}

/* explained(message): a syntax error's, with its line and a suggestion. */
static int l_explained(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    gp_shell_add_line(L);
    return 1;
}

/* session(): the list of chunks that succeeded. */
static int l_session(lua_State *L) {
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SESSION);
    return 1;
}

/* scratch(text): the name of a new file .lua that holds it, which no one else can have made or
 * linked before. nil and a message on failure, which the caller raises. */
static int l_scratch(lua_State *L) {
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n), *dir = gp_env_text(GP_ENV_TMPDIR);
    char path[PATH_MAX];
    if (!dir || *dir != '/' || strlen(dir) > PATH_MAX - 32) dir = "/tmp";
    snprintf(path, sizeof path, "%s/gpush_XXXXXX.lua", dir);
    int fd = mkostemps(path, 4, O_CLOEXEC);
    FILE *f = fd < 0 ? NULL : fdopen(fd, "w");
    if (!f) return luaL_fileresult(L, 0, path);
    fwrite(text, 1, n, f);
    bool ok = !ferror(f);
    if (fclose(f) || !ok) return unlink(path), luaL_fileresult(L, 0, path);
    lua_pushstring(L, path);
    return 1;
}

void gp_shell_push_module(lua_State *L) {
    static const luaL_Reg native[] = {{"now", l_now},
                                      {"scratch", l_scratch},
                                      {"busy", l_busy},
                                      {"columns", l_columns},
                                      {"width", l_width},
                                      {"ours", gp_shell_ours},
                                      {"streams", gp_debug_streams},
                                      {"about", gp_shell_about},
                                      {"keep", gp_debug_handler},
                                      {"terminal", l_terminal},
                                      {"status", l_status},
                                      {"session", l_session},
                                      {"input", gp_input_replace},
                                      {"inputs", gp_input_count},
                                      {"explained", l_explained},
                                      {"history", l_history},
                                      {"crashed", l_crashed},
                                      {NULL, NULL}};
    if (lua_getfield(L, LUA_REGISTRYINDEX, MODULE) == LUA_TTABLE) return;
    lua_pop(L, 1);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, GP_LUA_LOADED);
    luaL_newlib(L, native);
    gp_complete_open(L);
    lua_setfield(L, -2, "shell.native");
    lua_pop(L, 1);
    gp_lua_require(L, "shell");
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, MODULE);
}

int gp_shell_delegate(lua_State *L, const char *name) {
    int n = lua_gettop(L);
    gp_shell_push_module(L);
    lua_getfield(L, -1, name);
    lua_insert(L, 1);
    lua_pop(L, 1);
    lua_call(L, n, 1);
    return 1;
}

/* ---- Commands ---- */

/* "x?", "nn.Linear??": a name and one question mark or two. */
static bool asks(const char *text) {
    size_t n = strlen(text), i = 0;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    if (n > 2 && text[n - 1] == '?' && text[n - 2] == '?') n--; /* x?? */
    if (n < 2 || text[n - 1] != '?' || isdigit((unsigned char)*text)) return false;
    while (i < n - 1 && (isalnum((unsigned char)text[i]) || strchr("_.:", text[i]))) i++;
    return i == n - 1;
}

/* The last byte of the text in quotes that begins at s, or s itself. */
static const char *quoted_end(const char *s) {
    if (*s != '"' && *s != '\'') return s;
    const char *c = s + 1;
    while (*c && *c != *s && *c != '\n') c += 1 + (*c == '\\' && c[1]);
    return *c == *s ? c : s;
}

/* dbg(x:sum()): a word before brackets that end the text. */
static bool is_dbg(const char *text) {
    size_t n = strlen(text);
    int depth = 0;
    while (n && isspace((unsigned char)text[n - 1])) n--;
    if (n <= 5 || strncmp(text, "dbg(", 4)) return false;
    const char *c = text + 3, *end = text + n;
    do {
        depth += (*c == '(') - (*c == ')');
        c = quoted_end(c) + 1;
    } while (depth && c < end);
    return !depth && c == end;
}

/* Words that newcomers type to leave, or for help. */
static bool plain_word(const char *text) {
    static const char *const words[] = {"exit", "quit", "exit()", "quit()", "help"};
    size_t n = strlen(text);
    while (n && isspace((unsigned char)text[n - 1])) n--;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strlen(words[i]) == n && !strncmp(text, words[i], n)) return true;
    return false;
}

bool gp_shell_is_command(const char *text) {
    if (*text == '?' || *text == '!') return true;
    if (*text == ':') return text[1] != ':';
    if (*text == '%')
        return isalpha((unsigned char)text[1 + (text[1] == '%')]); /* %timeit, %%time */
    return asks(text) || plain_word(text) || is_dbg(text);
}

static int l_command(lua_State *L) {
    lua_settop(L, 0);
    gp_shell_push_module(L);
    lua_getfield(L, 1, "command");
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_call(L, 1, LUA_MULTRET);
    return lua_gettop(L) - 1;
}

void gp_shell_push_command(lua_State *L, const char *text) {
    lua_pushstring(L, text);
    lua_pushcclosure(L, l_command, 1);
}

/* ---- Values ---- */

enum { LONG_STRING = 2000 }; /* bytes; as in show.lua */

static bool unsafe(const char *s, size_t n) {
    char piece[GP_SAFE_MAX];
    const char *end = s + n;
    for (const char *at = s; gp_safe_next(&s, end, true, piece); at = s)
        if (piece[0] == '\\' && *at != '\\') return true;
    return false;
}

/* Whether scripts/lua/shell/show.lua shows the value at i: a table without a text of its own, or on
 * a terminal a long string, or one that would control it. */
static bool wants_show(lua_State *L, int i) {
    size_t n;
    if (lua_type(L, i) == LUA_TSTRING) {
        const char *s = lua_tolstring(L, i, &n);
        return gp_shell_interactive(STDOUT_FILENO) && (n > LONG_STRING || unsafe(s, n));
    }
    if (!lua_istable(L, i)) return false;
    if (luaL_getmetafield(L, i, "__tostring") == LUA_TNIL) return true;
    lua_pop(L, 1);
    return false;
}

int gp_shell_shown(lua_State *L) {
    int n = lua_gettop(L);
    luaL_checkstack(L, n + 5, "too many results to print");
    for (int i = 1; i <= n; i++) {
        if (!wants_show(L, i)) continue;
        gp_shell_push_module(L);
        lua_getfield(L, -1, "show");
        lua_pushvalue(L, i);
        lua_call(L, 1, 1);
        lua_replace(L, i);
        lua_settop(L, n);
    }
    return n;
}

int gp_shell_echo(lua_State *L) {
    int n = gp_shell_shown(L);
    lua_getglobal(L, "print");
    lua_insert(L, 1);
    lua_call(L, n, 0);
    return 0;
}

void gp_shell_remember(lua_State *L, const char *text) {
    int top = lua_gettop(L);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, SESSION);
    lua_pushstring(L, text);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    lua_settop(L, top);
    if (!top || lua_isnil(L, 1)) return;
    lua_pushglobaltable(L);
    static const char *const names[] = {"_1", "_2", "_3"};
    for (int i = 2; i > 0; i--) {
        lua_pushstring(L, names[i]);
        lua_pushstring(L, names[i - 1]);
        lua_rawget(L, -3);
        lua_rawset(L, -3);
    }
    lua_pushvalue(L, 1);
    lua_setfield(L, top + 1, "_1");
    lua_pushvalue(L, 1);
    lua_setfield(L, top + 1, "_");
    lua_settop(L, top);
}

/* ---- The status line ---- */

static uint64_t count_waits(void) {
    int n;
    uint64_t all = 0;
    gp_sync_line *lines = gp_sync_lines(&n);
    for (int i = 0; i < n; i++) all += lines[i].times;
    free(lines);
    return all;
}

void gp_shell_started(void) {
    if (!status_line) return;
    gp_busy_on(true); /* device time between two lines counts for the second */
    waits_before = count_waits();
    started_ns = gp_now_ns();
}

static int l_show_status(lua_State *L) { return gp_shell_delegate(L, "status"); }

void gp_shell_ended(lua_State *L) {
    char kind[GP_KIND_TEXT];
    if (!status_line || !started_ns) return;
    lua_pushcfunction(L, l_show_status);
    lua_pushnumber(L, (double)(gp_now_ns() - started_ns) * 1e-9);
    lua_pushnumber(L, (double)gp_busy_ns(true) * 1e-9);
    lua_pushinteger(L, (lua_Integer)(count_waits() - waits_before));
    lua_pushstring(L, gp_kind_now(gp_busy_sim(), kind));
    if (lua_pcall(L, 4, 0, 0) != LUA_OK) lua_pop(L, 1);
}

/* ---- Clocks ---- */

static void add_queued(gp_device *dev, void *sum) {
    for (int i = 0; i < dev->nstreams; i++) *(uint64_t *)sum += gp_stream_queued(dev->streams[i]);
}

/* Work queued before the first call of a clock is not between two of them. */
static void warn_of_queued(lua_State *L, const char *clock) {
    static bool asked_before, said;
    uint64_t queued = 0;
    if (said || lua_gettop(L)) return;
    gp_device_each(add_queued, &queued);
    if (queued && asked_before) {
        said = true;
        luaL_where(L, 1);
        lua_writestringerror("%s", lua_tostring(L, -1));
        lua_writestringerror("%s: ", clock);
        lua_writestringerror("%d queued ops are not done, and their time is not in it; ",
                             (int)queued);
        lua_writestringerror("%s\n", "use timeit, or synchronize() first");
        lua_settop(L, 0);
    }
    asked_before = true;
}

/* os.clock or os.time, upvalue 1, named by upvalue 2. */
static int l_os_clock(lua_State *L) {
    warn_of_queued(L, lua_tostring(L, lua_upvalueindex(2)));
    return lua_tocfunction(L, lua_upvalueindex(1))(L); /* here: errors name this call */
}

/* clock(), which is upvalue 1. */
static int l_clock(lua_State *L) {
    warn_of_queued(L, "clock");
    lua_pushvalue(L, gp_lua_upvalue(1));
    lua_call(L, 0, 1);
    return 1;
}

/* Of the table on top. */
static void watch_clock(lua_State *L, const char *field, const char *name) {
    lua_getfield(L, -1, field);
    lua_pushstring(L, name);
    lua_pushcclosure(L, l_os_clock, 2);
    lua_setfield(L, -2, field);
}

void gp_shell_watch_clock(lua_State *L) {
    static const gp_lua_function watched = {"clock", "", l_clock};
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, "gpush");
    lua_getfield(L, -1, "clock");
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.clock"); /* for work that is queued on purpose */
    gp_lua_push_function(L, &watched, 1);
    lua_pushvalue(L, -1);
    lua_setglobal(L, "clock");
    lua_setfield(L, -2, "clock");
    lua_getglobal(L, "os");
    watch_clock(L, "clock", "os.clock");
    watch_clock(L, "time", "os.time");
    lua_pop(L, 3);
}
