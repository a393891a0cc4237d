--!plain
-- Help texts of ops on random numbers, dtypes and the like; their form:
-- scripts/lua/help/topics.lua.
return [==[
zeros (see ones, full, empty)
    > zeros(2, 3, {dtype = "i32"})
    --> tensor({{0, 0, 0},
    -->         {0, 0, 0}}, i32 2x3 cpu)
randn (see rand, randint, manual_seed)
    The same seed gives the same numbers on every device and with any number of threads.
    > manual_seed(1) local a = randn(3) manual_seed(1) return equal(a, randn(3)) --> true
sum (see mean, cumsum, prod, logsumexp)
    Over all elements, one dim or several; dims count from 1, or from the end with -1. keepdim keeps
    them with size 1.
    > arange(1, 6):reshape(2, 3):sum(-1) --> tensor({ 6, 15}, i64 2 cpu)
mean (see sum, var, std, median)
    > tensor{1.0, 2.0, 6.0}:mean() --> tensor(3.0, f32 scalar cpu)
max (see min, argmax, amax, topk)
    The maximum of all elements, or of those along a dim, with their indices.
    shapes: x: any; the result is a scalar, or with dim two that have the dims left; keepdim keeps
        it as 1
    > local v, at = tensor({3, 9, 4}):max(1) return at --> tensor(2, i64 scalar cpu)
cat (see stack, split)
    shapes: all dims but the joined one must be equal
    > cat({ones(1, 2), zeros(1, 2)}, 1)
    --> tensor({{1.0, 1.0},
    -->         {0.0, 0.0}}, f32 2x2 cpu)
reshape (see view, permute, flatten)
    A view where the memory allows it, else a copy; one dim may be -1, which follows from the
    others.
    shapes: x: any; the result has the shape given, with as many elements
    > arange(1, 6):reshape(2, -1)
    --> tensor({{1, 2, 3},
    -->         {4, 5, 6}}, i64 2x3 cpu)
clone | x:clone() (see copy_, detach, contiguous)
    A copy with its own memory; gradients pass through it to x.
    > local x = zeros(2) x:clone():fill_(1) return x --> tensor({0.0, 0.0}, f32 2 cpu)
to | x:to([device], [dtype], [non_blocking=false]) (see cpu, gpu, float, pin_memory)
    x on another device or of another dtype, or both; x:to(y) goes where y is and takes its dtype.
    It is x itself if nothing changes. A copy from a device waits, and so does one to a device from
    memory that is not pinned.
    options: device: where to: 'cpu', 'gpu', 'sim:0', 'cuda:1'; dtype: the new type; non_blocking:
        the host goes on while its pinned memory is copied to a device; to the host the copy is
        pinned, and whatever reads it waits for it
    > tensor{1, 2}:to "f16" --> tensor({1.0, 2.0}, f16 2 cpu)
]==]
