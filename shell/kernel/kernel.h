/* The kernel for notebooks (Jupyter's protocol 5.5), shared by the files of shell/kernel/. One
 * thread, that of thread.c, owns all sockets and answers what must not wait: heartbeats, the
 * control channel, consoles while a cell runs. The main thread takes requests from its queue and
 * runs Lua; what it sends goes through another queue. No other thread touches its Lua state. */
#ifndef GP_KERNEL_H
#define GP_KERNEL_H

#include <lua.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tensor/base/error.h"

/* The sockets; GP_K_PARENT is no socket: such a message says whose the streams are from here on. */
typedef enum gp_kchannel {
    GP_K_SHELL,
    GP_K_CONTROL,
    GP_K_STDIN,
    GP_K_IOPUB,
    GP_K_HEARTBEAT,
    GP_K_SOCKETS,
    GP_K_PARENT = GP_K_SOCKETS
} gp_kchannel;

typedef struct gp_kbytes {
    char *p; /* malloc'ed, with a zero after its n bytes */
    size_t n;
} gp_kbytes;

enum { GP_K_HEADER, GP_K_PARENT_HEADER, GP_K_METADATA, GP_K_CONTENT, GP_K_PARTS };
enum { GP_K_IDS = 8 };

/* A message: who it is from or to, and its four texts in JSON. */
typedef struct gp_kmessage {
    struct gp_kmessage *next;
    gp_kchannel channel;
    int nids;
    gp_kbytes id[GP_K_IDS];
    gp_kbytes part[GP_K_PARTS];
    char type[48];     /* letters and _ */
    char subshell[64]; /* "": none */
    bool aborted;      /* a cell before it failed */
} gp_kmessage;

/* ---- message.c ---- */

/* The message in n frames, which it takes over, of which the first nids are identities; NULL, and
 * all is freed, where it is not signed by the key or is not what the protocol says. */
gp_kmessage *gp_kmessage_read(gp_kchannel channel, gp_kbytes *frame, int n);
/* A message of ours: to whom `to` is from, if it is not for iopub, and about it. to may be NULL.
 * content and metadata are JSON; NULL: {}. NULL where memory is missing. */
gp_kmessage *gp_kmessage_new(gp_kchannel channel, const gp_kmessage *to, const char *type,
                             const char *content, const char *metadata);
/* The same for a text that was dumped by jansson, which it frees. */
gp_kmessage *gp_kmessage_take(gp_kchannel channel, const gp_kmessage *to, const char *type,
                              char *content);
/* The signature of its parts. */
void gp_kmessage_sign(const gp_kmessage *m, char out[65]);
void gp_kmessage_free(gp_kmessage *m);
/* A copy of n bytes. */
gp_kbytes gp_kbytes_copy(const char *p, size_t n);
/* s as UTF-8: what is not is replaced; malloc'ed. *left, unless NULL: bytes at the end that begin a
 * character, which are left out. */
char *gp_kutf8(const char *s, size_t n, size_t *out_n, size_t *left);
/* The text as a reply or stream that holds it: {"name": "stdout", "text": …}. */
char *gp_kstream_content(const char *name, const char *text, size_t n);
/* Makes the session's name, and keeps the key and the scheme of signatures. */
void gp_kmessage_begin(const char *key);

/* ---- queue.c ---- */

typedef struct gp_kqueue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    gp_kmessage *first, **last;
    int n;
    bool closed;
} gp_kqueue;
#define GP_KQUEUE(q)                                                                               \
    { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, NULL, &(q).first, 0, 0 }

/* Appends m, which may be NULL. */
void gp_kqueue_put(gp_kqueue *q, gp_kmessage *m);
/* Waits until all was taken, the queue is closed, or `stop` is not 0. */
void gp_kqueue_wait_taken(gp_kqueue *q, const gp_flag *stop);
/* The first message; NULL where there is none. wait: waits for one; NULL: the queue is closed. A
 * request makes the kernel busy at once. */
gp_kmessage *gp_kqueue_take(gp_kqueue *q, bool wait);
void gp_kqueue_close(gp_kqueue *q);
int gp_kqueue_count(gp_kqueue *q);
/* Marks what waits as aborted if it is of that type. */
void gp_kqueue_abort(gp_kqueue *q, const char *type);

/* ---- wire.c ---- */

/* Opens the plug-in and binds the sockets that the connection file names; false with a message. */
bool gp_kwire_open(const char *file, char *why, size_t size);
/* At the start of the program: listens at the ports that the connection file names. What is wrong
 * with it gp_kwire_open says. */
void gp_kwire_listen(const char *path);
void gp_kwire_close(void);
/* One message of the socket without waiting, as frames; 0: none is there; -1: it had too many. */
int gp_kwire_receive(gp_kchannel channel, gp_kbytes *frame, int most);
/* Sends frames as they came. */
void gp_kwire_echo(gp_kchannel channel, gp_kbytes *frame, int n);
/* Sends m, but for frames that were sent before, *done of them; false: not now, a reader is slow.
 * lossy: whoever is slow does not get it. */
bool gp_kwire_send(const gp_kmessage *m, int *done, bool lossy);
/* Waits for input on the sockets whose bits are in `sockets` and on the n files, at most ms; the
 * bits of those with input, files' from bit GP_K_SOCKETS on. */
unsigned gp_kwire_poll(unsigned sockets, const int *fd, int n, int ms);

/* ---- thread.c ---- */

extern gp_kqueue gp_krequests, gp_kinputs; /* for the main thread */
extern gp_kqueue gp_kanswers;              /* from it */
extern atomic_bool gp_kbusy;               /* whether the main thread answers a request */
extern atomic_bool gp_kending;

/* What kernel_info_request is answered. */
extern const char *gp_kinfo;
/* Starts the thread. */
bool gp_kthread_start(void);
/* Ends it once what was queued is sent, at most a second later. */
void gp_kthread_end(void);
/* Queues m, which may be NULL, to be sent by the thread after what was printed before; what is
 * printed from here on comes after it. Waits while a slow reader holds up everything, unless
 * interrupted. */
void gp_ksend(gp_kmessage *m);
void gp_kwake(void);

/* ---- streams.c: what is written to standard output and standard error ---- */

/* Puts pipes in place of both files. */
bool gp_kstreams_open(void);
/* Gives the files back. */
void gp_kstreams_close(void);
int gp_kstream_fd(int i);
/* Reads what is there now, at most a pipe's contents, and gives it to `send`, whole characters in
 * pieces of at most GP_KSTREAM_PIECE bytes: full ones at once, the rest when flushed. */
enum { GP_KSTREAM_PIECE = 1 << 16 };
void gp_kstream_read(int i, void (*send)(int i, const char *text, size_t n));
void gp_kstream_flush(int i, void (*send)(int i, const char *text, size_t n));
bool gp_kstream_pending(void);

/* ---- console.c: consoles (subshells) while a cell runs ---- */

/* Their list as JSON, malloc'ed; a new one's name; whether one was deleted. */
char *gp_kconsole_list(void);
bool gp_kconsole_new(char name[64]);
bool gp_kconsole_delete(const char *name);
bool gp_kconsole_known(const char *name);
/* Answers m, which it takes over, on a thread of its own. */
void gp_kconsole_ask(gp_kmessage *m);
/* Ends it. */
void gp_kconsole_end(void);
/* When the cell that runs began, in ns, and its number. */
extern atomic_ullong gp_kbegan;
extern atomic_int gp_kcell;

/* ---- input.c ---- */

/* Makes standard input of L ask the front end. */
void gp_kinput_open(lua_State *L);
/* Whose requests may be asked for input; NULL: nobody's. */
void gp_kinput_of(const gp_kmessage *m);

/* ---- native.c ---- */

/* Pushes the table of functions for scripts/lua/shell/kernel. */
void gp_knative_push(lua_State *L);

/* ---- kernel.c ---- */

#ifdef GP_WITHOUT_NOTEBOOK
static inline void gp_kernel_listen(int argc, char **argv) { (void)argc, (void)argv; }
static inline bool gp_kernel_run(lua_State *L, const char *file) { return L && !file; }
#else
/* At the start of the program: where this is `gpush kernel --connection FILE`, listens for clients
 * that do not wait for the kernel. */
void gp_kernel_listen(int argc, char **argv);
/* Runs the kernel until a front end or its parent ends it; whether it could start. */
bool gp_kernel_run(lua_State *L, const char *file);
#endif

#endif
