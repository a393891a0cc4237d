/* sim with a card: results are real, computed by the processor when an op is queued; times are
 * those of a card's figures, on the host's clock (clock.h), which stands still meanwhile. */
#ifndef GP_MODEL_H
#define GP_MODEL_H

#include "tensor/device/card/card.h"
#include "tensor/device/device.h"

/* Makes all devices of kind sim stand in for the card, or be sim again with NULL; waits for them
 * first. False with a message: a failure of their work, interrupted, or a device of kind cuda is
 * open, whose times are measured. *card is copied. */
bool gp_model_set(const gp_card *card);
/* The card, NULL: none is modelled. Good until the next gp_model_set. */
const gp_card *gp_model_card(void);
/* Gives the card that much memory, at any time. */
void gp_model_set_memory(double bytes);
/* The host's time for an op, while a card is modelled, in place of what it takes here; 0: that.
 * Then a program's times are the same on any machine: the cpu's work takes what it costs by the
 * host's rates, and Lua what its instructions do. */
void gp_model_set_host(uint64_t ns);
uint64_t gp_model_host(void);
/* The host's time for an instruction of Lua, where its ops are counted, in ns. Negative: that of
 * cards.def, as at first. */
void gp_model_set_script(int64_t ns);
uint64_t gp_model_script(void);
/* The host's time for a batch of a loader, where its ops are counted, in place of what is counted;
 * 0: that. */
void gp_model_set_loader(uint64_t ns);
uint64_t gp_model_loader(void);
/* "modelled H200", or NULL: what is shown of a modelled card is labelled so. Static. */
const char *gp_model_label(void);
/* The kernel of the call with that id, which runs for the card now, has counted what it asks of it:
 * its time is by that cost, and not by its row's. least: bytes that it has to move. */
void gp_model_counted(uint64_t id, const gp_cost *cost, double least);
/* That number of bytes, of the call with that id, if it was the last one; else 0. */
double gp_model_least(uint64_t id);
/* The same with what the host's time is: "modelled H200, host 8 us an op". Writes at most n bytes
 * and returns buf; "" where no card is modelled. */
char *gp_model_text(char *buf, size_t n);

/* Times of ops that nobody measured on the card are bounds (card.h). A mark of now; and the list of
 * the ops, "copy" for copies, that were so since a mark, as "linalg_eig, fft_fft": written to buf,
 * which it returns. */
enum { GP_BOUNDS_TEXT = 240 };
uint64_t gp_model_mark(void);
char *gp_model_bounds(uint64_t since, char buf[GP_BOUNDS_TEXT]);

/* Entries of the table of functions of a device that stands in for a card. */
bool gp_model_open(gp_stream *s, uintptr_t bits);
void gp_model_close(gp_stream *s);
bool gp_model_launch(gp_stream *s, struct gp_call *c);
bool gp_model_copy(gp_stream *s, void *dst, const void *src, size_t bytes, gp_copy_kind kind,
                   gp_storage *pinned, uint64_t id);
/* What this thread launches between the two is one launch of the host, as a card's graph is. Where
 * no card is modelled they do nothing. They nest in no other. */
void gp_model_graph_begin(void);
void gp_model_graph_end(void);
bool gp_model_busy(gp_stream *s);
bool gp_model_full(gp_stream *s);
bool gp_model_drain(gp_stream *s);
bool gp_model_drain_half(gp_stream *s);
gp_event *gp_model_event_record(gp_stream *s, bool timed);
bool gp_model_event_done(gp_event *e);
bool gp_model_event_drain(gp_event *e);
bool gp_model_event_wait(gp_stream *s, gp_event *e);

#endif
