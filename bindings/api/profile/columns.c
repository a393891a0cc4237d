/* A profile's record for scripts/lua/report, as the registry's "gpush.record_columns". */
#include <stdlib.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "bindings/bind.h"
#include "bindings/api/profile/profile.h"
#include "profile/show/columns.h"

static void release_columns(void *owner) {
    gp_page_columns **c = owner;
    gp_page_columns_free(*c);
    *c = NULL;
}

/* The result's lists, at these indices while it is built; and the numbers that pointers have in
 * them. */
enum { RESULT = 3, CLASSES, FILES, STACKS, PLACES, NUMBERS };

/* Pushes p's number in the list at index `list`; true where it is new: then its value is missing
 * there. NULL has number 0. */
static bool number(lua_State *L, int list, const void *p) {
    if (!p) return lua_pushinteger(L, 0), false;
    if (lua_rawgetp(L, NUMBERS, p) != LUA_TNIL) return false;
    lua_pop(L, 1);
    lua_Integer n = (lua_Integer)lua_rawlen(L, list) + 1;
    lua_pushinteger(L, n);
    lua_rawsetp(L, NUMBERS, p);
    lua_pushinteger(L, n);
    return true;
}

/* Stores the value on top under the number below it, which stays. */
static void define(lua_State *L, int list) { lua_rawseti(L, list, lua_tointeger(L, -2)); }

static void push_file(lua_State *L, const char *file) {
    if (!number(L, FILES, file)) return;
    lua_pushstring(L, file);
    define(L, FILES);
}

/* A stack is {file, line, function, file …}, innermost first; functions are among the files. */
static void push_stack(lua_State *L, const gp_stack *s) {
    if (!number(L, STACKS, s)) return;
    lua_createtable(L, 3 * s->n, 0);
    for (int i = 0; i < s->n; i++) {
        push_file(L, s->frame[i].file);
        lua_rawseti(L, -2, 3 * i + 1);
        lua_pushinteger(L, s->frame[i].line);
        lua_rawseti(L, -2, 3 * i + 2);
        push_file(L, s->frame[i].function);
        lua_rawseti(L, -2, 3 * i + 3);
    }
    define(L, STACKS);
}

/* A place is {device, its kind, stream}: of memory without a stream. */
static void push_source(lua_State *L, const gp_rec *r) {
    bool memory = r->kind == GP_REC_ALLOC;
    bool in_region = r->kind == GP_REC_REGION || r->kind == GP_REC_SWITCH;
    if (!number(L, PLACES, in_region ? NULL : r->where)) return;
    const gp_device *dev = memory ? r->where : ((const gp_stream *)r->where)->dev;
    lua_createtable(L, 3, 0);
    lua_pushstring(L, dev->name);
    lua_rawseti(L, -2, 1);
    lua_pushstring(L, dev->vt->kind);
    lua_rawseti(L, -2, 2);
    if (!memory) {
        lua_pushinteger(L, ((const gp_stream *)r->where)->index);
        lua_rawseti(L, -2, 3);
    }
    define(L, PLACES);
}

/* What the class's kind says besides: a kernel's own name, an op's shapes. */
static void push_details(lua_State *L, const gp_rec *r) {
    char text[600];
    bool named = r->kind == GP_REC_KERNEL || r->kind == GP_REC_HELD || r->kind == GP_REC_CALL;
    if (named && r->kernel) lua_pushstring(L, r->kernel);
    else if (r->kind == GP_REC_OP && r->shapes)
        lua_pushstring(L, gp_rec_shapes(r->shapes, text, sizeof text));
    else lua_pushliteral(L, "");
}

/* A class is {kind, name, file, line, place, why, stack, details, failed}. */
static void push_class(lua_State *L, const gp_rec *r) {
    char name[1000];
    int at = 0;
    lua_createtable(L, 9, 0);
#define SET(push) ((push), lua_rawseti(L, -2, ++at))
    SET(lua_pushstring(L, gp_rec_kind_name((gp_rec_kind)r->kind)));
    SET(lua_pushstring(L, gp_rec_name(r, name, sizeof name)));
    SET(push_file(L, r->file));
    SET(lua_pushinteger(L, r->line));
    SET(push_source(L, r));
    SET(lua_pushstring(L, gp_rec_has_why(r) ? gp_why_name((gp_why)r->why) : ""));
    SET(push_stack(L, r->stack));
    SET(push_details(L, r));
    SET(lua_pushboolean(L, r->failed));
#undef SET
}

static void push_track(lua_State *L, const gp_prof *p, const gp_column_track *t) {
    lua_createtable(L, 0, 5);
    if (t->track->name) {
        lua_pushstring(L, t->track->name);
        lua_setfield(L, -2, "name");
    }
    if (p->ranks > 1) {
        lua_pushinteger(L, t->track->rank);
        lua_setfield(L, -2, "rank");
    }
    lua_pushboolean(L, t->track->worker);
    lua_setfield(L, -2, "worker");
    lua_pushinteger(L, (lua_Integer)t->events);
    lua_setfield(L, -2, "events");
    lua_pushlstring(L, t->text ? t->text : "", t->len);
    lua_setfield(L, -2, "text");
}

/* columns(prof) -> {classes, files, stacks, places, tracks, foreign, period}: events as
 * profile/show/columns.h says, and what their classes are. Numbers of files, stacks and places
 * begin with 1; 0: none. */
static int l_columns(lua_State *L) {
    static const gp_owner_type type = {"gpush.profile.columns", release_columns};
    static const char *const lists[] = {"classes", "files", "stacks", "places"};
    const gp_prof *p = gp_lua_check_prof(L, 1);
    lua_settop(L, 1);
    gp_page_columns **box = gp_lua_push_owner(L, &type, sizeof *box);
    gp_lua_enter(L);
    const gp_page_columns *c = *box = gp_page_columns_new(p);
    if (!c) return gp_lua_raise(L);
    lua_createtable(L, 0, 6);
    lua_pushboolean(L, p->foreign);
    lua_setfield(L, -2, "foreign");
    lua_pushinteger(L, (lua_Integer)p->period);
    lua_setfield(L, -2, "period");
    for (int i = 0; i < 4; i++) {
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setfield(L, RESULT, lists[i]);
    }
    lua_newtable(L);
    for (int i = 0; i < c->nclasses; i++) {
        gp_lua_may_stop(L, i);
        push_class(L, c->class[i]);
        lua_rawseti(L, CLASSES, i + 1);
    }
    lua_createtable(L, c->ntracks, 0);
    for (int i = 0; i < c->ntracks; i++) {
        push_track(L, p, &c->track[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, RESULT, "tracks");
    release_columns(box);
    lua_settop(L, RESULT);
    return 1;
}

/* Gives the C library's free memory back to the system, where that can be asked for. */
static int l_trim(lua_State *L) {
    (void)L;
#ifdef __GLIBC__
    malloc_trim(0);
#endif
    return 0;
}

void gp_lua_set_columns(lua_State *L) {
    lua_pushcfunction(L, l_columns);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.record_columns");
    lua_pushcfunction(L, l_trim);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.trim");
}
