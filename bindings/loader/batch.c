/* Making batches by the user's functions: see batch.h. */
#include "bindings/loader/batch.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/bind.h"
#include "bindings/sampling/counter.h"
#include "tensor/base/error.h"
#include "tensor/device/card/model.h"
#include "tensor/device/stream/thread.h"
#include "tensor/rng.h"

#define FAULT "gpush.loader.error"

/* Indices of l_make's stack. */
enum { PROGRAM = 1, RANDOMSEED, GET, DATASET, COLLATE, SAMPLES };

typedef struct job {
    gp_loader_batch *b;
    int from, to, slot; /* slot: the one being made */
    const gp_making *how;
} job;

gp_loader_batch *gp_loader_batch_new(int64_t number, const int64_t *index, int n, bool stacked,
                                     bool pin) {
    gp_loader_batch *b = calloc(1, sizeof *b + (size_t)n * sizeof *index);
    if (!b) return gp_fail_null("out of memory");
    b->number = number;
    b->n = b->left = n;
    b->asked = gp_now_ns();
    b->index = (int64_t *)(b + 1);
    memcpy(b->index, index, (size_t)n * sizeof *index);
    b->fault.slot = -1;
    if (!stacked || (b->stack = gp_collate_new(n, pin))) return b;
    free(b);
    return NULL;
}

void gp_loader_batch_free(gp_loader_batch *b) {
    if (!b) return;
    gp_collate_free(b->stack);
    gp_serial_clear(&b->result);
    gp_serial_clear(&b->fault.value);
    free(b->fault.text);
    free(b);
}

/* Seeds the generators of this thread from (seed, epoch, at): tensors' and math.random. */
static void seed(lua_State *L, const gp_making *how, uint64_t at) {
    uint32_t w[4];
    gp_philox(how->seed, how->epoch, at, w);
    gp_generator = (gp_rng){.seed = w[0] | (uint64_t)w[1] << 32};
    lua_pushvalue(L, RANDOMSEED);
    lua_pushinteger(L, w[2]);
    lua_pushinteger(L, w[3]);
    lua_call(L, 2, 0);
}

/* The first sample of a batch determines its shape, whichever worker has it; then each writes its
 * own slot, without a lock. */
static bool store_sample(lua_State *L, job *j, int first, int count) {
    gp_loader_batch *b = j->b;
    int64_t index = b->index[j->slot];
    gp_lock(j->how->lock);
    bool ok = gp_collate_shaped(b->stack) || gp_collate_shape(b->stack, L, first, count, index);
    gp_unlock(j->how->lock);
    return ok && gp_collate_store(b->stack, j->slot, L, first, count, index);
}

/* Keeps a sample for collate; one of several values is a list. */
static void keep_sample(lua_State *L, int slot, int first, int count) {
    if (count != 1) {
        lua_createtable(L, count, 0);
        lua_insert(L, first);
        for (int i = count; i > 0; i--) lua_rawseti(L, first, i);
    }
    lua_rawseti(L, SAMPLES, slot + 1);
}

/* Runs the user's function on the batch's samples, all in this state; its values are serialized for
 * the main one. */
static void collate(lua_State *L, job *j) {
    gp_loader_batch *b = j->b;
    j->slot = b->n;
    seed(L, j->how, ~(uint64_t)b->number); /* no sample has such an index */
    lua_pushvalue(L, COLLATE);
    lua_pushvalue(L, SAMPLES);
    lua_call(L, 1, LUA_MULTRET);
    int count = lua_gettop(L) - SAMPLES;
    gp_serial *p = gp_serial_push(L);
    if (!gp_serialize(L, SAMPLES + 1, count, "collate's result", false, p)) gp_lua_raise(L);
    b->result = *p;
    *p = (gp_serial){0};
}

/* Arguments: the program, the job. */
static int l_make(lua_State *L) {
    static const char *const fields[] = {"randomseed", "get", "dataset", "collate"};
    job *j = lua_touserdata(L, 2);
    lua_settop(L, PROGRAM);
    for (int i = 0; i < 4; i++) lua_getfield(L, PROGRAM, fields[i]);
    lua_createtable(L, lua_isnil(L, COLLATE) ? 0 : j->b->n, 0);
    for (j->slot = j->from; j->slot < j->to; j->slot++) {
        if (atomic_load_explicit(j->how->stop, memory_order_relaxed)) return 0;
        gp_counter_change(L); /* a worker's state is of its own */
        seed(L, j->how, (uint64_t)j->b->index[j->slot]);
        lua_pushvalue(L, GET);
        lua_pushvalue(L, DATASET);
        lua_pushinteger(L, j->b->index[j->slot]);
        lua_call(L, 2, LUA_MULTRET);
        gp_lua_enter(L);
        int count = lua_gettop(L) - SAMPLES;
        if (j->b->stack) {
            if (!store_sample(L, j, SAMPLES + 1, count)) return gp_lua_raise(L);
        } else {
            keep_sample(L, j->slot, SAMPLES + 1, count);
        }
        lua_settop(L, SAMPLES);
    }
    if (!j->b->stack) collate(L, j);
    return 0;
}

/* ---- faults ---- */

/* Message handler: a text gets its traceback, anything else becomes {value, traceback}. */
static int l_trace(lua_State *L) {
    if (lua_type(L, 1) == LUA_TSTRING) return luaL_traceback(L, L, lua_tostring(L, 1), 1), 1;
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    luaL_traceback(L, L, NULL, 1);
    lua_rawseti(L, -2, 2);
    return 1;
}

/* The text of the error value at argument 1, {value, traceback}; serializes the value into 2. */
static int l_describe(lua_State *L) {
    gp_serial *p = lua_touserdata(L, 2);
    lua_rawgeti(L, 1, 1);
    int value = lua_gettop(L);
    if (!gp_serialize(L, value, 1, "the error", false, p)) gp_error_clear();
    if (luaL_getmetafield(L, value, "__tostring") != LUA_TNIL) luaL_tolstring(L, value, NULL);
    else lua_pushfstring(L, "(error object is a %s value)", luaL_typename(L, value));
    lua_pushliteral(L, "\n");
    lua_rawgeti(L, 1, 2);
    lua_concat(L, 3);
    return 1;
}

/* Makes the error on top the batch's, unless an earlier sample has one. */
static void set_fault(lua_State *L, job *j) {
    gp_sample_error f = {.slot = j->slot};
    if (lua_istable(L, -1)) {
        lua_pushcfunction(L, l_describe);
        lua_insert(L, -2);
        lua_pushlightuserdata(L, &f.value);
        lua_pcall(L, 2, 1, 0);
    }
    const char *text = lua_tostring(L, -1);
    f.text = strdup(text ? text : "not enough memory");
    gp_lock(j->how->lock);
    gp_sample_error *b = &j->b->fault;
    if (b->slot < 0 || f.slot < b->slot) {
        gp_sample_error before = *b;
        *b = f;
        f = before;
    }
    gp_unlock(j->how->lock);
    free(f.text);
    gp_serial_clear(&f.value);
}

void gp_loader_batch_make(lua_State *L, int program, gp_loader_batch *b, int from, int to,
                          const gp_making *how) {
    int top = lua_gettop(L);
    job j = {.b = b, .from = from, .to = to, .slot = from, .how = how};
    gp_lua_enter(L);
    program = lua_absindex(L, program);
    lua_pushcfunction(L, l_trace);
    lua_pushcfunction(L, l_make);
    lua_pushvalue(L, program);
    lua_pushlightuserdata(L, &j);
    gp_clock_separate(true);
    if (lua_pcall(L, 2, 0, top + 1) != LUA_OK) set_fault(L, &j);
    atomic_fetch_add(&b->counted, gp_clock_separate(false));
    lua_settop(L, top);
}

/* tostring of such an error. */
static int l_fault_text(lua_State *L) {
    lua_getfield(L, 1, "message");
    return 1;
}

/* Raises the fault: its text, or for an error that is not a string a table of value, message and
 * index. */
static int raise_fault(lua_State *L, const gp_loader_batch *b) {
    const gp_sample_error *f = &b->fault;
    gp_lua_enter(L);
    gp_srcloc loc = gp_srcloc_here();
    if (loc.file) lua_pushfstring(L, "%s:%d: ", loc.file, loc.line);
    else lua_pushliteral(L, "");
    if (f->slot == b->n)
        lua_pushfstring(L, "data.Loader: collate of batch %I: ", (LUAI_UACINT)b->number);
    else lua_pushfstring(L, "data.Loader: sample %I: ", (LUAI_UACINT)b->index[f->slot]);
    lua_pushstring(L, f->text ? f->text : "out of memory");
    lua_concat(L, 3);
    if (!f->value.bytes) return lua_error(L);
    lua_createtable(L, 0, 3);
    lua_insert(L, -2);
    lua_setfield(L, -2, "message");
    gp_deserialize(L, &f->value);
    lua_setfield(L, -2, "value");
    if (f->slot < b->n) lua_pushinteger(L, b->index[f->slot]), lua_setfield(L, -2, "index");
    if (luaL_newmetatable(L, FAULT)) {
        lua_pushcfunction(L, l_fault_text);
        lua_setfield(L, -2, "__tostring");
    }
    lua_setmetatable(L, -2);
    return lua_error(L);
}

/* ---- where the host's time is counted ---- */

uint64_t gp_loader_batch_counted(const gp_loader_batch *b) {
    if (!gp_clock_op_ns()) return 0;
    return gp_model_loader() ? gp_model_loader() : atomic_load(&b->counted);
}

/* The next 64 bits of math.random, through the program's field. */
static lua_Integer random_bits(lua_State *L, int program) {
    lua_getfield(L, program, "random");
    lua_pushinteger(L, 0);
    lua_call(L, 1, 1);
    lua_Integer v = lua_tointeger(L, -1);
    lua_pop(L, 1);
    return v;
}

static void seed_random(lua_State *L, int program, lua_Integer a, lua_Integer b) {
    lua_getfield(L, program, "randomseed");
    lua_pushinteger(L, a);
    lua_pushinteger(L, b);
    lua_call(L, 2, 0);
}

void gp_loader_batch_make_on_clock(lua_State *L, int program, gp_loader_batch *b,
                                   const gp_making *how) {
    lua_Integer one = random_bits(L, program), two = random_bits(L, program);
    gp_rng kept = gp_generator;
    gp_loader_batch_make(L, program, b, 0, b->n, how);
    gp_clock_work(gp_loader_batch_counted(b));
    gp_generator = kept;
    seed_random(L, program, one, two);
}

uint64_t gp_loader_batch_wait_on_clock(const gp_loader_batch *b, uint64_t made, int workers) {
    uint64_t begins = made > b->asked ? made : b->asked;
    uint64_t end = begins + gp_loader_batch_counted(b) / (uint64_t)workers;
    if (gp_clock_op_ns()) gp_clock_jump(end);
    return end;
}

int gp_loader_batch_push(lua_State *L, gp_loader_batch *b) {
    if (b->fault.slot >= 0) return raise_fault(L, b);
    return b->stack ? gp_collate_push(b->stack, L) : gp_deserialize(L, &b->result);
}
