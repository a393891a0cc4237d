/* One argument of a Lua call: the value on the stack, checked by the type of its parameter and put
 * into the call. */
#include "bindings/args/values.h"

#include <math.h>
#include <string.h>

#include "bindings/args/args.h"
#include "bindings/args/entries.h"
#include "bindings/bind.h"
#include "tensor/device/form.h"
#include "tensor/base/intern.h"

const char *const gp_lua_wanted[GP_SIGS] = {[GP_SIG_tensor] = "a tensor",
                                            [GP_SIG_operand] = "a tensor or a number",
                                            [GP_SIG_number] = "a number",
                                            [GP_SIG_tensors] = "a table of tensors",
                                            [GP_SIG_varargs] = "tensors",
                                            [GP_SIG_float] = "a number",
                                            [GP_SIG_bool] = "true or false",
                                            [GP_SIG_int] = "an integer",
                                            [GP_SIG_dim] = "a dim (an integer)",
                                            [GP_SIG_dims] = "dims (integers)",
                                            [GP_SIG_shape] = "a shape (integers)",
                                            [GP_SIG_ints] = "integers",
                                            [GP_SIG_padding] = "integers, 'same' or 'valid'",
                                            [GP_SIG_str] = "a string",
                                            [GP_SIG_dtype] = "a dtype as a string",
                                            [GP_SIG_any] = "a value",
                                            [GP_SIG_device] = "a device as a string",
                                            [GP_SIG_value] = "a value",
                                            [GP_SIG_text] = "a string",
                                            [GP_SIG_table] = "a table",
                                            [GP_SIG_function] = "a function",
                                            [GP_SIG_list] = "a list",
                                            [GP_SIG_numbers] = "a number or a list of numbers",
                                            [GP_SIG_order] = "a number or a string",
                                            [GP_SIG_rest] = "values",
                                            [GP_SIG_self] = "an object",
                                            [GP_SIG_program] = "a program, which only fuse makes",
                                            [GP_SIG_group] = "a group, which only dist passes"};

/* The types by name: the forms of waits for their numbers. */
static const char *const type_names[GP_SIGS] = {
#define SIG(name) [GP_SIG_##name] = #name,
#include "tensor/sig.def"
};

enum { MOST_ENTRIES = 1 << 24 }; /* of a list */

/* Raises at the script's line, with the place in the model that is being called. */
#define raise(L, ...) (gp_fail(__VA_ARGS__), gp_lua_raise_argument(L))

/* The value at i for a message: a number or a string itself, of others the type. */
static const char *shown(lua_State *L, int i) {
    i = lua_absindex(L, i);
    if (gp_lua_totensor(L, i)) return "tensor";
    if (lua_type(L, i) == LUA_TSTRING) return lua_pushfstring(L, "'%s'", lua_tostring(L, i));
    if (lua_type(L, i) == LUA_TNUMBER) return luaL_tolstring(L, i, NULL);
    return gp_lua_type_text(L, i);
}

/* Raises: the argument or option that r reads, or the value at i of it, is not what was expected.
 * Never returns. */
static int bad_at(const gp_lua_reading *r, const char *expected, int i) {
    lua_State *L = r->L;
    const char *got = shown(L, i);
    if (r->number)
        gp_fail("%s: argument '%s' (#%d): expected %s, got %s", r->op->name, r->p->name, r->number,
                expected, got);
    else gp_fail("%s: option '%s': expected %s, got %s", r->op->name, r->p->name, expected, got);
    return gp_lua_raise_argument(L);
}
static int bad(const gp_lua_reading *r, const char *expected) { return bad_at(r, expected, r->i); }

/* What to report where `words`, integers, were expected and something else is at i. */
static const char *integers(lua_State *L, int i, const char *words) {
    bool large = lua_type(L, i) == LUA_TNUMBER && fabs(lua_tonumber(L, i)) >= 0x1p62;
    return large ? lua_pushfstring(L, "%s below 2^62", words) : words;
}

/* Reads a number at i; a one-element tensor gives its number, which is a recorded wait. */
static bool to_number(const gp_lua_reading *r, int i, gp_scalar *s) {
    lua_State *L = r->L;
    int is;
    if (lua_isinteger(L, i)) return *s = (gp_scalar){.i = lua_tointeger(L, i)}, true;
    if (lua_type(L, i) == LUA_TNUMBER)
        return *s = (gp_scalar){.is_float = true, .f = lua_tonumberx(L, i, &is)}, true;
    gp_tensor *t = gp_lua_totensor(L, i);
    if (!t || t->a.numel != 1) return false;
    const char *before = gp_wait_form_set(type_names[r->p->type]);
    bool ok = gp_item(t, s, GP_WHY_item, r->op->name);
    gp_wait_form_set(before);
    if (!ok) gp_lua_raise(L);
    return true;
}

/* Reads an integer of any form; floats beyond 2^62 are refused. Waits as to_number does. */
static bool to_int(const gp_lua_reading *r, int i, int64_t *out) {
    gp_scalar s;
    if (!to_number(r, i, &s)) return false;
    if (!s.is_float) return *out = s.i, true;
    if (s.f != floor(s.f) || !(fabs(s.f) < 0x1p62)) return false;
    return *out = (int64_t)s.f, true;
}

static void add_number(gp_call *c, gp_scalar s) { gp_call_number(c, s); }

/* False if there is no boolean. */
static bool add_bool(const gp_lua_reading *r) {
    if (lua_type(r->L, r->i) != LUA_TBOOLEAN) return false;
    gp_call_number(r->c, (gp_scalar){.i = lua_toboolean(r->L, r->i)});
    r->c->arg[r->c->nargs - 1].is_bool = true;
    return true;
}

static bool is_list(lua_State *L, int i) { return lua_type(L, i) == LUA_TTABLE; }

/* The length of the list that r reads, which a __len may give: raises below 0 and above most. */
static lua_Integer list_length(const gp_lua_reading *r, lua_Integer most) {
    lua_State *L = r->L;
    lua_Integer n = luaL_len(L, r->i);
    if (n < 0 || n > most)
        raise(L, "%s: argument '%s' cannot have %s entries (expected 0 to %s)", r->op->name,
              r->p->name, lua_pushfstring(L, "%I", n), lua_pushfstring(L, "%I", most));
    return n;
}

/* Raises where the list that r reads holds more than its n entries. */
static void only_entries(const gp_lua_reading *r, lua_Integer n) {
    if (!gp_lua_only_entries(r->L, r->i, n, r->op->name, r->p->name)) gp_lua_raise(r->L);
}

/* Reads a table of integers, one number, or for dims and shapes the run of numbers that begins
 * here; returns how many stack slots it used. */
static int read_ints(const gp_lua_reading *r, int last) {
    lua_State *L = r->L;
    int64_t v[GP_MAX_INTS];
    int n = 0, took = 1, most = GP_MAX_INTS - r->c->nints;
    if (is_list(L, r->i)) {
        lua_Integer len = list_length(r, most);
        for (; n < len; n++) {
            lua_geti(L, r->i, n + 1);
            int entry = lua_gettop(L);
            if (!to_int(r, entry, &v[n]))
                raise(L, "%s: entry %d of argument '%s': expected %s, got %s", r->op->name, n + 1,
                      r->p->name, integers(L, entry, "an integer"), shown(L, entry));
            lua_pop(L, 1);
        }
        only_entries(r, len);
    } else {
        if (r->p->type == GP_SIG_ints || r->p->type == GP_SIG_padding) last = r->i;
        for (took = 0; r->i + took <= last && n < most &&
                       (took == 0 || lua_type(L, r->i + took) == LUA_TNUMBER ||
                        gp_lua_totensor(L, r->i + took));
             took++, n++)
            if (!to_int(r, r->i + took, &v[n]))
                bad_at(r, integers(L, r->i + took, "integers"), r->i + took);
    }
    gp_call_ints(r->c, v, n);
    return took;
}

/* Puts the number that a one-element tensor at i holds in its place; false: there is no number. */
static bool settle_number(const gp_lua_reading *r, int i) {
    gp_scalar s;
    if (!to_number(r, i, &s)) return false;
    if (s.is_float) lua_pushnumber(r->L, s.f);
    else lua_pushinteger(r->L, s.i);
    lua_replace(r->L, i);
    return true;
}

/* Checks a list and puts a plain one in its place, of numbers if asked; its length is known. */
static void settle_list(const gp_lua_reading *r, bool numbers) {
    lua_State *L = r->L;
    if (!gp_lua_check_list(L, r->i, r->op->name, r->p->name)) gp_lua_raise_argument(L);
    lua_Integer n = list_length(r, MOST_ENTRIES);
    lua_newtable(L);
    for (lua_Integer k = 1; k <= n; k++) {
        lua_geti(L, r->i, k);
        int entry = lua_gettop(L);
        if (numbers && !settle_number(r, entry))
            raise(L, "%s: entry %d of argument '%s': expected a number, got %s", r->op->name,
                  (int)k, r->p->name, shown(L, entry));
        lua_rawseti(L, -2, k);
    }
    lua_replace(L, r->i);
}

/* Checks a list, which the function takes as it is; of an object that acts like one it gets the
 * entries. */
static void read_list(const gp_lua_reading *r) {
    if (!is_list(r->L, r->i)) bad(r, "a list");
    if (lua_getmetatable(r->L, r->i)) lua_pop(r->L, 1), settle_list(r, false);
    else if (!gp_lua_check_list(r->L, r->i, r->op->name, r->p->name)) gp_lua_raise_argument(r->L);
}

/* Reads a number, or what else the type allows: a list of numbers, a string. The function takes
 * either as it is. */
static void read_numbers(const gp_lua_reading *r) {
    bool order = r->p->type == GP_SIG_order;
    if (!order && is_list(r->L, r->i)) settle_list(r, true);
    else if (!(order && lua_type(r->L, r->i) == LUA_TSTRING) && !settle_number(r, r->i))
        bad(r, gp_lua_wanted[r->p->type]);
    gp_call_none(r->c);
}

/* A userdata for `room` tensors that takes the place of the one on top, whose n it copies. */
static gp_tensor **grow_list(lua_State *L, gp_tensor **list, lua_Integer n, lua_Integer capacity) {
    gp_tensor **more = lua_newuserdatauv(L, (size_t)capacity * sizeof *more, 0);
    memcpy(more, list, (size_t)n * sizeof *more);
    lua_replace(L, -2);
    return more;
}

/* Reads the tensors of a table; the array is in a userdata that is left on the stack. It grows with
 * the entries that are there: a __len may say anything. */
static void read_tensors(const gp_lua_reading *r) {
    lua_State *L = r->L;
    if (!is_list(L, r->i)) bad(r, "a table of tensors, as {a, b}");
    lua_Integer n = list_length(r, INT32_MAX), capacity = n < 256 ? n : 256;
    luaL_checkstack(L, 5, "tensors");
    gp_tensor **list = lua_newuserdatauv(L, (size_t)(n ? capacity : 1) * sizeof *list, 0);
    for (lua_Integer k = 0; k < n; k++) {
        if (k == capacity) list = grow_list(L, list, k, capacity *= 2);
        lua_geti(L, r->i, k + 1);
        list[k] = gp_lua_totensor(L, -1);
        if (!list[k])
            raise(L, "%s: entry %d of argument '%s': expected a tensor, got %s", r->op->name,
                  (int)k + 1, r->p->name, luaL_typename(L, -1));
        lua_pop(L, 1); /* the table keeps it alive */
    }
    only_entries(r, n);
    r->c->arg[r->c->nargs++] = (gp_value){.kind = GP_LIST, .n = (int32_t)n, .list = list};
}

/* Reads a table of tensors, or the run of tensors that begins here, for which a table takes the
 * first one's place on the stack; returns how many stack slots it used. */
static int read_varargs(const gp_lua_reading *r, int last) {
    lua_State *L = r->L;
    int n = 0;
    while (r->i + n <= last && gp_lua_totensor(L, r->i + n)) n++;
    if (n == 0) {
        if (!is_list(L, r->i)) bad(r, "tensors, or a table of them");
        return read_tensors(r), 1;
    }
    lua_createtable(L, n, 0);
    for (int k = 0; k < n; k++) {
        lua_pushvalue(L, r->i + k);
        lua_rawseti(L, -2, k + 1);
    }
    lua_replace(L, r->i);
    return read_tensors(r), n;
}

/* Reads a dtype, device or text. Texts are interned: calls are queued and outlive Lua's string. */
static void read_name(const gp_lua_reading *r) {
    lua_State *L = r->L;
    gp_value *v = &r->c->arg[r->c->nargs];
    if (lua_type(L, r->i) != LUA_TSTRING)
        bad(r, r->p->type == GP_SIG_dtype    ? "a dtype as a string"
               : r->p->type == GP_SIG_device ? "a device as a string"
                                             : "a string");
    const char *s = lua_tostring(L, r->i);
    gp_dtype dt = GP_f32;
    if (r->p->type == GP_SIG_dtype) {
        if (!gp_dtype_parse(s, &dt)) raise(L, "%s: %s", r->op->name, gp_error());
        *v = (gp_value){.kind = GP_DTYPE, .i = dt};
    } else if (r->p->type == GP_SIG_device) {
        *v = (gp_value){.kind = GP_DEVICE, .dev = gp_device_get(s)};
        if (!v->dev) raise(L, "%s: %s", r->op->name, gp_error());
    } else {
        *v = (gp_value){.kind = GP_STR, .s = gp_intern_text(s)};
        if (!v->s) raise(L, "out of memory");
    }
    r->c->nargs++;
}

static void read_tensor(const gp_lua_reading *r) {
    gp_tensor *t = gp_lua_totensor(r->L, r->i);
    if (!t) bad(r, "a tensor");
    gp_call_tensor(r->c, t);
}

/* Reads a tensor, a number or a boolean, which stays one until dtypes are settled. */
static void read_operand(const gp_lua_reading *r) {
    gp_tensor *t = gp_lua_totensor(r->L, r->i);
    gp_scalar s;
    if (t) gp_call_tensor(r->c, t);
    else if (add_bool(r)) return;
    else if (to_number(r, r->i, &s)) add_number(r->c, s);
    else bad(r, "a tensor or a number");
}

/* Whether it is a function, or can be called like one; a tensor's metatable has no __call. */
static bool is_callable(lua_State *L, int i) {
    if (lua_isfunction(L, i)) return true;
    if (luaL_getmetafield(L, i, "__call") == LUA_TNIL) return false;
    return lua_pop(L, 1), true;
}

/* Whether the value at i is an object of that class: its metatable is registry["gpush." .. class],
 * or that is among the tables where its fields are looked up. */
static bool is_a(lua_State *L, int i, const char *class) {
    bool tensor = gp_lua_totensor(L, i); /* a closed one, and a table with its metatable, is none */
    if (tensor || !strcmp(class, "tensor")) return tensor && !strcmp(class, "tensor");
    int top = lua_gettop(L);
    if (!lua_getmetatable(L, i)) return false;
    lua_pushfstring(L, "gpush.%s", class);
    lua_rawget(L, LUA_REGISTRYINDEX);
    bool is = false;
    for (int depth = 0; !is && depth < 100 && lua_istable(L, top + 1); depth++) {
        is = lua_rawequal(L, top + 1, top + 2);
        lua_pushliteral(L, "__index");
        lua_rawget(L, top + 1);
        is = is || lua_rawequal(L, -1, top + 2);
        if (!lua_istable(L, -1) || !lua_getmetatable(L, -1)) break;
        lua_replace(L, top + 1);
        lua_settop(L, top + 2);
    }
    return lua_settop(L, top), is;
}

int gp_lua_no_self(const gp_lua_reading *r) {
    const char *dot = strrchr(r->op->name, '.'), *method = dot ? dot + 1 : r->op->name;
    const char *got = lua_isnone(r->L, r->i) ? "nothing" : shown(r->L, r->i);
    raise(r->L, "%s: expected %s in front, got %s: call it with a colon, %s:%s()", r->op->name,
          r->p->name, got, r->p->name, method);
    return 0;
}

/* Reads a number, an integer or a boolean. */
static void read_scalar(const gp_lua_reading *r) {
    gp_scalar s;
    int64_t i = 0;
    gp_value *v = &r->c->arg[r->c->nargs];
    switch ((gp_sig_type)r->p->type) {
    case GP_SIG_number:
        if (add_bool(r)) break;
        if (!to_number(r, r->i, &s)) bad(r, "a number");
        add_number(r->c, s);
        break;
    case GP_SIG_float:
        if (!to_number(r, r->i, &s)) bad(r, "a number");
        *v = (gp_value){.kind = GP_FLOAT, .f = s.is_float ? s.f : (double)s.i};
        r->c->nargs++;
        break;
    case GP_SIG_bool:
        if (lua_type(r->L, r->i) != LUA_TBOOLEAN) bad(r, "true or false");
        *v = (gp_value){.kind = GP_BOOL, .i = lua_toboolean(r->L, r->i)};
        r->c->nargs++;
        break;
    default:
        if (!to_int(r, r->i, &i)) bad(r, integers(r->L, r->i, "an integer"));
        gp_call_int(r->c, i);
        break;
    }
}

int gp_lua_read_arg(const gp_lua_reading *r, int last) {
    lua_State *L = r->L;
    switch ((gp_sig_type)r->p->type) {
    case GP_SIG_tensor: return read_tensor(r), 1;
    case GP_SIG_operand: return read_operand(r), 1;
    case GP_SIG_tensors: return read_tensors(r), 1;
    case GP_SIG_varargs: return read_varargs(r, last);
    case GP_SIG_number:
    case GP_SIG_float:
    case GP_SIG_int:
    case GP_SIG_dim:
    case GP_SIG_bool: return read_scalar(r), 1;
    case GP_SIG_dims:
    case GP_SIG_shape:
    case GP_SIG_ints: return read_ints(r, last);
    case GP_SIG_padding:
        if (lua_type(L, r->i) != LUA_TSTRING) return read_ints(r, last);
        return read_name(r), 1;
    case GP_SIG_list: read_list(r); break;
    case GP_SIG_numbers:
    case GP_SIG_order: return read_numbers(r), 1;
    case GP_SIG_any:
    case GP_SIG_value: break;
    case GP_SIG_text:
        if (lua_type(L, r->i) != LUA_TSTRING) bad(r, "a string");
        break;
    case GP_SIG_table:
        if (!is_list(L, r->i)) bad(r, "a table");
        break;
    case GP_SIG_function:
        if (!is_callable(L, r->i)) bad(r, "a function");
        break;
    case GP_SIG_self:
        if (!is_a(L, r->i, r->p->name)) gp_lua_no_self(r);
        break;
    case GP_SIG_program: bad(r, "a program, which only fuse makes"); break;
    case GP_SIG_group: bad(r, "a group, which only dist passes"); break;
    default: return read_name(r), 1;
    }
    gp_call_none(r->c);
    return 1;
}
