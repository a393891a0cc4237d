/* What the parts of gpush doctor share: doctor.c, doctor_files.c, and doctor_cuda.c on cards. */
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

/* The command that installs a package here, in text: names has those of apt, dnf, pacman, zypper
 * and apk, or NULL. NULL where none of them is here. */
const char *gp_doctor_install(const char *const names[GP_MANAGERS], char *text, size_t size);

/* ---- doctor_files.c: the installation ---- */

/* How this gpush came here, which decides what mends it: built in a clone; by pip; by a package of
 * the system; a tarball that was unpacked; `cmake --install`. */
typedef enum gp_origin { GP_CLONE, GP_WHEEL, GP_PACKAGE, GP_TARBALL, GP_PREFIX } gp_origin;
gp_origin gp_doctor_origin(void);
/* The clone's folder, or the prefix, which has bin, lib and share. */
const char *gp_doctor_root(void);
/* The same as a word of a shell's command, in quotes where it has blanks or the like. */
const char *gp_doctor_root_word(void);
/* The Python whose environment a wheel is in, as it is called. */
const char *gp_doctor_python(void);
/* Prints what brings the installation's files back; scripts: those of a clone's scripts/ that are
 * gone, with ", " between them, an empty text for many, or NULL for what is built. */
void gp_doctor_reinstall(const char *scripts);
/* Checks those that machines share. */
void gp_doctor_files(void);
/* Whether a file that matches the pattern begins with the text; NULL: whether there is one. */
bool gp_doctor_any_file(const char *pattern, const char *text);

/* The line on notebooks. */
void gp_doctor_notebook(void);
/* The lines on CUDA. */
void gp_doctor_cuda(lua_State *L);

#endif
