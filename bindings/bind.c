/* The edge between Lua and C: pushing and raising, the collector's charge, and source lines. */
#include "bindings/bind.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/paths.h"
#include "tensor/base/process.h"
#include "tensor/device/card/model.h"
#include "tensor/memory/alloc.h"
#include "tensor/memory/hostmem.h"
#include "tensor/base/intern.h"

_Static_assert(sizeof(lua_Integer) == 8 && sizeof(lua_Number) == 8,
               "Lua's numbers are an i64 or an f64");
const char gp_box_tag = 0;
static gp_srcloc script_line(void);
_Thread_local lua_State *gp_lua_state;

/* A tensor whose box Lua had no memory for; the next push or op releases it. Not one in a
 * finalizer, which may run while this one's box is made. */
static _Thread_local gp_tensor *stranded;

static void release_stranded(lua_State *L) {
    if (lua_gc(L, LUA_GCISRUNNING) > 0) gp_tensor_unref(stranded), stranded = NULL;
}

int gp_lua_push(lua_State *L, gp_tensor *t) {
    if (!t) return gp_lua_raise(L);
    if (stranded) release_stranded(L);
    gp_tensor *before = stranded;
    stranded = t;
    gp_box *b = lua_newuserdatauv(L, sizeof *b, 0);
    b->tag = &gp_box_tag;
    b->t = t;
    if (stranded != t) gp_tensor_unref(stranded); /* left by a finalizer */
    stranded = before;
    lua_rawgetp(L, LUA_REGISTRYINDEX, &gp_box_tag);
    lua_setmetatable(L, -2);
    gp_lua_charge(t);
    gp_lua_settle(L);
    return 1;
}

/* Pushes "PLACE: " where the place is what scripts/nn reports for the layers that are being called,
 * or "". */
static void push_location(lua_State *L) {
    int top = lua_gettop(L);
    if (lua_getfield(L, LUA_REGISTRYINDEX, "gpush.place") == LUA_TFUNCTION &&
        lua_pcall(L, 0, 1, 0) == LUA_OK && lua_type(L, -1) == LUA_TSTRING)
        lua_pushliteral(L, ": "), lua_concat(L, 2);
    else lua_settop(L, top), lua_pushliteral(L, "");
}

const gp_op *gp_lua_composite_called(lua_State *L) {
    const gp_op *found = NULL;
    lua_Debug ar;
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Slf", &ar);
        const gp_op *op = ar.currentline < 0 ? gp_lua_composite(L, -1) : NULL;
        lua_pop(L, 1);
        if (op) found = op;
        if (ar.currentline >= 0 && !gp_lua_ours(ar.source)) break;
    }
    return found;
}

/* Whether the failed work was queued at another line: then it is only reported here, at a wait. */
static bool from_elsewhere(const char *text, gp_srcloc loc) {
    char here[512];
    const char *queued = strstr(text, " (queued at ");
    snprintf(here, sizeof here, " (queued at %s:%d on ", loc.file ? loc.file : "", loc.line);
    return queued && strncmp(queued, here, strlen(here));
}

/* Pushes the message with the name that the script called at loc: the composite's where a row's
 * failed inside it; linalg.inv for linalg_inv. */
static void push_message(lua_State *L, gp_srcloc loc) {
    const char *text = gp_error(), *colon = strstr(text, ": ");
    char name[64];
    size_t n = colon ? (size_t)(colon - text) : 0;
    if (n > 1 && text[n - 1] == '_') n--;
    if (n == 0 || n >= sizeof name) return (void)lua_pushstring(L, text);
    memcpy(name, text, n), name[n] = 0;
    if (!gp_op_find(name)) return (void)lua_pushstring(L, text);
    const gp_op *op = from_elsewhere(text, loc) ? NULL : gp_lua_composite_called(L);
    if (op) return (void)lua_pushfstring(L, "%s%s", op->name, colon);
    char *dot =
        !strncmp(name, "linalg_", 7) || !strncmp(name, "fft_", 4) ? strchr(name, '_') : NULL;
    if (!dot) return (void)lua_pushstring(L, text);
    *dot = '.';
    lua_pushfstring(L, "%s%s", name, colon);
}

bool gp_lua_at_prompt;

void gp_lua_note(lua_State *L, const char *text) {
    int rank;
    if (gp_lua_at_prompt) lua_writestringerror("%s\n", text);
    else if (gp_process.warns(text, &rank)) {
        if (rank >= 0) text = lua_pushfstring(L, "rank %d: %s", rank, text);
        lua_warning(L, text, 0);
        if (rank >= 0) lua_pop(L, 1);
    }
}

int gp_lua_raise(lua_State *L) {
    gp_lua_enter(L);
    luaL_checkstack(L, 6, NULL);
    gp_srcloc loc = script_line();
    if (loc.file) lua_pushfstring(L, "%s:%d: ", loc.file, loc.line);
    else lua_pushliteral(L, "");
    push_message(L, loc);
    const char *said = lua_tostring(L, -1);
    size_t n = loc.file ? strlen(loc.file) : 0, digits = 0;
    if (n && !strncmp(said, loc.file, n) && said[n] == ':')
        digits = strspn(said + n + 1, "0123456789");
    if (digits && said[n + 1 + digits] == ':') { /* a function of the script's says its own */
        lua_pushliteral(L, "");
        lua_replace(L, -3);
    }
    push_location(L);
    lua_insert(L, -2);
    lua_concat(L, 3);
    return lua_error(L);
}

/* Scripts reach __gc and __close by getmetatable, and may call them with anything. */
static int l_release(lua_State *L) {
    const gp_owner_type *type = lua_touserdata(L, lua_upvalueindex(1));
    void *owner = luaL_testudata(L, 1, type->name);
    if (owner) type->release(owner);
    return 0;
}

void *gp_lua_push_owner(lua_State *L, const gp_owner_type *type, size_t size) {
    void *owner = memset(lua_newuserdatauv(L, size, 0), 0, size);
    if (luaL_newmetatable(L, type->name)) {
        lua_pushlightuserdata(L, (void *)(uintptr_t)type);
        lua_pushcclosure(L, l_release, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -3, "__gc");
        lua_setfield(L, -2, "__close");
    }
    lua_setmetatable(L, -2);
    return owner;
}

static void free_block(void *owner) {
    void **block = owner;
    free(*block);
    *block = NULL;
}

void *gp_lua_push_block(lua_State *L) {
    static const gp_owner_type type = {"gpush.block", free_block};
    return gp_lua_push_owner(L, &type, sizeof(void *));
}

const char *gp_lua_type_text(lua_State *L, int idx) {
    gp_box *b = lua_touserdata(L, idx);
    bool closed = b && lua_rawlen(L, idx) == sizeof *b && b->tag == (const void *)&gp_box_tag;
    return closed && !b->t ? "a closed tensor" : luaL_typename(L, idx);
}

gp_tensor *gp_lua_check(lua_State *L, int arg, const char *fn) {
    gp_tensor *t = gp_lua_totensor(L, arg);
    if (!t) {
        gp_fail("%s: argument #%d: expected a tensor, got %s", fn, arg, gp_lua_type_text(L, arg));
        gp_lua_raise_argument(L);
    }
    return t;
}

/* What this thread's tensors owe the collector since its last step; and for each kind of memory,
 * the host's and a card's: since the last full collection, and what may be in use on `dev`, the
 * device of the last large tensor there, before the next one. */
typedef struct share {
    size_t owed;
    int64_t allowed;
    gp_device *dev;
} share;
enum { HOST, CARD, KINDS };
static _Thread_local struct {
    size_t debt;
    share of[KINDS];
} due = {.of = {{.allowed = 24 << 20}, {.allowed = 24 << 20}}};

static bool is_card(const gp_device *dev) {
    return dev->vt->segments || (!dev->vt->on_host && gp_model_card());
}

/* Tensor bytes are added to the collector's debt at one sixteenth: then a loop over large tensors
 * runs a step every turn or two, and one over small tensors about as often as their boxes alone
 * would make it. A recorded op leaves a node, a block of 1 KiB (SMALL in tape.c), which counts as
 * four: at its own size the dead nodes between two steps would fill a core's second-level cache.
 * Tensors from BIG to LARGE bytes, which leave that cache either way, count a quarter. */
void gp_lua_charge(const gp_tensor *t) {
    gp_storage *st = t->storage;
    enum { NODE_BYTES = 4096, BIG = 512 << 10, LARGE = 4 << 20 };
    if (atomic_load_explicit(&st->charged, memory_order_relaxed)) return;
    atomic_store_explicit(&st->charged, true, memory_order_relaxed);
    share *s = &due.of[is_card(st->dev) ? CARD : HOST];
    size_t bytes = st->bytes + (t->node ? NODE_BYTES : 0);
    if (st->bytes > BIG) bytes -= ((st->bytes < LARGE ? st->bytes : LARGE) - BIG) / 4 * 3;
    due.debt += bytes;
    s->owed += bytes;
    if (st->bytes >= 16384) s->dev = st->dev;
}

/* The shell's collector is generational (shell/main.c): there a tensor that survives two steps is
 * old, and old ones wait until Lua's own heap doubles. So a full collection runs every FULL bytes,
 * or more where Lua's heap is large (as often as an incremental collector at 140 % begins a cycle),
 * and whenever tensors use twice what the last one left plus 24 MiB.
 *
 * A card passes 16 MiB in 5 us, and a full collection takes 0.1 us and more for each KiB of Lua's
 * heap: there it runs every CARD_BYTES for each byte of the heap, and whenever tensors use what the
 * last one left, and again as much plus 1/32 of the memory, but not more than half of what was
 * free. */
enum { FULL = 16 << 20, HOST_BYTES = 6, CARD_BYTES = 8192, CARD_PART = 32 };

static bool is_due(const share *s, size_t full, size_t bytes, size_t heap_kib) {
    return (s->owed >= full && (s->owed / bytes) >> 10 >= heap_kib) ||
           (s->dev && gp_alloc_in_use(s->dev) >= s->allowed);
}

/* Not in a data loader's worker, where other threads hold the memory in use. */
static bool full_wanted(lua_State *L) {
    if (gp_thread_loader()) return false;
    size_t kib = (size_t)lua_gc(L, LUA_GCCOUNT);
    return is_due(&due.of[HOST], FULL, HOST_BYTES, kib) ||
           is_due(&due.of[CARD], FULL, CARD_BYTES, kib);
}

/* After a full collection. */
static void begin_again(share *s, bool card) {
    s->owed = 0;
    if (!s->dev) return;
    int64_t left = gp_alloc_in_use(s->dev), more = left + (24 << 20);
    if (card) {
        gp_mem_stats m;
        gp_alloc_stats(s->dev, &m);
        int64_t all = m.limit, host = (int64_t)gp_host_capacity();
        if (!s->dev->vt->segments && all > host) all = host; /* where a modelled card's data lies */
        int64_t half = (all - left) / 2;
        more = left + all / CARD_PART < half ? left + all / CARD_PART : half;
        if (more < 24 << 20) more = 24 << 20;
    }
    s->allowed = left + more;
}

void gp_lua_settle(lua_State *L) {
    if (__builtin_expect(stranded != NULL, 0)) release_stranded(L);
    if (due.debt < 16384) return;
    size_t kib = due.debt >> 14;
    due.debt &= 16383;
    if (!full_wanted(L)) {
        lua_gc(L, LUA_GCSTEP, (int)(kib > 1 << 20 ? 1 << 20 : kib));
        return;
    }
    lua_gc(L, LUA_GCCOLLECT);
    for (int k = 0; k < KINDS; k++) begin_again(&due.of[k], k == CARD);
}

static void collect(void) {
    if (gp_lua_state) lua_gc(gp_lua_state, LUA_GCCOLLECT);
}

/* ---- source lines ---- */

/* The part of a chunk's source after the folder of the chunks that gpush ships; NULL for the
 * user's. */
static const char *shipped(const char *source) {
    const char *dir = gp_scripts_dir();
    size_t n = dir ? strlen(dir) : 0;
    if (!dir || source[0] != '@' || strncmp(source + 1, dir, n) || source[1 + n] != '/')
        return NULL;
    return source + 1 + n;
}

/* Users do not look at the chunks that gpush ships as its library. */
bool gp_lua_ours(const char *source) { return shipped(source) != NULL; }

/* What is known of a chunk: the name to show for it, whether gpush ships it, and whether it is the
 * prompt's own, which has no line. */
typedef struct chunk {
    const char *source, *file;
    bool ours, prompts;
} chunk;

/* Ar's chunk. Most often it is the last one, which has the same source. */
static chunk chunk_of(const lua_Debug *ar) {
    static _Thread_local chunk last;
    if (last.source && ar->srclen < 256 && !strcmp(last.source, ar->source)) return last;
    const char *path = shipped(ar->source);
    last = (chunk){.file = gp_intern_text(ar->short_src),
                   .ours = path != NULL,
                   .prompts = path && !strncmp(path, "/shell/", 7)};
    last.source = ar->srclen < 256 ? gp_intern_text(ar->source) : NULL;
    return last;
}

/* The first Lua line up the stack that is the user's; else the first Lua line, except the prompt's.
 * Only a level with a line is asked for its chunk. */
static gp_srcloc script_line(void) {
    lua_State *L = gp_lua_state;
    lua_Debug ar;
    gp_srcloc first = {0};
    for (int level = 0; L && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "l", &ar);
        if (ar.currentline < 0) continue;
        int line = ar.currentline;
        lua_getinfo(L, "S", &ar);
        chunk c = chunk_of(&ar);
        if (c.prompts) continue;
        if (!c.ours) return (gp_srcloc){c.file, line};
        if (!first.file) first = (gp_srcloc){c.file, line};
    }
    return first;
}

void gp_lua_install_hooks(void) {
    if (gp_srcloc_script != script_line)
        gp_srcloc_script = script_line; /* a data loader's worker opens a state while others run */
    if (gp_alloc_collect != collect) gp_alloc_collect = collect;
}

static const char kind_key = 0; /* its address: registry key of the gp_lua_kind */

gp_lua_kind gp_lua_state_kind(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &kind_key);
    gp_lua_kind kind = (gp_lua_kind)lua_tointeger(L, -1);
    lua_pop(L, 1);
    return kind;
}

void gp_lua_set_state_kind(lua_State *L, gp_lua_kind kind) {
    lua_pushinteger(L, kind);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &kind_key);
}
