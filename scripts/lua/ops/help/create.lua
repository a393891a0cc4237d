--!plain
-- Help texts of composites that make tensors; their form: scripts/lua/help/topics.lua.
return [==[
arange (see linspace)
    The end is included, as in every range of Lua's: PyTorch's arange(n) is arange(0, n - 1), and
    its indices are arange(1, n).
    shapes: the result: one dim, a number for each step from start to end
    > arange(1, 5) --> tensor({1, 2, 3, 4, 5}, i64 5 cpu)
zeros_like (see zeros, ones_like, full_like, empty_like)
    > zeros_like(tensor{1, 2}) --> tensor({0, 0}, i64 2 cpu)
ones_like (see ones, zeros_like, full_like)
    > ones_like(tensor{5, 6}, {dtype = "f32"}) --> tensor({1.0, 1.0}, f32 2 cpu)
full_like (see full, zeros_like, ones_like)
    The dtype is x's, whatever the value: 7.5 in an integer tensor is 7.
    > full_like(tensor{1, 2}, 7) --> tensor({7, 7}, i64 2 cpu)
empty_like (see empty, zeros_like)
    The memory is not initialized: fill it before it is read.
    > empty_like(tensor{1, 2}):fill_(5) --> tensor({5, 5}, i64 2 cpu)
rand_like (see rand, randn_like, randint_like)
    If x holds integers, give a float dtype.
    > rand_like(zeros(2, 3)):lt(1):all() --> tensor(true, bool scalar cpu)
randn_like (see randn, normal, rand_like)
    Mean 0 and standard deviation 1. If x holds integers, give a float dtype.
    > randn_like(tensor{1, 2}, {dtype = "f64"}).dtype --> f64
randint_like (see randint, rand_like)
    The dtype is x's, also where that is a float.
    > randint_like(zeros(2), 3, 3) --> tensor({3.0, 3.0}, f32 2 cpu)
normal (see randn, randn_like, uniform)
    Tensors must have a float dtype, and their shapes broadcast. x:normal_(mean, std) fills an
    existing tensor.
    shapes: mean and std: broadcast, or two numbers and a shape in a table
    > normal(tensor{1.0, 2.0}, 0) --> tensor({1.0, 2.0}, f32 2 cpu)
new_empty (see empty, new_tensor)
    > tensor{1, 2}:new_empty(3).dtype --> i64
new_full (see full, new_tensor)
    > tensor{1, 2}:new_full({2}, 7) --> tensor({7, 7}, i64 2 cpu)
new_ones (see ones, new_tensor)
    > tensor{1, 2}:new_ones(3) --> tensor({1, 1, 1}, i64 3 cpu)
new_tensor (see tensor)
    > tensor{1.0}:new_tensor{4, 5} --> tensor({4.0, 5.0}, f32 2 cpu)
new_zeros (see zeros, new_tensor)
    > tensor{1, 2}:new_zeros(3) --> tensor({0, 0, 0}, i64 3 cpu)
tril_indices (see tril, triu_indices)
    shapes: the result: 2 x n, rows and columns of n elements
    > tril_indices(2, 2)
    --> tensor({{1, 2, 2},
    -->         {1, 1, 2}}, i64 2x3 cpu)
triu_indices (see triu, tril_indices)
    shapes: the result: 2 x n, rows and columns of n elements
    > triu_indices(2, 2)
    --> tensor({{1, 1, 2},
    -->         {1, 2, 2}}, i64 2x3 cpu)
type_as (see to)
    > tensor{1, 2}:type_as(tensor{0.5}) --> tensor({1.0, 2.0}, f32 2 cpu)
]==]
