/* Ctrl-C on a pseudo-terminal while ops run or the host waits for a device: it stops them, and the
 * session continues. */
#include "tty.h"

#include "tap.h"

#if defined(__SANITIZE_THREAD__)
enum { TSAN = 1 };
#else
enum { TSAN = 0 };
#endif
static const char deferred[] =
    "TSan holds a signal back until the next system call, which an endless loop in Lua has none of";

static pty p;

/* Types a line; the output that follows must contain want. */
static void says(const char *line, const char *want, const char *name) {
    pty_send(&p, line);
    pty_send(&p, "\r");
    tap_ok(pty_expect(&p, want, 60), "%s", name);
}

/* Types a line that does not end, lets it run, and stops it with Ctrl-C; the session must keep its
 * variables. */
static void stops(const char *line, const char *name) {
    char ask[64], want[64];
    static int n = 100;
    snprintf(ask, sizeof ask, "kept = %d", ++n);
    pty_send(&p, ask);
    pty_send(&p, "\r");
    pty_send(&p, line);
    pty_send(&p, "\r");
    tap_ok(pty_expect(&p, "running", 60), "%s: runs", name);
    usleep(200000);
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, "interrupted", 60), "%s: Ctrl-C stops it", name);
    snprintf(want, sizeof want, "\r\n%d\r\n", n * 3);
    says("kept * 3", want, name);
}

/* As stops; the op itself must report it, since a completed op leaves the error to the next line of
 * Lua. */
static void stops_op(const char *line, const char *op) {
    char want[64];
    snprintf(want, sizeof want, "%s: interrupted", op);
    pty_send(&p, line);
    pty_send(&p, "\r");
    tap_ok(pty_expect(&p, "running", 60), "%s: runs", op);
    usleep(200000);
    pty_send(&p, "\3");
    tap_ok(pty_expect(&p, want, 60), "%s: Ctrl-C stops it", op);
    says("1 + 41", "\r\n42\r\n", "and the session goes on");
}

/* As stops, for code without system calls. */
static void stops_loop(const char *line, const char *name) {
    if (!TSAN) stops(line, name);
    else
        for (int i = 0; i < 3; i++) tap_skip(deferred);
}

static void interrupts(void) {
    stops_loop("print('run' .. 'ning') y = ones(3000, 3000) while true do y = y * 1 end",
               "ops on the processor");
    stops_loop(
        "print('run' .. 'ning') k = ('a'):rep(40):find(('a?'):rep(40) .. ('a'):rep(40) .. 'c')",
        "a search by a pattern");
    stops_loop("print('run' .. 'ning') k = ('a'):rep(99999):gsub(('%a-'):rep(9) .. 'b', '')",
               "a replacement by a pattern with classes, which the C library looks up");
    /* 900 ops that keep the device busy for about three seconds, however fast it is; the first ones
     * clear fresh pages. */
    says("z = ones(1000000, {device = 'sim'}) for i = 1, 60 do z = z * 1 end z:sum():item() t = "
         "os.clock() for i = 1, 20 do z = z * 1 end z:sum():item()",
         "> ", "a device is timed");
    says("z = ones(math.ceil(3 / 900 / (os.clock() - t) * 20 * 1000000), {device = 'sim'})", "> ",
         "and given work for three seconds");
    stops("for i = 1, 900 do z = z * 1 end print('run' .. 'ning') z:sum():item()",
          "a wait for a device");
    says("ones(4, {device = 'sim'}):sum():item()", "\r\n4.0\r\n", "the device goes on working");
    /* A loader with a slow worker; afterwards the threads are gone. */
    says("function threads() local p, n = io.popen 'ls /proc/$PPID/task', 0 for _ in p:lines() do "
         "n = n + 1 end return n end",
         "> ", "threads are counted");
    says("before = threads()", "> ", "before");
    stops_loop("slow = {size = 9, get = function(_, i) if i == 2 then local t = os.clock() while "
               "os.clock() - t < 20 do end end return i end} "
               "for step in data.Loader{slow, workers = 2}() do if step == 1 then print('run' .. "
               "'ning') end end",
               "a wait for a loader");
    stops_loop("for step in data.Loader{{size = 9, get = function(_, i) while i == 2 do end return "
               "i end}, workers = 2}() do print('run' .. 'ning') end",
               "a loader with an endless loop");
    says("threads() - before", "\r\n0\r\n", "no worker is left");
    /* Ten seconds and more; neither the prompt nor the end of the program waits for them. */
    stops_op("x = randn(1 << 25, {dtype = 'f64'}) print('run' .. 'ning') fft.fft(x)", "fft.fft");
    stops_loop(
        "x = zeros(2000000, {dtype = 'f32'}) print('run' .. 'ning') while true do x:tolist() end",
        "large tables");
    stops_op("x = randn(2500, 2500) print('run' .. 'ning') linalg.eig(x)", "linalg.eig");
}

static bool can_stop_kernels(void) {
    return !TSAN && system("command -v gcc >/dev/null 2>&1") == 0;
}

/* Kernels of the user's whose loops have no accesses, at which the checks could stop them. */
static void kernels(void) {
    if (!can_stop_kernels()) {
        for (int i = 0; i < 12; i++) tap_skip("a compiler, and signals at once, are needed");
        return;
    }
    says("text = '__global__ void spin(float *y, int n) { while (n) {} *y = 42; }'", "> ",
         "a kernel");
    says("free = cuda.kernel(text, 'spin', {check = false}) spin = cuda.kernel(text, 'spin')", "> ",
         "is compiled twice");
    stops("y = zeros(1) print('run' .. 'ning') spin(1, 32, y, 1)", "a checked kernel");
    stops("y = zeros(1) print('run' .. 'ning') free(9999, 32, y, 1)", "an unchecked kernel");
    stops("y = zeros(1, {device = 'sim'}) spin(1, 32, y, 1) print('run' .. 'ning') y:item()",
          "a kernel on a device");
    says("y = zeros(1, {device = 'sim'}) spin(1, 1, y, 0) print(y:item())", "\r\n42.0\r\n",
         "the next kernel runs");
}

int main(void) {
    char program[4096];
    snprintf(program, sizeof program, "%s/gpush",
             getenv("GPUSH_BUILD") ? getenv("GPUSH_BUILD") : "build/default");
    char *const shell[] = {program, NULL};
    if (!pty_start(&p, shell)) return tap_skip_all("no pseudo-terminals here");
    tap_ok(pty_expect(&p, "> ", 60), "a prompt");
    interrupts();
    kernels();
    tap_ok(pty_expect(&p, "> ", 60) && pty_edits(&p), "the prompt waits for keys");
    pty_send(&p, "\4");
    tap_is_int(pty_end(&p, 60), 0, "Ctrl-D ends it");

    pty_start(&p, shell);
    pty_expect(&p, "> ", 60);
    pty_send(&p, "os.exit(7)\r");
    tap_is_int(pty_end(&p, 60), 7, "os.exit's status");

    char *const script[] = {program, "-e", "print('run' .. 'ning') while true do end", NULL};
    if (TSAN) {
        tap_skip(deferred);
    } else {
        pty_start(&p, script);
        pty_expect(&p, "running", 60);
        pty_send(&p, "\3");
        tap_ok(pty_expect(&p, "interrupted", 60), "Ctrl-C stops a script");
        tap_is_int(pty_end(&p, 60), 1, "which then fails");
    }
    char *const kernel[] = {program, "-e",
                            "k = cuda.kernel('__global__ void k(float *y) { while (1) {} }') "
                            "print('run' .. 'ning') k(1, 32, zeros(1))",
                            NULL};
    if (!can_stop_kernels()) {
        tap_skip("a compiler, and signals at once, are needed");
    } else {
        pty_start(&p, kernel);
        pty_expect(&p, "running", 60);
        usleep(200000);
        pty_send(&p, "\3");
        tap_ok(pty_expect(&p, "interrupted", 60), "Ctrl-C stops a script's kernel");
        tap_is_int(pty_end(&p, 60), 1, "which then fails");
    }
    return tap_done();
}
