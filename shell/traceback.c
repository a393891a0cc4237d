/* Adds to an error's message the source line, the tensors on it, and the calls that led there,
 * without gpush's own. */
#include "shell/shell.h"

#include "bindings/bind.h"
#include "bindings/paths.h"
#include "tensor/io/file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define HEAD "stack traceback:" /* luaL_traceback's first line */
enum { LINE = 200 };            /* bytes of a source line that are shown */

/* Whether gpush ships it as its library; labs and benchmarks count as a user's scripts. */
bool gp_shell_is_ours(const char *source) {
    const char *dir = gp_scripts_dir();
    size_t n = dir ? strlen(dir) : 0;
    return n && source[0] == '@' && !strncmp(source + 1, dir, n) && source[1 + n] == '/';
}

int gp_shell_ours(lua_State *L) {
    lua_pushboolean(L, gp_shell_is_ours(luaL_checkstring(L, 1)));
    return 1;
}

/* ---- The source line ---- */

static bool line_of_text(const char *text, int line, char out[LINE]) {
    while (text && --line > 0)
        if ((text = strchr(text, '\n'))) text++;
    if (!text || line < 0) return false;
    snprintf(out, LINE, "%.*s", (int)strcspn(text, "\r\n"), text);
    return true;
}

static bool line_of_file(const char *name, int line, char out[LINE]) {
    FILE *f = fopen(name, "re");
    char *text = NULL;
    size_t cap = 0;
    bool found = false;
    while (f && line > 0 && getline(&text, &cap, f) > 0)
        if (--line == 0) found = line_of_text(text, 1, out);
    free(text);
    if (f) fclose(f);
    return found;
}

/* From a pipe all chunks have one name: a function belongs to the running chunk if that has a
 * function at the line where it was defined. */
static bool source_line(lua_State *L, const lua_Debug *ar, char out[LINE]) {
    if (ar->source[0] == '@') return line_of_file(ar->source + 1, ar->currentline, out);
    const char *text = gp_input_text(L, ar->source);
    if (text && strcmp(ar->what, "main")) {
        bool found = line_of_text(text, ar->linedefined, out) && strstr(out, "function");
        if (!found) return false;
    }
    return text && line_of_text(text, ar->currentline, out);
}

/* The frame, from level `first` on, whose line the message names, else the innermost that is the
 * user's. */
static bool find_frame(lua_State *L, int first, const char *msg, lua_Debug *ar) {
    lua_Debug at;
    bool found = false;
    for (int level = first; lua_getstack(L, level, &at); level++) {
        char location[LUA_IDSIZE + 16];
        lua_getinfo(L, "Sl", &at);
        if (at.currentline < 0 || gp_shell_is_ours(at.source)) continue;
        if (!found) *ar = at, found = true;
        int n = snprintf(location, sizeof location, "%s:%d: ", at.short_src, at.currentline);
        if (strncmp(msg, location, (size_t)n)) continue;
        *ar = at;
        return true;
    }
    return found;
}

/* ---- The tensors on the line ---- */

/* Pushes the value of name in the frame: a local variable, an upvalue, or a global. */
static void push_named(lua_State *L, lua_Debug *ar, const char *name) {
    const char *other;
    int top = lua_gettop(L);
    lua_pushnil(L);
    for (int i = 1; (other = lua_getlocal(L, ar, i)); i++) {
        if (!strcmp(other, name)) lua_replace(L, top + 1); /* the last one shadows the others */
        else lua_pop(L, 1);
    }
    if (!lua_isnil(L, top + 1)) return;
    lua_getinfo(L, "f", ar);
    for (int i = 1; (other = lua_getupvalue(L, top + 2, i)); i++) {
        if (!strcmp(other, name)) lua_replace(L, top + 1);
        else lua_pop(L, 1);
    }
    if (lua_isnil(L, top + 1)) {
        lua_pushglobaltable(L);
        lua_pushstring(L, name);
        lua_rawget(L, -2);
        lua_replace(L, top + 1);
    }
    lua_settop(L, top + 1);
}

static bool word(int c) { return isalnum(c) || c == '_'; }

/* Pops the value on top of the stack; if it is a tensor, adds a line with its dtype, shape and
 * device. Waits for nothing. */
static void add_tensor(lua_State *L, luaL_Buffer *b, const char *name) {
    char line[300], what[200];
    gp_tensor *t = gp_lua_totensor(L, -1);
    if (t)
        snprintf(line, sizeof line, "\n        %s is %s %s", name,
                 gp_tensor_text(t, what, sizeof what), gp_tensor_device(t)->name);
    lua_pop(L, 1);
    if (t) luaL_addstring(b, line);
}

/* Whether the name that starts at s is that of a field or a method. */
static bool member(const char *text, const char *s) {
    if (s == text || (s[-1] != '.' && s[-1] != ':')) return false;
    return s - 1 == text || s[-2] != s[-1]; /* not after a .. or a label */
}

/* The length of the string or the comment that begins at s; 0: none does. */
static size_t aside(const char *s) {
    size_t n = 1;
    if (s[0] == '-' && s[1] == '-') return strlen(s);
    if (*s != '"' && *s != '\'') return 0;
    while (s[n] && s[n] != *s) n += s[n] == '\\' && s[n + 1] ? 2 : 1;
    return s[n] ? n + 1 : n;
}

/* Adds a line to b for each name in text that is a tensor; returns their number. */
static int add_tensors(lua_State *L, luaL_Buffer *b, lua_Debug *ar, const char *text) {
    int count = 0;
    char seen[512] = " ", name[64], mark[70];
    const char *s = text;
    for (size_t n; *s; s += n ? n : 1) {
        if ((n = aside(s))) continue;
        while (word((unsigned char)s[n])) n++;
        if (!n || n >= sizeof name || isdigit((unsigned char)*s) || member(text, s)) continue;
        snprintf(name, sizeof name, "%.*s", (int)n, s);
        snprintf(mark, sizeof mark, " %s ", name);
        if (strstr(seen, mark) || strlen(seen) + n + 2 > sizeof seen) continue;
        strcat(seen, mark + 1);
        push_named(L, ar, name);
        count += gp_lua_totensor(L, -1) != NULL;
        if (b) add_tensor(L, b, name);
        else lua_pop(L, 1);
    }
    return count;
}

/* Where the text is unknown: does so for each local variable. */
static void add_locals(lua_State *L, luaL_Buffer *b, lua_Debug *ar) {
    const char *name;
    for (int i = 1; i <= 50 && (name = lua_getlocal(L, ar, i)); i++) {
        if (word((unsigned char)*name)) add_tensor(L, b, name);
        else lua_pop(L, 1);
    }
}

/* ---- The calls ---- */

/* The owner of a level, whose line of the trace this is: our Lua or a helper of tensor syntax, C,
 * or the user. */
static char owner(lua_State *L, int level, const char *line) {
    static const char helper[] = "\n\t[C]: in function '(";
    lua_Debug ar;
    if (!strncmp(line, helper, sizeof helper - 1)) return 'o';
    if (!lua_getstack(L, level, &ar) || !lua_getinfo(L, "S", &ar)) return 'u';
    return gp_shell_is_ours(ar.source) ? 'o' : *ar.what == 'C' ? 'c' : 'u';
}

static bool starts(const char *line, const char *with) {
    return !strncmp(line, with, strlen(with));
}

static const char *line_end(const char *line) { return line + strcspn(line + 1, "\n") + 1; }

/* Whether the trace's line is that of a call. Others are the message, left-out levels and tail
 * calls. */
static bool is_call(const char *line) {
    return starts(line, "\n\t") && !starts(line, "\n\t(...tail") && !starts(line, "\n\t...\t(skip");
}

/* The number of levels of the stack, by bisection: finding a level takes as many steps. */
static int depth(lua_State *L) {
    lua_Debug ar;
    int low = 0, high = 1; /* level low exists, unless none does; level high does not */
    while (lua_getstack(L, high, &ar)) low = high, high *= 2;
    while (low + 1 < high) {
        int mid = low + (high - low) / 2;
        if (lua_getstack(L, mid, &ar)) low = mid;
        else high = mid;
    }
    return high;
}

/* The level of the first call in trace, which is the end of a trace: the last levels are never left
 * out. luaL_traceback's own count of left-out levels is too low by one. */
static int level_of(lua_State *L, const char *trace) {
    int level = depth(L);
    for (; *trace; trace = line_end(trace)) level -= is_call(trace);
    return level;
}

/* Adds the lines of luaL_traceback, which began with L's level, except for our own levels, the C
 * functions that these called, and the tail calls that led to them. */
static void add_calls(lua_State *L, int level, luaL_Buffer *b, const char *trace) {
    const char *held = NULL; /* lines of C functions, whose caller comes next */
    bool hidden = false;     /* whether the level before was ours */
    for (const char *next; *trace; trace = next) {
        char who = 'u';
        next = line_end(trace);
        if (starts(trace, "\n\t...\t(skip")) level = level_of(L, next);
        else if (is_call(trace)) who = owner(L, level++, trace);
        else if (hidden && starts(trace, "\n\t(...tail")) continue;
        hidden = who == 'o';
        if (who == 'c' && !held) held = trace;
        if (hidden) held = NULL;
        if (who != 'u') continue;
        if (held) luaL_addlstring(b, held, (size_t)(trace - held));
        held = NULL;
        luaL_addlstring(b, trace, (size_t)(next - trace));
    }
    if (held) luaL_addstring(b, held);
}

/* How much of the calls a terminal shows: not the C functions at the end, which ran the program or
 * the prompt; and nothing if the only call is the line already shown, and the C functions that it
 * called. */
static size_t worth(const char *calls, bool shown) {
    static const char last[] = "\n\t[C]: in ?", main[] = ": in main chunk";
    size_t n = strlen(calls), m = sizeof last - 1, k = sizeof main - 1, h = sizeof HEAD - 1;
    while (n >= m && !strncmp(calls + n - m, last, m)) n -= m;
    if (n <= h) return 0;
    const char *line = calls + h;
    while (line < calls + n && !strncmp(line, last, m - 1)) line += 1 + strcspn(line + 1, "\n");
    bool one = line < calls + n && !memchr(line + 1, '\n', (size_t)(calls + n - line) - 1);
    return shown && one && n > h + k && !strncmp(calls + n - k, main, k) ? 0 : n;
}

static void add_line(luaL_Buffer *b, int n, const char *text) {
    char line[LINE + 32];
    snprintf(line, sizeof line, "\n    %d | %s", n, text + strspn(text, " \t"));
    luaL_addstring(b, line);
}

/* (message, terminal) -> message with a suggestion. */
static int l_syntax(lua_State *L) { return gp_shell_delegate(L, "syntax"); }

void gp_shell_add_line(lua_State *L) {
    if (lua_type(L, -1) != LUA_TSTRING) return;
    lua_pushcfunction(L, l_syntax);
    lua_pushvalue(L, -2);
    lua_pushboolean(L, gp_shell_interactive(STDERR_FILENO));
    if (lua_pcall(L, 2, 1, 0) == LUA_OK && lua_isstring(L, -1)) lua_replace(L, -2);
    else lua_pop(L, 1);
}

/* (file, its kind by its first bytes) -> what the file is, or nil. */
static int l_script(lua_State *L) { return gp_shell_delegate(L, "script"); }

bool gp_shell_add_kind(lua_State *L, const char *file) {
    char start[GP_FILE_START];
    FILE *f = fopen(file, "rbe");
    size_t n = f ? fread(start, 1, sizeof start, f) : 0;
    if (f) fclose(f);
    if (!n) return false;
    lua_pushcfunction(L, l_script);
    lua_pushstring(L, file);
    lua_pushstring(L, gp_file_kind(start, n));
    const char *what = lua_pcall(L, 2, 1, 0) == LUA_OK ? lua_tostring(L, -1) : NULL;
    if (what) lua_pushfstring(L, "%s\n        %s", lua_tostring(L, -2), what);
    if (what) lua_replace(L, -3);
    lua_pop(L, 1);
    return what != NULL;
}

/* ---- Suggestions ---- */

/* Where an error was raised: a state, L itself or a coroutine that has failed, its level there, and
 * the text of the line, if that is known. */
typedef struct gp_raised {
    lua_State *at;
    lua_Debug ar;
    char text[LINE];
    bool user, known; /* whether a frame is the user's, and its line */
} gp_raised;

/* value(name) in the frame that upvalue 1 has. */
static int l_named(lua_State *L) {
    gp_raised *spot = lua_touserdata(L, lua_upvalueindex(1));
    push_named(spot->at, &spot->ar, luaL_checkstring(L, 1));
    if (spot->at != L) lua_xmove(spot->at, L, 1);
    return 1;
}

/* (message, gp_raised) -> a suggestion, or nil. */
static int l_hint(lua_State *L) {
    gp_raised *spot = lua_touserdata(L, 2);
    gp_shell_push_module(L);
    lua_getfield(L, -1, "hint");
    lua_pushvalue(L, 1);
    lua_pushstring(L, spot->known ? spot->text : NULL);
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, l_named, 1);
    lua_pushboolean(L, gp_input_text(L, spot->ar.source) != NULL);
    lua_call(L, 4, 1);
    return 1;
}

/* Pushes the hint; nil, or an error's message, where there is none. */
static const char *push_hint(lua_State *L, const char *msg, gp_raised *spot) {
    lua_pushcfunction(L, l_hint);
    lua_pushstring(L, msg);
    lua_pushlightuserdata(L, spot);
    return lua_pcall(L, 2, 1, 0) == LUA_OK ? lua_tostring(L, -1) : NULL;
}

/* ---- What is said of an error ---- */

/* Pushes on L the line where the error was raised, from level `first` of `at` on, the tensors on
 * it, and a suggestion. Off a terminal, an error without tensors reads as in lua(1). Returns
 * whether the line is there. */
static bool push_about(lua_State *L, lua_State *at, int first, const char *msg) {
    gp_raised spot = {.at = at};
    spot.user = find_frame(at, first, msg, &spot.ar);
    spot.known = spot.user && source_line(at, &spot.ar, spot.text);
    const char *hint = spot.user ? push_hint(L, msg, &spot) : lua_pushliteral(L, "");
    if (spot.known && !gp_shell_interactive(STDERR_FILENO) &&
        !add_tensors(at, NULL, &spot.ar, spot.text))
        spot.known = spot.user = false;
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    if (spot.known) {
        add_line(&b, spot.ar.currentline, spot.text);
        add_tensors(at, &b, &spot.ar, spot.text);
    } else if (spot.user) {
        add_locals(at, &b, &spot.ar);
    }
    if (hint && *hint) luaL_addstring(&b, "\n        "), luaL_addstring(&b, hint);
    luaL_pushresult(&b);
    lua_remove(L, -2); /* the hint */
    return spot.known;
}

/* Pushes on L the calls from level `first` of `at` on, after a line that says so. */
static const char *push_calls(lua_State *L, lua_State *at, int first) {
    luaL_traceback(L, at, NULL, first);
    const char *trace = lua_tostring(L, -1);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    add_calls(at, first, &b, trace);
    luaL_pushresult(&b);
    lua_remove(L, -2);
    return lua_tostring(L, -1);
}

int gp_shell_about(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "thread");
    const char *msg = luaL_checkstring(L, 2);
    if (!lua_checkstack(co, LUA_MINSTACK)) return 0;
    push_about(L, co, 0, msg);
    push_calls(L, co, 0);
    return 2;
}

/* (table) -> what it holds, as text. */
static int l_described(lua_State *L) { return gp_shell_delegate(L, "show"); }

/* Pushes the message of the error value at index 1; false: it is whole. */
static bool push_message(lua_State *L) {
    if (lua_isstring(L, 1)) return luaL_tolstring(L, 1, NULL), true;
    if (luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return false;
    lua_settop(L, 1);
    const char *type = luaL_typename(L, 1);
    lua_pushcfunction(L, l_described);
    lua_pushvalue(L, 1);
    bool shown = gp_lua_at_prompt && lua_istable(L, 1) && lua_pcall(L, 1, 1, 0) == LUA_OK &&
                 lua_isstring(L, -1);
    if (shown) lua_pushfstring(L, "(error object is a %s value) %s", type, lua_tostring(L, -1));
    else lua_pushfstring(L, "(error object is a %s value)", type);
    lua_replace(L, 2);
    lua_settop(L, 2);
    return true;
}

int gp_debug_handler(lua_State *L) {
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_settop(L, 1);
    push_message(L);
    gp_debug_keep(L, lua_tostring(L, -1));
    lua_settop(L, 1);
    return 1;
}

/* Calls what a command has asked for at an error, as to end its record before the message is made:
 * the registry's "gpush.at_error", which does not raise. */
static void call_at_error(lua_State *L) {
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.at_error") == LUA_TFUNCTION && !gp_interrupted)
        lua_pcall(L, 0, 0, 0);
    lua_settop(L, 1);
}

/* Of an error that came out of a coroutine, what gp_debug_keep found there stands in place of what
 * is known of its caller. */
int gp_shell_traceback(lua_State *L) {
    luaL_checkstack(L, LUA_MINSTACK, NULL);
    lua_settop(L, 1);
    call_at_error(L);
    if (!push_message(L)) return 1;
    gp_lua_replace_dotted(L);
    bool kept = gp_lua_at_prompt && gp_debug_keep(L, lua_tostring(L, 2));
    const char *shown = gp_debug_field(L, kept, "message"),
               *about = gp_debug_field(L, kept, "about"), *inner = gp_debug_field(L, kept, "calls");
    bool known = about || push_about(L, L, 1, lua_tostring(L, 2));
    if (!about) about = lua_tostring(L, -1);
    const char *calls = push_calls(L, L, 1);
    if (inner) calls = lua_pushfstring(L, "%s%s", inner, calls + sizeof HEAD - 1);
    size_t n = gp_shell_interactive(STDERR_FILENO) ? worth(calls, known) : strlen(calls);
    luaL_Buffer b;
    luaL_buffinit(L, &b);
    luaL_addstring(&b, shown ? shown : lua_tostring(L, 2));
    luaL_addstring(&b, about);
    if (n) luaL_addchar(&b, '\n');
    luaL_addlstring(&b, calls, n);
    luaL_pushresult(&b);
    return 1;
}
