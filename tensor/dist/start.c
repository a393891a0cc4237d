/* Starts MPI, makes its groups and ends it on a thread of its own, which MPI takes for the main
 * one. MPI_Init and MPI_Comm_create wait for every rank of the job, without a limit: where one does
 * not come, the thread is left there, and the caller gets an error with that rank's number. */
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tensor/device/stream/thread.h"
#include "tensor/dist/world.h"
#include "tensor/base/env.h"
#include "tensor/base/error.h"

static gp_world *const w = &gp_the_world;

static struct starter {
    pthread_t thread;
    gp_mpi_open_fn *open;
    gp_transport *transport; /* what open returned, once opened is set, */
    char why[600];           /* or the reason */
    atomic_bool opened;
    sem_t turn;  /* of the thread: to make a group, or to end */
    bool ending; /* guarded by it, as all that follows */
    int *ranks, count, comm[2];
    atomic_bool made;
} s;

/* ---- who has come ---- */

/* The launcher's process; 0 where a program between it and this one hides it. */
static int launcher(void) {
    char path[64], name[32] = "";
    snprintf(path, sizeof path, "/proc/%d/comm", (int)getppid());
    FILE *f = fopen(path, "re");
    if (f && !fgets(name, sizeof name, f)) name[0] = 0;
    if (f) fclose(f);
    return strncmp(name, "hydra_pmi_proxy", 15) ? 0 : (int)getppid();
}

/* The address that a rank of this job has bound since it came: of this machine's network namespace,
 * without a file. Returns its size; 0 where the launcher gives the job no name. */
static socklen_t address(int rank, struct sockaddr_un *a) {
    enum { HEAD = offsetof(struct sockaddr_un, sun_path) + 1 };
    const char *job = gp_env_text(GP_ENV_PMIX_NAMESPACE); /* Open MPI's mpirun and Slurm */
    int n, proxy = job ? 0 : launcher();                  /* MPICH's */
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (!job && !proxy) return 0;
    n = snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "gpush %s %d %d", job ? job : "hydra",
                 proxy, rank);
    return n < (int)sizeof a->sun_path - 1 ? (socklen_t)(HEAD + n) : 0;
}

/* Lets this machine's other ranks see that this one has come: until the program ends. */
static void come(void) {
    struct sockaddr_un a;
    socklen_t size = address(gp_dist_launched_as(), &a);
    int fd = size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    if (fd >= 0 && bind(fd, (struct sockaddr *)&a, size)) close(fd);
}

static bool has_come(int rank) {
    struct sockaddr_un a;
    socklen_t size = address(rank, &a);
    int fd = size ? socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1;
    bool come = fd < 0 || !connect(fd, (struct sockaddr *)&a, size);
    if (fd >= 0) close(fd);
    return come;
}

/* The number of this job's ranks that run on this machine; 0: not known. */
static int ranks_here(void) {
    const char *text = gp_env_text(GP_ENV_SLURM_TASKS_PER_NODE); /* "4"; "2,1(x3)": of several */
    int n = text && !text[strspn(text, "0123456789")] ? atoi(text) : 0;
    n = (int)gp_env_number(GP_ENV_MPI_LOCALNRANKS, n);
    return (int)gp_env_number(GP_ENV_OMPI_COMM_WORLD_LOCAL_SIZE, n);
}

/* Looks which of n ranks have come; one that has ended since stays among them. */
static void look(bool *came, int n) {
    for (int r = 0; r < n; r++)
        if (!came[r]) came[r] = has_come(r);
}

static bool fail_absent(const bool *came, int n) {
    char who[200] = "";
    size_t at = 0;
    for (int r = 0; r < n && at < sizeof who; r++)
        if (!came[r]) at += (size_t)snprintf(who + at, sizeof who - at, "%s%d", at ? ", " : "", r);
    if (!*who) return gp_fail("dist.init: not all ranks came within %g s", w->timeout);
    return gp_fail("dist.init: rank %s did not come within %g s (it has not called dist, or has "
                   "ended%s)",
                   who, w->timeout, ranks_here() == n ? "" : ", or runs on another machine");
}

/* ---- the thread ---- */

static void make(gp_transport *t, int first) {
    for (int i = first; i < 2; i++)
        s.comm[i] = i > first && s.comm[first] == -1 ? -1 : t->group(s.ranks, s.count);
}

static void *serve(void *unused) {
    (void)unused;
    gp_transport *t = s.transport = s.open(s.why, sizeof s.why);
    if (t && t->version == GP_TRANSPORT_VERSION && t->size == s.count) make(t, 1);
    atomic_store(&s.opened, true);
    for (;;) {
        while (sem_wait(&s.turn)) {
        } /* interrupted */
        if (s.ending) break;
        make(t, 0);
        atomic_store(&s.made, true);
    }
    if (t) t->close();
    return NULL;
}

/* Until MPI is open, or the timeout is over. */
static bool wait_open(bool *came, int n) {
    enum { LOOKS = 8 };
    int looks = 0;
    for (uint64_t t0 = gp_real_ns(); !atomic_load(&s.opened);) {
        double waited = (double)(gp_real_ns() - t0) / 1e9;
        if (gp_interrupted) return gp_fail("dist.init: interrupted");
        if (waited * LOOKS > w->timeout * (looks + 1)) look(came, n), looks++;
        if (looks == LOOKS) return fail_absent(came, n);
        gp_dist_pause((uint64_t)(waited * 1e9), false);
    }
    return s.transport || gp_fail("dist: MPI does not start: %s", s.why);
}

gp_transport *gp_dist_start(gp_mpi_open_fn *open, int n, int *second) {
    bool *came = calloc((size_t)n, sizeof *came);
    s.ranks = calloc((size_t)n, sizeof *s.ranks); /* read by the thread, wherever it is left */
    if (!came || !s.ranks) return free(came), gp_fail_null("dist.init: out of memory");
    for (int i = 0; i < n; i++) s.ranks[i] = i;
    s.count = n;
    s.open = open;
    come();
    sem_init(&s.turn, 0, 0);
    bool ok = gp_thread_start(&s.thread, serve, NULL) ? wait_open(came, n)
                                                      : gp_fail("dist.init: no more threads");
    free(came);
    if (ok) *second = s.comm[1];
    return ok ? s.transport : NULL;
}

void gp_dist_stop(void) {
    s.ending = true;
    sem_post(&s.turn);
    pthread_join(s.thread, NULL);
}

/* ---- groups ---- */

void gp_dist_lock(void) {
    gp_lock(&w->lock);
    while (w->making) {
        gp_unlock(&w->lock);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
        gp_lock(&w->lock);
    }
}

/* Whether the process of this machine has been stopped, as by SIGSTOP. */
static bool is_stopped(const gp_peer *p) {
    char path[64], text[400] = "";
    snprintf(path, sizeof path, "/proc/%lld/stat", (long long)p->pid);
    FILE *f = p->machine == w->peers[w->rank].machine ? fopen(path, "re") : NULL;
    if (f && !fgets(text, sizeof text, f)) text[0] = 0;
    if (f) fclose(f);
    const char *name_end = strrchr(text, ')');
    return name_end && (!strncmp(name_end, ") T", 3) || !strncmp(name_end, ") t", 3));
}

static const gp_dist_call the_group = {.call = &(gp_call){.name = "dist.group"}};

static bool fail_late(void) {
    char who[200] = "";
    size_t at = 0;
    for (int r = 0; r < w->size && at < sizeof who; r++)
        if (is_stopped(&w->peers[r]))
            at += (size_t)snprintf(who + at, sizeof who - at, "%s%d", at ? ", " : "", r);
    if (!*who) return gp_fail("dist.group: not all ranks came within %g s", w->timeout);
    return gp_fail("dist.group: rank %s did not come within %g s (its process is stopped)", who,
                   w->timeout);
}

/* Until the group is made. MPI cannot tell meanwhile which rank has ended: the system can, of those
 * of this machine. A rank that has done its part may end before the others. */
static bool wait_made(void) {
    enum { LOOK_NS = 2000000, GRACE_NS = 300000000 };
    int gone = -1;
    uint64_t t0 = gp_real_ns(), looked = t0, since = 0;
    for (uint64_t now = t0; !atomic_load(&s.made); now = gp_real_ns()) {
        if (gp_interrupted) return gp_fail("dist.group: interrupted");
        if ((double)(now - t0) > w->timeout * 1e9) return fail_late();
        if (gone >= 0 && now - since > GRACE_NS) return gp_dist_fail_ended(&the_group, gone);
        if (gone < 0 && now - looked > LOOK_NS) {
            looked = since = now;
            for (int r = 0; r < w->size && gone < 0; r++)
                if (gp_dist_is_gone(r)) gone = r;
        }
        gp_dist_pause(now - t0, false);
    }
    return true;
}

static int refuse_send(int group, int to, int tag, const void *p, size_t bytes) {
    (void)group, (void)to, (void)tag, (void)p, (void)bytes;
    return GP_TRANSPORT_FAILED;
}
static int refuse_receive(int group, int from, int tag, void *p, size_t bytes) {
    (void)group, (void)from, (void)tag, (void)p, (void)bytes;
    return GP_TRANSPORT_FAILED;
}
static int has_none(int group, int tag) { return (void)group, (void)tag, -1; }
static int is_not_done(int work) { return (void)work, 0; }
static void leave(int work) { (void)work; }

/* MPI is in a call that does not return, and serves no other thread. With the lock held. */
static void disable(gp_transport *t) {
    t->send = refuse_send, t->receive = refuse_receive;
    t->sender = has_none, t->test = is_not_done, t->cancel = leave;
    w->in_use = w->stuck = true;
    snprintf(w->broken, sizeof w->broken, "%s", gp_error());
}

bool gp_dist_make(const int *ranks, int n, int *comm) {
    gp_transport *t = w->transport;
    int *mine = malloc((size_t)n * sizeof *mine);
    if (!mine) return gp_fail("dist.group: out of memory");
    if (!gp_dist_is_whole(&the_group)) return free(mine), false;
    memcpy(mine, ranks, (size_t)n * sizeof *mine);
    gp_dist_lock();
    w->making = true;
    gp_unlock(&w->lock);
    free(s.ranks);
    s.ranks = mine, s.count = n;
    atomic_store(&s.made, false);
    sem_post(&s.turn);
    bool ok = wait_made();
    gp_lock(&w->lock);
    if (!ok) disable(t);
    w->making = false;
    gp_unlock(&w->lock);
    if (!ok) return false;
    memcpy(comm, s.comm, sizeof s.comm);
    return (comm[0] != -1 && comm[1] != -1) || gp_fail("dist.group: %s", t->error);
}
