/* A stream's queue as the host knows it: marks show how far the device is. The host's due work
 * (copying out of staging memory, freeing memory) is done then, and a fault that a kernel recorded
 * becomes a failure of its command. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels/cuda/runtime/kernel.h"
#include "tensor/memory/alloc.h"
#include "tensor/device/stream/failure.h"
#include "kernels/cuda/runtime/device.h"

/* Puts a mark after what is queued; without space the newest mark moves there. */
static void record_mark(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    bool full = q->tail - q->head == CUDA_MARKS;
    unsigned at = (full ? q->tail - 1 : q->tail) % CUDA_MARKS;
    uint64_t ticket = atomic_load(&s->issued);
    void *event = full ? q->marks[at].event : gp_cuda_mark_try(s->dev);
    if (!event || cudaEventRecord((cudaEvent_t)event, (cudaStream_t)q->stream)) {
        if (event && !full) gp_cuda_mark_release(s->dev, event);
        return; /* the stream's own state still shows when all is done */
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
        q->staged -= l->block->bytes;
        gp_cuda_block_release(s->dev, l->block);
    }
    if (l->reads) atomic_fetch_sub(&l->host->readers, 1);
    if (!l->host) {
        free(l);
        return;
    }
    l->next = atomic_load(&q->past);
    atomic_store(&q->past, l);
}

void gp_cuda_give_back(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    if (!atomic_load_explicit(&q->past, memory_order_relaxed)) return;
    pthread_mutex_lock(&q->lock);
    cuda_later *l = atomic_exchange(&q->past, NULL);
    pthread_mutex_unlock(&q->lock);
    for (cuda_later *next; l; l = next) {
        next = l->next;
        gp_storage_unref(l->host);
        free(l);
    }
}

/* Does what is due once s has reached `done`. */
static void catch_up(gp_stream *s, uint64_t done, bool came) {
    cuda_stream *q = gp_cuda_queue(s);
    while (q->later && q->later->ticket <= done) {
        cuda_later *l = q->later;
        if (!(q->later = l->next)) q->last = &q->later;
        do_later(s, l, came);
    }
}

/* Takes the marks that were reached; returns how far that is. */
static uint64_t pop_marks(gp_stream *s, bool all) {
    cuda_stream *q = gp_cuda_queue(s);
    uint64_t done = atomic_load(&s->completed);
    while (q->head != q->tail) {
        unsigned at = q->head % CUDA_MARKS;
        if (!all && cudaEventQuery((cudaEvent_t)q->marks[at].event) != cudaSuccess) break;
        if (done < q->marks[at].ticket) done = q->marks[at].ticket;
        atomic_store(&q->items_done, q->marks[at].items);
        gp_cuda_mark_release(s->dev, q->marks[at].event);
        q->head++;
    }
    return done;
}

/* ---- faults ---- */

void gp_cuda_found(gp_stream *s, uint64_t ticket, gp_srcloc loc, const char *what) {
    char text[512];
    if (loc.file)
        snprintf(text, sizeof text, "%.380s (queued at %.90s:%d on %s)", what, loc.file, loc.line,
                 s->dev->name);
    else snprintf(text, sizeof text, "%.380s (on %s)", what, s->dev->name);
    gp_failure_add(s, ticket, ticket, false, text);
}

static void report_fault(gp_stream *s, const gp_fault *f, int code, const cuda_note *note) {
    char what[380];
    if (code > note->n) snprintf(what, sizeof what, "a kernel met a bad index");
    else snprintf(what, sizeof what, note->texts[code - 1], f->v[0], f->v[1], f->v[2]);
    gp_cuda_found(s, note->issued, note->loc, what);
}

/* Reports the faults that launches have recorded, even where s is not known to be past them: work
 * that another stream has waited for is done. Of a launch with several slots an earlier one may
 * still get a fault until it is over, which a mark after it shows. */
static void report_faults(gp_stream *s, uint64_t done) {
    cuda_stream *q = gp_cuda_queue(s);
    for (uint64_t i = q->settled; i < q->noted; i++) {
        gp_fault *f = &q->faults[i % CUDA_NOTES];
        cuda_note *note = &q->notes[i % CUDA_NOTES];
        bool over = note->issued <= done;
        int code = __atomic_load_n(&f->code, __ATOMIC_ACQUIRE);
        bool ready = code > 0 && !note->reported && (over || !note->together);
        if (ready) report_fault(s, f, code, note), note->reported = true;
        if (over && q->settled == i) q->settled++;
    }
}

/* With the lock held: the slots where faults are recorded, allocated on first use; they stay with
 * the stream. */
static bool have_notes(gp_stream *s) {
    cuda_stream *q = gp_cuda_queue(s);
    if (!q->notes && !(q->notes = calloc(CUDA_NOTES, sizeof *q->notes)))
        return gp_fail("out of memory");
    if (!q->faults &&
        (q->fault_block = gp_cuda_block_acquire(s->dev, CUDA_NOTES * sizeof *q->faults)))
        q->faults = (gp_fault *)q->fault_block->data;
    return q->faults;
}

bool gp_cuda_fault_open(gp_stream *s, const char *what, cuda_note note, gp_fault_at *to) {
    cuda_stream *q = gp_cuda_queue(s);
    bool ok = false;
    if (q->noted - q->settled == CUDA_NOTES) gp_cuda_reached(s, atomic_load(&s->issued));
    pthread_mutex_lock(&q->lock);
    if (!have_notes(s)) gp_fail("%s: %s", what, gp_error());
    else if (q->noted - q->settled == CUDA_NOTES) gp_fail("%s: too many calls are queued", what);
    else {
        unsigned at = (unsigned)(q->noted++ % CUDA_NOTES);
        note.issued = atomic_load(&s->issued) + 1;
        q->notes[at] = note;
        memset(&q->faults[at], 0, sizeof *q->faults);
        *to = (gp_fault_at){&q->faults[at], gp_cuda_of(s->dev)->seen + s->index * CUDA_NOTES + at,
                            (unsigned)((q->noted - 1) / CUDA_NOTES) + 1};
        ok = true;
    }
    pthread_mutex_unlock(&q->lock);
    return ok;
}

/* ---- counting ---- */

/* Records that s has reached `done`. `came`: really, not because its device is dead. */
static void advance(gp_stream *s, uint64_t done, bool came) {
    catch_up(s, done, came);
    if (came) report_faults(s, done);
    if (done > atomic_load(&s->completed))
        atomic_store_explicit(&s->completed, done, memory_order_release);
}

/* Counts a command; now and then checks the device's progress, so that finished work does not
 * accumulate in a loop that never waits. */
static void count(gp_stream *s, bool mark) {
    uint64_t n = atomic_fetch_add(&s->issued, 1) + 1;
    atomic_fetch_add(&gp_cuda_queue(s)->items, 1);
    if (!mark && n % CUDA_MARK_EVERY) return;
    advance(s, pop_marks(s, false), true);
    record_mark(s);
    cudaGetLastError(); /* not ready; a real error is found again by the next wait */
}

void gp_cuda_queued(gp_stream *s, bool mark) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    count(s, mark);
    pthread_mutex_unlock(&q->lock);
    gp_cuda_give_back(s);
}

void gp_cuda_queued_then(gp_stream *s, cuda_later *what) {
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    what->ticket = atomic_load(&s->issued) + 1;
    what->next = NULL;
    *q->last = what;
    q->last = &what->next;
    if (what->block) q->staged += what->block->bytes;
    count(s, true);
    pthread_mutex_unlock(&q->lock);
    gp_cuda_give_back(s);
}

/* ---- progress ---- */

/* Reports that the commands not known to be done have failed, for the reason in gp_error(). */
static void queue_failed(gp_stream *s) {
    uint64_t done = atomic_load(&s->completed), issued = atomic_load(&s->issued);
    if (done < issued) gp_failure_add(s, done + 1, issued, true, gp_error());
    gp_error_clear();
}

/* How far s is, or an error in *err. */
static uint64_t query_stream(gp_stream *s, cudaError_t *err) {
    cuda_stream *q = gp_cuda_queue(s);
    uint64_t issued = atomic_load(&s->issued), items = atomic_load(&q->items);
    *err = cudaStreamQuery((cudaStream_t)q->stream);
    uint64_t done = pop_marks(s, *err == cudaSuccess);
    if (*err == cudaSuccess) atomic_store(&q->items_done, items);
    return *err == cudaSuccess && done < issued ? issued : done;
}

bool gp_cuda_reached(gp_stream *s, uint64_t ticket) {
    if (atomic_load_explicit(&s->completed, memory_order_acquire) >= ticket) return true;
    if (gp_cuda_building()) return false;
    cuda_stream *q = gp_cuda_queue(s);
    pthread_mutex_lock(&q->lock);
    gp_cuda_enter(s->dev);
    cudaError_t err = cudaSuccess;
    bool alive = gp_device_alive(s->dev, "queued work");
    uint64_t done = alive ? query_stream(s, &err) : 0;
    if (err == cudaErrorNotReady) cudaGetLastError();
    else if (err != cudaSuccess) {
        gp_cuda_failed(s, (int)err, NULL);
        alive = !atomic_load(&s->dev->dead);
    }
    if (!alive || (err != cudaSuccess && err != cudaErrorNotReady)) queue_failed(s);
    if (!alive) done = atomic_load(&s->issued);
    advance(s, done, alive);
    pthread_mutex_unlock(&q->lock);
    return done >= ticket;
}
