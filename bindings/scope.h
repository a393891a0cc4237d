/* Values that a script opens and closes: `local _ <close> = f(x)`, or f(x, fn, ...) which closes
 * when fn is done. */
#ifndef GP_SCOPE_H
#define GP_SCOPE_H

#include <lua.h>

/* Raises unless argument arg is absent or can be called. */
void gp_lua_check_fn(lua_State *L, int arg, const char *what);

/* Ends such a function: the opened value, which has __close, is on top, fn and its arguments (if
 * given) are from index arg on. Returns the value, or calls fn, closes the value even on an error,
 * and returns fn's results. fn may yield. */
int gp_lua_scoped(lua_State *L, int arg);

#endif
