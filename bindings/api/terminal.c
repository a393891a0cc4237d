/* The terminal in Lua: its width, and its answers to queries of its capabilities. */
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "bindings/args/function.h"
#include "profile/show/fit.h"
#include "bindings/module.h"
#include "tensor/base/safe_text.h"

enum { PATIENCE = 300 }; /* ms that a terminal, which may be across a network, has for its answer */

/* Writes the query and reads until its answer ends, which is the device attributes that every
 * terminal sends: ESC [ ? … c. Returns the number of bytes. */
static size_t ask(const char *query, size_t n, char *answer, size_t capacity) {
    struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
    size_t got = 0;
    if (write(STDOUT_FILENO, query, n) != (ssize_t)n) return 0;
    while (got < capacity && poll(&in, 1, PATIENCE) > 0) {
        ssize_t k = read(STDIN_FILENO, answer + got, capacity - got);
        if (k <= 0) break;
        got += (size_t)k;
        if (answer[got - 1] == 'c' && memmem(answer, got, "\033[?", 3)) break;
    }
    return got;
}

/* terminal(): columns and rows of standard output's terminal, and its width and height in pixels, 0
 * where unknown; nil if it is not a terminal. terminal(query): its answer, not shown; nil where it
 * cannot be read, or the user has typed ahead. */
static int l_terminal(lua_State *L) {
    size_t n;
    const char *query = luaL_optlstring(L, 1, NULL, &n);
    if (!isatty(STDOUT_FILENO)) return 0;
    if (!query) {
        struct winsize size = {0};
        bool known = !ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col;
        lua_pushinteger(L, known ? size.ws_col : 80);
        lua_pushinteger(L, size.ws_row);
        lua_pushinteger(L, size.ws_xpixel);
        lua_pushinteger(L, size.ws_ypixel);
        return 4;
    }
    struct termios before, raw;
    int waiting = 0;
    char answer[256];
    fflush(stdout);
    if (tcgetattr(STDIN_FILENO, &before)) return 0;
    raw = before;
    raw.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    raw.c_cc[VMIN] = 0, raw.c_cc[VTIME] = 0;
    if (tcsetattr(STDIN_FILENO, TCSANOW, &raw)) return 0;
    bool free = !ioctl(STDIN_FILENO, FIONREAD, &waiting) && waiting == 0;
    size_t got = free ? ask(query, n, answer, sizeof answer) : 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &before);
    if (!free) return 0;
    lua_pushlstring(L, answer, got);
    return 1;
}

/* The columns that a line may have, or nil: see gp_fit_columns. */
static int l_columns(lua_State *L) {
    int n = gp_fit_columns();
    if (n) lua_pushinteger(L, n);
    return n > 0;
}

/* safe(text, lines?): text as a terminal may show it (tensor/base/safe_text.h), with line feeds and
 * tabs kept if `lines`. */
static int l_safe(lua_State *L) {
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n), *end = s + n;
    bool lines = lua_toboolean(L, 2);
    char piece[GP_SAFE_MAX];
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    while ((n = gp_safe_next(&s, end, lines, piece))) luaL_addlstring(&b, piece, n);
    luaL_pushresult(&b);
    return 1;
}

void gp_lua_open_terminal(lua_State *L) {
    static const gp_lua_function functions[] = {{"terminal", "text? query", l_terminal},
                                                {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
    lua_pushcfunction(L, l_columns);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.columns");
    lua_pushcfunction(L, l_safe);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.safe");
}
