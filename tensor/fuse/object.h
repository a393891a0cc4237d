/* Shared objects compiled from C while the program goes on, and kept on disk for the next time. */
#ifndef GP_FUSE_OBJECT_H
#define GP_FUSE_OBJECT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One of them; of a single thread at a time. */
typedef struct gp_object gp_object;
typedef enum gp_object_state { GP_OBJECT_BUSY, GP_OBJECT_READY, GP_OBJECT_FAILED } gp_object_state;

/* Begins to make the object of `source` by GCC with `flags`, separated by spaces: opens the one on
 * disk, or starts the compiler. Never waits. NULL where it cannot even be tried, or two compilers
 * are at work: *why is NULL then, and a later call may do. */
gp_object *gp_object_begin(const char *source, const char *flags, const char **why);
typedef struct gp_object_own {
    const char *source, *flags;
    bool cxx, only_found; /* only_found: no compiler is started; "" in *why: it is not on disk */
} gp_object_own;
/* The same for a source that a user wrote, in C or C++: that the compiler refuses it counts as no
 * failure of the compiler, and gp_object_log has all that it said. */
gp_object *gp_object_begin_own(const gp_object_own *how, const char **why);
/* Of a failed one: what the compiler wrote, or why there is none; valid as long as o is. */
const char *gp_object_log(const gp_object *o);
/* Of a ready one: the bytes of its file, *n of them, by free. NULL where it has gone. */
char *gp_object_read(const gp_object *o, size_t *n);
/* Whether it is ready; `wait` sleeps until it is or the calling thread is stopped. */
gp_object_state gp_object_poll(gp_object *o, bool wait);
/* Of a ready one: a function in it, or NULL. */
void *gp_object_symbol(const gp_object *o, const char *name);
/* Ends its compiler, or unloads it: nothing in it may run. NULL is fine. */
void gp_object_free(gp_object *o);

/* Whether programs are to be compiled: those that run often, beside the program; or each at its
 * first call, which waits for it. On, unless GPUSH_FUSE_COMPILE is 0, or wait. Any thread may
 * call. */
typedef enum gp_compiling { GP_COMPILE_OFF, GP_COMPILE_ON, GP_COMPILE_WAIT } gp_compiling;
gp_compiling gp_object_compiling(void);
void gp_object_set_compiling(gp_compiling c);

/* From now on nothing on disk is taken or left there, and a compiler has 30 seconds: for doctor. */
void gp_object_begin_trial(void);

/* What this process did so far. */
typedef struct gp_object_counts {
    int compiled, loaded, failed, running; /* loaded: from disk */
    char why[300];                         /* the last failure */
} gp_object_counts;
/* Sets n to that. */
void gp_object_count(gp_object_counts *n);

/* Notes what happened to a program that another compiler, of a device, has made an object of:
 * READY: compiled; BUSY: found on disk; FAILED: the reason is why. Any thread may call. */
void gp_object_note(gp_object_state what, const char *why);

/* For doctor: the compiler, the folder and its size. False, with the reason in text, where nothing
 * can be compiled. */
bool gp_object_describe(char *text, size_t size);
/* When the program ends: ends all compilers. */
void gp_object_end_all(void);

/* ---- cache.c: the folder ---- */

enum { GP_OBJECT_NAME = 40 };

/* Opens $XDG_CACHE_HOME/gpush/fused, or ~/.cache/gpush/fused, which is made with mode 0700; it must
 * be the user's, and nobody else may write there. -1 with the reason in why. */
int gp_fuse_cache_open(char *why, size_t size);
/* dlopens file `name` in the folder fd if it is whole, the user's, and nobody else's to write. NULL
 * with the reason in why; "" where there is none. */
void *gp_fuse_cache_load(int fd, const char *name, char *why, size_t size);
/* Writes these bytes to a new file in the folder, for the user only, whose name is "tmp-", a
 * temporary's tag (tensor/io/temporary.h) and ".c" or ".cu". Returns its descriptor: while that is
 * open, other processes keep the file and those of the same tag. -1 with the reason. */
int gp_fuse_cache_create(int fd, const char *name, const void *p, size_t n, char *why, size_t size);
/* Makes the file `from` in the folder, which a compiler wrote, the object `name`: checked, sealed
 * with its hash and on disk before it has that name. Removes the oldest objects beyond the limit,
 * and what dead processes left. False with the reason. */
bool gp_fuse_cache_store(int fd, const char *from, const char *name, char *why, size_t size);
/* The contents of file `name` in the folder fd, *n bytes, by free, under the same conditions. NULL
 * with the reason in why; "" where there is none. */
char *gp_fuse_cache_read(int fd, const char *name, size_t *n, char *why, size_t size);
/* Makes file `name` of these bytes, as gp_fuse_cache_store does. */
bool gp_fuse_cache_write(int fd, const char *name, const void *p, size_t n, char *why, size_t size);
/* Objects in the folder and their bytes. */
int gp_fuse_cache_size(int fd, int64_t *bytes);
/* 32 digits of a hash of the text, to which h is added. */
void gp_fuse_cache_hash(const void *text, size_t n, unsigned __int128 *h);

#endif
