/* Copies and fills: which of them wait, by the kinds of memory they touch. */
#include <string.h>

#include "state.h"

namespace fake {
static const size_t STAGED = 64 << 10; /* pageable bytes that go through a buffer, without a wait */

struct shape2 { /* rows of width bytes; a plain copy is one row */
    size_t width, height, dpitch, spitch;
};

static void move(char *dst, const char *src, const shape2 &n) {
    for (size_t i = 0; i < n.height; i++) memmove(dst + i * n.dpitch, src + i * n.spitch, n.width);
}

/* The kind of memory of the n bytes at p; false if they exceed their allocation. */
static bool look(const void *p, size_t n, cudaMemoryType *type) {
    block *b = find(p);
    *type = b ? b->type : cudaMemoryTypeUnregistered;
    return !b || (uintptr_t)p + n <= (uintptr_t)b->base + b->bytes;
}

static bool on_device(cudaMemoryType t) {
    return t == cudaMemoryTypeDevice || t == cudaMemoryTypeManaged;
}

static cudaError_t direction(cudaMemcpyKind kind, cudaMemoryType to, cudaMemoryType from) {
    bool d = to == cudaMemoryTypeDevice, s = from == cudaMemoryTypeDevice;
    switch (kind) {
    case cudaMemcpyHostToHost: return d || s ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyHostToDevice: return !on_device(to) || s ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyDeviceToHost: return d || !on_device(from) ? cudaErrorInvalidValue : cudaSuccess;
    case cudaMemcpyDeviceToDevice: /* mapped host memory has a device address */
        return to == cudaMemoryTypeUnregistered || from == cudaMemoryTypeUnregistered
                   ? cudaErrorInvalidValue
                   : cudaSuccess;
    case cudaMemcpyDefault: return cudaSuccess;
    }
    return cudaErrorInvalidMemcpyDirection;
}

/* Whether the host waits for the copy, and whether src is read immediately. */
static void manner(bool async, size_t bytes, cudaMemoryType to, cudaMemoryType from, bool *wait,
                   bool *stage) {
    bool d = on_device(to), s = on_device(from);
    *stage = async && d && from == cudaMemoryTypeUnregistered && bytes <= STAGED;
    if (d && s) *wait = false;
    else if (!async) *wait = true;
    else
        *wait = !*stage && (to == cudaMemoryTypeUnregistered ||
                            from == cudaMemoryTypeUnregistered || (!d && !s));
}

static cudaError_t copy(void *dst, const void *src, shape2 n, cudaMemcpyKind kind, bool async,
                        cudaStream_t h) {
    cudaError_t err = forbidden();
    if (err) return err;
    size_t bytes = n.width * n.height;
    if (bytes == 0) return cudaSuccess;
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    if (!s) return cudaErrorInvalidResourceHandle;
    cudaMemoryType to, from;
    if (!look(dst, (n.height - 1) * n.dpitch + n.width, &to) ||
        !look(src, (n.height - 1) * n.spitch + n.width, &from))
        return cudaErrorInvalidValue;
    if ((err = direction(kind, to, from))) return err;
    bool wait, stage;
    manner(async, bytes, to, from, &wait, &stage);
    if ((wait || stage) && capturing(s)) return cudaErrorStreamCaptureUnsupported;
    rt().counts["copy"]++;
    if (on_device(to) && on_device(from)) rt().counts["copy on the device"]++;
    task t;
    t.kernel = true;
    t.what = activity(FAKE_COPY, NULL, s);
    t.what.bytes = bytes, t.what.to = to, t.what.from = from;
    std::shared_ptr<std::vector<char>> staged;
    if (stage) {
        staged = std::make_shared<std::vector<char>>(bytes);
        move(staged->data(), (const char *)src, shape2{n.width, n.height, n.width, n.spitch});
        n.spitch = n.width;
    }
    t.run = [dst, src, n, staged] {
        move((char *)dst, staged ? staged->data() : (const char *)src, n);
    };
    int d = s->dev;
    moment m = submit(l, s, std::move(t));
    if (wait) wait_for(l, m);
    return wait ? rt().devices[(size_t)d]->sticky.load() : cudaSuccess;
}

static cudaError_t fill(void *p, int value, size_t bytes, bool async, cudaStream_t h) {
    cudaError_t err = forbidden();
    if (err || bytes == 0) return err;
    locked l(rt().lock);
    CUstream_st *s = stream_of(h);
    cudaMemoryType type;
    if (!s) return cudaErrorInvalidResourceHandle;
    if (!look(p, bytes, &type) || type == cudaMemoryTypeUnregistered) return cudaErrorInvalidValue;
    task t;
    t.kernel = true;
    t.what = activity(FAKE_SET, NULL, s);
    t.what.bytes = bytes, t.what.to = type;
    t.run = [p, value, bytes] { memset(p, value, bytes); };
    moment m = submit(l, s, std::move(t));
    if (!async && type == cudaMemoryTypeHost) wait_for(l, m);
    return cudaSuccess;
}
} // namespace fake

using namespace fake;
extern "C" {

cudaError_t cudaMemcpy(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind) {
    API(cudaMemcpy);
    return api_(copy(dst, src, shape2{bytes, 1, bytes, bytes}, kind, false, NULL));
}
cudaError_t cudaMemcpyAsync(void *dst, const void *src, size_t bytes, enum cudaMemcpyKind kind,
                            cudaStream_t s) {
    API(cudaMemcpyAsync, s);
    return api_(copy(dst, src, shape2{bytes, 1, bytes, bytes}, kind, true, s));
}
cudaError_t cudaMemcpy2D(void *dst, size_t dpitch, const void *src, size_t spitch, size_t width,
                         size_t height, enum cudaMemcpyKind kind) {
    API(cudaMemcpy2D);
    if (width > dpitch || width > spitch) return api_(cudaErrorInvalidPitchValue);
    return api_(copy(dst, src, shape2{width, height, dpitch, spitch}, kind, false, NULL));
}
cudaError_t cudaMemcpy2DAsync(void *dst, size_t dpitch, const void *src, size_t spitch,
                              size_t width, size_t height, enum cudaMemcpyKind kind,
                              cudaStream_t s) {
    API(cudaMemcpy2DAsync, s);
    if (width > dpitch || width > spitch) return api_(cudaErrorInvalidPitchValue);
    return api_(copy(dst, src, shape2{width, height, dpitch, spitch}, kind, true, s));
}
cudaError_t cudaMemcpyPeerAsync(void *dst, int to, const void *src, int from, size_t bytes,
                                cudaStream_t s) {
    API(cudaMemcpyPeerAsync, s);
    {
        locked l(rt().lock);
        if (to != from && !rt().peers[{to, from}]) rt().counts["copy through the host"]++;
    }
    return api_(copy(dst, src, shape2{bytes, 1, bytes, bytes}, cudaMemcpyDeviceToDevice, true, s));
}
cudaError_t cudaMemcpyPeer(void *dst, int, const void *src, int src_dev, size_t bytes) {
    API(cudaMemcpyPeer);
    {
        cudaError_t err = forbidden();
        if (err) return api_(err);
        locked l(rt().lock);
        drain(l, src_dev);
    }
    return api_(
        copy(dst, src, shape2{bytes, 1, bytes, bytes}, cudaMemcpyDeviceToDevice, false, NULL));
}
cudaError_t cudaMemset(void *p, int value, size_t bytes) {
    API(cudaMemset);
    return api_(fill(p, value, bytes, false, NULL));
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t s) {
    API(cudaMemsetAsync, s);
    return api_(fill(p, value, bytes, true, s));
}
}
