/* The thread that owns the sockets. It never waits for Lua: it sends what the main thread queued,
 * in its order and after what was printed before, and answers heartbeats, interrupts, the end and
 * consoles itself. */
#include "shell/kernel/kernel.h"

#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "tensor/base/env.h"
#include "tensor/device/card/clock.h"
#include "tensor/device/stream/thread.h"

enum {
    GATHER_MS = 20,     /* how long printed text may wait for more */
    PATIENCE_MS = 5000, /* how long a slow reader may hold up everything */
    LOSSY_MS = 100,     /* in which CREDIT messages go out without a slow reader */
    CREDIT = 20,
    RETRY_MS = 5,
    PARENT_MS = 500, /* between two looks whether the parent lives */
    END_MS = 2000,   /* that a running cell has at the end */
    QUEUED = 1000,   /* requests that wait for the main thread */
    FRAMES = 64
};

gp_kqueue gp_krequests = GP_KQUEUE(gp_krequests), gp_kinputs = GP_KQUEUE(gp_kinputs),
          gp_kanswers = GP_KQUEUE(gp_kanswers);
atomic_bool gp_kbusy, gp_kending;
const char *gp_kinfo;

static struct {
    pthread_t thread, main;
    bool started;
    atomic_bool finish; /* sends what is queued, and ends */
    int wake;
    pid_t parent;               /* 0: nobody's death ends the kernel */
    gp_kmessage *first, **last; /* to be sent, in this order */
    int frames_done;            /* of the first */
    uint64_t stuck_since, lossy_since, gathered_since, ending_since, looked;
    int credit;         /* messages that may go out without a slow reader */
    gp_kmessage *whose; /* of the streams: a message about the request that prints */
    bool running;       /* that request is not answered yet */
    int interrupts;     /* of it, so far */
} own = {.last = &own.first, .wake = -1};

static const char busy[] = "{\"execution_state\":\"busy\"}";

static uint64_t now_ms(void) { return gp_real_ns() / 1000000; }

void gp_kwake(void) {
    uint64_t one = 1;
    if (own.wake >= 0 && write(own.wake, &one, sizeof one) < 0) { /* it is awake */
    }
}

void gp_ksend(gp_kmessage *m) {
    gp_kqueue_put(&gp_kanswers, m);
    gp_kwake();
    gp_kqueue_wait_taken(&gp_kanswers, &gp_interrupted);
}

/* ---- sending ---- */

static void append(gp_kmessage *m) {
    if (!m) return;
    m->next = NULL;
    *own.last = m;
    own.last = &m->next;
}

static bool is_about(const gp_kmessage *m, const gp_kmessage *request) {
    const gp_kbytes *a = &m->part[GP_K_PARENT_HEADER], *b = &request->part[GP_K_HEADER];
    return a->n == b->n && !memcmp(a->p, b->p, a->n);
}

/* Front ends show the last state that came, whatever request it is about. So what says "idle" of
 * another request while a cell runs is followed by "busy". */
static void append_state(gp_kmessage *m) {
    bool idle = m && !strcmp(m->type, "status") && strstr(m->part[GP_K_CONTENT].p, "idle");
    bool other = idle && own.running && !is_about(m, own.whose);
    if (idle && !other) own.running = false;
    append(m);
    if (other) append(gp_kmessage_new(GP_K_IOPUB, own.whose, "status", busy, NULL));
}

static void drop_first(void) {
    gp_kmessage *m = own.first;
    own.first = m->next;
    if (!own.first) own.last = &own.first;
    own.frames_done = 0;
    gp_kmessage_free(m);
}

/* Sends a message; false: a slow reader holds it up. Once it has done so for long, it gets no more:
 * a few messages go out without it, and then all others have time to read them. */
static bool send_one(const gp_kmessage *m) {
    if (gp_kwire_send(m, &own.frames_done, false)) {
        if (m->channel == GP_K_IOPUB) own.stuck_since = own.lossy_since = 0;
        return true;
    }
    uint64_t now = now_ms();
    if (!own.stuck_since) own.stuck_since = now;
    if (now - own.stuck_since < PATIENCE_MS) return false;
    if (now - own.lossy_since >= LOSSY_MS) own.lossy_since = now, own.credit = CREDIT;
    return own.credit-- > 0 && gp_kwire_send(m, &own.frames_done, true);
}

/* Sends what it can; false: a slow reader holds it up. */
static bool send_all(void) {
    while (own.first) {
        if (!send_one(own.first)) return false;
        drop_first();
    }
    return true;
}

/* i: 0 is stdout, 1 stderr */
static void send_stream(int i, const char *text, size_t n) {
    append(gp_kmessage_take(GP_K_IOPUB, own.whose, "stream",
                            gp_kstream_content(i ? "stderr" : "stdout", text, n)));
}

static void flush_streams(void) {
    for (int i = 0; i < 2; i++) gp_kstream_flush(i, send_stream);
    own.gathered_since = 0;
}

static void read_streams(void) {
    for (int i = 0; i < 2; i++) gp_kstream_read(i, send_stream);
    if (!gp_kstream_pending()) own.gathered_since = 0;
    else if (!own.gathered_since) own.gathered_since = now_ms();
}

/* Takes what the main thread queued, each after what was printed before it. */
static void forward(void) {
    while (send_all() && gp_kqueue_count(&gp_kanswers)) {
        read_streams();
        flush_streams();
        gp_kmessage *m = gp_kqueue_take(&gp_kanswers, false);
        if (m->channel == GP_K_PARENT) {
            gp_kbytes about = m->part[GP_K_PARENT_HEADER];
            m->part[GP_K_PARENT_HEADER] = m->part[GP_K_HEADER];
            m->part[GP_K_HEADER] = about;
            gp_kmessage_free(own.whose);
            own.whose = m;
            own.running = true;
            own.interrupts = 0;
        } else {
            append_state(m);
        }
    }
}

/* ---- the control channel ---- */

static void status_of(const gp_kmessage *m, bool begins) {
    append_state(gp_kmessage_new(GP_K_IOPUB, m, "status",
                                 begins ? busy : "{\"execution_state\":\"idle\"}", NULL));
}

/* As a terminal's Ctrl-C: programs that the cell started get the signal, too, where the launcher
 * made a group of processes for the kernel. */
static void interrupt(void) {
    if (getpgrp() == getpid()) kill(0, SIGINT);
    else pthread_kill(own.main, SIGINT);
}

/* A finalizer, or one call of Lua's library, goes on. */
static void say_how_to_end(void) {
    static const char text[] =
        "Still stopping. Restarting the kernel ends the cell, and the session is lost.\n";
    if (own.running && ++own.interrupts == 2) send_stream(1, text, sizeof text - 1);
}

/* Begins the end, which a cell that runs has some time for. The signal comes first: after the
 * queues it could find the main thread where nothing expects it, on its way out. */
static void begin_end(void) {
    if (!own.ending_since) own.ending_since = now_ms();
    atomic_store(&gp_kending, true);
    interrupt();
    gp_kqueue_close(&gp_krequests);
    gp_kqueue_close(&gp_kinputs);
}

static void reply(const gp_kmessage *m, const char *type, const char *content) {
    append(gp_kmessage_new(m->channel, m, type, content, NULL));
}

static void reply_shutdown(const gp_kmessage *m) {
    json_t *asked = json_loadb(m->part[GP_K_CONTENT].p, m->part[GP_K_CONTENT].n, 0, NULL);
    bool again = json_is_true(json_object_get(asked, "restart"));
    json_decref(asked);
    const char *content =
        again ? "{\"status\":\"ok\",\"restart\":true}" : "{\"status\":\"ok\",\"restart\":false}";
    reply(m, "shutdown_reply", content);
    append(gp_kmessage_new(GP_K_IOPUB, m, "shutdown_reply", content, NULL));
}

static void create_console(const gp_kmessage *m) {
    char name[64], content[128];
    if (!gp_kconsole_new(name))
        return reply(
            m, "create_subshell_reply",
            "{\"status\":\"error\",\"ename\":\"TooMany\",\"evalue\":\"no more consoles can "
            "be opened\",\"traceback\":[]}");
    snprintf(content, sizeof content, "{\"status\":\"ok\",\"subshell_id\":\"%s\"}", name);
    reply(m, "create_subshell_reply", content);
}

static const char no_console[] =
    "{\"status\":\"error\",\"ename\":\"UnknownSubshell\",\"evalue\":\"there is no such console\","
    "\"traceback\":[]}";

static void delete_console(const gp_kmessage *m) {
    json_t *asked = json_loadb(m->part[GP_K_CONTENT].p, m->part[GP_K_CONTENT].n, 0, NULL);
    const char *name = json_string_value(json_object_get(asked, "subshell_id"));
    bool known = name && gp_kconsole_delete(name);
    json_decref(asked);
    reply(m, "delete_subshell_reply",
          known
              ? "{\"status\":\"ok\"}"
              : "{\"status\":\"error\",\"ename\":\"UnknownSubshell\",\"evalue\":\"there is no such "
                "console\",\"traceback\":[]}");
}

static void list_consoles(const gp_kmessage *m) {
    append(gp_kmessage_take(m->channel, m, "list_subshell_reply", gp_kconsole_list()));
}

/* To a request that cannot be answered, x_request: x_reply, an error. */
static void refuse(const gp_kmessage *m, const char *content) {
    static const char ending[] = "_request";
    char type[64];
    size_t n = strlen(m->type), k = sizeof ending - 1;
    if (n <= k || strcmp(m->type + n - k, ending)) return;
    snprintf(type, sizeof type, "%.*s_reply", (int)(n - k), m->type);
    reply(m, type, content);
}

static void answer_now(const gp_kmessage *m) {
    const char *type = m->type;
    status_of(m, true);
    if (!strcmp(type, "interrupt_request")) {
        interrupt();
        say_how_to_end();
        reply(m, "interrupt_reply", "{\"status\":\"ok\"}");
    } else if (!strcmp(type, "shutdown_request")) {
        reply_shutdown(m);
    } else if (!strcmp(type, "kernel_info_request")) {
        reply(m, "kernel_info_reply", gp_kinfo);
    } else if (!strcmp(type, "create_subshell_request")) {
        create_console(m);
    } else if (!strcmp(type, "delete_subshell_request")) {
        delete_console(m);
    } else if (!strcmp(type, "list_subshell_request")) {
        list_consoles(m);
    } else {
        refuse(m,
               "{\"status\":\"error\",\"ename\":\"NotSupported\",\"evalue\":\"this kernel does not "
               "know such requests\",\"traceback\":[]}");
    }
    status_of(m, false);
    if (!strcmp(type, "shutdown_request")) begin_end();
}

/* ---- what comes ---- */

static void unknown_console(const gp_kmessage *m) {
    status_of(m, true);
    refuse(m, no_console);
    status_of(m, false);
}

/* A front end that comes while a cell runs asks first what this is, and opens a console only then;
 * VS Code sends interrupts to the shell's socket. */
static bool is_urgent(const gp_kmessage *m) {
    static const char *const now[] = {"interrupt_request", "shutdown_request",
                                      "kernel_info_request"};
    bool found = m->channel == GP_K_CONTROL;
    for (size_t i = 0; i < sizeof now / sizeof *now; i++) found = found || !strcmp(m->type, now[i]);
    return found;
}

/* A request of a console waits for the main thread only where that is idle. */
static void accept(gp_kmessage *m) {
    if (m->channel == GP_K_STDIN) return gp_kqueue_put(&gp_kinputs, m);
    if (is_urgent(m)) {
        answer_now(m);
    } else if (*m->subshell && !gp_kconsole_known(m->subshell)) {
        unknown_console(m);
    } else if (*m->subshell && (atomic_load(&gp_kbusy) || gp_kqueue_count(&gp_krequests))) {
        return gp_kconsole_ask(m);
    } else {
        return gp_kqueue_put(&gp_krequests, m);
    }
    gp_kmessage_free(m);
}

/* A subscription: 1 and a topic. */
static void welcome(const gp_kbytes *frame, int n) {
    if (n != 1 || frame->n < 1 || frame->p[0] != 1) return;
    size_t len;
    char *topic = gp_kutf8(frame->p + 1, frame->n - 1, &len, NULL);
    json_t *j = topic ? json_pack("{s:s#}", "subscription", topic, (int)len) : NULL;
    gp_kmessage *m =
        gp_kmessage_take(GP_K_IOPUB, NULL, "iopub_welcome", j ? json_dumps(j, 0) : NULL);
    json_decref(j);
    free(topic);
    if (!m) return;
    free(m->id[0].p); /* the topic, by which the subscriber gets it */
    m->id[0] = gp_kbytes_copy(frame->p + 1, frame->n - 1);
    append(m);
}

static void receive(gp_kchannel channel) {
    gp_kbytes frame[FRAMES];
    int n;
    while ((n = gp_kwire_receive(channel, frame, FRAMES))) {
        if (n < 0) continue;
        if (channel == GP_K_HEARTBEAT) gp_kwire_echo(channel, frame, n);
        if (channel == GP_K_IOPUB) welcome(frame, n);
        if (channel != GP_K_HEARTBEAT && channel != GP_K_IOPUB) {
            gp_kmessage *m = gp_kmessage_read(channel, frame, n);
            if (m) accept(m);
        } else {
            for (int i = 0; i < n; i++) free(frame[i].p);
        }
        if (channel == GP_K_SHELL && gp_kqueue_count(&gp_krequests) >= QUEUED) return;
    }
}

/* ---- the loop ---- */

static void look_at_parent(void) {
    if (!own.parent || now_ms() - own.looked < PARENT_MS) return;
    own.looked = now_ms();
    if (getppid() != own.parent) begin_end();
}

/* The end has come: a cell that does not stop is left. */
static void look_at_end(void) {
    if (!own.ending_since) return;
    if (atomic_load(&gp_kbusy)) pthread_kill(own.main, SIGINT);
    if (now_ms() - own.ending_since < END_MS) return;
    send_all();
    gp_kwire_close();
    _exit(EXIT_SUCCESS);
}

static int patience(bool stuck) {
    if (stuck) return RETRY_MS;
    if (gp_kstream_pending()) {
        uint64_t gone = now_ms() - own.gathered_since;
        return gone < GATHER_MS ? (int)(GATHER_MS - gone) : 0;
    }
    return own.ending_since ? 100 : PARENT_MS;
}

static void turn(void) {
    unsigned sockets = (1u << GP_K_SOCKETS) - 1;
    bool stuck = own.first != NULL;
    if (gp_kqueue_count(&gp_krequests) >= QUEUED) sockets &= ~(1u << GP_K_SHELL);
    const int fd[3] = {own.wake, stuck ? -1 : gp_kstream_fd(0), stuck ? -1 : gp_kstream_fd(1)};
    unsigned ready = gp_kwire_poll(sockets, fd, 3, patience(stuck));
    uint64_t wakes;
    if (ready >> GP_K_SOCKETS & 1 && read(own.wake, &wakes, sizeof wakes) < 0) { /* none */
    }
    static const gp_kchannel order[] = {GP_K_CONTROL, GP_K_HEARTBEAT, GP_K_STDIN, GP_K_IOPUB,
                                        GP_K_SHELL};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++)
        if (ready >> order[i] & 1) receive(order[i]);
    if (ready >> GP_K_SOCKETS & 6) read_streams();
    if (own.gathered_since && now_ms() - own.gathered_since >= GATHER_MS) flush_streams();
    forward();
    look_at_parent();
    look_at_end();
}

static void *serve(void *unused) {
    (void)unused;
    pthread_setname_np(pthread_self(), "notebook");
    append(gp_kmessage_new(GP_K_IOPUB, NULL, "status", "{\"execution_state\":\"starting\"}", NULL));
    while (!atomic_load(&own.finish)) turn();
    for (uint64_t since = now_ms();
         now_ms() - since < 1000 && (own.first || gp_kqueue_count(&gp_kanswers));)
        turn();
    read_streams();
    flush_streams();
    send_all();
    return NULL;
}

/* Jupyter's launcher names itself; it starts a kernel as its child. */
static pid_t parent(void) { return gp_env_text(GP_ENV_JPY_PARENT_PID) ? getppid() : 0; }

bool gp_kthread_start(void) {
    own.main = pthread_self();
    own.parent = parent();
    own.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return own.started = own.wake >= 0 && gp_thread_start(&own.thread, serve, NULL);
}

void gp_kthread_end(void) {
    if (!own.started) return;
    own.started = false;
    atomic_store(&own.finish, true);
    gp_kwake();
    pthread_join(own.thread, NULL);
    gp_kqueue_close(&gp_kanswers);
    gp_kwire_close();
}
