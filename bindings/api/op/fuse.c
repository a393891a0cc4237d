/* fuse: a function that is traced once for each kind of arguments; later calls run what was planned
 * for them. */
#include <stdlib.h>
#include <string.h>

#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/guard.h"
#include "bindings/module.h"
#include "tensor/autograd/watch.h"
#include "tensor/fuse/object.h"
#include "tensor/fuse/replay.h"
#include "tensor/infer.h"

enum {
    ARGS = 16,    /* of a fused function */
    RESULTS = 16, /* likewise */
    FORMS = 8     /* of which a function is traced before its calls run as they are */
};

/* What is planned for one kind of arguments. */
typedef struct form {
    gp_replay *replay;
    int nargs, nguards, nresults;
    gp_dtype number;     /* the default dtype */
    int autocast;        /* the dtype of the scope that holds; -1: none converts */
    bool shapes;         /* it holds for these shapes only */
    bool plain[RESULTS]; /* a result that is no tensor */
    gp_guard_key arg[ARGS];
    gp_shape shape[ARGS];
} form;

typedef struct fused {
    int n;
    bool eager;
    form *form[FORMS];
} fused;

#define FUSED "gpush.fused"
/* Upvalues of a fused function: the userdata, the tensors' metatable, the function, what collects
 * its guards, and for each form a list of guards followed by the results that are no tensors. */
enum { SELF = 1, META, FN, COLLECT, LISTS };

/* ---- arguments ---- */

static uint64_t ones_of(const gp_tensor *t) {
    uint64_t bits = 0;
    for (int i = 0; i < GP_MAX_DIM && i < t->a.ndim; i++) bits |= (uint64_t)(t->a.dim[i] == 1) << i;
    return bits;
}

/* Whether the arguments are of form s; sets the tensors among them that differ. */
static bool matches(lua_State *L, const form *s, int n, gp_tensor **in) {
    gp_tensor *at[ARGS];
    int inputs = 0;
    if (n != s->nargs || s->number != gp_default_dtype || s->autocast != gp_guard_autocast())
        return false;
    for (int i = 0; i < n; i++) {
        const gp_guard_key *k = &s->arg[i];
        gp_tensor *t = at[i] = gp_lua_totensor(L, i + 1);
        if (!t != (k->type != LUA_TUSERDATA)) return false;
        if (!t && !gp_guard_is_key(L, i + 1, k)) return false;
        if (!t) continue;
        if (t->a.dtype != k->dtype || t->a.ndim != k->ndim || t->storage->dev != k->dev ||
            ones_of(t) != k->ones)
            return false;
        gp_shape shape = s->shapes ? gp_tensor_shape(t) : (gp_shape){0};
        if (s->shapes && !gp_shape_equal(&shape, &s->shape[i])) return false;
        if (k->same >= 0 && at[k->same] != t) return false;
        for (int j = 0; k->same < 0 && j < i; j++)
            if (at[j] == t) return false;
        if (k->same < 0) in[inputs++] = t;
    }
    return true;
}

/* Notes argument i; raises where it is of a type that a fused function cannot take. */
static void set_key(lua_State *L, form *s, int i, gp_tensor **at) {
    gp_guard_key *k = &s->arg[i];
    gp_tensor *t = at[i] = gp_lua_totensor(L, i + 1);
    gp_guard_set_key(L, "fused", i + 1, k);
    if (!t) return;
    for (int j = 0; j < i && k->same < 0; j++)
        if (at[j] == t) k->same = (int8_t)j;
    k->dtype = t->a.dtype, k->ndim = t->a.ndim, k->ones = ones_of(t), k->dev = t->storage->dev;
    s->shape[i] = gp_tensor_shape(t);
}

static form *find(lua_State *L, fused *f, int n, gp_tensor **in) {
    for (int i = 0; i < f->n; i++) {
        form *s = f->form[i];
        if (!matches(L, s, n, in)) continue;
        if (s->nguards) {
            lua_rawgeti(L, lua_upvalueindex(LISTS), i + 1);
            int bad = gp_guard_changed(L, s->nguards);
            lua_pop(L, 1);
            if (bad) continue;
        }
        return s;
    }
    return NULL;
}

/* ---- tracing ---- */

/* Notes the results from stack index `first` on, which must be tensors or plain values; constants
 * are kept in the list at `list`, after the guards. */
static bool note_results(lua_State *L, form *s, gp_trace *t, int first, int list, int *result) {
    int n = lua_gettop(L) - first + 1, values = 0;
    if (n > RESULTS)
        return gp_fail("a fused function gives at most %d results, not %d", RESULTS, n);
    s->nresults = n;
    for (int i = 0; i < n; i++) {
        gp_tensor *x = gp_lua_totensor(L, first + i);
        int type = lua_type(L, first + i);
        s->plain[i] = !x;
        if (x && (result[values++] = gp_trace_value(t, x)) < 0) return false;
        if (x) continue;
        if (type != LUA_TNIL && type != LUA_TNUMBER && type != LUA_TBOOLEAN && type != LUA_TSTRING)
            return gp_fail("a fused function gives tensors, numbers, strings, booleans or nil; "
                           "result %d is a %s: give its parts one by one",
                           i + 1, lua_typename(L, type));
        lua_pushvalue(L, first + i);
        lua_rawseti(L, list, 3 * s->nguards + i + 1);
    }
    return true;
}

static int results_of(const form *s) {
    int n = 0;
    for (int i = 0; i < s->nresults; i++) n += !s->plain[i];
    return n;
}

/* Plans what t holds after the function has run, its results from `first` on. False with a
 * message. */
static bool plan(lua_State *L, form *s, gp_trace *t, int first, int list) {
    int result[RESULTS];
    lua_pushvalue(L, list);
    int bad = gp_guard_changed(L, s->nguards);
    if (bad) {
        gp_guard_push_name(L, lua_gettop(L), bad);
        return gp_fail("a fused function changes '%s', which it reads, too: a later call would not "
                       "repeat that; do it outside",
                       lua_tostring(L, -1));
    }
    lua_pop(L, 1);
    if (!note_results(L, s, t, first, list, result)) return false;
    gp_trace_end(t);
    s->shapes = t->shapes;
    return (s->replay = gp_replay_new(t, result, results_of(s))) != NULL;
}

/* Calls the function with the n arguments on the stack, and leaves only its results there. */
static int run_plain(lua_State *L, int n) {
    lua_pushvalue(L, lua_upvalueindex(FN));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

static void too_many(lua_State *L, fused *f) {
    f->eager = true;
    gp_lua_note(L,
                "fuse: a function was called with more than 8 kinds of arguments, or values that "
                "it reads; it runs unfused from here on. Pass what changes as a tensor");
}

/* The first call with arguments of this kind: runs the function, and plans later ones. */
static int trace(lua_State *L, fused *f, int n) {
    form s = {.nargs = n, .number = gp_default_dtype, .autocast = gp_guard_autocast()}, *kept;
    gp_tensor *at[ARGS], *in[ARGS];
    gp_trace t;
    int inputs = 0;
    if (n > ARGS) return luaL_error(L, "a fused function takes at most %d arguments", ARGS);
    for (int i = 0; i < n; i++) set_key(L, &s, i, at);
    for (int i = 0; i < n; i++)
        if (at[i] && s.arg[i].same < 0) in[inputs++] = at[i];
    s.nguards = gp_guard_collect(L, lua_upvalueindex(COLLECT), lua_upvalueindex(FN));
    int list = n + 1;
    lua_pushcfunction(L, gp_guard_call);
    lua_pushvalue(L, lua_upvalueindex(FN));
    for (int i = 1; i <= n; i++) lua_pushvalue(L, i);
    if (!gp_trace_begin(&t, in, inputs)) return gp_lua_raise(L);
    int status = lua_pcall(L, n + 1, LUA_MULTRET, 0);
    if (status != LUA_OK) return gp_trace_free(&t), lua_error(L);
    bool ok = plan(L, &s, &t, list + 1, list);
    gp_trace_free(&t);
    if (!ok) return gp_lua_raise(L);
    if (!(kept = malloc(sizeof *kept)))
        return gp_replay_free(s.replay), luaL_error(L, "out of memory");
    *kept = s;
    f->form[f->n++] = kept;
    lua_pushvalue(L, list);
    lua_rawseti(L, lua_upvalueindex(LISTS), f->n);
    return s.nresults;
}

/* ---- calls ---- */

/* Pushes the results of form s, number `at`: the tensors out, and what is the same each time. */
static int push_results(lua_State *L, const form *s, int at, gp_tensor **out, gp_box **box) {
    for (int i = 0, k = 0; i < s->nresults; i++)
        if (!s->plain[i]) box[i]->t = out[k++], gp_lua_charge(box[i]->t);
    lua_rawgeti(L, lua_upvalueindex(LISTS), at + 1);
    for (int i = 0; i < s->nresults; i++) {
        if (!s->plain[i]) continue;
        lua_rawgeti(L, -1, 3 * s->nguards + i + 1);
        lua_replace(L, -3 - s->nresults + 1 + i);
    }
    lua_pop(L, 1);
    return s->nresults;
}

static int run_form(lua_State *L, const form *s, int at, gp_tensor **in) {
    gp_tensor *out[RESULTS];
    gp_box *box[RESULTS];
    gp_lua_settle(L);
    if (s->nresults == 1 && !s->plain[0]) {
        box[0] = gp_lua_new_box(L, lua_upvalueindex(META));
        if (!gp_replay_run(s->replay, in, out)) return gp_lua_raise(L);
        box[0]->t = out[0];
        gp_lua_charge(out[0]);
        return 1;
    }
    luaL_checkstack(L, RESULTS + 4, NULL);
    for (int i = 0; i < s->nresults; i++) {
        if (s->plain[i]) lua_pushnil(L);
        else box[i] = gp_lua_new_box(L, lua_upvalueindex(META));
    }
    if (!gp_replay_run(s->replay, in, out)) return gp_lua_raise(L);
    return push_results(L, s, at, out, box);
}

static int l_fused(lua_State *L) {
    fused *f = lua_touserdata(L, lua_upvalueindex(SELF));
    int n = lua_gettop(L);
    gp_tensor *in[ARGS];
    gp_lua_enter(L);
    /* Within another fused function the calls are that one's; nan.watch names each. */
    if (f->eager || gp_tracing || gp_watch.on) return run_plain(L, n);
    form *s = find(L, f, n, in);
    if (!s && f->n == FORMS) return too_many(L, f), run_plain(L, n);
    if (!s) return trace(L, f, n);
    int at = 0;
    while (f->form[at] != s) at++;
    return run_form(L, s, at, in);
}

static int l_gc(lua_State *L) {
    fused *f = luaL_checkudata(L, 1, FUSED);
    for (int i = 0; i < f->n; i++) {
        gp_replay_free(f->form[i]->replay);
        free(f->form[i]);
    }
    f->n = 0;
    return 0;
}

/* make(fn, collect): the fused function. collect(fn) gives a list of guards, three values each, and
 * their number: a table, a key and the value there; or a function, the number of an upvalue and its
 * value. */
static int l_make(lua_State *L) {
    fused *f = lua_newuserdatauv(L, sizeof *f, 0);
    memset(f, 0, sizeof *f);
    luaL_setmetatable(L, FUSED);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_newtable(L);
    lua_pushcclosure(L, l_fused, 5);
    return 1;
}

/* ---- losses of 16-bit floats ---- */

#define PROGRAM "gpush.loss_program"
static int l_gc_program(lua_State *L) {
    gp_program_unref(*(gp_program **)luaL_checkudata(L, 1, PROGRAM));
    return 0;
}

/* fits(x, target): whether losses of both may be programs: they are alike, of a device that fuses,
 * and nobody needs to see the single ops. */
static int l_loss_fits(lua_State *L) {
    gp_tensor *x = gp_lua_totensor(L, 1), *y = gp_lua_totensor(L, 2);
    gp_device *dev = x->storage->dev;
    gp_shape s = gp_tensor_shape(x), other = gp_tensor_shape(y);
    bool alike = dev == y->storage->dev && x->a.dtype == y->a.dtype && gp_shape_equal(&s, &other);
    lua_pushboolean(L, alike && dev->vt->fuses && !gp_tracing && !gp_watch.on &&
                           gp_guard_autocast() < 0);
    return 1;
}

/* program(row, fold, x, number): gp_program_loss of x's dtype. */
static int l_loss_program(lua_State *L) {
    gp_program **p = lua_newuserdatauv(L, sizeof *p, 0);
    const gp_op *term = gp_op_find(luaL_checkstring(L, 1));
    const gp_op *fold = gp_op_find(luaL_checkstring(L, 2));
    *p = gp_program_loss(term, fold, (gp_dtype)gp_lua_totensor(L, 3)->a.dtype,
                         luaL_optnumber(L, 4, 0));
    if (!*p) return gp_lua_raise(L);
    luaL_setmetatable(L, PROGRAM);
    return 1;
}

/* run(program, x, target): its result, or nothing where the device has no kernel for it. */
static int l_loss_run(lua_State *L) {
    gp_program *p = *(gp_program **)luaL_checkudata(L, 1, PROGRAM);
    gp_tensor *in[2] = {gp_lua_totensor(L, 2), gp_lua_totensor(L, 3)};
    gp_device *dev = in[0]->storage->dev;
    if (!dev->vt->fuses(dev, p, in)) return 0;
    gp_box *box = gp_lua_new_box(L, lua_upvalueindex(1));
    if (!gp_program_run(p, in, &box->t, NULL)) return gp_lua_raise(L);
    gp_lua_charge(box->t);
    return 1;
}

static void open_losses(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"fits", l_loss_fits}, {"program", l_loss_program}, {"run", l_loss_run}, {NULL, NULL}};
    luaL_newmetatable(L, PROGRAM);
    lua_pushcfunction(L, l_gc_program);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    luaL_setfuncs(L, functions, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.losses");
}

/* ---- compiling ---- */

/* gpush.fuse_compile([mode]): true, false or "wait", and what was done so far. */
static int l_compile(lua_State *L) {
    gp_object_counts n;
    int type = lua_type(L, 1);
    bool wait = type == LUA_TSTRING && !strcmp(lua_tostring(L, 1), "wait");
    luaL_argcheck(L, type <= LUA_TBOOLEAN || wait, 1, "expected true, false or \"wait\"");
    if (wait) gp_object_set_compiling(GP_COMPILE_WAIT);
    else if (type == LUA_TBOOLEAN)
        gp_object_set_compiling(lua_toboolean(L, 1) ? GP_COMPILE_ON : GP_COMPILE_OFF);
    gp_compiling now = gp_object_compiling();
    if (now == GP_COMPILE_WAIT) lua_pushliteral(L, "wait");
    else lua_pushboolean(L, now == GP_COMPILE_ON);
    gp_object_count(&n);
    lua_createtable(L, 0, 5);
    lua_pushinteger(L, n.compiled), lua_setfield(L, -2, "compiled");
    lua_pushinteger(L, n.loaded), lua_setfield(L, -2, "loaded");
    lua_pushinteger(L, n.failed), lua_setfield(L, -2, "failed");
    lua_pushinteger(L, n.running), lua_setfield(L, -2, "running");
    if (*n.why) lua_pushstring(L, n.why), lua_setfield(L, -2, "why");
    return 2;
}

void gp_lua_open_fuse(lua_State *L) {
    static const gp_lua_function fns[] = {{"fuse_compile", "value? mode", l_compile},
                                          {NULL, NULL, NULL}};
    gp_lua_set_functions(L, fns);
    luaL_newmetatable(L, FUSED);
    lua_pushcfunction(L, l_gc);
    lua_setfield(L, -2, "__gc");
    lua_pop(L, 1);
    lua_pushcfunction(L, l_make);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.fuse");
    open_losses(L);
}
