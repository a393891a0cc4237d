/* A plug-in in place of libgpush_mpi.so, for tests/dist/greeting.sh: a job of two in one process,
 * of which rank 0 is this one, and rank 1 none. FAKE_MPI says what fails. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/dist/transport.h"

enum { HELLO = 3, BUSY = 1 }; /* world.h's tag; the number of work that never ends */

static gp_transport t;
static int groups;

static bool is(const char *what) { return !strcmp(getenv("FAKE_MPI"), what); }

static int failed(const char *text) {
    snprintf(t.error, sizeof t.error, "%s", text);
    return GP_TRANSPORT_FAILED;
}

static int group(const int *ranks, int n) {
    return is("group") ? failed("no more communicators") : ++groups;
}
static int send(int g, int to, int tag, const void *p, size_t bytes) { return 0; }
static int receive(int g, int from, int tag, void *p, size_t bytes) {
    if (tag == HELLO && is("receive")) return failed("no memory for messages");
    return BUSY;
}
static int start(int g, const gp_wire *w) { return BUSY; }
static int join(int g, gp_packet *p) { return BUSY; }
static int sender(int g, int tag) { return -1; }
static int test(int work) {
    return work == BUSY && is("test") ? failed("the network is gone") : work != BUSY;
}
static void cancel(int work) {}
static void end(void) {}
static void end_all(int status) {}

__attribute__((visibility("default"))) gp_transport *gp_mpi_open(char *why, size_t size) {
    t = (gp_transport){.version = GP_TRANSPORT_VERSION + is("version"),
                       .engine = "a stand-in",
                       .size = is("size") ? 3 : 2,
                       .group = group,
                       .send = send,
                       .receive = receive,
                       .start = start,
                       .join = join,
                       .sender = sender,
                       .test = test,
                       .cancel = cancel,
                       .close = end,
                       .end_all = end_all};
    snprintf(why, size, "it was set so");
    return is("open") ? NULL : &t;
}
