/* The job: how it is joined, its groups, its communication streams, and its end. Joining opens the
 * transport (MPI, or none in a job of one rank), and every rank tells the others where it runs, so
 * that those on one machine can check whether a process still lives. At the end each rank says its
 * last word; a rank that ends without one has failed, and the others end with its exit status. */
#include "tensor/base/process.h"
#include "tensor/dist/dist.h"

#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "tensor/device/stream/thread.h"
#include "tensor/dist/world.h"
#include "tensor/base/env.h"
#include "tensor/base/error.h"

gp_world gp_the_world = {.size = 1, .lock = PTHREAD_MUTEX_INITIALIZER, .timeout = 60, .ngroups = 0};
static gp_world *const w = &gp_the_world;

int gp_dist_rank(void) { return w->rank; }
int gp_dist_size(void) { return w->size; }
double gp_dist_timeout(void) { return w->timeout; }
void gp_dist_set_timeout(double seconds) { w->timeout = seconds; }
const char *gp_dist_engine(void) { return w->transport ? w->transport->engine : NULL; }

/* ---- joining ---- */

int gp_dist_launched(void) {
    static const gp_env sizes[] = {GP_ENV_OMPI_COMM_WORLD_SIZE, GP_ENV_PMI_SIZE,
                                   GP_ENV_MPI_LOCALNRANKS, GP_ENV_SLURM_STEP_NUM_TASKS};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        int n = (int)gp_env_number(sizes[i], 0);
        if (n > 0) return n;
    }
    return 1;
}

/* Makes the part that group number w->ngroups is the first of. */
static bool begin_part(void) {
    int part = 31 - __builtin_clz((unsigned)w->ngroups / GP_GROUP_PART + 1);
    if (w->groups[part]) return true;
    return (w->groups[part] = calloc((size_t)GP_GROUP_PART << part, sizeof(gp_process_group))) !=
           NULL;
}

/* Room for the collectives of a group of n ranks; never given back. */
static bool new_group(int n, const int *ranks, int comm_cpu, int comm_sim, int serial) {
    gp_process_group g = {.n = n, .rank = -1, .comm = {comm_cpu, comm_sim}, .serial = serial};
    size_t count = (size_t)n;
    bool ok = begin_part() && (g.all = calloc(count, sizeof *g.all));
    for (int i = 0; i < 2; i++)
        ok = ok && (g.work[i] = calloc(2 * count, sizeof **g.work)) &&
             (g.peer[i] = calloc(2 * count, sizeof **g.peer)) &&
             (g.head[i] = calloc(count, sizeof **g.head));
    if (!ok) {
        for (int i = 0; i < 2; i++) free(g.work[i]), free(g.peer[i]), free(g.head[i]);
        free(g.all);
        return gp_fail("dist.group: out of memory");
    }
    for (int i = 0; i < n; i++) {
        g.all[i] = ranks ? ranks[i] : i;
        if (g.all[i] == w->rank) g.rank = i;
    }
    *gp_group_at(w->ngroups) = g;
    w->ngroups++;
    return true;
}

/* Equal where two processes see each other's ids: of one system, in one namespace. */
static uint64_t machine(void) {
    char text[400] = "";
    ssize_t n = readlink("/proc/self/ns/pid", text, 100);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");
    if (f && !fgets(text + (n > 0 ? n : 0), 100, f)) text[0] = 0;
    if (f) fclose(f);
    uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *p = text; *p; p++) h = (h ^ (unsigned char)*p) * 0x100000001b3u;
    return *text ? h : (uint64_t)w->rank; /* of none but itself */
}

static void know(gp_peer *p, uint64_t where, int64_t pid, bool visible) {
    p->machine = where, p->pid = pid;
    p->fd = visible ? (int)syscall(SYS_pidfd_open, (pid_t)pid, 0) : -1; /* -1: before Linux 5.3 */
}

/* Every rank says where it runs, and begins to wait for the others' last word. What is sent and
 * received stays after a failure, since MPI may still use it. */
static bool greet(void) {
    struct hello {
        uint64_t machine;
        int64_t pid;
        int32_t table;
    } *all = calloc((size_t)w->size, sizeof *all);
    int n = 0, *work = calloc(4 * (size_t)w->size, sizeof *work);
    gp_transport *t = w->transport;
    w->peers = calloc((size_t)w->size, sizeof *w->peers);
    if (!all || !work || !w->peers)
        return free(all), free(work), gp_fail("dist.init: out of memory");
    bool ok = true;
    int *peer = work + 2 * (size_t)w->size;
    for (int r = 0; r < w->size; r++) {
        gp_peer *p = &w->peers[r];
        p->work = p->fd = p->telling = -1;
    }
    struct hello *mine = &all[w->rank];
    *mine = (struct hello){machine(), getpid(), gp_dist_open_table()};
    w->hello = all;
    for (int r = 0; r < w->size && ok; r++) {
        if (r == w->rank) continue;
        peer[n] = r;
        work[n++] = t->receive(0, r, GP_TAG_HELLO, &all[r], sizeof *all);
        peer[n] = -1;
        work[n++] = t->send(0, r, GP_TAG_HELLO, mine, sizeof *mine);
        w->peers[r].work = t->receive(0, r, GP_TAG_NOTE, &w->peers[r].note, sizeof(gp_note));
        ok = work[n - 1] >= 0 && work[n - 2] >= 0 && w->peers[r].work >= 0;
    }
    ok = ok ? gp_dist_finish(&(gp_dist_call){.root = -1}, work, n, GP_AWAIT_RANKS, peer)
            : gp_fail("dist.init: %s", t->error);
    free(work);
    for (int r = 0; r < w->size; r++)
        know(&w->peers[r], all[r].machine, all[r].pid, ok && all[r].machine == mine->machine);
    int first = 0, here = 0; /* of this machine */
    while (all[first].machine != mine->machine) first++;
    for (int r = 0; r < w->size; r++) here += all[r].machine == mine->machine;
    w->crowded = here > sysconf(_SC_NPROCESSORS_ONLN);
    if (ok) gp_dist_share_table(all[first].pid, all[first].table);
    if (ok) free(all), w->hello = NULL;
    else gp_dist_break(gp_error());
    return ok;
}

static gp_transport *load(int expected, int *second) {
    char why[600] = "";
    void *so = gp_mpi_plugin(why, sizeof why);
    if (!so)
        return gp_fail_null("dist: a launcher started %d processes, but the plug-in for MPI is not "
                            "there (%s); gpush doctor says what brings it",
                            expected, why);
    gp_mpi_open_fn *open = (gp_mpi_open_fn *)dlsym(so, "gp_mpi_open");
    if (!open) return gp_fail_null("dist: MPI does not start: another version");
    gp_transport *t = gp_dist_start(open, expected, second);
    if (!t) return NULL;
    if (t->version != GP_TRANSPORT_VERSION)
        return gp_fail_null("dist: the plug-in for MPI is of another version");
    if (t->size != expected)
        return gp_fail_null(
            "dist: the launcher started %d processes, MPI (%s) sees %d: it is another MPI's "
            "launcher, or Slurm needs srun --mpi=pmix",
            expected, t->engine, t->size);
    return t;
}

/* The launcher joins what all ranks write: whole lines stay whole. */
static void write_lines(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    setvbuf(stderr, NULL, _IOLBF, 0);
}

static bool join(void) {
    int n = gp_dist_launched();
    if (n == 1) return new_group(1, NULL, 0, 0, 0);
    write_lines();
    int sim = -1;
    gp_transport *t = load(n, &sim);
    if (!t) return false;
    w->rank = t->rank, w->size = t->size;
    if (sim < 0) return gp_fail("dist.init: %s", t->error);
    t->fold = gp_dist_fold;
    w->transport = t;
    return new_group(n, NULL, 0, sim, 0) && greet();
}

bool gp_dist_open(void) {
    static enum { NEW, JOINED, FAILED } state;
    static char why[1000];
    if (state == NEW) {
        state = join() ? JOINED : FAILED;
        if (state == FAILED) snprintf(why, sizeof why, "%s", gp_error());
    }
    return state == JOINED || gp_fail("%s", why);
}

/* ---- groups ---- */

bool gp_dist_is_group(int g) { return g >= 0 && g < w->ngroups; }
int gp_dist_group_size(int g) { return gp_group_at(g)->n; }
int gp_dist_group_rank(int g) { return gp_group_at(g)->rank; }
int gp_dist_global(int g, int r) { return gp_group_at(g)->all[r]; }

/* Whether the list names ranks, each once. */
static bool check_ranks(const int *ranks, int n) {
    if (n < 1) return gp_fail("dist.group: expected at least one rank");
    for (int i = 0; i < n; i++) {
        if (ranks[i] < 0 || ranks[i] >= w->size)
            return gp_fail("dist.group: there is no rank %d (expected 0 to %d)", ranks[i],
                           w->size - 1);
        for (int k = 0; k < i; k++)
            if (ranks[k] == ranks[i]) return gp_fail("dist.group: rank %d twice", ranks[i]);
    }
    return true;
}

int gp_dist_group(const int *ranks, int n) {
    if (!gp_dist_open() || !check_ranks(ranks, n)) return -1;
    static int serial;
    int comm[2] = {0};
    serial++; /* on every rank */
    if (w->transport && !gp_dist_make(ranks, n, comm)) return -1;
    if (comm[0] == -2) return -2;
    return new_group(n, ranks, comm[0], comm[1], serial) ? w->ngroups - 1 : -1;
}

/* ---- streams ---- */

gp_stream *gp_dist_stream(gp_device *dev) {
    static gp_stream *of[GP_MAX_DEVICES];
    static gp_device
        *first; /* the one whose collectives the others' of its kind would be mixed with */
    if (!dev->vt->on_host) {
        if (!first) first = dev;
        if (first != dev)
            return gp_fail_null("dist: a process has one device; its collectives were on %s, now "
                                "on %s",
                                first->name, dev->name);
    }
    if (!of[dev->slot] && (of[dev->slot] = gp_stream_acquire(dev)))
        of[dev->slot]->collective = true,
        atomic_store(&w->stream[!dev->vt->on_host], of[dev->slot]);
    return of[dev->slot];
}

/* ---- the end ---- */

/* Dead: and not yet reaped by its launcher. */
bool gp_dist_is_gone(int r) {
    gp_peer *p = &w->peers[r];
    struct pollfd f = {.fd = p->fd, .events = POLLIN};
    if (r == w->rank || p->machine != w->peers[w->rank].machine) return false;
    if (p->fd >= 0 ? poll(&f, 1, 0) <= 0 : !kill((pid_t)p->pid, 0) || errno != ESRCH) return false;
    snprintf(p->note.text, sizeof p->note.text, "its process was killed");
    return p->ended = true;
}

void gp_dist_look(void) {
    for (int r = 0; r < w->size; r++) {
        gp_peer *p = &w->peers[r];
        if (r == w->rank || p->ended) continue;
        if (p->work >= 0 && w->transport->test(p->work) == 1) p->work = -1, p->ended = true;
        else gp_dist_is_gone(r);
    }
}

/* The status of a rank that has failed before this one, which fails for it; own: there is none. */
static int first_status(int own) {
    if (w->stuck) return own;
    gp_dist_lock();
    gp_dist_look();
    for (int r = 0; r < w->size; r++)
        if (w->peers[r].ended && w->peers[r].note.status) own = w->peers[r].note.status;
    gp_unlock(&w->lock);
    return own;
}

void gp_dist_abandon(const char *why, int status) {
    if (!w->transport || atomic_load(&w->abandoned)) return;
    snprintf(w->why, sizeof w->why, "%s", why);
    w->status = first_status(status);
    atomic_store(&w->abandoned, true);
}

/* Whether all other ranks have said their last word by then; 0: without a limit. A rank that was
 * killed has said none. */
static bool all_ended(double until) {
    bool all = false;
    while (!all && !gp_interrupted && (!until || gp_now() < until)) {
        all = true;
        gp_dist_lock();
        gp_dist_look();
        gp_dist_hear();
        for (int r = 0; r < w->size; r++) all = all && (r == w->rank || w->peers[r].ended);
        gp_unlock(&w->lock);
        if (!all) nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
    for (int r = 0; r < w->size && all; r++) all = r == w->rank || w->peers[r].work < 0;
    return all;
}

/* MPI_Finalize waits for every rank: it is called where all have come this far. */
int gp_dist_end(void) {
    static gp_note mine; /* read until the program is gone */
    static bool done;
    gp_transport *t = w->transport;
    if (!t || done || w->stuck) return w->status;
    done = true;
    bool failed = atomic_load(&w->abandoned) || *w->broken;
    mine.status = w->status;
    snprintf(mine.text, sizeof mine.text, "%s", w->why);
    gp_dist_lock();
    for (int r = 0; r < w->size; r++)
        if (r != w->rank) t->send(0, r, GP_TAG_NOTE, &mine, sizeof mine);
    gp_unlock(&w->lock);
    bool all = all_ended(failed ? gp_now() + w->timeout : 0);
    if (all && !w->in_use) gp_dist_stop();
    else if (failed) t->end_all(w->status ? w->status : EXIT_FAILURE);
    return w->status;
}

__attribute__((constructor)) static void register_process(void) {
    gp_process = (struct gp_process){gp_dist_rank,    gp_dist_size, gp_dist_warns,
                                     gp_dist_abandon, gp_dist_end,  gp_process.leave};
}
