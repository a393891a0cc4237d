/* What scripts/lua/shell/kernel, which answers requests on the main thread, needs from C: messages,
 * and chunks as the prompt loads and runs them. */
#include "shell/kernel/kernel.h"

#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/sync/sync.h"
#include "shell/editor/edit.h"
#include "shell/editor/history.h"
#include "shell/shell.h"
#include "tensor/device/card/clock.h"

static gp_kmessage *current; /* the request that is answered */
static bool replied;

/* ---- messages ---- */

static void publish(const char *type, const char *content) {
    gp_ksend(gp_kmessage_new(GP_K_IOPUB, current, type, content, NULL));
}

/* receive(): the next request's type, its content and header as JSON, and whether a cell before it
 * failed; nothing at the end. */
static int l_receive(lua_State *L) {
    gp_kinput_of(NULL);
    gp_kmessage_free(current);
    replied = false;
    atomic_store(&gp_kbusy, false);
    current = gp_kqueue_take(&gp_krequests, true);
    if (!current) return 0;
    atomic_store(&gp_kbegan, gp_real_ns());
    gp_interrupt_idle();
    gp_sync_forget_idle();
    gp_ksend(gp_kmessage_new(GP_K_PARENT, current, "parent", NULL, NULL));
    publish("status", "{\"execution_state\":\"busy\"}");
    lua_pushstring(L, current->type);
    lua_pushlstring(L, current->part[GP_K_CONTENT].p, current->part[GP_K_CONTENT].n);
    lua_pushlstring(L, current->part[GP_K_HEADER].p, current->part[GP_K_HEADER].n);
    lua_pushboolean(L, current->aborted);
    return 4;
}

/* send(type, content[, metadata]): a reply to whom the request is from, all else to everyone; after
 * what was printed before. */
static int l_send(lua_State *L) {
    const char *type = luaL_checkstring(L, 1), *content = luaL_checkstring(L, 2);
    const char *metadata = luaL_optstring(L, 3, NULL);
    bool reply = strstr(type, "_reply") != NULL;
    replied = replied || reply;
    fflush(stdout);
    gp_ksend(gp_kmessage_new(reply ? GP_K_SHELL : GP_K_IOPUB, current, type, content, metadata));
    return 0;
}

/* A request that no one could answer, such as after a script took strings' methods away. */
static void apologize(void) {
    static const char ending[] = "_request";
    char type[sizeof current->type];
    size_t n = strlen(current->type), k = sizeof ending - 1;
    if (replied || n <= k || strcmp(current->type + n - k, ending)) return;
    snprintf(type, sizeof type, "%.*s_reply", (int)(n - k), current->type);
    gp_ksend(
        gp_kmessage_new(GP_K_SHELL, current, type,
                        "{\"status\":\"error\",\"ename\":\"KernelError\",\"evalue\":\"the kernel "
                        "could not answer\",\"traceback\":[],\"execution_count\":0}",
                        NULL));
}

/* finish(): the request is answered. */
static int l_finish(lua_State *L) {
    (void)L;
    apologize();
    publish("status", "{\"execution_state\":\"idle\"}");
    return 0;
}

/* abort(): cells that wait are not to run. */
static int l_abort(lua_State *L) {
    (void)L;
    gp_kqueue_abort(&gp_krequests, "execute_request");
    return 0;
}

/* ask(may): whether the request's front end may be asked for input. */
static int l_ask(lua_State *L) {
    gp_kinput_of(lua_toboolean(L, 1) ? current : NULL);
    return 0;
}

/* utf8(text): text in which what is not UTF-8 is replaced. */
static int l_utf8(lua_State *L) {
    size_t n;
    const char *s = luaL_checklstring(L, 1, &n);
    char *out = gp_kutf8(s, n, &n, NULL);
    if (!out) return luaL_error(L, "out of memory");
    lua_pushlstring(L, out, n);
    free(out);
    return 1;
}

/* ---- chunks ---- */

/* load(text, number): the function of an input of that number, or nil and the message of its
 * error. */
static int l_load(lua_State *L) {
    int number = (int)luaL_checkinteger(L, 2);
    luaL_checkstring(L, 1);
    gp_input_number(number);
    atomic_store(&gp_kcell, number);
    lua_settop(L, 1);
    if (gp_chunk_load_text(L) == LUA_OK) {
        gp_chunk_mention(L);
        return 1;
    }
    lua_pushnil(L);
    lua_insert(L, -2);
    return 2;
}

static bool is_whole(void *ctx, const char *text) {
    return gp_shell_chunk_state(ctx, text) != GP_CHUNK_INCOMPLETE;
}

/* clean(text): of a copied session, with its prompts, what was typed; else the text. */
static int l_clean(lua_State *L) {
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    if (!gp_edit_is_session(text)) return lua_settop(L, 1), 1;
    char *copy = lua_newuserdatauv(L, n + 1, 0);
    memcpy(copy, text, n + 1);
    gp_edit_clean(copy, is_whole, L);
    lua_pushstring(L, copy);
    return 1;
}

/* command(text): whether the text is a command, or begins with one. */
static int l_command(lua_State *L) {
    return lua_pushboolean(L, gp_shell_is_command(luaL_checkstring(L, 1))), 1;
}

/* pieces(text, loads): the chunks of a text, in order, that does not load, or begins with a
 * command; nil: it cannot be divided. */
static int l_pieces(lua_State *L) {
    int status = lua_toboolean(L, 2) ? LUA_OK : LUA_ERRSYNTAX;
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    lua_pushnil(L); /* in place of a message */
    if (!gp_paste_split(L, status)) return 0;
    lua_newtable(L);
    lua_insert(L, 1);
    do lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
    while (gp_paste_next(L));
    return 1;
}

/* keep(text): of the input that was loaded, for messages about its lines. */
static int l_keep(lua_State *L) {
    luaL_checkstring(L, 1);
    lua_settop(L, 1);
    gp_input_keep(L);
    return 0;
}

/* call(how, f, ...): true and the results, or false, the message, and whether it was interrupted.
 * how: "echo": what waits for a device is the display of a value; "quiet": it is ours and in no
 * ledger. */
static int l_call(lua_State *L) {
    const char *how = luaL_checkstring(L, 1);
    bool echo = *how == 'e', quiet = *how == 'q';
    gp_sync_echo(echo);
    gp_sync_quiet(quiet);
    int status = gp_shell_call(L, lua_gettop(L) - 2, LUA_MULTRET);
    gp_sync_echo(-echo);
    gp_sync_quiet(-quiet);
    lua_pushboolean(L, status == LUA_OK);
    lua_replace(L, 1);
    if (status == LUA_OK) return lua_gettop(L);
    luaL_tolstring(L, -1, NULL);
    lua_replace(L, 2);
    lua_settop(L, 2);
    lua_pushboolean(L, gp_interrupt_was());
    return 3;
}

static int l_begin(lua_State *L) {
    gp_shell_started();
    gp_shell_globals_begin(L);
    return 0;
}

/* ended(ok): after a chunk and what it shows. */
static int l_ended(lua_State *L) {
    gp_shell_globals_end(L, lua_toboolean(L, 1));
    gp_shell_ended(L);
    return 0;
}

/* muted(text): whether its value is not to be shown. */
static int l_muted(lua_State *L) {
    size_t n;
    return lua_pushboolean(L, gp_chunk_muted(luaL_checkstring(L, 1), &n)), 1;
}

/* told(text, ...): whether the only value of a chunk has been shown. */
static int l_told(lua_State *L) {
    const char *text = luaL_checkstring(L, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.told"); /* its owner meanwhile */
    lua_remove(L, 1);
    return lua_pushboolean(L, gp_chunk_told(L, text)), 1;
}

/* shown(...): the values as they are to be printed. */
static int l_shown(lua_State *L) { return gp_shell_shown(L); }

/* remember(text, ...): a chunk that succeeded, and its values. */
static int l_remember(lua_State *L) {
    const char *text = luaL_checkstring(L, 1);
    lua_pushvalue(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.remembered"); /* its owner meanwhile */
    lua_remove(L, 1);
    if (gp_shell_is_command(text)) return 0;
    gp_shell_remember(L, text);
    gp_debug_release(L); /* of an earlier error */
    return 0;
}

/* state(text): "complete", "incomplete" or "invalid". */
static int l_state(lua_State *L) {
    static const char *const names[] = {[GP_CHUNK_INCOMPLETE] = "incomplete",
                                        [GP_CHUNK_INVALID] = "invalid",
                                        [GP_CHUNK_COMPLETE] = "complete"};
    lua_pushstring(L, names[gp_shell_chunk_state(L, luaL_checkstring(L, 1))]);
    return 1;
}

/* history(): the list of chunks, the oldest first. history(chunk): adds it. */
static int l_history(lua_State *L) {
    const char *chunk = luaL_optstring(L, 1, NULL);
    if (chunk) return gp_history_add(chunk), 0;
    lua_createtable(L, gp_history_count(), 0);
    for (int i = 0; i < gp_history_count(); i++) {
        lua_pushstring(L, gp_history_get(i));
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

void gp_knative_push(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"receive", l_receive}, {"send", l_send},         {"finish", l_finish},
        {"abort", l_abort},     {"ask", l_ask},           {"utf8", l_utf8},
        {"load", l_load},       {"clean", l_clean},       {"pieces", l_pieces},
        {"keep", l_keep},       {"call", l_call},         {"begin", l_begin},
        {"ended", l_ended},     {"muted", l_muted},       {"told", l_told},
        {"shown", l_shown},     {"remember", l_remember}, {"state", l_state},
        {"history", l_history}, {"command", l_command},   {NULL, NULL}};
    luaL_newlib(L, functions);
}
