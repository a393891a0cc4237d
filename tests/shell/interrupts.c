/* Ctrl-C at random moments: of lines that compute, train, load, save, wait and profile, and of
 * first uses in a fresh shell. The prompt is back soon, what the session holds is whole, and the
 * same line works again. Arguments say how many, 120 without, and the seed. */
#include "tty.h"

#include "tap.h"

#include <math.h>

static const char *const lines[] = {
    "for i = 1, 1e9 do local y = x + i end",
    "for i = 1, 1e9 do local y = (x:to 'sim' * i):sum():item() end",
    "for i = 1, 1e9 do step() end",
    "for i = 1, 1e9 do local u, s, v = linalg.svd(x) end",
    "for i = 1, 1e9 do local y = x:reshape(-1):sort() end",
    "for i = 1, 1e9 do for _, a in loader() do a:sum() end end",
    "for i = 1, 1e9 do npy.save(file, x) end",
    "for i = 1, 1e9 do safetensors.save(file, {x = x}) end",
    "for i = 1, 1e9 do local p = profile.run(step) local t = p:table() end",
    "profile.run({lua = true}, function() while true do x = x end end)",
    "for i = 1, 1e9 do local t = json.decode(json.encode(list)) end",
    "for i = 1, 1e9 do local t = tostring(x) end",
    "for i = 1, 1e9 do wait {fork(function() return x:to 'sim' + 1 end)} end",
    "for i = 1, 1e9 do no_grad(function() return w * 2 end) end",
    "for i = 1, 1e9 do sync.allow('a test', function() (x:to 'sim' + 1):sum():item() end) end",
    "for i = 1, 1e9 do pcall(load, 'return x @ x') end",
    "for i = 1, 1e9 do captured(x) end",
    "for i = 1, 1e9 do queued(far) end",
    "for i = 1, 1e9 do forked(x) end",
    "for i = 1, 1e9 do forks(far) end",
    "for i = 1, 1e9 do ensemble() end",
    "for i = 1, 1e9 do fuse(function(a) return (a * i):tanh() + i end)(x) end",
    "for i = 1, 1e9 do local f = capture(step) f() f() f() end",
    "for i = 1, 1e9 do large:bmm(large) end",
    "for i = 1, 1e9 do scaled_dot_product_attention(large, large, large) end",
    "for i = 1, 1e9 do half:bmm(half) end",
    "for i = 1, 1e9 do conv(images):sum():backward() end",
    "for i = 1, 1e9 do lstm(large):sum():backward() end",
    "profile.run({lua = true}, function() for i = 1, 1e9 do large:bmm(large) end end)",
    "do local s = profile.schedule{active = 2} for i = 1, 1e9 do step() s:step() end end",
    "while true do end",
};
static const char *const firsts[] = {
    "nn.Linear(4, 4)",
    "optim.Adam({ones(2):requires_grad_()})",
    "data.TensorDataset(ones(3, 2))",
    "linalg.svd(ones(3, 3))",
    "help 'conv2d'",
    "cuda.is_available()",
    "help 'plot'",
    "ones(3, {device = 'sim'}) + 1",
};
enum { LINES = sizeof lines / sizeof *lines, FIRSTS = sizeof firsts / sizeof *firsts };

static const char setup[] =
    "manual_seed(1) x = rand(60, 60) w = ones(3):requires_grad_() list = {1, 'a', {b = 2.5}} "
    "m = nn.Linear(60, 8) o = optim.Adam(m:parameters()) "
    "function step() o:zero_grad(); (m(x) ^ 2):mean():backward() o:step() end "
    "captured = capture(function(a) return (a @ a):tanh():sum() + rand(1):sum() end) "
    "far = x:to 'sim' queued = capture(function(a) return (a @ a):tanh():sum() end) "
    "fn = function(a) local f = fork(function() return a @ a @ a end) return a @ a + wait(f) end "
    "forked = capture(fn) forks = capture(fn) v = rand(60, 60):requires_grad_() "
    "function ensemble() v.grad = nil local f = fork(function() return (x @ v @ v):sin() end) "
    "local y = (v @ x):tanh():cos() + wait(f) y:sum():backward() return v.grad end "
    "gradient = ensemble() "
    "large = rand(4, 600, 600) half = large:to 'bf16' conv = nn.Conv2d(8, 16, 3) "
    "images = rand(8, 8, 64, 64) lstm = nn.LSTM(600, 128) "
    "file = os.tmpname() loader = data.Loader {data.TensorDataset(x), batch = 7, workers = 2}";
/* 0 where all is whole; the text does not occur in what the terminal echoes. */
static const char whole[] =
    "do synchronize() local y = (w * 2):sum() local n = 0 for _, a in loader() do n = n + #a end "
    "step() print('st' .. 'ate', y:item() == 6 and y.requires_grad and sync.mode == 'off' and "
    "captured(x):isfinite():item() and queued(far):isfinite():item() and "
    "forked(x):allclose(fn(x)) and forks(far):allclose(fn(far)) and "
    "profile.run(step).count > 0 and ensemble():allclose(gradient) and "
    "large:bmm(large):isfinite():all():item() and "
    "#sync.report(false) > 0 and x:to('sim'):sum():isfinite():item() and n == 60 and "
    "m(x):isfinite():all():item() and default_device() == 'cpu') end";

static pty p;
static double took[100000];
static int n;

/* Whether the prompt reads keys within that many seconds. */
static bool edits(double seconds) {
    double end = pty_now() + seconds;
    while (!pty_edits(&p)) {
        if (pty_now() > end) return false;
        pty_read(&p, 0.0005);
    }
    return true;
}

static void type(const char *line) {
    pty_send(&p, line);
    pty_send(&p, "\r");
}

/* Most moments are early ones: up to 0.1 s, evenly on a logarithmic scale. */
static void sleep_a_while(void) {
    double us = 100 * pow(1000, drand48());
    double end = pty_now() + us * 1e-6;
    while (pty_now() < end) pty_read(&p, 0);
}

/* Ctrl-C: notes how long the prompt took. */
static bool interrupt(void) {
    double begun = pty_now();
    pty_send(&p, "\3");
    bool ok = edits(10);
    took[n++] = pty_now() - begun;
    return ok;
}

static bool is_whole(void) {
    if (!edits(10)) return false;
    p.n = 0, p.text[0] = 0;
    type(whole);
    return pty_expect(&p, "\nstate\ttrue", 60) && edits(10);
}

static bool started(char *const shell[]) {
    return pty_start(&p, shell) && pty_expect(&p, "> ", 60) && edits(10);
}

/* Interrupts each line in turn, `times` in all. */
static void running(char *const shell[], int times) {
    int back = 0, sound = 0;
    if (!started(shell)) return;
    type(setup);
    tap_ok(is_whole(), "the session is set up");
    for (int i = 0; i < times; i++) {
        type(lines[i % LINES]);
        double end = pty_now() + 5;
        while (pty_edits(&p) && pty_now() < end) pty_read(&p, 0.0005);
        sleep_a_while();
        bool ok = interrupt();
        back += ok;
        bool good = ok && is_whole();
        sound += good;
        if (!good) fprintf(stderr, "# after %s\n", lines[i % LINES]);
        if (!ok) break;
    }
    tap_is_int(back, times, "the prompt came back");
    tap_is_int(sound, times, "and the session was whole");
    type("os.remove(file)");
    edits(10);
    pty_send(&p, "\4");
    tap_is_int(pty_end(&p, 60), 0, "Ctrl-D ends it");
}

/* Interrupts first uses, each in a shell of its own; then the same line works. */
static void first_uses(char *const shell[], int times) {
    int good = 0;
    for (int i = 0; i < times; i++) {
        char again[300];
        const char *line = firsts[i % FIRSTS];
        if (!started(shell)) break;
        type(line);
        sleep_a_while();
        bool ok = interrupt();
        snprintf(again, sizeof again, "do local r = %s print('wor' .. 'ks') end", line);
        type(again);
        ok = ok && pty_expect(&p, "\nworks", 60) && edits(10);
        pty_send(&p, "\4");
        ok = pty_end(&p, 60) == 0 && ok;
        good += ok;
        if (!ok) fprintf(stderr, "# after %s\n", line);
    }
    tap_is_int(good, times, "first uses work when they are used again");
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
#if defined(__SANITIZE_THREAD__)
    return tap_skip_all("TSan holds a signal back until the next system call");
#endif
    char program[4096];
    int times = argc > 1 ? atoi(argv[1]) : 120;
    const char *build = getenv("GPUSH_BUILD");
    snprintf(program, sizeof program, "%s/gpush", build ? build : "build/default");
    char *const shell[] = {program, NULL};
    long seed = argc > 2 ? atol(argv[2]) : (long)time(NULL);
    srand48(seed);
    if (times < 8 || times > 100000) return 2;
    if (!pty_start(&p, shell)) return tap_skip_all("no pseudo-terminals here");
    pty_expect(&p, "> ", 60);
    pty_send(&p, "\4");
    pty_end(&p, 60);
    running(shell, times - times / 4);
    first_uses(shell, times / 4);
    qsort(took, (size_t)n, sizeof *took, by_value);
    printf("# seed %ld: %d interrupts, median %.1f ms, p99 %.1f ms, longest %.1f ms\n", seed, n,
           took[n / 2] * 1e3, took[n * 99 / 100] * 1e3, took[n - 1] * 1e3);
    tap_ok(took[n - 1] < 10, "none took 10 s");
    return tap_done();
}
