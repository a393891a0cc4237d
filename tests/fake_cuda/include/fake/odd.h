/* From double to less than float in two roundings that give what one does: the first one goes to odd. */
#ifndef FAKE_ODD_H
#define FAKE_ODD_H

#include <math.h>

namespace fake {
static inline float to_odd(double d) {
    float f = (float)d;
    if ((double)f == d || isnan(d)) return f;
    float below = (double)f > d ? nextafterf(f, -INFINITY) : f, above = nextafterf(below, INFINITY);
    return __float_as_int(below) & 1 ? below : above;
}
} // namespace fake

#endif
