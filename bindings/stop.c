/* Stops the Lua code that runs on this thread, in whatever coroutine, from a signal handler: for
 * Ctrl-C (shell/interrupt.c) and for the workers of a data loader that is closed. */
#include "bindings/stop.h"

#include "bindings/bind.h"
#include "bindings/sampling/counter.h"
#include "profile/record/record.h"

#include <lauxlib.h>
#include <limits.h>
#include <lualib.h>
#include <signal.h>
#include <stdint.h>
#include <ucontext.h>

/* The states running on this thread: the innermost coroutine first, the main one last. */
typedef struct frame {
    lua_State *L;
    struct frame *outer;
} frame;

static _Thread_local frame *volatile running;
static _Thread_local frame outermost;
static _Thread_local volatile sig_atomic_t asked;
static _Thread_local bool after_next; /* the next hook comes too early */

/* The hook's instruction count shows how often it has run: after the first error the code that
 * cleans up gets some time; if the script catches the error and goes on, it gets no more. */
enum { AT_ONCE = 1, NO_MORE = 2, CLEAN_UP = 100000 };

/* Raises in the running Lua code. Hooks belong to coroutines, so each running one has its own. */
static void on_hook(lua_State *L, lua_Debug *ar) {
    (void)ar;
    int count = lua_gethookcount(L);
    if (asked && after_next && count == AT_ONCE) { /* comes again at the next instruction */
        after_next = false;
        return;
    }
    lua_sethook(L, NULL, 0, 0);
    if (!asked) { /* a coroutine that survived an earlier stop */
        gp_counter_rest(L);
        return;
    }
    lua_sethook(L, on_hook, LUA_MASKCOUNT, count == AT_ONCE ? CLEAN_UP : NO_MORE);
    luaL_error(L, "interrupted!");
}

/* lua_sethook may be called in a signal handler. */
void gp_stop_now(void) {
    asked = 1;
    for (frame *f = running; f; f = f->outer) lua_sethook(f->L, on_hook, LUA_MASKCOUNT, AT_ONCE);
}

/* ---- Lua's string library ---- */

/* Where its code is, in one object: it keeps nothing that an error would lose, and none of Lua's
 * own functions is being called while the processor is in it. Each thread with a state finds the
 * same numbers. */
static _Atomic uintptr_t string_first, string_last;

#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__) /* which gives handlers a copy */
/* Where the interrupted function continues. */
__attribute__((noreturn)) static void leave_string(void) {
    lua_State *L = running->L;
    lua_sethook(L, on_hook, LUA_MASKCOUNT, CLEAN_UP);
    luaL_error(L, "interrupted!");
    __builtin_unreachable();
}

bool gp_stop_leave_string(void *context) {
    enum { RED_ZONE = 128 }; /* below the stack pointer, which the function may use */
    greg_t *reg = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t at = (uintptr_t)reg[REG_RIP];
    if (!running || at < string_first || at >= string_last) return false;
    reg[REG_RSP] = ((reg[REG_RSP] - RED_ZONE) & ~(greg_t)15) - 8; /* as after a call */
    reg[REG_RIP] = (greg_t)(uintptr_t)leave_string;
    return true;
}
#else
bool gp_stop_leave_string(void *context) {
    (void)context;
    return false;
}
#endif

/* In lstrlib.c string.len is the first function, and what opens the library the last. */
static void find_string_library(lua_State *L) {
    lua_getglobal(L, "string");
    lua_getfield(L, -1, "len");
    uintptr_t first = (uintptr_t)lua_tocfunction(L, -1), last = (uintptr_t)luaopen_string;
    lua_pop(L, 2);
    if (first >= last) return;
    string_first = first;
    string_last = last;
}

void gp_stop_again(void) {
    if (asked) gp_stop_now();
}

void gp_stop_hold(bool hold) {
    static _Thread_local frame *held;
    static _Thread_local sig_atomic_t before;
    if (hold) {
        held = running, running = NULL;
        before = asked, asked = 0;
    } else {
        running = held;
        if (asked) gp_stop_now();
        else asked = before;
    }
}

lua_State *gp_stop_running(void) { return running ? running->L : NULL; }

lua_State *gp_stop_resumer(const lua_State *co) {
    for (frame *f = running; f; f = f->outer)
        if (f->L == co) return f->outer ? f->outer->L : NULL;
    return NULL;
}

bool gp_stop_requested(void) { return asked; }
void gp_stop_after_next(void) { after_next = true; }

int gp_stop_distance(void *co) {
    lua_Debug ar;
    int n = 0;
    for (frame *f = running; f; f = f->outer, n++)
        if (f->L == co) return n;
    if (lua_status(co) != LUA_OK || !lua_getstack(co, 0, &ar)) return -1;
    return co == gp_lua_state ? 0 : INT_MAX - 1;
}

void gp_stop_begin(lua_State *L) {
    asked = 0;
    outermost = (frame){L, NULL};
    running = &outermost;
}

void gp_stop_end(lua_State *L) {
    running = NULL;
    asked = 0;
    if (lua_gethook(L) == on_hook) gp_counter_rest(L);
}

/* ---- coroutine.resume and coroutine.wrap, as in lcorolib.c, which maintain the list; and
 * coroutine.close, which tells before a coroutine's frames go ---- */

/* L runs from here on. */
static void came_to(lua_State *L) {
    gp_lua_enter(L);
    gp_counter_follow(L);
    if (gp_prof_running()) gp_record_switch();
}

void (*gp_stop_failed)(lua_State *L, lua_State *co, bool wrapped);
void (*gp_stop_closing)(lua_State *L, lua_State *co);

static bool has_failed(lua_State *co) {
    return lua_status(co) != LUA_OK && lua_status(co) != LUA_YIELD;
}

/* As auxresume in lcorolib.c; co is listed while it runs. Returns the number of results, or -1 with
 * the message on L. */
static int resume(lua_State *L, lua_State *co, int narg, bool wrapped) {
    frame f = {co, running};
    bool dead = has_failed(co);
    int nres;
    if (!lua_checkstack(co, narg)) {
        lua_pushliteral(L, "too many arguments to resume");
        return -1;
    }
    lua_xmove(L, co, narg);
    running = &f;
    came_to(co);
    int status = lua_resume(co, L, narg, &nres); /* returns also after an error */
    running = f.outer;
    came_to(L);
    if (status != LUA_OK && status != LUA_YIELD) {
        lua_xmove(co, L, 1);
        if (gp_stop_failed && !dead && has_failed(co)) gp_stop_failed(L, co, wrapped);
        return -1;
    }
    if (!lua_checkstack(L, nres + 1)) {
        lua_pop(co, nres);
        lua_pushliteral(L, "too many results to resume");
        return -1;
    }
    lua_xmove(co, L, nres);
    return nres;
}

static int l_resume(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    luaL_argexpected(L, co, 1, "thread");
    int n = resume(L, co, lua_gettop(L) - 1, false);
    lua_pushboolean(L, n >= 0);
    if (n < 0) n = 1; /* the message */
    lua_insert(L, -(n + 1));
    return n + 1;
}

/* As auxwrap: an error closes the coroutine and is passed on to the caller, with its line. */
static int l_wrapped(lua_State *L) {
    lua_State *co = lua_tothread(L, lua_upvalueindex(1));
    int n = resume(L, co, lua_gettop(L), true);
    if (n >= 0) return n;
    int status = lua_status(co);
    if (has_failed(co)) {
        status = lua_resetthread(co); /* closes its variables */
        lua_xmove(co, L, 1);
    }
    if (status != LUA_ERRMEM && lua_type(L, -1) == LUA_TSTRING) {
        luaL_where(L, 1);
        lua_insert(L, -2);
        lua_concat(L, 2);
    }
    return lua_error(L);
}

static int l_wrap(lua_State *L) {
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_State *co = lua_newthread(L);
    lua_pushvalue(L, 1);
    lua_xmove(L, co, 1);
    lua_pushcclosure(L, l_wrapped, 1);
    return 1;
}

/* Its upvalue is Lua's own coroutine.close, which every state has for itself. */
static int l_close(lua_State *L) {
    lua_State *co = lua_tothread(L, 1);
    if (co && gp_stop_closing && has_failed(co)) gp_stop_closing(L, co);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

void gp_stop_install(lua_State *L) {
    static const luaL_Reg functions[] = {{"resume", l_resume}, {"wrap", l_wrap}, {NULL, NULL}};
    find_string_library(L);
    lua_getglobal(L, "coroutine");
    lua_getfield(L, -1, "close");
    lua_CFunction close = lua_tocfunction(L, -1);
    if (close && close != l_close) {
        lua_pushcclosure(L, l_close, 1);
        lua_setfield(L, -2, "close");
    } else lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
    lua_pop(L, 1);
}
