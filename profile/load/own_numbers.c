/* The numbers at the beginning of a saved profile. */
#include <limits.h>
#include <string.h>

#include "profile/load/reader.h"

enum { TIME_BITS = 61, PERIOD_BITS = 30, MAX_RANK = 1 << 24 };

bool gp_load_range(gp_json *j, int64_t lo, int64_t hi, int64_t *v) {
    gp_json_peek(j);
    const char *at = j->at;
    if (!gp_json_int(j, v)) return false;
    if (*v >= lo && *v <= hi) return true;
    j->at = at;
    return gp_json_fail(j, "expected a number from %lld to %lld, got %lld", (long long)lo,
                        (long long)hi, (long long)*v);
}

static int int_of(int64_t n) { return (int)(n > INT_MAX ? INT_MAX : n); }

/* Fields before the lists, which need the start. */
static void keep(gp_prof *p, const gp_load_numbers *n) {
    p->t0 = (uint64_t)n->t0;
    p->done = p->t0 + (uint64_t)n->done;
    p->t1 = p->t0 + (uint64_t)n->t1;
    p->opts = (gp_prof_opts){.stack = n->stack ? GP_STACK_DEPTH : 0,
                             .memory = n->memory,
                             .shapes = n->shapes,
                             .flops = n->flops,
                             .lua = n->lua};
    p->period = (uint64_t)n->period;
    p->blocked = (uint64_t)n->blocked;
    p->foreign = n->foreign;
    p->cut = n->cut;
    p->no_device = n->no_device;
    p->unpaired = n->unpaired;
    p->midway = n->midway;
    p->no_clock = n->no_clock;
    p->processors = int_of(n->processors);
    p->starved = (uint64_t)n->starved;
    p->usual = (uint64_t)n->usual, p->beside = (uint64_t)n->beside;
    p->frames = (uint64_t)n->frames;
    p->unknown_orders = int_of(n->unknown_orders);
    p->guessed_orders = int_of(n->guessed_orders);
    p->ranks = int_of(n->ranks);
    p->dropped = (uint64_t)n->dropped;
    p->lost = (uint64_t)n->lost;
    p->others = (uint64_t)n->others;
    p->cost_begin = (uint64_t)n->cost_begin;
    p->cost_end = (uint64_t)n->cost_end;
    p->started.line = (int)(n->line > INT_MAX ? 0 : n->line);
    p->rank = (int)(n->job_rank > MAX_RANK ? MAX_RANK : n->job_rank);
    p->size = (int)(n->job_size > MAX_RANK ? MAX_RANK : n->job_size);
}

bool gp_load_number(gp_json *j, const gp_json_text *key, gp_load_numbers *n, gp_prof *p,
                    bool *known) {
    const struct {
        const char *name;
        int64_t *to;
    } fields[] = {{"t0", &n->t0},
                  {"done", &n->done},
                  {"t1", &n->t1},
                  {"has_stack", &n->stack},
                  {"has_memory", &n->memory},
                  {"has_shapes", &n->shapes},
                  {"has_flops", &n->flops},
                  {"has_lua", &n->lua},
                  {"period", &n->period},
                  {"blocked", &n->blocked},
                  {"foreign", &n->foreign},
                  {"cut", &n->cut},
                  {"no_device", &n->no_device},
                  {"unpaired", &n->unpaired},
                  {"midway", &n->midway},
                  {"no_clock", &n->no_clock},
                  {"processors", &n->processors},
                  {"starved", &n->starved},
                  {"usual_step", &n->usual},
                  {"beside", &n->beside},
                  {"frames", &n->frames},
                  {"ranks", &n->ranks},
                  {"dropped", &n->dropped},
                  {"lost", &n->lost},
                  {"others", &n->others},
                  {"cost_begin", &n->cost_begin},
                  {"cost_end", &n->cost_end},
                  {"started_line", &n->line},
                  {"job_rank", &n->job_rank},
                  {"job_size", &n->job_size},
                  {"unknown_orders", &n->unknown_orders},
                  {"guessed_orders", &n->guessed_orders}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        if (!gp_json_is(key, fields[i].name, strlen(fields[i].name))) continue;
        *known = true;
        bool period = fields[i].to == &n->period;
        if (!gp_load_range(j, 0, (int64_t)1 << (period ? PERIOD_BITS : TIME_BITS), fields[i].to))
            return false;
        keep(p, n);
        return true;
    }
    *known = false;
    return true;
}
