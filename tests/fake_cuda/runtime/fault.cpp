/* Injected faults: which call of which kind fails (fake_cuda.h lists them). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "fiber.h"
#include "state.h"

namespace fake {
/* From, to: fails these calls after `seen` more; none if from is 0. */
static struct order {
    const char *name;
    unsigned long long seen, from, to;
    int arg;
} orders[FAULTS] = {
    {"oom", 0, 0, 0, 0},        {"pinned_oom", 0, 0, 0, 0}, {"launch", 0, 0, 0, 0},
    {"sticky", 0, 0, 0, 0},     {"slow", 0, 0, 0, 0},       {"late", 0, 0, 0, 0},
    {"cupti_drop", 0, 0, 0, 0}, {"wait", 0, 0, 0, 0},       {"engine", 0, 0, 0, 0},
    {"plan", 0, 0, 0, 0},       {"choice", 0, 0, 0, 0},     {"refuse", 0, 0, 0, 0},
    {"lib_oom", 0, 0, 0, 0},    {"older", 0, 0, 0, 0},      {"channels_last", 0, 0, 0, 0},
    {"peer", 0, 0, 0, 0}};
static char mode[32];
static char waiting[256]; /* names between commas */
static std::atomic<bool> backward;
static std::atomic<unsigned> released; /* how often slow kernels were let go */

static bool set(const char *name, size_t n, const char *value) {
    if (n == 5 && !strncmp(name, "cupti", n)) {
        snprintf(mode, sizeof mode, "%.*s", (int)strcspn(value, " "), value);
        return true;
    }
    if (n == 7 && !strncmp(name, "wait_in", n)) {
        snprintf(waiting, sizeof waiting, ",%.*s,", (int)strcspn(value, " "), value);
        return true;
    }
    if (n == 5 && !strncmp(name, "order", n))
        return backward = !strncmp(value, "backward", 8), true;
    for (order &o : orders) {
        if (strlen(o.name) != n || strncmp(o.name, name, n)) continue;
        char *end;
        o.seen = 0, o.arg = 0;
        o.from = o.to = strtoull(value, &end, 10);
        if (*end == '+') o.to = ~0ull, end++;
        else if (*end == '-') o.to = strtoull(end + 1, &end, 10);
        if (*end == ':') o.arg = (int)strtol(end + 1, &end, 10);
        if (&o == &orders[F_SLOW] && !o.from) released++;
        return *end == 0 || *end == ' ';
    }
    return false;
}

void faults_read() {
    static const char *const names[FAULTS] = {
        "GPUSH_FAKE_OOM",        "GPUSH_FAKE_PINNED_OOM", "GPUSH_FAKE_LAUNCH",
        "GPUSH_FAKE_STICKY",     "GPUSH_FAKE_SLOW",       "GPUSH_FAKE_LATE",
        "GPUSH_FAKE_CUPTI_DROP", "GPUSH_FAKE_WAIT",       "GPUSH_FAKE_ENGINE",
        "GPUSH_FAKE_PLAN",       "GPUSH_FAKE_CHOICE",     "GPUSH_FAKE_REFUSE",
        "GPUSH_FAKE_LIB_OOM",    "GPUSH_FAKE_OLDER",      "GPUSH_FAKE_CHANNELS_LAST",
        "GPUSH_FAKE_PEER"};
    for (int i = 0; i < FAULTS; i++) {
        const char *v = getenv(names[i]);
        if (v && *v && !set(orders[i].name, strlen(orders[i].name), v))
            fprintf(stderr, "fake_cuda: %s=%s is not understood\n", names[i], v);
    }
    const char *v = getenv("GPUSH_FAKE_CUPTI");
    if (v) set("cupti", 5, v);
    v = getenv("GPUSH_FAKE_ORDER");
    if (v) set("order", 5, v);
    v = getenv("GPUSH_FAKE_WAIT_IN");
    if (v) set("wait_in", 7, v);
}

bool faulty(fault f, int *arg) {
    order &o = orders[f];
    o.seen++;
    if (o.from == 0 || o.seen < o.from || o.seen > o.to) return false;
    if (arg && o.arg) *arg = o.arg;
    return true;
}

const char *cupti_mode() { return mode; }
bool waits_in(const char *function) {
    char name[100];
    snprintf(name, sizeof name, ",%s,", function);
    return strstr(waiting, name);
}
bool runs_backward() { return backward; }
unsigned slow_released() { return released; }
} // namespace fake

extern "C" int fakeFault(const char *settings) {
    using namespace fake;
    locked l(rt().lock);
    bool all = true;
    for (const char *s = settings; *s;) {
        size_t n = strcspn(s, " "), name = strcspn(s, "=");
        if (name < n && !set(s, name, s + name + 1)) all = false;
        else if (name >= n && n) all = false;
        s += n + strspn(s + n, " ");
    }
    return all ? 0 : -1;
}

extern "C" int fakeFaulty(const char *name) {
    using namespace fake;
    locked l(rt().lock);
    for (int i = 0; i < FAULTS; i++)
        if (!strcmp(orders[i].name, name)) return faulty((fault)i, nullptr);
    return 0;
}
