/* A stream's queue as the host knows it: marks tell how far the device has come; what the host owes then (a copy out of
 * staging memory, memory to give back) is done, and a fault that a kernel noted becomes the stream's error. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/runtime/kernel.h"
#include "tensor/device/alloc.h"
#include "kernels/cuda/runtime/device.h"

enum { MARK_EVERY = 16 }; /* commands; CUDA_MARKS of them are more than a queue holds */

/* Puts a mark behind what is queued; where there is no room the newest moves there. */
static void put_mark(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    bool full = q->tail - q->head == CUDA_MARKS;
    unsigned at = (full ? q->tail - 1 : q->tail) % CUDA_MARKS;
    uint64_t ticket = atomic_load(&s->issued);
    void *event = full ? q->marks[at].event : gp_cuda_event_take(s->dev);
    if (!event || cudaEventRecord((cudaEvent_t)event, (cudaStream_t)q->stream)) {
        if (event && !full) gp_cuda_event_give(s->dev, event);
        return; /* the stream's own state still tells when all is done */
    }
    q->marks[at].event = event;
    q->marks[at].ticket = ticket;
    q->marks[at].items = atomic_fetch_add(&q->items, 1);
    if (!full) q->tail++;
}

static void do_later(gp_stream *s, cuda_later *l, bool came) {
    cuda_stream *q = gp_cuda_queue(s);
    if (l->to && came) memcpy(l->to, l->block->data, l->bytes);
    if (l->block) {
        q->staged -= (size_t)1 << l->block->size_class;
        gp_cuda_block_give(s->dev, l->block);
    }
    if (l->reads) atomic_fetch_sub(&l->host->readers, 1);
    if (l->host) gp_storage_unref(l->host);
    free(l);
}

/* Does what is due once s has come to `done`. */
static void catch_up(gp_stream *s, uint64_t done, bool came) {
    cuda_stream *q = gp_cuda_queue(s);
    while (q->later && q->later->ticket <= done) {
        cuda_later *l = q->later;
        if (!(q->later = l->next)) q->last = &q->later;
        do_later(s, l, came);
    }
}

/* Takes the marks that were reached; how far that is. */
static uint64_t take_marks(gp_stream *s, bool all) {
    cuda_stream *q = gp_cuda_queue(s);
    uint64_t done = atomic_load(&s->completed);
    while (q->head != q->tail) {
        unsigned at = q->head % CUDA_MARKS;
        if (!all && cudaEventQuery((cudaEvent_t)q->marks[at].event) != cudaSuccess) break;
        if (done < q->marks[at].ticket) done = q->marks[at].ticket;
        atomic_store(&q->items_done, q->marks[at].items);
        gp_cuda_event_give(s->dev, q->marks[at].event);
        q->head++;
    }
    return done;
}

/* Counts a command; now and then looks how far the device is, so that what is done with does not pile up in a loop
 * that never waits. */
static void count(gp_stream *s, bool mark) {
    uint64_t n = atomic_fetch_add(&s->issued, 1) + 1;
    atomic_fetch_add(&gp_cuda_queue(s)->items, 1);
    if (!mark && n % MARK_EVERY) return;
    uint64_t done = take_marks(s, false);
    catch_up(s, done, true);
    if (done > atomic_load(&s->completed)) atomic_store(&s->completed, done);
    put_mark(s);
    cudaGetLastError(); /* not ready; an error that matters is found again by who waits */
}

void gp_cuda_queued(gp_stream *s, bool mark) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    count(s, mark);
    pthread_mutex_unlock(&q->lock);
}

void gp_cuda_queued_then(gp_stream *s, cuda_later *what) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    what->ticket = atomic_load(&s->issued) + 1;
    what->next = NULL;
    *q->last = what;
    q->last = &what->next;
    if (what->block) q->staged += (size_t)1 << what->block->size_class;
    count(s, true);
    pthread_mutex_unlock(&q->lock);
}

/* ---- faults ---- */

unsigned gp_cuda_fault_open(gp_stream *s, const gp_call *c, const char *const *texts, int n,
                            gp_fault **fault) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    cuda_block *b = q->fault ? NULL : gp_cuda_block_take(s->dev, sizeof *q->fault);
    if (b) q->fault = memset(b->data, 0, sizeof *q->fault), q->fault_block = b; /* stays with the stream */
    if (!q->notes) q->notes = calloc(CUDA_NOTES, sizeof *q->notes);
    unsigned ticket = 0;
    if (!q->notes) gp_fail("%s: out of memory", c->op->name);
    else if (q->fault) {
        ticket = ++q->faults ? q->faults : ++q->faults;
        q->notes[ticket % CUDA_NOTES] = (cuda_note){
            ticket, atomic_load(&s->issued) + 1, c->op, c->file, c->line, n, texts};
        *fault = q->fault;
    }
    pthread_mutex_unlock(&q->lock);
    return ticket;
}

static void fault_text(const gp_fault *f, const cuda_note *note, char *text, size_t size) {
    if (note->ticket != f->first || f->code < 1 || f->code > note->n)
        snprintf(text, size, "a kernel met a bad index");
    else snprintf(text, size, note->texts[f->code - 1], f->v[0], f->v[1], f->v[2]);
}

/* A fault of a launch that is done by now becomes the stream's error. */
static void take_fault(gp_stream *s, uint64_t done) {
    cuda_stream *q = gp_cuda_queue(s);
    unsigned first = q->fault ? __atomic_load_n(&q->fault->first, __ATOMIC_ACQUIRE) : 0;
    if (!first) return;
    const cuda_note *note = &q->notes[first % CUDA_NOTES];
    if (note->ticket == first && note->issued > done) return; /* it may be writing still */
    char text[380];
    fault_text(q->fault, note, text, sizeof text);
    bool known = note->ticket == first && note->file;
    __atomic_store_n(&q->fault->first, 0u, __ATOMIC_RELEASE);
    if (atomic_load(&s->failed)) return; /* the first error is the one to tell */
    if (known)
        snprintf(s->error, sizeof s->error, "%s (queued at %.90s:%d on %s)", text, note->file,
                 note->line, s->dev->name);
    else snprintf(s->error, sizeof s->error, "%s (on %s)", text, s->dev->name);
    atomic_store_explicit(&s->failed, true, memory_order_release);
}

/* ---- how far it is ---- */

/* An error found in the queue belongs to nobody's call: the next wait raises it. */
static void queue_failed(gp_stream *s, cudaError_t err) {
    gp_cuda_failed(s, (int)err, NULL);
    if (atomic_load(&s->failed)) return;
    snprintf(s->error, sizeof s->error, "%s", gp_error());
    gp_error_clear();
    atomic_store_explicit(&s->failed, true, memory_order_release);
}

/* How far s is, or an error in *err. */
static uint64_t look(gp_stream *s, cudaError_t *err) {
    cuda_stream *q = gp_cuda_queue(s);
    uint64_t issued = atomic_load(&s->issued), items = atomic_load(&q->items);
    *err = cudaStreamQuery((cudaStream_t)q->stream);
    uint64_t done = take_marks(s, *err == cudaSuccess);
    if (*err == cudaSuccess) atomic_store(&q->items_done, items);
    return *err == cudaSuccess && done < issued ? issued : done;
}

bool gp_cuda_reached(gp_stream *s, uint64_t ticket) {
    if (atomic_load_explicit(&s->completed, memory_order_acquire) >= ticket) return true;
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaSuccess;
    bool dead = atomic_load(&gp_cuda_of(s->dev)->dead);
    uint64_t done = dead ? atomic_load(&s->issued) : look(s, &err);
    if (err == cudaErrorNotReady) cudaGetLastError();
    else if (err != cudaSuccess) {
        queue_failed(s, err);
        if ((dead = atomic_load(&gp_cuda_of(s->dev)->dead))) done = atomic_load(&s->issued);
    }
    catch_up(s, done, !dead);
    if (!dead) take_fault(s, done);
    if (done > atomic_load(&s->completed))
        atomic_store_explicit(&s->completed, done, memory_order_release);
    pthread_mutex_unlock(&q->lock);
    return done >= ticket;
}
