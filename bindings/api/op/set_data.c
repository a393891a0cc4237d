/* What moving a model takes: a Lua object of a tensor that gets another tensor, as parameters do.
 * Whoever holds the object (an optimizer, a list) then has the new one. Functions for the Lua
 * files, in the registry. */
#include "bindings/bind.h"
#include "bindings/module.h"
#include "tensor/autograd/tape.h"
#include "tensor/device/form.h"

/* gpush.set_data(p, y, grad): p's object gets y's tensor, y's gets p's. The leaf stays p's, with
 * its hooks and watcher; its gradient becomes grad, or nil. p is a leaf, and y has no history. */
static int l_set_data(lua_State *L) {
    gp_tensor *p = gp_lua_check(L, 1, "set_data"), *y = gp_lua_check(L, 2, "set_data");
    gp_tensor *grad = gp_lua_totensor(L, 3), *before;
    gp_lua_enter(L);
    if (!gp_tensor_leaf(p)) return gp_lua_raise(L);
    gp_tensor_drop_history(y);
    y->leaf = p->leaf;
    y->leaf->refs++;
    y->requires_grad = p->requires_grad;
    before = y->leaf->grad;
    y->leaf->grad = grad ? gp_tensor_ref(grad) : NULL;
    gp_tensor_unref(before);
    ((gp_box *)lua_touserdata(L, 1))->t = y;
    ((gp_box *)lua_touserdata(L, 2))->t = p;
    return 0;
}

/* gpush.another(x): another object of the same tensor, which set_data of x does not change. */
static int l_another(lua_State *L) {
    return gp_lua_push(L, gp_tensor_ref(gp_lua_check(L, 1, "another")));
}

/* gpush.for_model(fn, ...): what fn returns, one value; waits in it are those of a model that
 * moves. */
static int l_for_model(lua_State *L) {
    const char *before = gp_wait_form_set("model");
    int status = lua_pcall(L, lua_gettop(L) - 1, 1, 0);
    gp_wait_form_set(before);
    return status == LUA_OK ? 1 : lua_error(L);
}

void gp_lua_open_set_data(lua_State *L) {
    lua_pushcfunction(L, l_for_model);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.for_model");
    lua_pushcfunction(L, l_set_data);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.set_data");
    lua_pushcfunction(L, l_another);
    lua_setfield(L, LUA_REGISTRYINDEX, "gpush.another");
}
