/* x[key] and x[key] = value in Lua: the key read into an index expression. See DESIGN 6 for the
 * forms. */
#include <math.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/args/entries.h"
#include "bindings/index_spec.h"
#include "tensor/device/form.h"

/* Reads an integer at i: a number, or a 0-d integer tensor, whose value is waited for. False with a
 * message. */
static bool integer_at(lua_State *L, int i, int64_t *out) {
    int is;
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t) {
        *out = lua_type(L, i) == LUA_TNUMBER ? lua_tointegerx(L, i, &is) : (is = 0, 0);
        return is || gp_fail("index: expected an integer, got %s", lua_type(L, i) == LUA_TNUMBER
                                                                       ? "a number with a fraction"
                                                                       : luaL_typename(L, i));
    }
    gp_scalar s;
    if (gp_dtype_kind((gp_dtype)t->a.dtype) != GP_KIND_INT || t->a.numel != 1) {
        char text[200];
        return gp_fail("index: expected an integer, got a tensor %s",
                       gp_tensor_text(t, text, sizeof text));
    }
    if (!gp_item(t, &s, GP_WHY_index, "index")) return false;
    *out = s.i;
    return true;
}

/* Adds a tensor: a mask stays a mask; a 0-d integer is waited for, since a view needs its
 * number. */
static bool add_tensor(gp_index_spec *s, gp_tensor *t) {
    gp_dkind kind = gp_dtype_kind((gp_dtype)t->a.dtype);
    char text[200];
    if (kind == GP_KIND_FLOAT)
        return gp_fail("index: expected an integer or bool tensor, got %s",
                       gp_tensor_text(t, text, sizeof text));
    if (kind == GP_KIND_BOOL) return gp_index_add(s, (gp_index_item){.kind = GP_ITEM_MASK, .t = t});
    if (t->a.ndim) return gp_index_add(s, (gp_index_item){.kind = GP_ITEM_INDEX, .t = t});
    gp_scalar v;
    return gp_item(t, &v, GP_WHY_index, "index") &&
           gp_index_add(s, (gp_index_item){.kind = GP_ITEM_INT, .first = v.i});
}

/* {} is everything, {first, last, step} a range, {i} the range of i alone. */
static bool add_range(lua_State *L, gp_index_spec *s, int i) {
    lua_Unsigned n = lua_rawlen(L, i);
    int64_t v[3] = {1, -1, 1};
    if (n > 3)
        return gp_fail("index: a range has %d entries (expected {first, last, step})", (int)n);
    for (lua_Unsigned k = 0; k < n; k++) {
        lua_rawgeti(L, i, (lua_Integer)k + 1);
        const char *form = gp_wait_form_set(n > 1 ? "bound" : gp_wait_form);
        bool ok = integer_at(L, lua_gettop(L), &v[k]);
        gp_wait_form_set(form);
        lua_pop(L, 1);
        if (!ok) return false;
    }
    if (n == 1) v[1] = v[0];
    if (!gp_lua_only_entries(L, i, (lua_Integer)n, "index", "range")) return false;
    return gp_index_add(
        s, (gp_index_item){
               .kind = n ? GP_ITEM_RANGE : GP_ITEM_ALL, .first = v[0], .last = v[1], .step = v[2]});
}

/* Adds the value at i as one item (or several, from a string). Tables are ranges here. */
static bool add_item(lua_State *L, gp_index_spec *s, int i) {
    gp_tensor *t = gp_lua_totensor(L, i);
    gp_index_item item = {.kind = GP_ITEM_INT};
    if (t) return add_tensor(s, t);
    switch (lua_type(L, i)) {
    case LUA_TNUMBER: return integer_at(L, i, &item.first) && gp_index_add(s, item);
    case LUA_TSTRING: return gp_index_parse(s, lua_tostring(L, i));
    case LUA_TTABLE: return add_range(L, s, i);
    default:
        return gp_fail("index: expected an integer, a range, an index expression, or an integer or "
                       "bool tensor, got %s",
                       luaL_typename(L, i));
    }
}

/* Reads the key at i: a table is a list of items, anything else one item. The key keeps what the
 * items point to alive. */
static bool read_key(lua_State *L, gp_index_spec *s, int i) {
    s->n = 0;
    if (!lua_istable(L, i)) return add_item(L, s, i);
    lua_Unsigned n = lua_rawlen(L, i);
    for (lua_Unsigned k = 0; k < n; k++) {
        lua_rawgeti(L, i, (lua_Integer)k + 1);
        bool ok = add_item(L, s, lua_gettop(L));
        lua_pop(L, 1);
        if (!ok) return false;
    }
    return gp_lua_only_entries(L, i, (lua_Integer)n, "index", "key");
}

/* Raises: a name that is not an index was meant as a method. */
static int bad_key(lua_State *L) {
    const char *k = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    size_t n = strspn(k, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
    bool name = *k && !k[n] && (k[0] < '0' || k[0] > '9');
    if (name)
        return luaL_error(L,
                          "a tensor has no method or property '%s' (and it is not an index, such "
                          "as \"1:4, :, -1\")",
                          k);
    return gp_lua_raise(L);
}

/* x[i], the most frequent form. Upvalue 3: the tensors' metatable. */
static int select_first(lua_State *L, gp_tensor *x, int64_t i) {
    gp_box *b = gp_lua_new_box(L, lua_upvalueindex(3));
    gp_call c;
    gp_call_begin(&c, GP_OP(select));
    c.arg[0] = (gp_value){.kind = GP_TENSOR, .t = x};
    c.arg[1] = (gp_value){.kind = GP_INT, .i = 1};
    c.arg[2] = (gp_value){.kind = GP_INT, .i = i};
    c.nargs = 3;
    if (!gp_op_run(&c)) return gp_lua_raise(L);
    b->t = c.out[0];
    return 1;
}

int gp_lua_index(lua_State *L) {
    gp_tensor *x = gp_lua_totensor(L, 1);
    if (!x) gp_lua_check(L, 1, "index");
    gp_lua_enter(L);
    if (lua_isinteger(L, 2)) return select_first(L, x, lua_tointeger(L, 2));
    gp_index_spec s;
    luaL_checkstack(L, 4, "index");
    if (!read_key(L, &s, 2)) return bad_key(L);
    return gp_lua_push(L, gp_index_read(x, &s));
}

/* Raises where the key names a method or another property: those are not set. */
static void no_method(lua_State *L) {
    if (lua_type(L, 2) != LUA_TSTRING || luaL_getmetafield(L, 1, "__index") == LUA_TNIL) return;
    lua_getupvalue(L, -1, 1), lua_getupvalue(L, -2, 2); /* methods, properties: see open_meta */
    for (int t = lua_gettop(L) - 1; t <= lua_gettop(L); t++) {
        if (!lua_istable(L, t)) continue;
        lua_pushvalue(L, 2);
        if (lua_rawget(L, t) != LUA_TNIL)
            luaL_error(L, "x.%s cannot be set (expected an index, grad or requires_grad)",
                       lua_tostring(L, 2));
        lua_pop(L, 1);
    }
    lua_settop(L, 3);
}

int gp_lua_newindex(lua_State *L) {
    gp_tensor *x = gp_lua_check(L, 1, "index"), *value = gp_lua_totensor(L, 3);
    gp_index_spec s;
    gp_scalar v = {.i = 0};
    gp_lua_enter(L);
    luaL_checkstack(L, 4, "index");
    if (lua_type(L, 2) == LUA_TSTRING && gp_lua_set_property(L, x, lua_tostring(L, 2))) return 0;
    if (!read_key(L, &s, 2)) {
        no_method(L);
        return bad_key(L);
    }
    bool ok;
    if (value) {
        ok = gp_index_assign(x, &s, value);
    } else {
        if (lua_isinteger(L, 3)) v.i = lua_tointeger(L, 3);
        else if (lua_type(L, 3) == LUA_TNUMBER)
            v = (gp_scalar){.is_float = true, .f = lua_tonumber(L, 3)};
        else if (lua_type(L, 3) == LUA_TBOOLEAN) v.i = lua_toboolean(L, 3);
        else
            return luaL_error(
                L, "index: a %s cannot be assigned (expected a number, a boolean or a tensor)",
                luaL_typename(L, 3));
        ok = gp_index_fill(x, &s, v);
    }
    return ok ? 0 : gp_lua_raise(L);
}
