/* Which card a rank takes: that of its local rank, its number among the ranks of its machine, which
 * its launcher gives in a variable. Where the launcher, or MIG, shows each rank one card alone
 * (CUDA_VISIBLE_DEVICES), that is the first card for each. */
#include <stdio.h>

#include "tensor/base/env.h"
#include "tensor/base/process.h"
#include "tensor/device/backends.h"

/* LOCAL_RANK, PyTorch's, may be the user's own; Slurm's is that of a batch script, too, in which
 * mpirun starts the ranks. */
static const gp_env variables[] = {GP_ENV_LOCAL_RANK, GP_ENV_OMPI_COMM_WORLD_LOCAL_RANK,
                                   GP_ENV_MPI_LOCALRANKID, GP_ENV_MV2_COMM_WORLD_LOCAL_RANK,
                                   GP_ENV_SLURM_LOCALID};

gp_own_card gp_cuda_own_card(void) {
    gp_own_card own = {.local = -1};
    char unread[1];
    for (size_t i = 0; i < sizeof variables / sizeof *variables && own.local < 0; i++) {
        own.local = (int)gp_env_number(variables[i], -1);
        own.from = own.local < 0 ? NULL : gp_env_name(variables[i]);
    }
    if (!own.from) return own;
    own.cards = gp_cuda_devices(unread, sizeof unread);
    own.index = own.cards ? own.local % own.cards : 0;
    return own;
}

static void say(const gp_own_card *own, int rank) {
    const char *visible = gp_env_text(GP_ENV_CUDA_VISIBLE_DEVICES);
    fprintf(stderr, "gpush: rank %d takes cuda:%d of %d card%s (%s=%d%s%.200s)%s\n", rank,
            own->index, own->cards, own->cards == 1 ? "" : "s", own->from, own->local,
            visible ? ", CUDA_VISIBLE_DEVICES=" : "", visible ? visible : "",
            own->local < own->cards || own->cards == 1 ? "" : "; ranks share cards");
}

int gp_cuda_take_card(void) {
    static bool taken; /* with the lock of device.c's registry, as is the next */
    static gp_own_card own;
    int rank;
    if (taken) return own.index;
    taken = true;
    own = gp_cuda_own_card();
    gp_process.warns("card", &rank);
    if (own.from && own.cards && rank >= 0) say(&own, rank);
    return own.index;
}
