/* Tensors as Lua values: the metatable, properties, and the methods that are not rows of the op
 * table. */
#include <stdio.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/function.h"
#include "bindings/module.h"
#include "profile/record/record.h"
#include "tensor/autograd/tape.h"
#include "tensor/device/form.h"
#include "tensor/device/stream/hazard.h"
#include "tensor/intercept.h"
#include "tensor/memory/alloc.h"

static int l_gc(lua_State *L) {
    gp_tensor *t = gp_lua_totensor(L, 1); /* anything, where a script calls __gc */
    if (!t) return 0;
    ((gp_box *)lua_touserdata(L, 1))->t = NULL;
    gp_tensor_unref(t);
    return 0;
}

/* ---- numbers and truth ---- */

int gp_lua_item(lua_State *L, int idx, gp_why why, const char *what) {
    gp_tensor *t = gp_lua_totensor(L, idx);
    gp_scalar s;
    gp_lua_enter(L);
    if (!gp_item(t, &s, why, what)) return gp_lua_raise(L);
    if (t->a.dtype == GP_bool) lua_pushboolean(L, s.i != 0);
    else if (s.is_float) lua_pushnumber(L, s.f);
    else lua_pushinteger(L, s.i);
    return 1;
}

int gp_lua_number(lua_State *L, int idx, const char *what) {
    gp_lua_item(L, idx, GP_WHY_item, what);
    if (lua_isboolean(L, -1)) lua_pushinteger(L, lua_toboolean(L, -1)), lua_remove(L, -2);
    return 1;
}

/* Whether table.sort compares: it calls this, or the comparison or the comparator that does. */
static bool sorting(lua_State *L) {
    lua_Debug ar;
    bool sort = false;
    for (int i = 0; i < 3 && !sort && lua_getstack(L, i, &ar); i++) {
        lua_getinfo(L, "f", &ar);
        sort = gp_lua_is_sort(L, -1);
        lua_pop(L, 1);
    }
    return sort;
}

bool gp_lua_truth_in(lua_State *L, int idx, const char *form) {
    gp_tensor *t = gp_lua_totensor(L, idx);
    gp_scalar s;
    gp_lua_enter(L);
    if (t->a.numel != 1) {
        gp_fail("the truth value of a tensor with %lld elements is ambiguous; "
                "use :any() or :all(), or ~= nil",
                (long long)t->a.numel);
        return gp_lua_raise(L);
    }
    if (t->a.dtype != GP_bool) form = "number";
    else if (!form && !gp_tensor_device(t)->vt->on_host && sorting(L)) form = "sort";
    form = gp_wait_form_set(form);
    bool read = gp_item(t, &s, GP_WHY_branch, "branch");
    gp_wait_form_set(form);
    if (!read) return gp_lua_raise(L);
    return s.is_float ? s.f != 0 : s.i != 0;
}

bool gp_lua_truth(lua_State *L, int idx) { return gp_lua_truth_in(L, idx, NULL); }

int gp_lua_operate(lua_State *L, const char *op, int a, int b) {
    a = lua_absindex(L, a), b = lua_absindex(L, b);
    gp_lua_push_op(L, gp_op_find(op), false);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    return 1;
}

/* A composite that reads a number of a device (equal) waits in its own name, and of the host is
 * recorded as what would. */
static int l_item(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "item");
    bool plain = gp_tensor_device(t)->vt->on_host && !gp_prof_running();
    const gp_op *by = plain ? NULL : gp_lua_composite_called(L);
    return gp_lua_item(L, 1, GP_WHY_item, by ? by->name : "item");
}

/* ---- comparison metamethods: Lua converts their results to booleans, so the truth is read here
 * ---- */

static int truth_of(lua_State *L, const char *op) {
    gp_lua_operate(L, op, 1, 2);
    lua_pushboolean(L, gp_lua_truth(L, -1));
    return 1;
}

static int l_lt(lua_State *L) { return truth_of(L, "lt"); }
static int l_le(lua_State *L) { return truth_of(L, "le"); }

/* Reached only where the rewrite is off: == has no elementwise form there. */
static int l_eq(lua_State *L) {
    return luaL_error(L, "== between tensors has no meaning in plain Lua; use :eq() for elements, "
                         ":equal() for all of them, or rawequal()");
}

/* ---- properties ---- */

static int p_shape(lua_State *L, gp_tensor *t) {
    gp_at(GP_AT_SHAPE, NULL, NULL);
    return gp_lua_push_dims(L, t->a.dim, t->a.ndim);
}
static int p_dtype(lua_State *L, gp_tensor *t) {
    return lua_pushstring(L, gp_dtype_name((gp_dtype)t->a.dtype)), 1;
}
static int p_device(lua_State *L, gp_tensor *t) {
    return lua_pushstring(L, t->storage->dev->name), 1;
}
static int p_ndim(lua_State *L, gp_tensor *t) { return lua_pushinteger(L, t->a.ndim), 1; }

/* Dims in reverse order, as in NumPy. */
static int p_T(lua_State *L, gp_tensor *t) {
    int64_t order[GP_MAX_DIM];
    for (int i = 0; i < t->a.ndim; i++) order[i] = t->a.ndim - i;
    gp_call c;
    gp_lua_enter(L);
    gp_call_begin(&c, GP_OP(permute));
    gp_call_tensor(&c, t);
    gp_call_ints(&c, order, t->a.ndim);
    return gp_lua_push(L, gp_call_one(&c));
}

/* Matrices transposed, whatever dims precede them; H is for a single matrix. Tensors are real, so
 * mH is mT. */
static int transposed(lua_State *L, gp_tensor *t, const char *name, bool one) {
    if (t->a.ndim < 2 || (one && t->a.ndim > 2))
        return luaL_error(L, "%s: the tensor has %d dims (expected %s)", name, t->a.ndim,
                          one ? "a matrix" : "a matrix or a batch of matrices");
    gp_call c;
    gp_lua_enter(L);
    gp_call_begin(&c, GP_OP(transpose));
    gp_call_tensor(&c, t);
    gp_call_int(&c, -2);
    gp_call_int(&c, -1);
    return gp_lua_push(L, gp_call_one(&c));
}
static int p_mT(lua_State *L, gp_tensor *t) { return transposed(L, t, "mT", false); }
static int p_mH(lua_State *L, gp_tensor *t) { return transposed(L, t, "mH", false); }
static int p_H(lua_State *L, gp_tensor *t) { return transposed(L, t, "H", true); }

static const gp_lua_property properties[] = {
    {"shape", p_shape}, {"dtype", p_dtype}, {"device", p_device}, {"ndim", p_ndim}, {"T", p_T},
    {"mT", p_mT},       {"mH", p_mH},       {"H", p_H},           {NULL, NULL},
};

/* __index. Upvalues: methods, properties (name -> light userdata), metatable (for gp_lua_index). */
static int l_index(lua_State *L) {
    if (lua_type(L, 2) != LUA_TSTRING) return gp_lua_index(L);
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    lua_pushvalue(L, 2);
    if (lua_rawget(L, lua_upvalueindex(2)) == LUA_TLIGHTUSERDATA) {
        const gp_lua_property *p = lua_touserdata(L, -1);
        return p->get(L, gp_lua_check(L, 1, "index"));
    }
    lua_settop(L, 2);
    return gp_lua_index(L);
}

static int l_len(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "#");
    if (t->a.ndim == 0) return luaL_error(L, "a 0-d tensor has no length");
    gp_at(GP_AT_SHAPE, NULL, NULL);
    lua_pushinteger(L, t->a.dim[0]);
    return 1;
}

/* i + 1 and the part of the tensor there, until there is none. */
static int l_next_part(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "pairs");
    lua_Integer i = luaL_checkinteger(L, 2) + 1;
    gp_at(GP_AT_SHAPE, NULL, NULL);
    if (i > t->a.dim[0]) return 0;
    lua_pushinteger(L, i);
    lua_geti(L, 1, i);
    return 2;
}

int gp_lua_pairs(lua_State *L) {
    gp_tensor *t = gp_lua_check(L, 1, "pairs");
    if (t->a.ndim == 0) return luaL_error(L, "pairs: a 0-d tensor has no parts");
    lua_pushcfunction(L, l_next_part);
    lua_pushvalue(L, 1);
    lua_pushinteger(L, 0);
    return 3;
}

/* ---- methods ---- */

/* x:size() is the list of dims, x:size(d) one of them; x:stride() likewise, in elements. */
static int dims_of(lua_State *L, const char *fn, bool strides) {
    gp_tensor *t = gp_lua_check(L, 1, fn);
    const int64_t *v = strides ? t->a.stride : t->a.dim;
    int d;
    gp_at(GP_AT_SHAPE, NULL, NULL);
    if (lua_isnoneornil(L, 2)) return gp_lua_push_dims(L, v, t->a.ndim);
    if (t->a.ndim == 0) return luaL_error(L, "%s: a 0-d tensor has no dims", fn);
    if (!gp_dim_wrap(fn, luaL_checkinteger(L, 2), t->a.ndim, &d)) return gp_lua_raise(L);
    lua_pushinteger(L, v[d]);
    return 1;
}

static int l_size(lua_State *L) { return dims_of(L, "size", false); }
static int l_stride(lua_State *L) { return dims_of(L, "stride", true); }

static int l_dim(lua_State *L) {
    lua_pushinteger(L, gp_lua_check(L, 1, "dim")->a.ndim);
    return 1;
}

static int l_numel(lua_State *L) {
    gp_at(GP_AT_SHAPE, NULL, NULL);
    lua_pushinteger(L, gp_lua_check(L, 1, "numel")->a.numel);
    return 1;
}

static int l_is_floating_point(lua_State *L) {
    lua_pushboolean(L, gp_is_float((gp_dtype)gp_lua_check(L, 1, "is_floating_point")->a.dtype));
    return 1;
}

static int l_element_size(lua_State *L) {
    lua_pushinteger(
        L, (lua_Integer)gp_dtype_size((gp_dtype)gp_lua_check(L, 1, "element_size")->a.dtype));
    return 1;
}

static int l_is_contiguous(lua_State *L) {
    lua_pushboolean(L, gp_lua_check(L, 1, "is_contiguous")->a.contiguous);
    return 1;
}

/* Whether two tensors share the same memory. */
static int l_shares_storage(lua_State *L) {
    lua_pushboolean(L, gp_lua_check(L, 1, "shares_storage")->storage ==
                           gp_lua_check(L, 2, "shares_storage")->storage);
    return 1;
}

static int l_is_tensor(lua_State *L) {
    lua_pushboolean(L, gp_lua_totensor(L, 1) != NULL);
    return 1;
}

/* The device and dtype in the argument of x:to at i: a device, a dtype or a tensor. */
static void where_to(lua_State *L, int i, gp_device **dev, gp_dtype *dt) {
    gp_tensor *like = gp_lua_totensor(L, i);
    if (lua_isnoneornil(L, i)) return;
    if (like) {
        *dev = like->storage->dev;
        *dt = (gp_dtype)like->a.dtype;
    } else if (lua_type(L, i) == LUA_TSTRING) {
        const char *s = lua_tostring(L, i);
        if (!gp_dtype_parse(s, dt) && !(*dev = gp_device_get(s)))
            lua_pushstring(L, gp_error()),
                gp_fail("to: '%s' is neither a dtype nor a device that works here: %s", s,
                        lua_tostring(L, -1)),
                gp_lua_raise(L);
    } else {
        gp_fail("to: argument #%d: expected a device, a dtype or a tensor, got %s", i - 1,
                luaL_typename(L, i));
        gp_lua_raise(L);
    }
}

/* x:to(device), x:to(dtype), x:to(other tensor), x:to(device, dtype), with option non_blocking; or
 * all by name. */
static int l_to(lua_State *L) {
    gp_tensor *x = gp_lua_totensor(L, 1);
    gp_device *dev = NULL;
    gp_dtype dt = (gp_dtype)x->a.dtype;
    where_to(L, 2, &dev, &dt);
    where_to(L, 3, &dev, &dt);
    gp_call c;
    gp_lua_enter(L);
    gp_call_begin(&c, GP_OP(to));
    gp_call_tensor(&c, x);
    c.arg[c.nargs++] = (gp_value){.kind = dev ? GP_DEVICE : GP_NONE, .dev = dev};
    c.arg[c.nargs++] = (gp_value){.kind = GP_DTYPE, .i = dt};
    c.arg[c.nargs++] = (gp_value){.kind = GP_BOOL, .i = lua_toboolean(L, 4)};
    return gp_lua_push(L, gp_call_one(&c));
}

/* x:cpu(), x:double() …: `to` with the upvalue as argument. */
static int l_to_fixed(lua_State *L) {
    lua_settop(L, 1);
    lua_pushvalue(L, gp_lua_upvalue(1));
    return l_to(L);
}

/* x:cuda([device], [non_blocking]), x:gpu(): the upvalue is the default device. */
static int l_to_device(lua_State *L) {
    lua_settop(L, 3);
    if (lua_isnil(L, 2)) lua_pushvalue(L, gp_lua_upvalue(1)), lua_replace(L, 2);
    lua_pushnil(L);
    lua_insert(L, 3);
    return l_to(L);
}

static int l_clone(lua_State *L) {
    gp_call c;
    gp_call_begin(&c, GP_OP(copy));
    gp_call_tensor(&c, gp_lua_check(L, 1, "clone"));
    gp_lua_enter(L);
    return gp_lua_push(L, gp_call_one(&c));
}

/* The form of a wait of x:copy_(y): what x, on the host, lacks for a copy without one. */
static const char *form_of_copy(const gp_tensor *x, bool later) {
    return !x->storage->pinned ? "D2H pageable" : later ? "D2H strided" : "D2H pinned";
}

/* x:copy_(y, [non_blocking]): copies y's elements into x, broadcast and converted; from another
 * device through a copy, which waits unless non_blocking. */
static int l_copy_(lua_State *L) {
    gp_tensor *x = gp_lua_totensor(L, 1), *y = gp_lua_totensor(L, 2);
    bool done = false;
    gp_lua_enter(L);
    bool later = lua_toboolean(L, 3);
    if (later && !gp_copy_later(x, y, "copy_", &done)) return gp_lua_raise(L);
    if (done) return lua_settop(L, 1), 1;
    bool to_host = gp_tensor_device(x)->vt->on_host && !gp_tensor_device(y)->vt->on_host;
    const char *form = gp_wait_form_set(to_host ? form_of_copy(x, later) : NULL);
    gp_tensor *here = gp_to_device_recorded(y, x->storage->dev, later, GP_WHY_copy, "copy_");
    bool ok = here && (!to_host || gp_host_ready(here->storage, GP_WHY_copy, "copy_")) &&
              gp_copy_into(x, here, GP_WHY_copy, "copy_");
    gp_wait_form_set(form);
    gp_tensor_unref(here);
    if (!ok) return gp_lua_raise(L);
    lua_settop(L, 1);
    return 1;
}

/* x:pin_memory(): a copy in host memory that a device copies from while the host continues; x
 * itself if it is there already. */
static int l_pin_memory(lua_State *L) {
    gp_tensor *x = gp_lua_check(L, 1, "pin_memory");
    if (x->storage->dev != gp_device_cpu())
        return luaL_error(L, "pin_memory: the tensor is on %s; only host memory can be pinned",
                          x->storage->dev->name);
    if (x->storage->pinned) return lua_settop(L, 1), 1;
    l_clone(L);
    gp_lua_totensor(L, -1)->storage->pinned = true;
    return 1;
}

static int l_is_pinned(lua_State *L) {
    lua_pushboolean(L, gp_lua_check(L, 1, "is_pinned")->storage->pinned);
    return 1;
}

static const gp_lua_function methods[] = {
    {"pin_memory", "self tensor", l_pin_memory},
    {"is_pinned", "self tensor", l_is_pinned},
    {"item", "self tensor", l_item},
    {"size", "self tensor, int? dim", l_size},
    {"stride", "self tensor, int? dim", l_stride},
    {"dim", "self tensor", l_dim},
    {"numel", "self tensor", l_numel},
    {"element_size", "self tensor", l_element_size},
    {"is_floating_point", "self tensor", l_is_floating_point},
    {"is_contiguous", "self tensor", l_is_contiguous},
    {"shares_storage", "self tensor, tensor other", l_shares_storage},
    {"to", "self tensor, any? device, any? dtype, bool? non_blocking", l_to},
    {"clone", "self tensor", l_clone},
    {"copy_", "self tensor, tensor src, bool? non_blocking", l_copy_},
    {NULL, NULL, NULL},
};

#define ON_DEVICE "self tensor, device? device, bool? non_blocking"
static const struct {
    gp_lua_function row;
    const char *to;
} conversions[] = {
    {{"cpu", "self tensor", l_to_fixed}, "cpu"},
    {{"gpu", ON_DEVICE, l_to_device}, "gpu"},
    {{"cuda", ON_DEVICE, l_to_device}, "cuda"},
    {{"double", "self tensor", l_to_fixed}, "f64"},
    {{"float", "self tensor", l_to_fixed}, "f32"},
    {{"half", "self tensor", l_to_fixed}, "f16"},
    {{"bfloat16", "self tensor", l_to_fixed}, "bf16"},
    {{"long", "self tensor", l_to_fixed}, "i64"},
    {{"int", "self tensor", l_to_fixed}, "i32"},
    {{"short", "self tensor", l_to_fixed}, "i16"},
    {{"char", "self tensor", l_to_fixed}, "i8"},
    {{"byte", "self tensor", l_to_fixed}, "u8"},
    {{"bool", "self tensor", l_to_fixed}, "bool"},
};

static const struct {
    const char *meta;
    int op;
} operators[] = {
    {"__add", OP_add},
    {"__sub", OP_sub},
    {"__mul", OP_mul},
    {"__div", OP_div},
    {"__idiv", OP_floor_divide},
    {"__mod", OP_remainder},
    {"__pow", OP_pow},
    {"__band", OP_bitwise_and},
    {"__bor", OP_bitwise_or},
    {"__bxor", OP_bitwise_xor},
    {"__shl", OP_bitwise_left_shift},
    {"__shr", OP_bitwise_right_shift},
};

/* Unary operators are called with their operand twice. */
static int l_unary(lua_State *L) {
    lua_settop(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 1, 1);
    return 1;
}

static void set_unary(lua_State *L, const char *meta, const gp_op *op) {
    gp_lua_push_op(L, op, false);
    lua_pushcclosure(L, l_unary, 1);
    lua_setfield(L, -2, meta);
}

static void add_properties(lua_State *L, const gp_lua_property *p) {
    for (; p->name; p++) {
        lua_pushlightuserdata(L, (void *)p);
        lua_setfield(L, -2, p->name);
    }
}

static void open_meta(lua_State *L) {
    static const luaL_Reg meta[] = {{"__gc", l_gc},
                                    {"__close", l_gc},
                                    {"__len", l_len},
                                    {"__pairs", gp_lua_pairs},
                                    {"__lt", l_lt},
                                    {"__le", l_le},
                                    {"__eq", l_eq},
                                    {"__concat", gp_lua_concat},
                                    {"__newindex", gp_lua_newindex},
                                    {"__tostring", gp_lua_tostring},
                                    {NULL, NULL}};
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    luaL_setfuncs(L, meta, 0);
    for (size_t i = 0; i < sizeof operators / sizeof *operators; i++) {
        gp_lua_push_op(L, &gp_ops[operators[i].op], false);
        lua_setfield(L, -2, operators[i].meta);
    }
    set_unary(L, "__unm", GP_OP(neg));
    set_unary(L, "__bnot", GP_OP(bitwise_not));
    lua_pushliteral(L, "tensor");
    lua_setfield(L, -2, "__name");
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    lua_newtable(L);
    add_properties(L, properties);
    add_properties(L, gp_lua_autograd_properties());
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, l_index, 3);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}

void gp_lua_open_tensor(lua_State *L) {
    static const gp_lua_function functions[] = {{"is_tensor", "value value", l_is_tensor},
                                                {NULL, NULL, NULL}};
    gp_lua_set_functions(L, functions);
    gp_lua_open_lists(L);
    open_meta(L);
    lua_getfield(L, LUA_REGISTRYINDEX, GP_LUA_METHODS);
    gp_lua_set_functions(L, methods);
    for (size_t i = 0; i < sizeof conversions / sizeof *conversions; i++) {
        lua_pushstring(L, conversions[i].to);
        gp_lua_push_function(L, &conversions[i].row, 1);
        lua_setfield(L, -2, conversions[i].row.name);
    }
    lua_pop(L, 1);
}
