/* The sockets of a kernel, on ports that its connection file names: only the thread of thread.c
 * uses them. The ports listen from the start of the program on, before libzmq and Lua are there: a
 * client that connects earlier would try again only 100 to 200 ms later. A slow reader of what is
 * published holds up the kernel for a while, so that nothing is lost; then it loses messages, and
 * nobody else does. */
#include "shell/kernel/kernel.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "shell/kernel/zmq_table.h"
#include "tensor/io/own_file.h"

enum {
    KEPT = 500,                 /* messages for each reader that does not read */
    LARGEST = 64 * 1024 * 1024, /* bytes of a frame that comes */
    LINGER = 500                /* ms to deliver what is left at the end */
};

static const gp_zmq_table *zmq;
static void *context, *socket_of[GP_K_SOCKETS];
static const struct {
    const char *port;
    int type;
} kinds[GP_K_SOCKETS] = {{"shell_port", ZMQ_ROUTER},
                         {"control_port", ZMQ_ROUTER},
                         {"stdin_port", ZMQ_ROUTER},
                         {"iopub_port", ZMQ_XPUB},
                         {"hb_port", ZMQ_ROUTER}};

/* ---- opening ---- */

static bool load(char *why, size_t size) {
    const char *reason;
    void *so = gp_own_library("libgpush_kernel.so", RTLD_NOW | RTLD_LOCAL, &reason);
    zmq = so ? dlsym(so, "gp_zmq_functions") : NULL;
    if (!zmq)
        snprintf(why, size, "the plug-in for notebooks cannot be loaded: %s",
                 so ? "libgpush_kernel.so is of another version" : reason);
    return zmq != NULL;
}

/* Where to listen, and *a, if that is by tcp; false: not on this machine alone. */
static bool address(const json_t *file, const char *port, char *out, size_t size,
                    struct sockaddr_in *a) {
    const char *transport = json_string_value(json_object_get(file, "transport"));
    const char *ip = json_string_value(json_object_get(file, "ip"));
    json_int_t n = json_integer_value(json_object_get(file, port));
    *a = (struct sockaddr_in){.sin_family = AF_UNSPEC};
    if (!ip || n < 1 || n > 65535) return false;
    if (transport && !strcmp(transport, "ipc"))
        return snprintf(out, size, "ipc://%s-%d", ip, (int)n) < (int)size;
    if (transport && strcmp(transport, "tcp")) return false;
    if (!strcmp(ip, "localhost")) ip = "127.0.0.1";
    if (inet_pton(AF_INET, ip, &a->sin_addr) != 1) return false;
    if (ntohl(a->sin_addr.s_addr) >> 24 != 127) return false;
    a->sin_family = AF_INET;
    a->sin_port = htons((uint16_t)n);
    return snprintf(out, size, "tcp://%s:%d", ip, (int)n) < (int)size;
}

static int early[GP_K_SOCKETS]; /* descriptors that listen; 0: none */

/* A descriptor that listens there, as libzmq would, or 0. */
static int listening(const struct sockaddr_in *a) {
    enum { WAITING = 100 };
    int on = 1, fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return 0;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)a, sizeof *a) == 0 && listen(fd, WAITING) == 0)
        return fd;
    close(fd); /* gp_kwire_open says what is wrong */
    return 0;
}

void gp_kwire_listen(const char *path) {
    char where[300];
    struct sockaddr_in a;
    json_t *file = json_load_file(path, 0, NULL);
    for (int i = 0; i < GP_K_SOCKETS; i++)
        if (address(file, kinds[i].port, where, sizeof where, &a) && a.sin_family == AF_INET)
            early[i] = listening(&a);
    json_decref(file);
}

static bool set(void *s, int option, int value) {
    return zmq->zmq_setsockopt(s, option, &value, sizeof value) == 0;
}

static bool bind_one(int i, const json_t *file, char *why, size_t size) {
    char where[300];
    int64_t largest = LARGEST;
    struct sockaddr_in a;
    if (!address(file, kinds[i].port, where, sizeof where, &a)) {
        snprintf(why, size,
                 "the connection file's ip and %s name no port of this machine alone (expected "
                 "127.0.0.1 and 1 to 65535, or ipc)",
                 kinds[i].port);
        return false;
    }
    void *s = socket_of[i] = zmq->zmq_socket(context, kinds[i].type);
    bool ok = s && set(s, ZMQ_LINGER, LINGER) &&
              set(s, ZMQ_SNDHWM, i == GP_K_IOPUB ? KEPT : 1000) &&
              zmq->zmq_setsockopt(s, ZMQ_MAXMSGSIZE, &largest, sizeof largest) == 0;
    if (ok && i == GP_K_IOPUB) ok = set(s, ZMQ_XPUB_VERBOSE, 1);
    if (ok && i != GP_K_IOPUB) ok = set(s, ZMQ_ROUTER_HANDOVER, 1);
    if (ok && early[i]) ok = set(s, ZMQ_USE_FD, early[i]);
    if (ok && zmq->zmq_bind(s, where) == 0) return true;
    snprintf(why, size, "cannot listen at %s: %s", where, zmq->zmq_strerror(zmq->zmq_errno()));
    return false;
}

static bool bind_all(const json_t *file, char *why, size_t size) {
    const char *key = json_string_value(json_object_get(file, "key"));
    const char *scheme = json_string_value(json_object_get(file, "signature_scheme"));
    if (!key || !*key || (scheme && strcmp(scheme, "hmac-sha256"))) {
        snprintf(why, size, "the connection file has no key, or another scheme than hmac-sha256");
        return false;
    }
    gp_kmessage_begin(key);
    context = zmq->zmq_ctx_new();
    for (int i = 0; i < GP_K_SOCKETS; i++)
        if (!bind_one(i, file, why, size)) return false;
    return true;
}

bool gp_kwire_open(const char *path, char *why, size_t size) {
    json_error_t error;
    json_t *file = json_load_file(path, 0, &error);
    if (!json_is_object(file)) {
        snprintf(why, size, "the connection file %s cannot be read: %s", path,
                 file ? "it is no object" : error.text);
        json_decref(file);
        return false;
    }
    bool ok = load(why, size) && bind_all(file, why, size);
    json_decref(file);
    return ok;
}

void gp_kwire_close(void) {
    for (int i = 0; i < GP_K_SOCKETS; i++)
        if (socket_of[i]) zmq->zmq_close(socket_of[i]);
    if (context) zmq->zmq_ctx_term(context);
    memset(socket_of, 0, sizeof socket_of);
    context = NULL;
}

/* ---- messages ---- */

int gp_kwire_receive(gp_kchannel channel, gp_kbytes *frame, int most) {
    int n = 0;
    bool more = true, whole = true;
    while (more) {
        zmq_msg_t msg;
        zmq->zmq_msg_init(&msg);
        if (zmq->zmq_msg_recv(&msg, socket_of[channel], ZMQ_DONTWAIT) < 0) {
            zmq->zmq_msg_close(&msg);
            break;
        }
        if (n < most) {
            frame[n] = gp_kbytes_copy(zmq->zmq_msg_data(&msg), zmq->zmq_msg_size(&msg));
            whole = whole && frame[n].p;
            n += frame[n].p != NULL;
        } else {
            whole = false;
        }
        more = zmq->zmq_msg_more(&msg);
        zmq->zmq_msg_close(&msg);
    }
    if (whole) return n;
    while (n) free(frame[--n].p);
    return -1;
}

void gp_kwire_echo(gp_kchannel channel, gp_kbytes *frame, int n) {
    for (int i = 0; i < n; i++)
        zmq->zmq_send(socket_of[channel], frame[i].p, frame[i].n,
                      ZMQ_DONTWAIT | (i + 1 < n ? ZMQ_SNDMORE : 0));
}

bool gp_kwire_send(const gp_kmessage *m, int *done, bool lossy) {
    void *s = socket_of[m->channel];
    char signature[65];
    gp_kmessage_sign(m, signature);
    int n = m->nids + 2 + GP_K_PARTS;
    if (m->channel == GP_K_IOPUB) set(s, ZMQ_XPUB_NODROP, !lossy);
    while (*done < n) {
        int i = *done - m->nids;
        gp_kbytes b = i < 0    ? m->id[*done]
                      : i == 0 ? (gp_kbytes){(char *)"<IDS|MSG>", 9}
                      : i == 1 ? (gp_kbytes){signature, strlen(signature)}
                               : m->part[i - 2];
        int flags = ZMQ_DONTWAIT | (*done + 1 < n ? ZMQ_SNDMORE : 0);
        if (zmq->zmq_send(s, b.p, b.n, flags) < 0)
            return m->channel != GP_K_IOPUB; /* a client that is gone gets no reply */
        ++*done;
    }
    return true;
}

unsigned gp_kwire_poll(unsigned sockets, const int *fd, int n, int ms) {
    zmq_pollitem_t item[GP_K_SOCKETS + 8];
    int bit[GP_K_SOCKETS + 8], count = 0;
    for (int i = 0; i < GP_K_SOCKETS; i++)
        if (sockets >> i & 1)
            bit[count] = i,
            item[count++] = (zmq_pollitem_t){.socket = socket_of[i], .events = ZMQ_POLLIN};
    for (int i = 0; i < n; i++)
        if (fd[i] >= 0)
            bit[count] = GP_K_SOCKETS + i,
            item[count++] = (zmq_pollitem_t){.fd = fd[i], .events = ZMQ_POLLIN};
    unsigned ready = 0;
    if (zmq->zmq_poll(item, count, ms) > 0)
        for (int i = 0; i < count; i++)
            if (item[i].revents) ready |= 1u << bit[i];
    return ready;
}
