/* Failure text: one message per thread, set where something goes wrong, raised as a Lua error at
 * one edge in bindings/. */
#ifndef GP_ERROR_H
#define GP_ERROR_H

#include <signal.h>
#include <stdbool.h>

/* Sets this thread's message and returns false, so that callers can write `return gp_fail(...)`. At
 * most 1023 bytes are kept. */
bool gp_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The same for functions that return a pointer. */
#define gp_fail_null(...) (gp_fail(__VA_ARGS__), NULL)

/* The last message of this thread; "" if there is none. Valid until the next gp_fail of the
 * thread. */
const char *gp_error(void);
void gp_error_clear(void);

/* A signal handler writes it and any thread reads it. C++ only passes it on. */
#ifdef __cplusplus
typedef volatile sig_atomic_t gp_flag;
#else
typedef volatile _Atomic sig_atomic_t gp_flag;
#endif

/* Set by the shell's SIGINT handler, polled by gp_wait and by long CPU kernels, cleared by the
 * shell at the end of a line. */
#ifdef GP_PLUGIN /* the program's, reached through tensor/device/plugin_api.h's table */
extern gp_flag *gp_interrupted_at;
#define gp_interrupted (*gp_interrupted_at)
#else
extern gp_flag gp_interrupted;
#endif

#endif
