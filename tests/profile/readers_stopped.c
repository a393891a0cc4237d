/* Ctrl-C in the readers of a large record: each looks for it, says so and leaves no file. */
#include "tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "profile/show/chrome_trace.h"
#include "profile/load/load.h"
#include "profile/replay/replay.h"
#include "profile/show/rows.h"
#include "profile/show/usage.h"
#include "tensor/base/error.h"

enum { STEPS = 20000 }; /* more events than between two looks */

static void write_trace(const char *file) {
    FILE *f = fopen(file, "we");
    fprintf(f, "[");
    for (int i = 0; f && i < STEPS; i++)
        fprintf(f,
                "%s{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,"
                "\"tid\":1,\"ts\":%d,\"dur\":3,\"args\":{\"correlation\":%d}},{\"ph\":\"X\","
                "\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":2,"
                "\"args\":{\"correlation\":%d,\"device\":0,\"stream\":7}}",
                i ? "," : "", 20 * i, i, 20 * i + 5, i);
    fprintf(f, "]");
    fclose(f);
}

/* Whether what was done has failed, for Ctrl-C. */
static void stopped(bool done, const char *what) {
    tap_ok(!done && strstr(gp_error(), "interrupted"), "%s: %s", what, done ? "done" : gp_error());
    gp_error_clear();
}

static bool is_there(const char *file) { return access(file, F_OK) == 0; }

int main(void) {
    char file[] = "/tmp/gpush-stopped.XXXXXX", out[64];
    const char *const files[] = {file};
    close(mkstemp(file));
    snprintf(out, sizeof out, "%s.out", file);
    write_trace(file);
    gp_prof *p = gp_prof_load(files, 1, UINT64_MAX / 2);
    tap_ok(p != NULL, "a trace of %d events: %s", 2 * STEPS, p ? "read" : gp_error());
    if (!p) return tap_done();
    gp_interrupted = 1;
    stopped(gp_prof_load(files, 1, UINT64_MAX / 2), "reading");
    for (int group = 0; group < GP_GROUPS; group++)
        if (group != GP_BY_SHAPE && group != GP_BY_STACK && group != GP_BY_MODULE)
            stopped(gp_rows_new(p, (gp_group_by)group), "rows");
    stopped(gp_usage_new(p), "usage");
    stopped(gp_timeline_of_rank(p, -1, 0), "a replay's timeline");
    stopped(gp_trace_write(p, out), "a trace");
    gp_merged merged;
    stopped(gp_trace_write_most(p, out, 1000, &merged), "a short trace");
    stopped(gp_prof_save(p, out), "a saved profile");
    tap_ok(!is_there(out), "no file is left");
    gp_interrupted = 0;
    gp_timeline *t = gp_timeline_of_rank(p, -1, 0);
    gp_replay_timings r;
    gp_interrupted = 1;
    stopped(t && gp_replay_times(t, &(gp_whatif){.host = 1}, &r), "a replay");
    gp_replay_timings_free(&r);
    gp_interrupted = 0;
    gp_timeline_free(t);
    gp_prof_free(p);
    unlink(file);
    return tap_done();
}
