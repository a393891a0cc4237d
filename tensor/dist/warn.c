/* Warnings of a job come once, not from each rank: the ranks of one machine share a table of what
 * has been said, in memory that the first of them opened. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tensor/dist/dist.h"
#include "tensor/dist/world.h"
#include "tensor/base/env.h"

enum { SLOTS = 4096 };
static _Atomic uint64_t *_Atomic said; /* SLOTS hashes, 0: free; NULL: there is no table */

int gp_dist_open_table(void) {
    int fd = memfd_create("gpush warnings", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, SLOTS * sizeof *said)) close(fd), fd = -1;
    return fd;
}

/* Without it each rank warns by itself. */
void gp_dist_share_table(int64_t pid, int fd) {
    char path[64];
    snprintf(path, sizeof path, "/proc/%lld/fd/%d", (long long)pid, fd);
    int own = fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
    if (own < 0) return;
    void *p = mmap(NULL, SLOTS * sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED, own, 0);
    close(own);
    if (p != MAP_FAILED) said = p;
}

/* Whether nobody has said it; true, too, where the table is full. */
static bool is_first(uint64_t key) {
    _Atomic uint64_t *table = said;
    for (size_t i = 0; table && i < SLOTS; i++) {
        uint64_t was = 0;
        if (atomic_compare_exchange_strong(&table[(key + i) % SLOTS], &was, key)) return true;
        if (was == key) return false;
    }
    return true;
}

int gp_dist_launched_as(void) {
    static const gp_env ranks[] = {GP_ENV_OMPI_COMM_WORLD_RANK, GP_ENV_PMI_RANK,
                                   GP_ENV_SLURM_PROCID};
    int rank = -1;
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && rank < 0; i++)
        rank = (int)gp_env_number(ranks[i], -1);
    return rank;
}

bool gp_dist_warns(const char *what, int *rank) {
    uint64_t key = 0xcbf29ce484222325u; /* FNV-1a */
    for (const char *p = what; *p; p++) key = (key ^ (unsigned char)*p) * 0x100000001b3u;
    *rank = gp_the_world.transport   ? gp_the_world.rank
            : gp_dist_launched() > 1 ? gp_dist_launched_as()
                                     : -1;
    return gp_the_world.transport ? is_first(key | 1) : *rank <= 0;
}
