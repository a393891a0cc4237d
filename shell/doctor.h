/* What the parts of gpush doctor share: shell/doctor.c, and shell/doctor_cuda.c on cards. */
#ifndef GP_DOCTOR_H
#define GP_DOCTOR_H

#include <lua.h>
#include <stdbool.h>
#include <stddef.h>

/* ABSENT: does not work here, and nothing else is affected; BROKEN: must be fixed. */
typedef enum gp_finding { GP_WORKS, GP_ABSENT, GP_BROKEN } gp_finding;
enum { GP_MANAGERS = 5 };

/* Prints a line on `what`, and what mends it. */
__attribute__((format(printf, 3, 4))) void gp_doctor_say(gp_finding finding, const char *what,
                                                         const char *fmt, ...);
__attribute__((format(printf, 1, 2))) void gp_doctor_fix(const char *fmt, ...);

/* Runs Lua text that should return true; if it does not, says why. */
bool gp_doctor_proves(lua_State *L, gp_finding failed, const char *what, const char *text);

/* The command that installs a package here, in text: names has those of apt, dnf, pacman, zypper
 * and apk, or NULL. NULL where none of them is here. */
const char *gp_doctor_install(const char *const names[GP_MANAGERS], char *text, size_t size);

/* Whether this is a clone, with scripts/gpush and CMakeLists.txt. */
bool gp_doctor_in_clone(void);

/* The lines on CUDA. */
void gp_doctor_cuda(lua_State *L);

#endif
