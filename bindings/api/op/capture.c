/* capture: a function whose ops are recorded once; later calls launch them again. The first call
 * runs the function while tensor/capture/record.c notes its calls; guards, which bindings/guard.c
 * collects, say what the function read besides its arguments. A later call checks arguments and
 * guards, reads again the numbers that may change from call to call, such as a learning rate, and
 * replays; a change that a replay could not follow is an error with its line. */
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/guard.h"
#include "bindings/module.h"
#include "tensor/autocast.h"
#include "tensor/autograd/watch.h"
#include "tensor/capture/capture.h"
#include "tensor/fuse/trace.h"
#include "tensor/infer.h"

enum {
    ARGS = 16,     /* of a captured function */
    RESULTS = 16,  /* likewise */
    RECORDINGS = 2 /* the second finds what the first call made: an optimizer's state */
};

typedef struct captured {
    gp_capture *capture; /* NULL: not recorded yet */
    int recordings;
    int nargs, nguards, nresults, nnumbers;
    gp_dtype number;     /* the default dtype */
    int autocast;        /* the dtype of the scope that holds; -1: none converts */
    bool plain[RESULTS]; /* a result that is no tensor */
    gp_guard_key arg[ARGS];
    int nflags;
    struct {
        int guard;    /* whose value is a tensor, */
        gp_tensor *t; /* this one */
        bool requires_grad;
    } * flag;
} captured;

#define CAPTURED "gpush.captured"
/* Upvalues: the userdata, the tensors' metatable, the function, what collects its guards, the list
 * of these, the results that are no tensors, and what numbers are read from. */
enum { SELF = 1, META, FN, COLLECT, GUARDS, PLAIN, NUMBERS };
/* Registry keys: the numbers of the recording that goes on, and those that no op of it reads. */
#define NUMBERS_NOW "gpush.capture.numbers"
#define UNREAD_NOW "gpush.capture.unread"

/* ---- numbers that each replay reads ---- */

/* Pushes number i of the list at `list`, three values each: a table and one or two keys. */
static double read_number(lua_State *L, int list, int i) {
    int top = lua_gettop(L);
    lua_rawgeti(L, list, 3 * i + 1);
    lua_rawgeti(L, list, 3 * i + 2);
    lua_rawget(L, -2);
    if (lua_rawgeti(L, list, 3 * i + 3) != LUA_TBOOLEAN) {
        if (!lua_istable(L, -2)) luaL_error(L, "capture: an optimizer's option is no table now");
        lua_rawget(L, -2);
    } else {
        lua_pop(L, 1);
    }
    int is;
    double f = lua_tonumberx(L, -1, &is);
    if (!is) luaL_error(L, "capture: an optimizer's option is a %s now", luaL_typename(L, -1));
    lua_settop(L, top);
    return f;
}

/* note(name, table, key, [key]): the argument of that name of the last op, if it has one, is
 * table[key], or table[key][key], in each replay; name false: no op reads it. Nothing while no
 * function is captured. */
static int l_number(lua_State *L) {
    bool found = true, unread = !lua_toboolean(L, 1);
    if (!gp_capturing) return 0;
    lua_settop(L, 4);
    if (lua_isnil(L, 4)) lua_pushboolean(L, false), lua_replace(L, 4);
    lua_getfield(L, LUA_REGISTRYINDEX, unread ? UNREAD_NOW : NUMBERS_NOW);
    int n = (int)lua_rawlen(L, 5) / 3;
    for (int i = 0; i < 3; i++) {
        lua_pushvalue(L, i + 2);
        lua_rawseti(L, 5, 3 * n + i + 1);
    }
    if (!unread && !gp_capture_number(lua_tostring(L, 1), read_number(L, 5, n), &found))
        return gp_lua_raise(L);
    for (int i = 0; !found && i < 3; i++) lua_pushnil(L), lua_rawseti(L, 5, 3 * n + i + 1);
    return 0;
}

/* Whether a function is being captured: what changes from step to step has to be on the device. */
static int l_capturing(lua_State *L) { return lua_pushboolean(L, gp_capturing != NULL), 1; }

/* ---- recording ---- */

/* Notes the arguments; sets the tensors among them that differ, and their numbers. */
static int note_args(lua_State *L, captured *c, int n, gp_tensor **in, int *arg) {
    gp_tensor *at[ARGS];
    int inputs = 0;
    if (n > ARGS) return luaL_error(L, "a captured function takes at most %d arguments", ARGS);
    c->nargs = n;
    for (int i = 0; i < n; i++) {
        gp_guard_key *k = &c->arg[i];
        gp_guard_set_key(L, "captured", i + 1, k);
        gp_tensor *t = at[i] = gp_lua_totensor(L, i + 1);
        for (int j = 0; t && j < i && k->same < 0; j++)
            if (at[j] == t) k->same = (int8_t)j;
        if (t && k->same < 0) in[inputs] = t, arg[inputs++] = i + 1;
    }
    return inputs;
}

/* Notes the results from stack index `first` on; those that are no tensors go into the list at
 * `plain`. */
static bool note_results(lua_State *L, captured *c, int first, int plain, gp_tensor **out, int *n) {
    int many = lua_gettop(L) - first + 1;
    *n = 0;
    if (many > RESULTS)
        return gp_fail("a captured function gives at most %d results, not %d", RESULTS, many);
    c->nresults = many;
    for (int i = 0; i < many; i++) {
        gp_tensor *x = gp_lua_totensor(L, first + i);
        int type = lua_type(L, first + i);
        c->plain[i] = !x;
        if (x) out[(*n)++] = x;
        if (x) continue;
        if (type != LUA_TNIL && type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TSTRING)
            return gp_fail("a captured function gives tensors, numbers, strings, booleans or nil; "
                           "result %d is a %s: give its parts one by one",
                           i + 1, lua_typename(L, type));
        lua_pushvalue(L, first + i);
        lua_rawseti(L, plain, i + 1);
    }
    return true;
}

/* Pins the inputs that the guards on top reach, and notes which tensors there have gradients. */
static bool note_tensors(lua_State *L, captured *c, gp_capture *k) {
    int list = lua_gettop(L), n = 0;
    free(c->flag);
    c->nflags = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (int i = 0; i < c->nguards; i++) {
            lua_rawgeti(L, list, 3 * i + 3);
            gp_tensor *t = gp_lua_totensor(L, -1);
            lua_pop(L, 1);
            if (!t) continue;
            if (!pass && ++n) continue;
            gp_capture_pin(k, t);
            c->flag[c->nflags].guard = i;
            c->flag[c->nflags].t = t;
            c->flag[c->nflags++].requires_grad = t->requires_grad;
        }
        if (!pass && !(c->flag = malloc((size_t)(n + 1) * sizeof *c->flag)))
            return gp_fail("capture: out of memory");
    }
    return true;
}

/* Adds key, at `key`, of the table at `at` to the set on top: a table of sets of keys by table. */
static void add_dynamic(lua_State *L, int at, int key) {
    int set = lua_gettop(L);
    lua_pushvalue(L, at);
    if (lua_rawget(L, set) != LUA_TTABLE) {
        lua_pop(L, 1);
        lua_newtable(L);
        lua_pushvalue(L, at);
        lua_pushvalue(L, -2);
        lua_rawset(L, set);
    }
    lua_pushvalue(L, key);
    lua_pushboolean(L, true);
    lua_rawset(L, -3);
    lua_settop(L, set);
}

/* Adds the keys of tables whose numbers are in the list at index i to the set on top. */
static void add_all_dynamic(lua_State *L, int i) {
    int n = (int)lua_rawlen(L, i) / 3, top = lua_gettop(L) - 1;
    for (int k = 0; k < n; k++) {
        lua_rawgeti(L, i, 3 * k + 1);
        lua_rawgeti(L, i, 3 * k + 2);
        lua_rawgeti(L, i, 3 * k + 3);
        bool two = lua_type(L, -1) != LUA_TBOOLEAN;
        if (two) lua_pushvalue(L, top + 3), lua_rawget(L, top + 2);
        else lua_pushvalue(L, top + 3), lua_replace(L, top + 4);
        lua_pushvalue(L, top + 1);
        add_dynamic(L, two ? top + 5 : top + 2, top + 4);
        lua_settop(L, top + 1);
    }
}

/* Whether the function left what it reads as it was: the guards of before, at `list`, still hold,
 * and there are as many now. Leaves those of replays on top. */
static bool is_stable(lua_State *L, captured *c, int list, int numbers) {
    lua_pushvalue(L, list);
    int before = c->nguards, bad = gp_guard_changed(L, before);
    if (bad) gp_guard_push_name(L, lua_gettop(L), bad);
    if (bad)
        return gp_fail("a captured function changes '%s', which it reads, too: a replay would not "
                       "repeat that; do it outside",
                       lua_tostring(L, -1));
    lua_getfield(L, LUA_REGISTRYINDEX, UNREAD_NOW);
    int unread = lua_gettop(L);
    lua_newtable(L);
    add_all_dynamic(L, numbers);
    add_all_dynamic(L, unread);
    lua_pushvalue(L, lua_upvalueindex(COLLECT));
    lua_pushvalue(L, lua_upvalueindex(FN));
    lua_pushvalue(L, -3);
    lua_call(L, 2, 3);
    c->nguards = (int)lua_tointeger(L, -2);
    int all = (int)lua_tointeger(L, -1);
    lua_pop(L, 2);
    return all == before || gp_fail("a captured function adds to a table, or removes from one, "
                                    "that it reads: a replay would not repeat that; do it outside");
}

/* Makes c replay what k has recorded; the results begin at `first`, the guards of before are at
 * first - 2, the numbers at first - 1. False with a message; *again: the next call may be recorded
 * in its place. */
static bool finish(lua_State *L, captured *c, gp_capture *k, int first, bool *again) {
    gp_tensor *out[RESULTS];
    int n;
    *again = false;
    lua_newtable(L);
    lua_insert(L, first);
    if (!note_results(L, c, first + 1, first, out, &n)) return false;
    lua_gc(L, LUA_GCCOLLECT);
    lua_gc(L, LUA_GCCOLLECT); /* what nodes held that the first one freed */
    if (!gp_capture_plan(k, out, n, again)) return false;
    *again = true;
    if (!is_stable(L, c, first - 2, first - 1) || !note_tensors(L, c, k)) return false;
    lua_replace(L, lua_upvalueindex(GUARDS));
    lua_pushvalue(L, first);
    lua_replace(L, lua_upvalueindex(PLAIN));
    lua_pushvalue(L, first - 1);
    lua_replace(L, lua_upvalueindex(NUMBERS));
    c->nnumbers = (int)lua_rawlen(L, first - 1) / 3;
    return true;
}

static int run_plain(lua_State *L, int n) {
    lua_pushvalue(L, lua_upvalueindex(FN));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

/* Pushes the list of numbers of a new recording. */
static void push_numbers(lua_State *L) {
    lua_newtable(L);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, NUMBERS_NOW);
    lua_newtable(L);
    lua_setfield(L, LUA_REGISTRYINDEX, UNREAD_NOW);
}

/* A recording that goes on; after an error it is closed with the call. */
typedef struct recording {
    gp_capture *capture; /* NULL: planned, or freed */
} recording;

static void release_recording(void *owner) {
    recording *r = owner;
    gp_capture_free(r->capture);
    r->capture = NULL;
}

/* Runs the function, and plans later calls. */
static int record(lua_State *L, captured *c, int n) {
    static const gp_owner_type type = {"gpush.capture.recording", release_recording};
    gp_tensor *in[ARGS];
    int arg[ARGS], inputs = note_args(L, c, n, in, arg), first = n + 4;
    bool again;
    c->number = gp_default_dtype, c->autocast = gp_guard_autocast();
    recording *r = gp_lua_push_owner(L, &type, sizeof *r);
    lua_toclose(L, -1);
    c->nguards = gp_guard_collect(L, lua_upvalueindex(COLLECT), lua_upvalueindex(FN));
    push_numbers(L);
    lua_pushcfunction(L, gp_guard_call);
    lua_pushvalue(L, lua_upvalueindex(FN));
    for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
    gp_autocast_forget();
    if (!(r->capture = gp_capture_begin(in, arg, inputs))) return gp_lua_raise(L);
    int status = lua_pcall(L, n + 1, LUA_MULTRET, 0);
    gp_autocast_forget();
    if (status != LUA_OK) return release_recording(r), lua_error(L);
    int results = lua_gettop(L) - first + 1;
    luaL_checkstack(L, results + 20, NULL);
    bool ok = finish(L, c, r->capture, first, &again);
    if (ok) c->capture = r->capture, r->capture = NULL;
    release_recording(r);
    if (!ok && (!again || ++c->recordings == RECORDINGS)) return gp_lua_raise(L);
    lua_settop(L, first + results);
    return results;
}

/* ---- replays ---- */

static int changed_key(lua_State *L, int i) {
    return luaL_error(L,
                      "capture: argument #%d is not the value that the function was captured "
                      "with: pass what changes as a tensor, or capture it for each value",
                      i + 1);
}

static void check_args(lua_State *L, const captured *c, int n, gp_tensor **in) {
    gp_tensor *at[ARGS];
    int inputs = 0;
    if (n != c->nargs)
        luaL_error(L, "capture: the function was captured with %d arguments, and is called with %d",
                   c->nargs, n);
    for (int i = 0; i < n; i++) {
        const gp_guard_key *k = &c->arg[i];
        gp_tensor *t = at[i] = gp_lua_totensor(L, i + 1);
        if (!t != (k->type != LUA_TUSERDATA) || (!t && !gp_guard_is_key(L, i + 1, k)))
            changed_key(L, i);
        if (!t) continue;
        if (k->same >= 0 && at[k->same] != t)
            luaL_error(L, "capture: arguments #%d and #%d were the same tensor, and differ now",
                       k->same + 1, i + 1);
        if (k->same < 0) in[inputs++] = t;
    }
}

static void check_state(lua_State *L, const captured *c) {
    if (c->number != gp_default_dtype || c->autocast != gp_guard_autocast())
        luaL_error(L, "capture: the %s is another one than when the function was captured",
                   c->number != gp_default_dtype ? "default dtype" : "autocast scope");
    lua_pushvalue(L, lua_upvalueindex(GUARDS));
    int bad = gp_guard_changed(L, c->nguards);
    if (bad) {
        gp_guard_push_name(L, lua_gettop(L), bad);
        luaL_error(L,
                   "capture: '%s', which the captured function reads, was changed: capture the "
                   "function again",
                   lua_tostring(L, -1));
    }
    for (int i = 0; i < c->nflags; i++) {
        lua_rawgeti(L, -1, 3 * c->flag[i].guard + 3);
        gp_tensor *t = gp_lua_totensor(L, -1);
        lua_pop(L, 1);
        if (t != c->flag[i].t || t->requires_grad != c->flag[i].requires_grad)
            luaL_error(L, "capture: a tensor that the captured function reads was closed, or its "
                          "requires_grad changed: capture the function again");
    }
    lua_pop(L, 1);
}

static double *read_numbers(lua_State *L, const captured *c) {
    if (!c->nnumbers) return NULL;
    double *number = lua_newuserdatauv(L, (size_t)c->nnumbers * sizeof *number, 0);
    for (int i = 0; i < c->nnumbers; i++) number[i] = read_number(L, lua_upvalueindex(NUMBERS), i);
    return number;
}

/* Pushes the results, tensors in boxes that are filled after the replay. */
static int replay(lua_State *L, const captured *c, gp_tensor **in) {
    gp_tensor *out[RESULTS];
    gp_box *box[RESULTS];
    gp_lua_settle(L);
    const double *number = read_numbers(L, c);
    luaL_checkstack(L, RESULTS + 4, NULL);
    for (int i = 0; i < c->nresults; i++) {
        if (c->plain[i]) lua_rawgeti(L, lua_upvalueindex(PLAIN), i + 1);
        else box[i] = gp_lua_new_box(L, lua_upvalueindex(META));
    }
    if (!gp_capture_replay(c->capture, in, number, out)) return gp_lua_raise(L);
    for (int i = 0, n = 0; i < c->nresults; i++)
        if (!c->plain[i]) box[i]->t = out[n++], gp_lua_charge(box[i]->t);
    return c->nresults;
}

static int l_captured(lua_State *L) {
    captured *c = lua_touserdata(L, lua_upvalueindex(SELF));
    int n = lua_gettop(L);
    gp_tensor *in[ARGS];
    gp_lua_enter(L);
    /* Within another captured or fused function the calls are that one's; nan.watch names each. */
    if (gp_capturing || gp_tracing || gp_watch.on) return run_plain(L, n);
    if (!c->capture) return record(L, c, n);
    check_args(L, c, n, in);
    check_state(L, c);
    return replay(L, c, in);
}

static int l_gc(lua_State *L) {
    captured *c = luaL_checkudata(L, 1, CAPTURED);
    gp_capture_free(c->capture);
    free(c->flag);
    c->capture = NULL;
    c->flag = NULL;
    c->nflags = 0;
    return 0;
}

/* make(fn, collect): the captured function; collect as of fuse.c. */
static int l_make(lua_State *L) {
    captured *c = lua_newuserdatauv(L, sizeof *c, 0);
    memset(c, 0, sizeof *c);
    luaL_setmetatable(L, CAPTURED);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushcclosure(L, l_captured, NUMBERS);
    return 1;
}

void gp_lua_open_capture(lua_State *L) {
    static const luaL_Reg registry[] = {{"gpush.capture", l_make},
                                        {"gpush.capture.number", l_number},
                                        {"gpush.capture.running", l_capturing},
                                        {NULL, NULL}};
    luaL_newmetatable(L, CAPTURED);
    lua_pushcfunction(L, l_gc);
    lua_setfield(L, -2, "__gc");
    lua_pushvalue(L, LUA_REGISTRYINDEX);
    luaL_setfuncs(L, registry, 0);
    lua_pop(L, 2);
}
