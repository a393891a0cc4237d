/* TAP for tests in C: each test program reports its assertions through these and ends with `return
 * tap_done();`. */
#ifndef GP_TAP_H
#define GP_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static int tap_count, tap_failed;

/* Prints s, a test's name or a reason, on one line, with TAP's directives escaped. */
static inline void tap_put(const char *s) {
    for (; *s; s++) {
        if (*s == '#' || *s == '\\') putchar('\\');
        putchar(*s == '\n' || *s == '\r' ? ' ' : *s);
    }
}

static inline bool tap_vok(bool ok, const char *fmt, va_list ap) {
    char name[512];
    vsnprintf(name, sizeof name, fmt, ap);
    printf("%sok %d - ", ok ? "" : "not ", ++tap_count);
    tap_put(name);
    putchar('\n');
    fflush(stdout); /* so that reports survive a crash in the next assertion */
    if (!ok) tap_failed++, fprintf(stderr, "# failed %d: %s\n", tap_count, name);
    return ok;
}

/* One assertion, named by fmt; returns ok so that a caller can stop early. */
__attribute__((format(printf, 2, 3))) static inline bool tap_ok(bool ok, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    tap_vok(ok, fmt, ap);
    va_end(ap);
    return ok;
}

__attribute__((format(printf, 3, 4))) static inline bool tap_is_int(long long got, long long want,
                                                                    const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    bool ok = tap_vok(got == want, fmt, ap);
    va_end(ap);
    if (!ok) fprintf(stderr, "#   got %lld, expected %lld\n", got, want);
    return ok;
}

/* NULL is equal to NULL only. */
__attribute__((format(printf, 3, 4))) static inline bool
tap_is_str(const char *got, const char *want, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    bool ok = tap_vok(got && want ? !strcmp(got, want) : got == want, fmt, ap);
    va_end(ap);
    if (!ok)
        fprintf(stderr, "#   got      %s\n#   expected %s\n", got ? got : "(null)",
                want ? want : "(null)");
    return ok;
}

/* |got - want| <= tol; equal infinities are close, and a NaN is close to a NaN. */
__attribute__((format(printf, 4, 5))) static inline bool
tap_close(double got, double want, double tol, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    bool same = got == want || (isnan(got) && isnan(want)) || fabs(got - want) <= tol;
    bool ok = tap_vok(same, fmt, ap);
    va_end(ap);
    if (!ok) fprintf(stderr, "#   got %.17g, expected %.17g within %g\n", got, want, tol);
    return ok;
}

/* One assertion that cannot be made here; the reason is counted and shown in the summary. */
static inline void tap_skip(const char *why) {
    printf("ok %d # SKIP ", ++tap_count);
    tap_put(why);
    putchar('\n');
    fflush(stdout);
}

/* Instead of any assertion: `return tap_skip_all("no pseudo-terminals here");`. */
static inline int tap_skip_all(const char *why) {
    printf("1..0 # SKIP ");
    tap_put(why);
    putchar('\n');
    return fflush(stdout) ? 1 : 0;
}

/* Prints the plan; returns the program's exit status. A program that made no assertion has
 * failed. */
static inline int tap_done(void) {
    printf("1..%d\n", tap_count);
    return fflush(stdout) || tap_failed || tap_count == 0;
}

#endif
