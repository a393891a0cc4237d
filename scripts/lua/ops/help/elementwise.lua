--!plain
-- Help texts of elementwise composites; their form: scripts/lua/help/topics.lua.
return [==[
equal (see eq, allclose, all)
    Dtypes may differ: 1 equals 1.0. NaN equals nothing. If the shapes differ, nothing waits.
    shapes: a, b: any, which must be the same to be equal; the result is true or false, no tensor
    > equal(tensor{1, 2}, tensor{1.0, 2.0}) --> true
allclose (see isclose, equal)
    Tolerances as in isclose.
    shapes: a, b: broadcast to a common shape; the result is true or false, no tensor
    > tensor({1.0, 2.0}):allclose(tensor{1.0, 2.25}, {atol = 0.5}) --> true
isclose (see allclose, equal, eq)
    Not symmetric: rtol is relative to b. Infinities of the same sign are close. Gives a bool
    tensor, so nothing waits.
    > tensor({1.0, 2.0, 3.0}):isclose(2.5, {atol = 0.5})
    --> tensor({false,  true,  true}, bool 3 cpu)
clamp (see clamp_min, clamp_max, hardtanh, relu, relu6)
    One limit may be left out: {max = 5}. NaN stays NaN, and so does a limit that is NaN. With a
    float limit integers become f32. Tensors as limits are broadcast. Where x equals a limit its
    gradient is 0, or half where the limit is a tensor.
    options: min: lower bound; max: upper bound
    > tensor{-1, 2, 7}:clamp(0, 5) --> tensor({0, 2, 5}, i64 3 cpu)
polygamma (see digamma, lgamma)
    n starts at 0, which is digamma itself. Integers give f32.
    > polygamma(1, tensor{1.0}) --> tensor({1.6449}, f32 1 cpu)
round (see floor, ceil, trunc, frac)
    round(x, 2) keeps two decimals, -2 rounds to hundreds; with decimals floats only. Without,
    integers stay as they are. The gradient is 0.
    > tensor{0.5, 1.5, -2.5, 2.75}:round() --> tensor({ 0.0,  2.0, -2.0,  3.0}, f32 4 cpu)
gelu (see gelu_tanh, silu, mish, nn.GELU)
    Floats only.
    options: approximate: 'none', or 'tanh' for gelu_tanh's formula
    > gelu(tensor{0.0, 10.0}) --> tensor({ 0.0, 10.0}, f32 2 cpu)
deg2rad (see rad2deg)
    > tensor{180.0, 90.0}:deg2rad() --> tensor({3.1416, 1.5708}, f32 2 cpu)
dist (see norm, cdist, dist.init)
    shapes: a, b: broadcast to a common shape; the result is a scalar
    > dist(tensor{3.0, 0.0}, tensor{0.0, 4.0}) --> tensor(5.0, f32 scalar cpu)
glu (see sigmoid)
    shapes: x: any with an even size in dim; the result has half of it there
    > tensor{1.0, 2.0, 0.0, 0.0}:glu() --> tensor({0.5, 1.0}, f32 2 cpu)
hardshrink (see softshrink, hardtanh)
    > tensor{-1.0, 0.2, 2.0}:hardshrink() --> tensor({-1.0,  0.0,  2.0}, f32 3 cpu)
isneginf (see isposinf, isinf)
    > tensor{-1/0, 0.0}:isneginf() --> tensor({ true, false}, bool 2 cpu)
isposinf (see isneginf, isinf)
    > tensor{1/0, 0.0}:isposinf() --> tensor({ true, false}, bool 2 cpu)
logsigmoid (see sigmoid, softplus)
    > tensor{0.0, 2.0}:logsigmoid() --> tensor({-0.6931, -0.1269}, f32 2 cpu)
rad2deg (see deg2rad)
    > tensor{0.0, 1.0}:rad2deg() --> tensor({ 0.0000, 57.2958}, f32 2 cpu)
softshrink (see hardshrink, tanhshrink)
    > tensor{-1.0, 0.2, 2.0}:softshrink() --> tensor({-0.5,  0.0,  1.5}, f32 3 cpu)
tanhshrink (see tanh, softshrink)
    > tensor{0.0, 2.0}:tanhshrink() --> tensor({0.000, 1.036}, f32 2 cpu)
zero_ (see fill_)
    > tensor{1, 2}:zero_() --> tensor({0, 0}, i64 2 cpu)
signbit (see sign, copysign)
    > signbit(tensor{-1.0, 0.0, -0.0}) --> tensor({ true, false,  true}, bool 3 cpu)
heaviside (see sign, where)
    options: values: the result at 0
    shapes: x: any; values: a number, or broadcast
    > heaviside(tensor{-1.0, 0.0, 2.0}, 0.5) --> tensor({0.0, 0.5, 1.0}, f32 3 cpu)
sinc (see sin)
    > sinc(tensor{0.0, 0.5, 1.0}) --> tensor({ 1.0000e+00,  6.3662e-01, -2.7828e-08}, f32 3 cpu)
]==]
