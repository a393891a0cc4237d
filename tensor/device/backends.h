/* The kinds of devices that device.c knows. A new one adds its line here and in lookup(). */
#ifndef GP_BACKENDS_H
#define GP_BACKENDS_H

#include "tensor/device/device.h"
#include "tensor/op.h"

extern const gp_device_vt gp_cpu_vt;
extern const gp_device_vt gp_sim_vt;
extern const gp_device_vt gp_sim_card_vt; /* the same memory, a modelled card's times */
/* That of the two which sim has now. */
const gp_device_vt *gp_sim_table(void);

/* The number of simulated devices: GPUSH_SIM_DEVICES, 1 by default. */
int gp_sim_count(void);

/* The CUDA device's table from the plug-in libgpush_cuda.so, opened on the first call; NULL with
 * the reason where that fails. */
const gp_device_vt *gp_cuda_vt(void);
/* Whether a CUDA device was opened. */
bool gp_cuda_opened(void);
/* The number of CUDA devices, with a line of text for each; 0 with the reason. */
int gp_cuda_devices(char *text, size_t size);
/* Which CUDA device "cuda" and "gpu" are, without a number. */
typedef struct gp_own_card {
    int index, local, cards; /* local: this process's number among its machine's ranks, as */
    const char *from;        /* that variable of its launcher's says; NULL: none does */
} gp_own_card;
/* Each rank of a machine takes the card of its local rank, the first ones again where there are
 * more ranks than cards; a process without a local rank takes the first. */
gp_own_card gp_cuda_own_card(void);
/* The same number, for one that opens it: a rank then says on stderr, once, which it takes. */
int gp_cuda_take_card(void);
/* Where someone gets the simulated device for "gpu": says on stderr, once, that there is a driver
 * which cannot be used, or a plug-in that is being built, as whoever has a card expects it to be at
 * work. */
void gp_cuda_warn_unusable(void);
/* How the build of the plug-in stands which scripts/gpush began beside this program: the first line
 * of the file that GPUSH_CUDA_BUILD names, a sentence; runs: it has not ended. False: there is
 * none. */
bool gp_cuda_build(char *text, size_t size, bool *runs);
/* A setting of the plug-in's libraries, as gp_cuda_setting_fn (plugin_api.h); -1 with a message. */
int gp_cuda_setting(const char *name, int value);
/* The plug-in's table of linear algebra's routines, as gp_cuda_routes_fn; -1 with a message. */
int gp_cuda_routes(const char *text, char *source, size_t size, const char **used);
/* Runs c's kernel of the CPU on this thread, which is another's than the program's: a library's,
 * that calls back. c's arrays are in host memory; its tensors are not looked at. False with a
 * message. */
bool gp_cpu_run_here(const gp_call *c);
/* Ranges that NVIDIA's tools show, in any order and on any thread. gp_cuda_ranges: whether a tool
 * watches; begin returns 0 where none does. */
bool gp_cuda_ranges(void);
uint64_t gp_cuda_range_begin(const char *name);
void gp_cuda_range_end(uint64_t range); /* not 0 */
/* The plug-in, opened on demand; NULL with the reason in why. For the doctor. */
void *gp_cuda_plugin(char *why, size_t size);

#endif
