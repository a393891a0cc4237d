/* gpush doctor: what works on this machine and what does not, why, and what to do about it. */
#include "shell/shell.h"

int gp_doctor(lua_State *L) { return 0; }
