/* The table `sim` in Lua: the card that the simulated device stands in for. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bindings/args/function.h"
#include "bindings/bind.h"
#include "bindings/sampling/counter.h"
#include "bindings/module.h"
#include "bindings/api/profile/profile.h"
#include "profile/record/record.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/card/model.h"

static bool tf32; /* sim.tf32 */

static int l_index(lua_State *L) {
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    const gp_card *card = gp_model_card();
    if (!strcmp(key, "card") && card) lua_pushstring(L, *card->key ? card->key : card->name);
    else if (!strcmp(key, "host") && gp_model_host())
        lua_pushnumber(L, (double)gp_model_host() * 1e-9);
    else if (!strcmp(key, "script")) lua_pushnumber(L, (double)gp_model_script() * 1e-9);
    else if (!strcmp(key, "loader") && gp_model_loader())
        lua_pushnumber(L, (double)gp_model_loader() * 1e-9);
    else if (!strcmp(key, "tf32")) lua_pushboolean(L, tf32);
    else if (!strcmp(key, "label") && card) lua_pushstring(L, gp_model_label());
    else lua_pushnil(L);
    return 1;
}

/* ---- a card of one's own ---- */

/* The figures' names, for messages. Writes at most n bytes and returns buf. */
static char *figure_names(char *buf, size_t n) {
    size_t at = 0;
    *buf = 0;
    for (int i = 0; i < GP_FIGURES && at < n; i++)
        at += (size_t)snprintf(buf + at, n - at, "%s%s", i ? ", " : "", gp_figure_names[i]);
    return buf;
}

static void set_figure(lua_State *L, const char *what, gp_card *card, const char *key) {
    int i = 0;
    char known[300];
    while (i < GP_FIGURES && strcmp(key, gp_figure_names[i]) != 0) i++;
    if (i == GP_FIGURES)
        luaL_error(L, "%s: unknown figure '%s' (expected name, like, %s)", what, key,
                   figure_names(known, sizeof known));
    double v = lua_type(L, -1) == LUA_TNUMBER ? lua_tonumber(L, -1) : NAN;
    if (!gp_card_allows((gp_figure)i, v))
        luaL_error(L, "%s: %s: expected %s, got %s", what, key,
                   i >= GP_FIGURE_launch ? "seconds, from 0 to 1" : "a number above 0",
                   luaL_tolstring(L, -1, NULL));
    card->figure[i] = v;
}

static bool text_field(lua_State *L, const char *what, int idx, const char *key) {
    int type = lua_getfield(L, idx, key);
    if (type != LUA_TNIL && type != LUA_TSTRING)
        luaL_error(L, "%s: %s: expected a text, got %s", what, key, luaL_typename(L, -1));
    return type == LUA_TSTRING;
}

/* {name =, like = "h200", FIGURE =, …}: what is not given is as of `like`. */
static void own_card(lua_State *L, const char *what, int idx, gp_card *card) {
    *card = (gp_card){.name = "own card"};
    if (text_field(L, what, idx, "like")) {
        const gp_card *like = gp_card_find(lua_tostring(L, -1));
        if (!like) {
            luaL_error(L, "%s: like: %s", what, gp_error());
            return;
        }
        memcpy(card->figure, like->figure, sizeof card->figure);
        snprintf(card->name, sizeof card->name, "own card like %.15s", like->name);
    }
    if (text_field(L, what, idx, "name"))
        snprintf(card->name, sizeof card->name, "%.31s", lua_tostring(L, -1));
    lua_pop(L, 2);
    for (lua_pushnil(L); lua_next(L, idx); lua_pop(L, 1)) {
        if (lua_type(L, -2) != LUA_TSTRING)
            luaL_error(L, "%s: expected figures by name, as in {like = \"h200\", f32 = 1e13}",
                       what);
        const char *key = lua_tostring(L, -2);
        if (strcmp(key, "like") != 0 && strcmp(key, "name") != 0) set_figure(L, what, card, key);
    }
    for (int i = 0; i < GP_FIGURE_launch; i++)
        if (!(card->figure[i] > 0))
            luaL_error(L, "%s: no %s (expected all figures, or like = \"h200\" for the others)",
                       what, gp_figure_names[i]);
}

void gp_lua_check_card(lua_State *L, const char *what, int idx, gp_card *card) {
    if (lua_istable(L, idx)) {
        own_card(L, what, idx, card);
    } else {
        if (lua_type(L, idx) != LUA_TSTRING)
            luaL_error(L,
                       "%s: expected a card's name such as \"h200\", or a table of figures, got %s",
                       what, luaL_typename(L, idx));
        const char *name = lua_tostring(L, idx);
        const gp_card *known = gp_card_find(name);
        if (!known) {
            luaL_error(L, "%s: %s", what, gp_error());
            return;
        }
        *card = *known;
    }
    card->tf32 = tf32;
}

/* ---- settings ---- */

static void check_idle(lua_State *L, const char *key) {
    if (gp_prof_running())
        luaL_error(L, "sim.%s: a profile is running, whose times would be of two clocks", key);
}

static void set_card(lua_State *L) {
    gp_card card;
    bool off = lua_isnil(L, 3) || (lua_isboolean(L, 3) && !lua_toboolean(L, 3));
    if (!off) gp_lua_check_card(L, "sim.card", 3, &card);
    gp_lua_enter(L);
    if (!gp_model_set(off ? NULL : &card)) gp_lua_raise(L);
    gp_counter_change(L);
}

/* Seconds from 1e-9 to 1 at 3 as ns; nil: 0. `each`: of what. */
static uint64_t check_seconds(lua_State *L, const char *key, const char *each) {
    double s = lua_isnil(L, 3) ? 0 : lua_type(L, 3) == LUA_TNUMBER ? lua_tonumber(L, 3) : NAN;
    if (!lua_isnil(L, 3) && !(s >= 1e-9 && s <= 1))
        luaL_error(L, "sim.%s: expected seconds %s, from 1e-9 to 1, or nil, got %s", key, each,
                   luaL_tolstring(L, 3, NULL));
    return (uint64_t)llround(s * 1e9);
}

static void set_host(lua_State *L) {
    gp_model_set_host(check_seconds(L, "host", "an op"));
    gp_counter_change(L);
}

static void set_script(lua_State *L) {
    double s = lua_isnil(L, 3) ? 0 : lua_type(L, 3) == LUA_TNUMBER ? lua_tonumber(L, 3) : NAN;
    if (!(s >= 0 && s <= 1e-3))
        luaL_error(L,
                   "sim.script: expected seconds an instruction of Lua, from 0 to 1e-3, or nil, "
                   "got %s",
                   luaL_tolstring(L, 3, NULL));
    gp_model_set_script(lua_isnil(L, 3) ? -1 : llround(s * 1e9));
    gp_counter_change(L);
}

static void set_loader(lua_State *L) { gp_model_set_loader(check_seconds(L, "loader", "a batch")); }

static void set_tf32(lua_State *L) {
    if (!lua_isboolean(L, 3))
        luaL_error(L, "sim.tf32: expected true or false, got %s", luaL_typename(L, 3));
    tf32 = lua_toboolean(L, 3);
    if (!gp_model_card()) return;
    gp_card card = *gp_model_card();
    card.tf32 = tf32;
    gp_lua_enter(L);
    if (!gp_model_set(&card)) gp_lua_raise(L);
}

static int l_newindex(lua_State *L) {
    const char *key = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "";
    void (*set)(lua_State *) = !strcmp(key, "card")     ? set_card
                               : !strcmp(key, "host")   ? set_host
                               : !strcmp(key, "script") ? set_script
                               : !strcmp(key, "loader") ? set_loader
                               : !strcmp(key, "tf32")   ? set_tf32
                                                        : NULL;
    if (!set)
        return luaL_error(L,
                          "sim has no field \"%s\" to set; it has card, host, script, loader and "
                          "tf32",
                          luaL_tolstring(L, 2, NULL));
    check_idle(L, key);
    set(L);
    return 0;
}

int gp_lua_push_card(lua_State *L, const gp_card *card) {
    lua_createtable(L, 0, GP_FIGURES + 1);
    lua_pushstring(L, card->name);
    lua_setfield(L, -2, "name");
    for (int k = 0; k < GP_FIGURES; k++) {
        lua_pushnumber(L, card->figure[k]);
        lua_setfield(L, -2, gp_figure_names[k]);
    }
    return 1;
}

/* sim.cards() -> {h200 = {name =, FIGURE = …}, …} */
static int l_cards(lua_State *L) {
    const gp_card *card;
    lua_newtable(L);
    for (int i = 0; (card = gp_card_at(i)); i++) {
        gp_lua_push_card(L, card);
        lua_setfield(L, -2, card->key);
    }
    return 1;
}

/* sim.measured(op, dtype) -> whether the card's time for the op is of a share of its bound that was
 * measured, by the op's family; false: it is the bound, the least that the card can take. nil where
 * no card is modelled. "copy" is an op of the device's own memory. */
static int l_measured(lua_State *L) {
    const gp_card *card = gp_model_card();
    char name[64];
    snprintf(name, sizeof name, "%s", luaL_checkstring(L, 1));
    for (char *p = name; (p = strchr(p, '.'));) *p = '_'; /* linalg.svd */
    const gp_op *op = gp_op_find(name);
    if (!op) return luaL_error(L, "sim.measured: no op '%s' (expected one's name)", name);
    gp_dtype dt = GP_f32;
    if (!lua_isnoneornil(L, 2) && !gp_dtype_parse(luaL_checkstring(L, 2), &dt))
        return luaL_error(L, "sim.measured: no dtype '%s'", lua_tostring(L, 2));
    if (card) lua_pushboolean(L, gp_card_measured(card, gp_op_family(op), dt));
    else lua_pushnil(L);
    return 1;
}

/* ---- for gpush fit ---- */

/* Cards' memories, the smallest first, and what did not fit in those before `at`. */
static struct step {
    double memory;
    int64_t in_use;
    size_t bytes;
    gp_srcloc line;
} step[16];
static int steps, at;
static double given; /* bytes of memory that the card has now */

static bool give(double bytes) {
    gp_model_set_memory(given = bytes);
    return true;
}

/* Goes on as a card with more memory: little more than what is asked for, so that what waits for
 * Lua's collector is freed again before that is full, and is not in the peak; once a card's own
 * memory is full, as the next card. */
static bool more(gp_device *dev, int64_t in_use, size_t bytes) {
    double little = 1.02 * fmax(given, (double)in_use + (double)bytes);
    if (strcmp(dev->vt->kind, "sim") != 0 || at >= steps) return false;
    if (given < step[at].memory) return give(fmin(little, step[at].memory));
    if (at + 1 >= steps) return false;
    step[at].in_use = in_use, step[at].bytes = bytes, step[at].line = gp_srcloc_here();
    return give(fmin(little, step[++at].memory));
}

/* (list of bytes): the modelled card has up to the first of these, and to the next one each time
 * that more is needed. () -> what did not fit: a list of {memory, in_use, asked, file, line} */
static int l_grow(lua_State *L) {
    if (lua_istable(L, 1)) {
        for (steps = at = 0; steps < 16 && lua_rawgeti(L, 1, steps + 1) == LUA_TNUMBER; steps++)
            step[steps].memory = lua_tonumber(L, -1);
        gp_alloc_more = more;
        if (steps) give(fmin(1 << 20, step[0].memory));
    }
    lua_createtable(L, at, 0);
    for (int i = 0; i < at; i++) {
        lua_createtable(L, 0, 5);
        lua_pushnumber(L, step[i].memory), lua_setfield(L, -2, "memory");
        lua_pushinteger(L, step[i].in_use), lua_setfield(L, -2, "in_use");
        lua_pushinteger(L, (lua_Integer)step[i].bytes), lua_setfield(L, -2, "asked");
        lua_pushstring(L, step[i].line.file), lua_setfield(L, -2, "file");
        lua_pushinteger(L, step[i].line.line), lua_setfield(L, -2, "line");
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

void gp_lua_open_card(lua_State *L) {
    static const gp_lua_function functions[] = {{"sim.cards", "", l_cards},
                                                {"sim.measured", "str op, str? dtype", l_measured},
                                                {NULL, NULL, NULL}};
    static const luaL_Reg meta[] = {{"__index", l_index}, {"__newindex", l_newindex}, {NULL, NULL}};
    lua_createtable(L, 0, 1);
    gp_lua_set_functions(L, functions);
    luaL_newlib(L, meta);
    lua_pushliteral(L, "sim");
    lua_setfield(L, -2, "__name");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, "sim");
    lua_pushcfunction(L, l_grow);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.sim_grow");
}
