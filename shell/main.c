/* The program: the command line and environment of lua(1), as in lua.c of Lua 5.4.4, and
 * --plain and --card. */
#include "shell/shell.h"
#include "shell/kernel/kernel.h"

#include "bindings/bind.h"
#include "bindings/memory.h"
#include "bindings/rewrite/truth.h"
#include "bindings/module.h"
#include "bindings/paths.h"
#include "tensor/memory/hostmem.h"
#include "tensor/base/env.h"
#include "tensor/base/safe_text.h"

#include <lauxlib.h>
#include <lualib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROGNAME "gpush"
#define VERSION PROGNAME " " GPUSH_VERSION ", " LUA_COPYRIGHT
#define INIT_VAR "LUA_INIT"
#define INIT_VAR_VERSION INIT_VAR LUA_VERSUFFIX

static const char *progname = PROGNAME;

enum {
    HAS_ERROR = 1,
    HAS_I = 2,
    HAS_V = 4,
    HAS_E = 8,
    HAS_NOENV = 16,
    HAS_PLAIN = 32,
    HAS_HELP = 64
};

static const char usage[] =
    "usage: %s [options] [script [args]]\n"
    "Available options are:\n"
    "  -e stat   execute string 'stat'\n"
    "  -i        enter interactive mode after executing 'script'\n"
    "  -l mod    require library 'mod' into global 'mod'\n"
    "  -l g=mod  require library 'mod' into global 'g'\n"
    "  -v        show version information\n"
    "  -E        ignore environment variables\n"
    "  -W        turn warnings on\n"
    "  --plain   stock Lua: no tensor syntax\n"
    "  --card x  sim stands in for card 'x': h200, h100, a100, v100, mi250 or t4\n"
    "  --        stop handling options\n"
    "  -         stop handling options and execute stdin\n"
    "  --version is -v, --help or -h shows this text\n"
    "gpush help WORD tells about a function or a topic, as in gpush help out of memory\n"
    "gpush labs lists the labs, gpush lab NAME runs one\n"
    "gpush doctor says what works on this machine, what does not, and what to do about it\n"
    "gpush sync [options] script [args] lists the script's waits; gpush sync --help tells more\n"
    "gpush run -n N script [args] runs it in N processes; gpush run --help tells more\n"
    "gpush profile [options] script [args] shows where its time goes; its --help tells more\n"
    "gpush fit script [args] says whether a run fits in each card's memory, and whose the peak is\n"
    "gpush record train.py runs a PyTorch program, records some steps, and says what dominated\n"
    "gpush analyze FILE shows a saved profile or a trace of torch.profiler\n"
    "gpush compare BEFORE AFTER shows what changed between two of them, as a check for CI, too\n"
    "gpush mcp answers an assistant's questions about them\n"
    "gpush kernel install makes it a kernel for Jupyter's notebooks\n";

static void print_bad_option(const char *given) {
    char bad[1024]; /* a file of that name, where the shell put it for a * */
    gp_safe_text(given, bad, sizeof bad);
    lua_writestringerror("%s: ", progname);
    if (bad[1] == 'e' || bad[1] == 'l' || !strcmp(bad, "--card"))
        lua_writestringerror("'%s' needs argument\n", bad);
    else lua_writestringerror("unrecognized option '%s'\n", bad);
    lua_writestringerror(usage, progname);
}

static void print_help(void) {
    const char *slash = strrchr(progname, '/');
    printf(usage, slash ? slash + 1 : progname);
    fflush(stdout);
}

void gp_shell_write(FILE *out, const char *text) {
    char piece[GP_SAFE_MAX];
    const char *end = text + strlen(text);
    while (gp_safe_next(&text, end, true, piece)) fputs(piece, out);
    putc('\n', out);
    fflush(out);
}

void gp_shell_message(const char *msg) {
    if (progname) fprintf(stderr, "%s: ", progname);
    gp_shell_write(stderr, msg);
}

int gp_shell_report(lua_State *L, int status) {
    if (status != LUA_OK) {
        if (lua_isstring(L, -1)) gp_shell_keep_error(lua_tostring(L, -1));
        gp_shell_message(lua_tostring(L, -1));
        lua_pop(L, 1);
    }
    return status;
}

int gp_shell_call(lua_State *L, int narg, int nres) {
    int base = lua_gettop(L) - narg;
    lua_pushcfunction(L, gp_shell_traceback);
    lua_insert(L, base);
    gp_interrupt_begin(L, progname == NULL);
    int status = lua_pcall(L, narg, nres, base);
    if (status == LUA_ERRMEM &&
        gp_interrupted) { /* Lua asked for more than was available at once (bindings/memory.c) */
        lua_pushliteral(L, "interrupted!");
        lua_replace(L, -2);
    }
    gp_interrupt_end(L);
    lua_remove(L, base);
    return status;
}

/* at_prompt: with the first hints for users. */
static void print_version(bool at_prompt) {
    printf("%s%s", VERSION, at_prompt ? "  ? for help" : "");
    lua_writeline();
}

/* arg: the script's name at 0, its arguments above, the words before it below. */
static void create_arg(lua_State *L, char **argv, int argc, int script) {
    if (script == argc) script = 0;
    lua_createtable(L, argc - (script + 1), script + 1);
    for (int i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i - script);
    }
    lua_setglobal(L, "arg");
}

static int run_chunk(lua_State *L, int status) {
    if (status == LUA_OK) status = gp_shell_call(L, 0, 0);
    else gp_shell_add_line(L);
    return gp_shell_report(L, status);
}

static int run_file(lua_State *L, const char *name) {
    return run_chunk(L, gp_syntax_loadfile(L, name, "t"));
}

static int run_string(lua_State *L, const char *s, const char *name) {
    gp_input_name_text(L, name, s);
    return run_chunk(L, gp_syntax_load(L, s, strlen(s), name, "t"));
}

/* Whether the values of a call, which is a statement as well, are shown: where they begin with a
 * tensor, number or text. lua5.4 shows none, so what calls do beside stays alone: files that
 * io.write gives, the true of os.remove. */
static bool is_answer(lua_State *L, int index) {
    int type = lua_type(L, index);
    return type == LUA_TNUMBER || type == LUA_TSTRING || gp_lua_totensor(L, index);
}

/* -e: statements, or an expression, whose values are shown as at the prompt. */
static int run_text(lua_State *L, const char *s) {
    const char *name = "=(command line)";
    int top = lua_gettop(L);
    const char *text = lua_pushfstring(L, "local gpush_line_ <close> = nil return %s\n", s);
    bool statement = gp_syntax_load(L, s, strlen(s), name, "t") == LUA_OK;
    if (gp_syntax_load(L, text, strlen(text), name, "t") != LUA_OK) {
        lua_settop(L, top);
        return run_string(L, s, name);
    }
    gp_input_name_text(L, name, s);
    lua_replace(L, top + 1); /* the text, and with it what did not compile */
    lua_settop(L, top + 1);
    int status = gp_shell_call(L, 0, LUA_MULTRET), n = lua_gettop(L) - top;
    if (status == LUA_OK && n > 0 && (!statement || is_answer(L, top + 1))) {
        luaL_checkstack(L, LUA_MINSTACK, "too many results to print");
        lua_pushcfunction(L, gp_shell_echo);
        lua_insert(L, top + 1);
        status = gp_shell_call(L, n, 0);
    }
    return gp_shell_report(L, status);
}

/* Runs globname = require(modname); spec is "modname" or "globname=modname". */
static int run_library(lua_State *L, char *spec) {
    char *modname = strchr(spec, '=');
    if (modname) *modname++ = 0;
    else modname = spec;
    lua_getglobal(L, "require");
    lua_pushstring(L, modname);
    int status = gp_shell_call(L, 1, 1);
    if (status == LUA_OK) lua_setglobal(L, spec);
    return gp_shell_report(L, status);
}

static int push_args(lua_State *L) {
    if (lua_getglobal(L, "arg") != LUA_TTABLE) luaL_error(L, "'arg' is not a table");
    int n = (int)luaL_len(L, -1);
    luaL_checkstack(L, n + 3, "too many arguments to script");
    for (int i = 1; i <= n; i++) lua_rawgeti(L, -i, i);
    lua_remove(L, -(n + 1));
    return n;
}

static int run_script(lua_State *L, char **argv) {
    const char *name = argv[0];
    if (!strcmp(name, "-") && strcmp(argv[-1], "--")) name = NULL; /* standard input */
    int status = gp_syntax_loadfile(L, name, "t");
    lua_pushboolean(L, status == LUA_OK); /* for what a command does after it */
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.began");
    lua_pushboolean(L, status == LUA_ERRFILE);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.unread");
    if (status == LUA_OK) status = gp_shell_call(L, push_args(L), LUA_MULTRET);
    else if (status != LUA_ERRSYNTAX || !name || !gp_shell_add_kind(L, name)) gp_shell_add_line(L);
    return gp_shell_report(L, status);
}

/* ---- commands: gpush NAME [args], written in Lua ---- */

/* Whether there is something to run of that name in the current folder: a folder is not. */
static bool is_script(const char *name) {
    struct stat st;
    return stat(name, &st) == 0 && !S_ISDIR(st.st_mode);
}

static bool may_be_command(const char *name) {
    return !name[strspn(name, "abcdefghijklmnopqrstuvwxyz")] && !is_script(name);
}

/* The file of the command `name`, in path; false: there is none, or a script of that name is in the
 * current folder. */
static bool find_command(const char *name, char *path, size_t size) {
    if (!may_be_command(name)) return false;
    int n = snprintf(path, size, "%s/command/%s.lua", gp_scripts_dir(), name);
    return n < (int)size && access(path, F_OK) == 0;
}

/* Runs the command in `path` with the arguments from argv[first] on. It returns whether it
 * succeeded, or which of its arguments is a script, to be run as usual; what it does then is part
 * of the program's end. */
static bool run_command(lua_State *L, const char *path, char **argv, int argc, int first) {
    int status = luaL_loadfilex(L, path, "t");
    luaL_checkstack(L, argc + LUA_MINSTACK, "too many arguments");
    for (int i = first; i < argc; i++) lua_pushstring(L, argv[i]);
    if (status == LUA_OK) status = gp_shell_call(L, argc - first, 1);
    if (gp_shell_report(L, status) != LUA_OK) return false;
    if (!lua_isinteger(L, -1)) return gp_shell_reports(), lua_toboolean(L, -1);
    int script = first - 1 + (int)lua_tointeger(L, -1);
    if (script + 1 < argc && !strcmp(argv[script + 1], "--")) /* what follows is the script's */
        memmove(argv + script + 1, argv + script + 2, (size_t)(argc-- - script - 1) * sizeof *argv);
    create_arg(L, argv, argc, script);
    return gp_shell_end(L, run_script(L, argv + script) == LUA_OK);
}

static bool run_given(lua_State *L, char **argv, int argc, int script) {
    char path[4096];
    bool plain = strcmp(argv[script - 1], "--") != 0; /* after that there are only scripts */
    if (plain && find_command(argv[script], path, sizeof path))
        return run_command(L, path, argv, argc, script + 1);
    if (plain && may_be_command(argv[script]) && access(argv[script], F_OK)) {
        lua_pushfstring(L,
                        "there is no command and no script '%s'; gpush --help lists the commands",
                        argv[script]);
        gp_shell_message(lua_tostring(L, -1));
        return false;
    }
    return run_script(L, argv + script) == LUA_OK;
}

/* The flag of a long option, or 0. */
static int long_option(const char *s) {
    if (!strcmp(s, "--plain")) return HAS_PLAIN;
    if (!strcmp(s, "--version")) return HAS_V;
    return !strcmp(s, "--help") || !strcmp(s, "-h") ? HAS_HELP : 0;
}

/* The flag of the option at argv[*i], which advances to the option's argument if that is separate;
 * HAS_ERROR for none. */
static int option(char **argv, int *i) {
    const char *s = argv[*i];
    bool alone = s[2] == '\0';
    switch (s[1]) {
    case 'E': return alone ? HAS_NOENV : HAS_ERROR;
    case 'W': return alone ? 0 : HAS_ERROR;
    case 'i': return alone ? HAS_I | HAS_V : HAS_ERROR;
    case 'v': return alone ? HAS_V : HAS_ERROR;
    case 'e':
    case 'l':
        if (alone && (!argv[*i + 1] || argv[++*i][0] == '-')) return HAS_ERROR;
        return s[1] == 'e' ? HAS_E : 0;
    default: return HAS_ERROR;
    }
}

/* The flags of all options; *first is the script's index, or that of the bad option after
 * HAS_ERROR. */
static int collect_args(char **argv, int *first) {
    int args = 0, i;
    for (i = 1; argv[i]; i++) {
        *first = i;
        if (argv[i][0] != '-' || argv[i][1] == '\0') return args;
        if (!strcmp(argv[i], "--")) {
            *first = i + 1;
            return args;
        }
        bool card = !strcmp(argv[i], "--card");
        if (card && !argv[++i]) return HAS_ERROR;
        int flag = card ? 0 : long_option(argv[i]);
        if (!flag && !card) flag = option(argv, &i);
        if (flag == HAS_ERROR) return HAS_ERROR;
        args |= flag;
    }
    *first = i;
    return args;
}

/* name -> nothing: sim.card = name. */
static int l_card(lua_State *L) {
    lua_getglobal(L, "require");
    lua_pushliteral(L, "gpush");
    lua_call(L, 1, 1);
    lua_getfield(L, -1, "sim");
    lua_pushvalue(L, 1);
    lua_setfield(L, -2, "card");
    return 0;
}

/* --card: an error has no traceback, since no line of the user's has run. */
static int run_card(lua_State *L, const char *name) {
    lua_pushcfunction(L, l_card);
    lua_pushstring(L, name);
    return gp_shell_report(L, lua_pcall(L, 1, 0, 0));
}

/* Runs -e, -l, -W and --card in their order; false if one of them failed. */
static bool run_args(lua_State *L, char **argv, int n, bool plain) {
    for (int i = 1; i < n; i++) {
        int option = argv[i][1];
        if (!strcmp(argv[i], "--card") && run_card(L, argv[++i]) != LUA_OK) return false;
        if (option == 'W') lua_warning(L, "@on", 0), gp_shell_watch_globals(L);
        if (option != 'e' && option != 'l') continue;
        char *extra = argv[i] + 2;
        if (!*extra) extra = argv[++i];
        int status = option == 'l' ? run_library(L, extra)
                     : plain       ? run_string(L, extra, "=(command line)")
                                   : run_text(L, extra);
        if (status != LUA_OK) return false;
    }
    return true;
}

static int run_init(lua_State *L) {
    const char *name = "=" INIT_VAR_VERSION, *init = getenv(name + 1);
    if (!init) {
        name = "=" INIT_VAR;
        init = getenv(name + 1);
    }
    if (!init) return LUA_OK;
    if (init[0] == '@') return run_file(L, init + 1);
    return run_string(L, init, name);
}

static void open_state(lua_State *L, int args) {
    if (args & HAS_NOENV) {
        lua_pushboolean(L, 1);
        lua_setfield(L, LUA_REGISTRYINDEX, "LUA_NOENV");
    }
    gp_lua_open_state(L, args & HAS_PLAIN ? GP_LUA_PLAIN : GP_LUA_SYNTAX);
    gp_shell_watch_clock(L);
    gp_shell_watch_end(L);
    gp_shell_open_attend(L);
#ifndef GP_WITHOUT_NOTEBOOK
    lua_pushboolean(L, 1); /* for scripts/lua/command/kernel.lua */
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.notebooks");
    char program[4096];
    ssize_t n = readlink("/proc/self/exe", program, sizeof program);
    lua_pushlstring(L, program, n < 0 ? 0 : (size_t)n);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.program");
#endif
}

/* Under a limit of address space: lets OpenMP and oneDNN take at the start what they keep, since
 * they end the program where their first product finds no memory. */
static void warm_up(lua_State *L) {
    if (gp_host_limited() &&
        luaL_dostring(L, "local x = require 'gpush'.ones(300, 300) local _ = x:matmul(x)"))
        lua_pop(L, 1);
}

/* `gpush COMMAND` alone, unless there is a script of that name. */
static bool asks(const char *command, int argc, char **argv) {
    return argc == 2 && !strcmp(argv[1], command) && !is_script(command);
}

/* The user's startup file, of a prompt on a terminal: an error in it is reported, and the session
 * begins. */
static void run_startup(lua_State *L) {
    const char *config = gp_env_text(GP_ENV_XDG_CONFIG_HOME), *home = gp_env_text(GP_ENV_HOME);
    bool own = config && *config == '/';
    if (!isatty(STDIN_FILENO) || (!own && !home)) return;
    const char *path =
        lua_pushfstring(L, "%s%s/gpush/startup.lua", own ? config : home, own ? "" : "/.config");
    if (access(path, F_OK) == 0) run_file(L, path);
    lua_settop(L, 0);
}

static void start_repl(lua_State *L, bool startup) {
    const char *name = progname;
    progname = NULL; /* messages at the prompt omit it */
    if (startup) run_startup(L);
    gp_repl(L);
    progname = name;
}

/* Whether the command was `gpush kernel --connection FILE`, which scripts/lua/command/kernel.lua
 * leaves to us: then runs it; *ok: whether it succeeded. */
static bool run_kernel(lua_State *L, bool *ok) {
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.kernel") != LUA_TSTRING) return false;
    const char *name = progname;
    progname = NULL; /* as at the prompt */
    *ok = gp_kernel_run(L, lua_tostring(L, -1));
    progname = name;
    return true;
}

/* main in protected mode: argc, argv -> whether it succeeded. */
static int l_main(lua_State *L) {
    int argc = (int)lua_tointeger(L, 1), script;
    char **argv = lua_touserdata(L, 2);
    int args = collect_args(argv, &script);
    luaL_checkversion(L);
    if (argv[0] && argv[0][0]) progname = argv[0];
    if (args == HAS_ERROR) {
        print_bad_option(argv[script]);
        return 0;
    }
    if (args & HAS_HELP || asks("help", argc, argv)) {
        print_help();
        lua_pushboolean(L, 1);
        return 1;
    }
    if (args & HAS_V) print_version(args & HAS_I);
    bool doctor = asks("doctor", argc, argv);
    if (doctor) gp_doctor_begin(); /* Lua's files may be missing */
    open_state(L, args);
    create_arg(L, argv, argc, script);
    if (doctor) {
        gp_shell_reports();
        lua_pushboolean(L, gp_doctor(L) == 0);
        return 1;
    }
    /* Most tensors die young, and a step over new objects takes a few microseconds where marking
     * the shell's own 0.3 MiB takes 30: so steps are frequent, and garbage stays in the processor's
     * cache. The first line is for the cycles that run when much survived. Old tensors:
     * gp_lua_charge. */
    lua_gc(L, LUA_GCINC, 140, 1000, 0);
    lua_gc(L, LUA_GCGEN, 20, 100);
    warm_up(L);
    if (!(args & HAS_NOENV) && run_init(L) != LUA_OK) return 0;
    bool ok = run_args(L, argv, script, args & HAS_PLAIN) &&
              (script >= argc || run_given(L, argv, argc, script));
    if (run_kernel(L, &ok)) return lua_pushboolean(L, ok), 1;
    if (!ok && !(args & HAS_I)) return 0; /* with -i the session stays, as Python's does */
    bool startup = !(args & HAS_NOENV);
    if (args & HAS_I) {
        start_repl(L, startup);
    } else if (script == argc && !(args & (HAS_E | HAS_V))) {
        if (isatty(STDIN_FILENO)) {
            print_version(true);
            start_repl(L, startup);
        } else {
            run_file(L, NULL);
        }
    }
    lua_pushboolean(L, 1);
    return 1;
}

int main(int argc, char **argv) {
    gp_shell_begin();
    gp_kernel_listen(argc, argv);
    lua_State *L = gp_lua_newstate();
    if (!L) {
        lua_writestringerror("%s: cannot create state: not enough memory\n", argv[0]);
        return EXIT_FAILURE;
    }
    gp_crash_watch(L);
    lua_pushcfunction(L, l_main);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    int status = lua_pcall(L, 2, 1, 0);
    bool ok = lua_toboolean(L, -1);
    return gp_shell_close(L, gp_shell_report(L, status) == LUA_OK && ok);
}
