/* The devices there are: what device.c knows of them. A new device adds its line here and in
 * lookup(). */
#ifndef GP_BACKENDS_H
#define GP_BACKENDS_H

#include "tensor/device.h"

extern const gp_device_vt gp_cpu_vt;
extern const gp_device_vt gp_sim_vt;

/* How many simulated devices there are: GPUSH_SIM_DEVICES, 1 by default. */
int gp_sim_count(void);

/* The CUDA device's table from the plug-in libgpush_cuda.so, opened on the first call; NULL with
 * the reason where it does not work. */
const gp_device_vt *gp_cuda_vt(void);

#endif
