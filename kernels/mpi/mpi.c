/* The plug-in libgpush_mpi.so: gp_transport (tensor/dist/transport.h) by MPI. No other file of the
 * product includes mpi.h, so that the program needs no MPI. Work is numbered: each send, receive or
 * collective gets a request that test looks at without blocking, and MPI's own errors are kept as
 * text for the message of the call. One thread at a time calls MPI (MPI_THREAD_SERIALIZED), under
 * the core's lock. */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dist/transport.h"

static gp_transport mpi;
static MPI_Op smallest, largest; /* for floats: NaN wins */
static MPI_Datatype packet_type;
static MPI_Op packet_op;

/* Two ranks exchange their packets, in a third of a collective's time. */
typedef struct pair {
    int other; /* the other rank of a group of two; -1: it is not one */
    gp_packet *mine, theirs;
    MPI_Request send;
} pair;
enum { PAIR_TAG = 100 };

/* MPI writes into a pair: groups stay where they are. */
typedef struct comm {
    MPI_Comm mpi;
    pair pair;
} comm;
static comm **groups;
static int ngroups;

typedef struct job {
    MPI_Request request; /* MPI_REQUEST_NULL: free */
    pair *pair;          /* whose packets it joins; NULL: other work */
} job;
static job *work;
static int nwork, next_work;

/* Whether the call succeeded; keeps MPI's text otherwise. */
static bool fine(const char *what, int code) {
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;
    if (code == MPI_SUCCESS) return true;
    MPI_Error_string(code, text, &n);
    snprintf(mpi.error, sizeof mpi.error, "%s: %s", what, text);
    return false;
}

/* ---- groups ---- */

static int keep_group(MPI_Comm made) {
    int rank, size;
    comm *c = malloc(sizeof *c), **more = realloc(groups, (size_t)(ngroups + 1) * sizeof(comm *));
    if (more) groups = more;
    if (!c || !more) {
        free(c);
        snprintf(mpi.error, sizeof mpi.error, "no memory for a group");
        return GP_TRANSPORT_FAILED;
    }
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    MPI_Comm_rank(made, &rank);
    MPI_Comm_size(made, &size);
    *c = (comm){.mpi = made, .pair = {.other = size == 2 ? 1 - rank : -1}};
    groups[ngroups] = c;
    return ngroups++;
}

static int group(const int *ranks, int n) {
    MPI_Group all, some;
    MPI_Comm made;
    if (!fine("MPI_Comm_group", MPI_Comm_group(groups[0]->mpi, &all))) return GP_TRANSPORT_FAILED;
    bool ok = fine("MPI_Group_incl", MPI_Group_incl(all, n, ranks, &some)) &&
              fine("MPI_Comm_create", MPI_Comm_create(groups[0]->mpi, some, &made));
    MPI_Group_free(&all);
    if (!ok) return GP_TRANSPORT_FAILED;
    MPI_Group_free(&some);
    return made == MPI_COMM_NULL ? -2 : keep_group(made);
}

/* ---- work ---- */

/* The number of work that can begin; the first time, and where all have, of more. */
static int free_work(void) {
    for (int i = 0; i < nwork; i++) {
        int at = (next_work + i) % nwork;
        if (work[at].request != MPI_REQUEST_NULL) continue;
        next_work = at + 1;
        return at;
    }
    int capacity = nwork ? 2 * nwork : 256;
    job *more = realloc(work, (size_t)capacity * sizeof *more);
    if (!more) {
        snprintf(mpi.error, sizeof mpi.error, "no memory for %d messages on their way", capacity);
        return GP_TRANSPORT_FAILED;
    }
    work = more;
    for (int i = nwork; i < capacity; i++) work[i] = (job){.request = MPI_REQUEST_NULL};
    next_work = nwork + 1;
    int at = nwork;
    nwork = capacity;
    return at;
}

static int sent(int to, const char *what, int code) {
    return fine(what, code) ? to : GP_TRANSPORT_FAILED;
}

/* The number of elements of *type: bytes, or blocks where an int cannot count the bytes. */
static int blocks(size_t bytes, MPI_Datatype *type) {
    enum { BLOCK = 1 << 16 };
    *type = MPI_BYTE;
    if (bytes < (size_t)1 << 31) return (int)bytes;
    MPI_Type_contiguous(BLOCK, MPI_BYTE, type);
    MPI_Type_commit(type);
    return (int)((bytes + BLOCK - 1) / BLOCK);
}

static void release(MPI_Datatype *type) {
    if (*type != MPI_BYTE) MPI_Type_free(type);
}

static int send(int group, int to, int tag, const void *p, size_t bytes) {
    MPI_Datatype type;
    int at = free_work();
    if (at < 0) return at;
    int n = blocks(bytes, &type);
    int code = MPI_Isend(p, n, type, to, tag, groups[group]->mpi, &work[at].request);
    release(&type);
    return sent(at, "MPI_Isend", code);
}

static int receive(int group, int from, int tag, void *p, size_t bytes) {
    MPI_Datatype type;
    int at = free_work();
    if (at < 0) return at;
    int n = blocks(bytes, &type);
    int code = MPI_Irecv(p, n, type, from, tag, groups[group]->mpi, &work[at].request);
    release(&type);
    return sent(at, "MPI_Irecv", code);
}

static int test_one(MPI_Request *r) {
    int done = 0;
    if (!fine("MPI_Test", MPI_Test(r, &done, MPI_STATUS_IGNORE))) return GP_TRANSPORT_FAILED;
    if (done) *r = MPI_REQUEST_NULL;
    return done;
}

/* What is sent is replaced once it is gone. */
static int test_pair(job *j) {
    pair *p = j->pair;
    int done = p->send == MPI_REQUEST_NULL ? 1 : test_one(&p->send);
    if (done == 1) done = test_one(&j->request);
    if (done != 1) return done;
    mpi.fold(&p->theirs, p->mine);
    j->pair = NULL;
    return 1;
}

static int test(int at) {
    return work[at].pair ? test_pair(&work[at]) : test_one(&work[at].request);
}

static void cancel(int at) {
    if (work[at].request == MPI_REQUEST_NULL) return;
    MPI_Cancel(&work[at].request);
    MPI_Request_free(&work[at].request);
    work[at].request = MPI_REQUEST_NULL;
}

/* ---- collectives ---- */

static MPI_Datatype type_of(gp_dtype dt) {
    switch (dt) {
    case GP_bool:
    case GP_u8: return MPI_UINT8_T;
    case GP_i8: return MPI_INT8_T;
    case GP_i16: return MPI_INT16_T;
    case GP_i32: return MPI_INT32_T;
    case GP_i64: return MPI_INT64_T;
    case GP_f32: return MPI_FLOAT;
    case GP_f64: return MPI_DOUBLE;
    default: return MPI_UINT16_T; /* f16, bf16: only moved */
    }
}

#define PICK(name, T, better)                                                                      \
    static void name(const T *in, T *out, int n) {                                                 \
        for (int i = 0; i < n; i++)                                                                \
            if (in[i] better out[i] || in[i] != in[i]) out[i] = in[i];                             \
    }
PICK(least_f32, float, <)
PICK(least_f64, double, <)
PICK(most_f32, float, >)
PICK(most_f64, double, >)

static void pick_least(void *in, void *out, int *n, MPI_Datatype *type) {
    if (*type == MPI_FLOAT) least_f32(in, out, *n);
    else least_f64(in, out, *n);
}
static void pick_most(void *in, void *out, int *n, MPI_Datatype *type) {
    if (*type == MPI_FLOAT) most_f32(in, out, *n);
    else most_f64(in, out, *n);
}

static bool floats(const gp_wire *w) { return w->dtype == GP_f32 || w->dtype == GP_f64; }

static MPI_Op op_of(const gp_wire *w) {
    switch (w->op) {
    case GP_WIRE_PROD: return MPI_PROD;
    case GP_WIRE_MIN: return floats(w) ? smallest : MPI_MIN;
    case GP_WIRE_MAX: return floats(w) ? largest : MPI_MAX;
    default: return MPI_SUM;
    }
}

static int begin(const gp_wire *w, MPI_Comm comm, MPI_Request *r) {
    MPI_Datatype type = type_of(w->dtype);
    int n = w->count;
    switch (w->kind) {
    case GP_WIRE_all_reduce:
        return MPI_Iallreduce(w->out == w->in ? MPI_IN_PLACE : w->out, w->in, n, type, op_of(w),
                              comm, r);
    case GP_WIRE_reduce: return MPI_Ireduce(w->out, w->in, n, type, op_of(w), w->root, comm, r);
    case GP_WIRE_broadcast: return MPI_Ibcast(w->in, n, type, w->root, comm, r);
    case GP_WIRE_all_gather: return MPI_Iallgather(w->out, n, type, w->in, n, type, comm, r);
    case GP_WIRE_reduce_scatter:
        return MPI_Ireduce_scatter_block(w->out, w->in, n, type, op_of(w), comm, r);
    case GP_WIRE_all_to_all: return MPI_Ialltoall(w->out, n, type, w->in, n, type, comm, r);
    case GP_WIRE_gather: return MPI_Igather(w->out, n, type, w->in, n, type, w->root, comm, r);
    default: return MPI_Iscatter(w->out, n, type, w->in, n, type, w->root, comm, r);
    }
}

static int start(int group, const gp_wire *w) {
    int at = free_work();
    return at < 0 ? at : sent(at, "a collective", begin(w, groups[group]->mpi, &work[at].request));
}

/* ---- packets ---- */

static void fold(void *in, void *out, int *n, MPI_Datatype *type) {
    (void)type;
    for (int i = 0; i < *n; i++) mpi.fold((gp_packet *)in + i, (gp_packet *)out + i);
}

static int join_pair(MPI_Comm with, pair *p, int at, gp_packet *packet) {
    int bytes = (int)sizeof *packet;
    p->mine = packet;
    int code = MPI_Irecv(&p->theirs, bytes, MPI_BYTE, p->other, PAIR_TAG, with, &work[at].request);
    if (code == MPI_SUCCESS)
        code = MPI_Isend(packet, bytes, MPI_BYTE, p->other, PAIR_TAG, with, &p->send);
    work[at].pair = code == MPI_SUCCESS ? p : NULL;
    return sent(at, "MPI_Isend", code);
}

static int join(int group, gp_packet *packet) {
    comm *g = groups[group];
    int at = free_work();
    if (at < 0) return at;
    if (g->pair.other >= 0) return join_pair(g->mpi, &g->pair, at, packet);
    int code =
        MPI_Iallreduce(MPI_IN_PLACE, packet, 1, packet_type, packet_op, g->mpi, &work[at].request);
    return sent(at, "MPI_Iallreduce", code);
}

static int sender(int group, int tag) {
    int there = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, tag, groups[group]->mpi, &there, &status);
    return there ? status.MPI_SOURCE : -1;
}

/* ---- the job ---- */

static void close_job(void) {
    MPI_Type_free(&packet_type);
    MPI_Op_free(&packet_op);
    MPI_Op_free(&smallest);
    MPI_Op_free(&largest);
    MPI_Finalize();
}

/* Open MPI's mpirun does so itself where a rank ends with a failure; MPICH's only where one was
 * killed. */
static void end_all(int status) {
#ifdef MPICH_VERSION
    MPI_Abort(groups[0]->mpi, status);
#else
    (void)status;
#endif
}

/* The first line without what follows a comma, and "MPICH Version:\t4.0.2" as "MPICH 4.0.2". */
static void shorten(char *text) {
    static const char word[] = " Version:\t";
    text[strcspn(text, "\n,")] = 0;
    char *at = strstr(text, word);
    if (at) *at = ' ', memmove(at + 1, at + sizeof word - 1, strlen(at + sizeof word - 1) + 1);
}

__attribute__((visibility("default"))) void gp_mpi_version(char *text, size_t size) {
    char whole[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int n;
    MPI_Get_library_version(whole, &n);
    shorten(whole);
    snprintf(text, size, "%s", whole);
}

/* Where all ranks are on one machine, messages go through its memory: Open MPI need not look for
 * networks, which takes 0.2 s of a start's 0.35. A choice of the user's stays. */
static void skip_networks(void) {
    const char *all = getenv("OMPI_COMM_WORLD_SIZE"), *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
    if (all && here && !strcmp(all, here)) setenv("OMPI_MCA_pml", "ob1", 0);
}

static bool join_job(void) {
    int have;
    static char lines[BUFSIZ];
    MPI_Comm all;
    skip_networks();
    if (!fine("MPI_Init_thread", MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &have)))
        return false;
    /* MPICH takes stdout's buffer away, and lines of ranks would mix. */
    setvbuf(stdout, lines, _IOLBF, sizeof lines);
    if (have < MPI_THREAD_SERIALIZED) {
        snprintf(mpi.error, sizeof mpi.error, "this MPI serves the thread that started it alone");
        return false;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!fine("MPI_Comm_dup", MPI_Comm_dup(MPI_COMM_WORLD, &all))) return false;
    if (keep_group(all) < 0) return false;
    MPI_Comm_rank(all, &mpi.rank);
    MPI_Comm_size(all, &mpi.size);
    return fine("MPI_Op_create", MPI_Op_create(pick_least, 1, &smallest)) &&
           fine("MPI_Op_create", MPI_Op_create(pick_most, 1, &largest)) &&
           fine("MPI_Op_create", MPI_Op_create(fold, 1, &packet_op)) &&
           fine("MPI_Type_contiguous",
                MPI_Type_contiguous((int)sizeof(gp_packet), MPI_BYTE, &packet_type)) &&
           fine("MPI_Type_commit", MPI_Type_commit(&packet_type));
}

__attribute__((visibility("default"))) gp_transport *gp_mpi_open(char *why, size_t size) {
    mpi = (gp_transport){.version = GP_TRANSPORT_VERSION,
                         .group = group,
                         .send = send,
                         .receive = receive,
                         .start = start,
                         .join = join,
                         .sender = sender,
                         .test = test,
                         .cancel = cancel,
                         .close = close_job,
                         .end_all = end_all};
    gp_mpi_version(mpi.engine, sizeof mpi.engine);
    if (join_job()) return &mpi;
    snprintf(why, size, "%s", mpi.error);
    return NULL;
}
