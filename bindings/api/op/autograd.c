/* Autograd in Lua: requires_grad and grad of tensors, backward, grad(), regions without recording,
 * hooks, and functions whose backward is written in Lua. */
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "bindings/scope.h"
#include "tensor/autograd/anomaly.h"
#include "tensor/autograd/grad.h"
#include "tensor/intercept.h"

/* ---- properties and methods of tensors ---- */

static int p_requires_grad(lua_State *L, gp_tensor *t) {
    gp_tensor_node(t);
    return lua_pushboolean(L, t->requires_grad), 1;
}

static int p_grad(lua_State *L, gp_tensor *t) {
    if (t->leaf && !gp_at(GP_AT_GRAD_READ, NULL, t->leaf)) return gp_lua_raise(L);
    if (!t->leaf || !t->leaf->grad) return lua_pushnil(L), 1;
    return gp_lua_push(L, gp_tensor_ref(t->leaf->grad));
}

static int p_is_leaf(lua_State *L, gp_tensor *t) {
    return lua_pushboolean(L, gp_tensor_node(t) == NULL), 1;
}

/* The op that made the tensor: its name, or nil. */
static int p_grad_fn(lua_State *L, gp_tensor *t) {
    gp_node *n = gp_tensor_node(t);
    if (n) lua_pushstring(L, n->op->name);
    else lua_pushnil(L);
    return 1;
}

/* How often the tensor's memory was written in place. */
static int p_version(lua_State *L, gp_tensor *t) {
    return lua_pushinteger(L, t->storage->version), 1;
}

/* x.grad = t or nil. The leaf holds t, and releases its old grad. */
static int set_grad(lua_State *L, gp_tensor *t) {
    gp_tensor *g = gp_lua_totensor(L, 3), *before;
    if (!g && !lua_isnil(L, 3))
        return luaL_error(L, "grad: expected a tensor or nil, got %s", luaL_typename(L, 3));
    gp_shape a = gp_tensor_shape(t), b = g ? gp_tensor_shape(g) : a;
    char have[160], want[160];
    if (!gp_shape_equal(&a, &b))
        return luaL_error(L, "grad: expected shape %s, got %s",
                          gp_shape_text(&a, want, sizeof want),
                          gp_shape_text(&b, have, sizeof have));
    if (g && (g->a.dtype != t->a.dtype || g->storage->dev != t->storage->dev))
        return luaL_error(L, "grad: expected %s on %s, as the tensor is, got %s on %s",
                          gp_dtype_name((gp_dtype)t->a.dtype), t->storage->dev->name,
                          gp_dtype_name((gp_dtype)g->a.dtype), g->storage->dev->name);
    if (!g && !t->leaf) return 0;
    if (!gp_tensor_leaf(t)) return gp_lua_raise(L);
    if (!gp_at(GP_AT_GRAD_WRITE, NULL, t->leaf)) return gp_lua_raise(L);
    before = t->leaf->grad;
    t->leaf->grad = g ? gp_tensor_ref(g) : NULL;
    gp_tensor_unref(before);
    return 0;
}

bool gp_lua_set_property(lua_State *L, gp_tensor *t, const char *key) {
    if (!strcmp(key, "grad")) return set_grad(L, t), true;
    if (strcmp(key, "requires_grad")) return false;
    if (!lua_isboolean(L, 3))
        luaL_error(L, "requires_grad: expected true or false, got %s", luaL_typename(L, 3));
    if (!gp_tensor_set_requires_grad(t, lua_toboolean(L, 3))) gp_lua_raise(L);
    return true;
}

/* x:requires_grad_([on]): x itself. */
static int l_requires_grad_(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "requires_grad_");
    gp_lua_enter(L);
    if (!gp_tensor_set_requires_grad(t, lua_isnoneornil(L, 2) || lua_toboolean(L, 2)))
        return gp_lua_raise(L);
    return lua_settop(L, 1), 1;
}

/* ---- backward ---- */

/* Reads retain_graph and create_graph, at i and i + 1; the first defaults to the second, as in
 * PyTorch. */
static gp_backward_opts read_options(lua_State *L, int i) {
    gp_backward_opts o = {.create = lua_toboolean(L, i + 1)};
    o.retain = lua_isnoneornil(L, i) ? o.create : lua_toboolean(L, i);
    return o;
}

/* y:backward([gradient], {retain_graph =, create_graph =}) */
static int l_backward(lua_State *L) {
    gp_tensor *y = gp_lua_totensor(L, 1), *g = gp_lua_totensor(L, 2);
    gp_backward_opts o = read_options(L, 3);
    gp_lua_enter(L);
    if (!gp_backward(&y, &g, 1, &o)) return gp_lua_raise(L);
    return 0;
}

enum { MOST_TENSORS = 1 << 24 }; /* in a list, whose length a __len may give */

/* The tensors at index i, one or a table of them, in an array that a userdata on the stack owns. */
static gp_tensor **tensors(lua_State *L, int i, const char *what, int *n) {
    bool one = gp_lua_totensor(L, i) != NULL;
    if (!one && !lua_istable(L, i))
        luaL_error(L, "%s: expected a tensor or a table of tensors, got %s", what,
                   luaL_typename(L, i));
    lua_Integer all = one ? 1 : luaL_len(L, i);
    if (all < 0 || all > MOST_TENSORS)
        luaL_error(L, "%s cannot have %I entries", what, (LUAI_UACINT)all);
    *n = (int)all;
    gp_tensor **list = lua_newuserdatauv(L, (size_t)(*n + 1) * sizeof *list, 0);
    for (int k = 0; k < *n; k++) {
        if (one) lua_pushvalue(L, i);
        else lua_geti(L, i, k + 1);
        list[k] = gp_lua_totensor(L, -1);
        if (!list[k])
            luaL_error(L, "%s: entry %d: expected a tensor, got %s", what, k + 1,
                       luaL_typename(L, -1));
        lua_pop(L, 1);
    }
    return list;
}

/* Pushes the gradients, which it takes over. */
static int push_grads(lua_State *L, gp_tensor **out, int n, bool unused) {
    luaL_checkstack(L, n, "grad");
    for (int i = 0; i < n; i++) {
        gp_tensor *t = out[i];
        out[i] = NULL;
        if (t) gp_lua_push(L, t);
        else if (unused) lua_pushnil(L);
        else {
            for (int k = i + 1; k < n; k++) gp_tensor_unref(out[k]);
            return luaL_error(L,
                              "grad: input %d was not used to compute the outputs; with "
                              "allow_unused = true its gradient is nil",
                              i + 1);
        }
    }
    return n;
}

/* grad(outputs, inputs, [grad_outputs], {…}): the gradients of the inputs, one value each; no
 * tensor's grad changes. */
static int l_grad(lua_State *L) {
    int nout, nin, ng = 0;
    gp_backward_opts o = read_options(L, 4);
    bool unused = lua_toboolean(L, 6);
    gp_tensor **outputs = tensors(L, 1, "grad: argument 'outputs'", &nout);
    gp_tensor **inputs = tensors(L, 2, "grad: argument 'inputs'", &nin), **grads = NULL;
    if (!lua_isnoneornil(L, 3)) {
        grads = tensors(L, 3, "grad: argument 'grad_outputs'", &ng);
        if (ng != nout) return luaL_error(L, "grad: %d gradients given for %d outputs", ng, nout);
    }
    for (int i = 0; i < nin; i++)
        if (!gp_tensor_node(inputs[i]) && !inputs[i]->requires_grad)
            return luaL_error(L, "grad: input %d does not require gradients", i + 1);
    gp_tensor **out = lua_newuserdatauv(L, (size_t)(nin + 1) * sizeof *out, 0);
    memset(out, 0, (size_t)(nin + 1) * sizeof *out);
    o.inputs = inputs, o.ninputs = nin, o.out = out;
    gp_lua_enter(L);
    if (!gp_backward(outputs, grads, nout, &o)) {
        for (int i = 0; i < nin; i++) gp_tensor_unref(out[i]);
        return gp_lua_raise(L);
    }
    return push_grads(L, out, nin, unused);
}

/* ---- regions ---- */

#define REGION "gpush.grad_region"
typedef struct region {
    int before; /* gp_no_grad, or anomaly detection, outside */
    bool anomaly, open;
} region;

/* A region's __close; also run when an error leaves the block. */
static int l_close(lua_State *L) {
    region *r = gp_lua_checkudata(L, 1, REGION);
    if (!r->open) return 0;
    r->open = false;
    if (r->anomaly) gp_anomaly = r->before;
    else gp_no_grad = r->before;
    return 0;
}

/* Pushed before the mode is changed: what restores it is in place should anything raise. */
static region *push_region(lua_State *L, bool anomaly, int before) {
    region *r = lua_newuserdatauv(L, sizeof *r, 0);
    *r = (region){.before = before, .anomaly = anomaly, .open = true};
    luaL_setmetatable(L, REGION);
    return r;
}

/* no_grad([fn, …]), enable_grad([fn, …]): the upvalue is the new gp_no_grad. */
static int l_region(lua_State *L) {
    push_region(L, false, gp_no_grad);
    gp_no_grad = (int)lua_tointeger(L, gp_lua_upvalue(1));
    return gp_lua_scoped(L, 1);
}

static int l_is_grad_enabled(lua_State *L) { return lua_pushboolean(L, !gp_no_grad), 1; }

/* autograd.detect_anomaly([fn, …]) */
static int l_anomaly(lua_State *L) {
    push_region(L, true, gp_anomaly);
    gp_anomaly = true;
    return gp_lua_scoped(L, 1);
}

/* ---- Lua functions that the backward walk calls ---- */

/* Kept in the registry until the node or leaf that owns it, and its handle, are freed. */
typedef struct callback {
    lua_State *L; /* the main state */
    int ref;      /* LUA_NOREF: a hook that was removed */
    int refs;
} callback;

/* Hooks outlive the coroutine that made them, so they are called from the main state. */
static lua_State *main_of(lua_State *L) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    lua_State *m = lua_tothread(L, -1);
    lua_pop(L, 1);
    return m;
}

/* One reference; fn is the stack index of the function, which the registry keeps. */
static callback *new_callback(lua_State *L, int fn) {
    callback *c = malloc(sizeof *c);
    if (!c) return luaL_error(L, "out of memory"), NULL;
    *c = (callback){.L = main_of(L), .refs = 1};
    lua_pushvalue(L, fn);
    c->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    return c;
}

/* A gp_grad_hook's drop: runs when its list is freed, on the thread of the tape. */
static void drop_callback(void *ctx) {
    callback *c = ctx;
    if (--c->refs) return;
    luaL_unref(c->L, LUA_REGISTRYINDEX, c->ref);
    free(c);
}

/* Calls it with the n arguments on top of the stack; false with Lua's message as gp_error. */
static bool call(lua_State *L, const callback *c, int n, int results) {
    lua_rawgeti(L, LUA_REGISTRYINDEX, c->ref);
    lua_insert(L, -n - 1);
    if (lua_pcall(L, n, results, 0) == LUA_OK) return true;
    const char *s = lua_tostring(L, -1);
    gp_fail("%s", s ? s : "a hook raised an error that is not a string");
    return false;
}

static _Thread_local int hook_depth; /* above 0: the walk is in a list of hooks */

/* A gp_grad_hook's fn: the user's function's result for g, or g; the caller owns the reference. */
static gp_tensor *run_hook(void *ctx, gp_tensor *g) {
    lua_State *L = gp_lua_state;
    int top = lua_gettop(L);
    gp_tensor *r = NULL;
    if (((callback *)ctx)->ref == LUA_NOREF) return gp_tensor_ref(g);
    luaL_checkstack(L, 4, "hook");
    gp_lua_push(L, gp_tensor_ref(g));
    hook_depth++;
    bool ok = call(L, ctx, 1, 1);
    hook_depth--;
    if (ok) {
        r = gp_lua_totensor(L, -1);
        if (!r && !lua_isnil(L, -1))
            gp_fail("hook: expected a tensor or nil, got %s", luaL_typename(L, -1));
        else r = gp_tensor_ref(r ? r : g);
    }
    lua_settop(L, top);
    return r;
}

/* The list of the node that made t, or of the leaf; NULL when out of memory. */
static gp_grad_hook **hooks_of(gp_tensor *t) {
    gp_node *n = gp_tensor_node(t);
    if (n) return &n->hooks;
    gp_leaf *l = gp_tensor_leaf(t);
    return l ? &l->hooks : NULL;
}

/* Frees the removed hooks of a list, unless the walk may be at one of them. */
static void sweep(gp_grad_hook **list) {
    while (!hook_depth && *list) {
        gp_grad_hook *h = *list;
        if (h->fn != run_hook || ((callback *)h->ctx)->ref != LUA_NOREF) {
            list = &h->next;
            continue;
        }
        *list = h->next;
        h->drop(h->ctx);
        free(h);
    }
}

/* Appends a hook: they run in the order of creation. Takes over ctx, even where it raises. */
static int add_hook(lua_State *L, gp_tensor *t, gp_tensor *(*fn)(void *, gp_tensor *),
                    void (*drop)(void *), void *ctx) {
    gp_grad_hook **list = hooks_of(t), *h = list ? malloc(sizeof *h) : NULL;
    if (!h) return drop(ctx), luaL_error(L, "out of memory");
    *h = (gp_grad_hook){
        .output = gp_tensor_node(t) ? t->output : 0, .fn = fn, .drop = drop, .ctx = ctx};
    sweep(list);
    while (*list) list = &(*list)->next;
    *list = h;
    return 0;
}

#define HANDLE "gpush.hook"

/* handle:remove(), or handle(): the hook is no longer called. */
static int l_hook_remove(lua_State *L) {
    callback *c = *(callback **)gp_lua_checkudata(L, 1, HANDLE);
    if (!c) return 0; /* a script called __gc */
    luaL_unref(L, LUA_REGISTRYINDEX, c->ref);
    c->ref = LUA_NOREF;
    return 0;
}

/* The handle is freed; the hook stays. */
static int l_hook_gc(lua_State *L) {
    callback **c = gp_lua_checkudata(L, 1, HANDLE);
    if (*c) drop_callback(*c);
    *c = NULL;
    return 0;
}

/* x:register_hook(fn): fn(gradient) is called when x's gradient is complete; a tensor that it
 * returns replaces it. Returns a handle, whose remove() ends that. */
static int l_register_hook(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "register_hook");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    gp_tensor_node(t);
    if (!t->requires_grad)
        return luaL_error(L, "register_hook: the tensor does not require gradients");
    callback **handle = lua_newuserdatauv(L, sizeof *handle, 0);
    *handle = NULL;
    luaL_setmetatable(L, HANDLE);
    callback *c = new_callback(L, 2);
    add_hook(L, t, run_hook, drop_callback, c);
    c->refs++, *handle = c;
    return 1;
}

/* A hook that leaves the gradient unchanged. */
static gp_tensor *keep_grad(void *ctx, gp_tensor *g) {
    gp_leaf *l = ctx;
    if (!gp_at(GP_AT_GRAD_WRITE, NULL, l)) return NULL;
    gp_tensor_unref(l->grad);
    l->grad = gp_tensor_ref(g);
    return gp_tensor_ref(g);
}

static void drop_leaf(void *ctx) { gp_leaf_unref(ctx); }

/* x:retain_grad(): backward sets x.grad although x is not a leaf. */
static int l_retain_grad(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "retain_grad");
    if (!gp_tensor_node(t)) return 0;
    gp_leaf *l = gp_tensor_leaf(t);
    if (!l) return gp_lua_raise(L);
    l->refs++;
    return add_hook(L, t, keep_grad, drop_leaf, l);
}

/* ---- functions with a backward in Lua ---- */

/* The rule of such a node: called with the gradients of the outputs (zeros for missing ones),
 * returns one for each input. */
static bool run_lua(gp_vjp *v) {
    lua_State *L = gp_lua_state;
    gp_node *n = v->node;
    int top = lua_gettop(L);
    if (!lua_checkstack(L, n->nout + n->nin + 4)) return gp_fail("backward: out of memory");
    for (int i = 0; i < n->nout; i++) gp_lua_push(L, gp_tensor_ref(gp_g(v, i)));
    bool ok = call(L, n->ctx, n->nout, n->nin);
    for (int i = 0; ok && i < n->nin; i++) {
        gp_tensor *t = gp_lua_totensor(L, top + 1 + i);
        if (!t && !lua_isnil(L, top + 1 + i))
            ok = gp_fail("backward of %s: result %d: expected a tensor or nil, got %s", n->op->name,
                         i + 1, luaL_typename(L, top + 1 + i));
        if (t && v->need[i]) v->dx[i] = gp_keep(v, gp_tensor_ref(t));
    }
    lua_settop(L, top);
    return ok;
}

/* autograd.node(inputs, outputs, backward): outputs, tensors that were made without recording,
 * become results of inputs; backward(g1, g2, …) gives a gradient (or nil) for each input. */
static int l_node(lua_State *L) {
    static const gp_op op = {.name = "autograd.node"};
    static const gp_rule rule = {run_lua, NULL};
    int nin, nout;
    gp_tensor **in = tensors(L, 1, "autograd.node: inputs", &nin);
    gp_tensor **out = tensors(L, 2, "autograd.node: outputs", &nout);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    if (nout > GP_MAX_OUT)
        return luaL_error(L, "autograd.node: %d outputs (at most %d)", nout, GP_MAX_OUT);
    bool need = false;
    for (int i = 0; i < nin; i++) gp_tensor_node(in[i]), need |= in[i]->requires_grad;
    if (!need || gp_no_grad) return 0;
    gp_lua_enter(L);
    callback *c = new_callback(L, 3);
    gp_node *n = gp_node_new(&op, &rule, 0, 0, nin);
    if (!n) return drop_callback(c), gp_lua_raise(L);
    n->ctx = c, n->drop = drop_callback;
    for (int i = 0; i < nin; i++) gp_node_input(n, i, in[i]);
    n->nout = nout;
    for (int i = 0; i < nout; i++) gp_node_output(n, i, out[i]);
    gp_node_unref(n);
    return 0;
}

/* Whether the backward that is running leaves leaves' grad unchanged, as grad() does. For
 * checkpoint. */
static int l_separate(lua_State *L) { return lua_pushboolean(L, gp_grads_separate), 1; }

/* ---- the module ---- */

static const gp_lua_property properties[] = {
    {"requires_grad", p_requires_grad},
    {"grad", p_grad},
    {"is_leaf", p_is_leaf},
    {"grad_fn", p_grad_fn},
    {"_version", p_version},
    {NULL, NULL},
};
const gp_lua_property *gp_lua_autograd_properties(void) { return properties; }

static void region_function(lua_State *L, const gp_lua_function *row, int value) {
    lua_pushinteger(L, value);
    gp_lua_push_function(L, row, 1);
    lua_setfield(L, -2, row->name);
}

void gp_lua_open_autograd(lua_State *L) {
    static const gp_lua_function methods[] = {
        {"requires_grad_", "self tensor, bool? requires_grad", l_requires_grad_},
        {"backward", "self tensor, tensor? gradient, bool? retain_graph, bool? create_graph",
         l_backward},
        {"register_hook", "self tensor, function hook", l_register_hook},
        {"retain_grad", "self tensor", l_retain_grad},
        {NULL, NULL, NULL}};
    static const gp_lua_function functions[] = {
        {"grad",
         "any outputs, any inputs, any? grad_outputs, bool? retain_graph, "
         "bool create_graph=false, bool allow_unused=false",
         l_grad},
        {"is_grad_enabled", "", l_is_grad_enabled},
        {NULL, NULL, NULL}};
    static const gp_lua_function regions[] = {{"no_grad", "function? fn, rest args", l_region},
                                              {"inference", "function? fn, rest args", l_region},
                                              {"enable_grad", "function? fn, rest args", l_region}};
    static const gp_lua_function autograd[] = {
        {"autograd.node", "any inputs, any outputs, function backward", l_node},
        {"autograd.detect_anomaly", "function? fn, rest args", l_anomaly},
        {"autograd.apart", "", l_separate},
        {NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__close", l_close}, {"__gc", l_close}, {NULL, NULL}};
    static const luaL_Reg handle[] = {{"__gc", l_hook_gc}, {NULL, NULL}};
    static const gp_lua_function handle_methods[] = {{"remove", "self hook", l_hook_remove},
                                                     {"__call", "self hook", l_hook_remove},
                                                     {NULL, NULL, NULL}};
    luaL_newmetatable(L, REGION);
    luaL_setfuncs(L, meta, 0);
    luaL_newmetatable(L, HANDLE);
    luaL_setfuncs(L, handle, 0);
    gp_lua_set_functions(L, handle_methods);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    gp_lua_set_functions(L, methods);
    lua_pop(L, 1);
    gp_lua_set_functions(L, functions);
    region_function(L, &regions[0], 1);
    region_function(L, &regions[1], 1);
    region_function(L, &regions[2], 0);
    lua_createtable(L, 0, 5);
    gp_lua_set_functions(L, autograd);
    lua_setfield(L, -2, "autograd");
}
