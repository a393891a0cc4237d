/* Starts and ends MPI on a thread of its own, which MPI takes for the main one. MPI_Init waits for
 * every rank of the job, without a limit: where one never calls it, the thread is left there, and
 * the caller gets an error with that rank's number. */
#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tensor/device/thread.h"
#include "tensor/dist/world.h"
#include "tensor/error.h"

static gp_world *const w = &gp_the_world;

static struct starter {
    pthread_t thread;
    gp_mpi_open_fn *open;
    gp_transport *transport; /* what open returned, once opened is set, */
    char why[600];           /* or the reason */
    atomic_bool opened;
    sem_t closing;
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
    const char *job = getenv("PMIX_NAMESPACE"); /* Open MPI's mpirun and Slurm */
    int n, proxy = job ? 0 : launcher();        /* MPICH's */
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
    const char *text = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (!text) text = getenv("MPI_LOCALNRANKS");
    if (!text) text = getenv("SLURM_TASKS_PER_NODE"); /* "4", or "2,1(x3)" of several machines */
    return text && !text[strspn(text, "0123456789")] ? atoi(text) : 0;
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

static void *serve(void *unused) {
    (void)unused;
    s.transport = s.open(s.why, sizeof s.why);
    atomic_store(&s.opened, true);
    while (sem_wait(&s.closing)) {
    } /* interrupted */
    if (s.transport) s.transport->close();
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

gp_transport *gp_dist_start(gp_mpi_open_fn *open, int n) {
    bool *came = calloc((size_t)n, sizeof *came);
    if (!came) return gp_fail_null("dist.init: out of memory");
    s.open = open;
    come();
    sem_init(&s.closing, 0, 0);
    bool ok = gp_thread_start(&s.thread, serve, NULL) ? wait_open(came, n)
                                                      : gp_fail("dist.init: no more threads");
    free(came);
    return ok ? s.transport : NULL;
}

void gp_dist_stop(void) {
    sem_post(&s.closing);
    pthread_join(s.thread, NULL);
}
