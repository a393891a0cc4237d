/* Lines that fit a block's registers, sorted there: see network.cuh. Limit: elements are read once,
 * keys and numbers written once. */
#include "kernels/cuda/sort/network.cuh"
#include "kernels/cuda/sort/sort.cuh"

/* A number in the network: a key above its place in the line. */
template <class C>
static __global__ void __launch_bounds__(GP_THREADS)
    sort_slots(gp_sort_lines s, uint32_t slots, uint32_t lines, uint32_t *keys, uint32_t *at) {
    __shared__ C shared[GP_NET_SHARED];
    const uint32_t threads = slots / GP_NET_EACH, group = threadIdx.x / threads,
                   me = threadIdx.x % threads, line = blockIdx.x * (GP_THREADS / threads) + group,
                   from = line < lines ? line * s.n : 0;
    const int size = gp_bytes_of(s.dt);
    int64_t off[1];
    uint64_t bits[GP_NET_EACH];
    C v[GP_NET_EACH];
    gp_offsets(s.x, from, off);
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        uint32_t i = e * threads + me;
        bits[e] = gp_bits_at(s.x.data[0] + off[0] + (i < s.n ? i : 0) * s.step, size);
    }
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        uint32_t i = e * threads + me;
        v[e] = (C)((gp_key_of(bits[e], s.dt) ^ s.flip) << GP_NET_BITS | i);
        if (i >= s.n) v[e] = (C) ~(C)0;
    }
    gp_net_sort(v, shared, slots);
    if (line >= lines) return;
#pragma unroll
    for (int e = 0; e < GP_NET_EACH; e++) {
        uint32_t i = e * threads + me;
        if (i >= s.n) return;
        C one = gp_net_at(shared, group * slots + i);
        keys[from + i] = (uint32_t)(one >> GP_NET_BITS);
        at[from + i] = from + (uint32_t)(one & (GP_NET_ALL - 1));
    }
}

bool gp_cuda_short_lines(const gp_sort_lines *s) { return s->n <= GP_NET_ALL && s->bits <= 32; }

bool gp_cuda_sort_short(const gp_call *c, gp_sort_lines *s, uint32_t *at) {
    uint32_t lines = s->x.numel / s->n, slots = gp_net_slots(s->n);
    uint32_t *keys = (uint32_t *)gp_cuda_scratch(c, (size_t)s->x.numel * 4);
    auto kernel = s->bits + GP_NET_BITS <= 32 ? sort_slots<uint32_t> : sort_slots<uint64_t>;
    s->keys = keys, s->key_bytes = 4;
    return keys && GP_LAUNCH(c, kernel, gp_blocks(lines, GP_NET_ALL / slots), GP_THREADS, 0, *s,
                             slots, lines, keys, at);
}
