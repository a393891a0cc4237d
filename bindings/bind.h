/* Shared by the files of bindings/: the tensor box in Lua, pushing, raising, and the module's
 * openers. */
#ifndef GP_BIND_H
#define GP_BIND_H

#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <string.h>

#include "tensor/device/device.h"
#include "tensor/op.h"

/* A tensor in Lua is a full userdata of this shape; the box owns one reference. */
typedef struct gp_box {
    const void *tag; /* &gp_box_tag: distinguishes our boxes from other userdata without a metatable
                        look-up */
    gp_tensor *t;
} gp_box;
extern const char gp_box_tag;

/* The tensor at idx, or NULL if the value there is not one. Never raises. */
static inline gp_tensor *gp_lua_totensor(lua_State *L, int idx) {
    gp_box *b = (gp_box *)lua_touserdata(L, idx);
    if (!b || lua_rawlen(L, idx) != sizeof *b || b->tag != (const void *)&gp_box_tag) return NULL;
    return b->t;
}

/* Pushes an empty box, with the tensors' metatable from that stack or upvalue index. It is made
 * before the op runs, so that no tensor is lost when Lua runs out of memory. */
static inline gp_box *gp_lua_new_box(lua_State *L, int metatable) {
    gp_box *b = (gp_box *)lua_newuserdatauv(L, sizeof *b, 0);
    b->tag = &gp_box_tag;
    b->t = NULL;
    lua_pushvalue(L, metatable);
    lua_setmetatable(L, -2);
    return b;
}

/* What the value at idx is, for messages: the name of its type, or "a closed tensor". Static. */
const char *gp_lua_type_text(lua_State *L, int idx);

/* The tensor at argument arg; raises "fn: argument #arg: expected a tensor, got …" otherwise. */
gp_tensor *gp_lua_check(lua_State *L, int arg, const char *fn);

/* Pushes t as a Lua value and takes over the caller's reference; raises on NULL (with gp_error())
 * and when Lua is out of memory. */
int gp_lua_push(lua_State *L, gp_tensor *t);

/* For lists of thousands of tables: raises "interrupted!" where Ctrl-C came, at each 1,024th. */
static inline void gp_lua_may_stop(lua_State *L, int64_t i) {
    if (i % 1024 == 0 && gp_thread_stopped()) luaL_error(L, "interrupted!");
}

/* Raises gp_error() with the position of the user's running line, as found by gp_srcloc_script. */
int gp_lua_raise(lua_State *L);

/* The same for an error of an argument: the message says so if a method was called with a dot, as
 * x.sum(). */
int gp_lua_raise_argument(lua_State *L);

/* luaL_checkudata with such an error. */
void *gp_lua_checkudata(lua_State *L, int arg, const char *type);

/* What a userdata owns on behalf of a C function. `release` frees it and leaves the userdata empty,
 * as zeros do: it may be called again. */
typedef struct gp_owner_type {
    const char *name; /* of the metatable: "gpush.npz" */
    void (*release)(void *owner);
} gp_owner_type;

/* Pushes a zeroed userdata of that size, which is released when it is collected or closed: after an
 * error, too. type is static. */
void *gp_lua_push_owner(lua_State *L, const gp_owner_type *type, size_t size);
/* The same for a block of malloc's, to be pushed before that is made: returns a pointer to the
 * block's pointer, NULL so far. */
void *gp_lua_push_block(lua_State *L);

/* For a message handler, with the message on top of the stack: if a method among the running calls
 * was called with a dot, replaces it by that call's place and a message that says so. */
bool gp_lua_replace_dotted(lua_State *L);

/* Registry key of a table of typed input: name of the chunk -> text. The shell fills it. */
#define GP_LUA_INPUTS "gpush.inputs"

/* Whether that is a chunk which gpush ships. Users do not look at those. */
bool gp_lua_ours(const char *source);

/* The state that runs on this thread: source lines and collections come from it. Every C function
 * that runs ops or waits enters first. */
extern _Thread_local lua_State *gp_lua_state;
static inline void gp_lua_enter(lua_State *L) { gp_lua_state = L; }

/* Charges a new tensor (its storage, once, and its node) to the collector, which cannot see their
 * bytes. */
void gp_lua_charge(const gp_tensor *t);

/* Steps the collector for what was charged. An op does so before it makes its result: the result
 * then does not age in a full collection, and may take the memory of a dead tensor that is still in
 * a cache. */
void gp_lua_settle(lua_State *L);

/* Replaces the value on top by a future of it, which is done when all that s has queued is
 * (bindings/api/device/fork.c). */
void gp_lua_push_future(lua_State *L, gp_stream *s);

/* Truth value of the tensor at idx: a recorded wait (why = branch). Raises for tensors with more
 * than one element. */
bool gp_lua_truth(lua_State *L, int idx);
/* The same of a wait in this form (tensor/device/form.h). */
bool gp_lua_truth_in(lua_State *L, int idx, const char *form);

/* Runs the op of that name ("lt", "eq", "matmul") on the values at a and b, at least one a tensor,
 * and pushes its tensor. */
int gp_lua_operate(lua_State *L, const char *op, int a, int b);

/* table.sort of the list at 1 by the comparator at 2, which may return tensors; false, without
 * doing anything, for other arguments (api/sort.c). Raises. */
bool gp_lua_sort(lua_State *L);
/* Whether the value at i is the shell's table.sort. */
bool gp_lua_is_sort(lua_State *L, int i);

/* Pushes the number (or boolean) of the one-element tensor at idx; integers stay integers. A
 * recorded wait. */
int gp_lua_item(lua_State *L, int idx, gp_why why, const char *what);
/* The same where Lua needs a number; what: the function or syntax that does ("math.floor"). */
int gp_lua_number(lua_State *L, int idx, const char *what);

/* Metamethods (gp_lua_index runs in __index, whose upvalue 3 is the tensors' metatable): x[key],
 * x[key] = value, x .. y, pairs(x), tostring(x) (bindings/api/op/index.c, bindings/api/stdlib.c,
 * bindings/api/op/tensor.c, bindings/api/op/print.c). */
int gp_lua_index(lua_State *L);
int gp_lua_newindex(lua_State *L);
int gp_lua_concat(lua_State *L);
int gp_lua_pairs(lua_State *L);
int gp_lua_tostring(lua_State *L);

/* A property of tensors: x.name. */
typedef struct gp_lua_property {
    const char *name;
    int (*get)(lua_State *, gp_tensor *);
} gp_lua_property;
/* Those of autograd, up to one without a name; and setting one: x.key = the value at index 3. False
 * if key is not one that can be set. */
const gp_lua_property *gp_lua_autograd_properties(void);
bool gp_lua_set_property(lua_State *L, gp_tensor *t, const char *key);

/* Whether Lua can call op: no value of Lua is a program, which `fused` runs, nor the group of a
 * collective. */
static inline bool gp_lua_calls(const gp_op *op) {
    return strncmp(op->sig, "program ", 8) != 0 && strncmp(op->sig, "group ", 6) != 0;
}
/* Adds op to the module and the methods, the tables at these indices, and its form with _ where it
 * has one. */
void gp_lua_add_op(lua_State *L, int module, int methods, const gp_op *op);
/* Pushes the function that runs op (in place: its NAME_ form). */
void gp_lua_push_op(lua_State *L, const gp_op *op, bool in_place);
/* op's signature, made at its first call and kept for good; raises when out of memory. States in
 * other threads may call. */
const struct gp_sig *gp_lua_signature(lua_State *L, const gp_op *op);
/* The op that a call of op, its arguments on the stack, is: another one where PyTorch has it as an
 * argument of op (add's alpha). Leaves the stack as that op's. in_place: it is a call of op_. */
const gp_op *gp_lua_form(lua_State *L, const gp_op *op, bool in_place);

/* x's elements in host memory, contiguous: x itself, or a copy (a recorded wait). Pushes one value
 * that keeps them alive. Raises. */
const gp_tensor *gp_lua_host(lua_State *L, gp_tensor *x, gp_why why, const char *what);

/* Registry keys of the tensors' metatable and of the table of methods. */
#define GP_LUA_META "gpush.tensor"
#define GP_LUA_METHODS "gpush.tensor.methods"
/* Registry key of the table name -> function of the composites. */
#define GP_LUA_COMPOSITES "gpush.composites"

/* Pushes the list of the composites, three texts each: the name, the file of scripts/lua/ops that
 * defines it, and the type of its first argument. */
void gp_lua_push_composite_index(lua_State *L);
/* Pushes the function that makes a composite of a table {name =, sig =, help =, fn =}, or of a name
 * and a function that returns such a table when it is first needed. */
void gp_lua_push_composite(lua_State *L);
/* Name, signature and help of the composite at index i, whose definition is read on demand (which
 * may raise); NULL for any other value. */
const gp_op *gp_lua_composite(lua_State *L, int i);
/* The outermost composite that is being called between here and the script's line, or NULL. */
const gp_op *gp_lua_composite_called(lua_State *L);

/* How a state was opened. Stock: by another host. The shell's have the module's fields as globals,
 * tensor syntax unless plain, and can be stopped. */
typedef enum gp_lua_kind { GP_LUA_STOCK, GP_LUA_PLAIN, GP_LUA_SYNTAX } gp_lua_kind;
gp_lua_kind gp_lua_state_kind(lua_State *L);
void gp_lua_set_state_kind(lua_State *L, gp_lua_kind kind);

/* Pushes the table of functions that scripts/lua/data builds loaders of; open opens the workers'
 * states, which are of the kind of L (bindings/loader/api.c). */
void gp_lua_push_loader(lua_State *L, void (*open)(lua_State *worker, gp_lua_kind kind));

/* The op that the function at index i runs: a row of the table or a composite; NULL for other
 * values. */
const gp_op *gp_lua_op_of(lua_State *L, int i);

/* Reports a probable mistake that Lua accepts: on stderr at the prompt, which sets the flag,
 * elsewhere as a Lua warning (-W). */
extern bool gp_lua_at_prompt;
void gp_lua_note(lua_State *L, const char *text);

/* Lists that gpush returns (api/list.c): push one of n dims; make one of a plain table of tensors
 * on top; test whether the value at i is one. */
int gp_lua_push_dims(lua_State *L, const int64_t *v, int n);
void gp_lua_make_list(lua_State *L);
bool gp_lua_is_list(lua_State *L, int i);
void gp_lua_open_lists(lua_State *L);

/* Connects the core to Lua for the user's source line and for a collection. May be called any
 * number of times. */
void gp_lua_install_hooks(void);

#endif
