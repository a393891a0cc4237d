--!plain
-- Help texts of ops that change shapes, join and repeat; their form: scripts/lua/help/topics.lua.
return [==[
ones (see zeros, full, ones_like)
    The shape is given as numbers or one table; the dtype is f32 by default.
    > ones(2, 2, {dtype = "i64"})
    --> tensor({{1, 1},
    -->         {1, 1}}, i64 2x2 cpu)
full (see zeros, ones, full_like, fill)
    The shape is a table. Without dtype an integer gives i64, another number f32, and true or false
    bool.
    > full({3}, 7) --> tensor({7, 7, 7}, i64 3 cpu)
empty (see zeros, empty_like, fill)
    The memory is not initialized: fill it before it is read.
    > empty(3):fill_(7) --> tensor({7.0, 7.0, 7.0}, f32 3 cpu)
eye (see diag_embed, zeros)
    Without m the matrix is square; f32 unless a dtype is given.
    shapes: the result: n x m
    > eye(2, 3)
    --> tensor({{1.0, 0.0, 0.0},
    -->         {0.0, 1.0, 0.0}}, f32 2x3 cpu)
range (see arange, linspace)
    i64 where all numbers are integers, else f32. Empty where last is not in the direction of step.
    shapes: the result: one dim, a number for each step from start to end
    > range(5, 1, -2) --> tensor({5, 3, 1}, i64 3 cpu)
linspace (see logspace, arange)
    Both ends are included; f32 unless a dtype is given. steps = 1 gives first alone.
    shapes: the result: one dim of steps numbers
    > linspace(0, 1, 5) --> tensor({0.00, 0.25, 0.50, 0.75, 1.00}, f32 5 cpu)
logspace (see linspace, arange)
    first and last are the exponents, equally far apart and both included.
    shapes: the result: one dim of steps numbers
    > logspace(0, 3, 4, 2):round() --> tensor({1.0, 2.0, 4.0, 8.0}, f32 4 cpu)
fill (see full, masked_fill, index_fill)
    In an integer tensor the value loses its fraction; one that the dtype cannot hold, such as -1 in
    u8, is an error, where PyTorch wraps it. Filling a view in place changes the tensor that it
    shows.
    > local x = zeros(2, 2) x:diagonal():fill_(5) return x
    --> tensor({{5.0, 0.0},
    -->         {0.0, 5.0}}, f32 2x2 cpu)
manual_seed (see rand, get_rng_state, set_rng_state)
    Restarts the random numbers of all devices: the same seed gives the same numbers on every device
    and with any number of threads.
    > manual_seed(7) local a = rand(3) manual_seed(7) return equal(a, rand(3)) --> true
rand (see randn, randint, uniform, rand_like, manual_seed)
    Floats only; f32 unless a dtype is given. 0 occurs, 1 does not.
    > local x = rand(10, 10) return (x:ge(0) & x:lt(1)):all() --> tensor(true, bool scalar cpu)
randint (see randint_like, rand, randperm)
    Unlike in PyTorch, high is included. i64 unless a dtype is given; the shape is numbers or a
    table.
    > local x = randint(1, 6, {10, 10}) return (x:ge(1) & x:le(6)):all()
    --> tensor(true, bool scalar cpu)
randperm (see randint, multinomial, index_select)
    Counted from 1, so that it is an index; i64 unless a dtype is given.
    shapes: the result: n
    > (randperm(4):sort()) --> tensor({1, 2, 3, 4}, i64 4 cpu)
uniform (see rand, normal, rand_like)
    x gives the shape, the dtype (floats only) and the device, not the values; uniform_ is the usual
    form.
    > local x = empty(50):uniform_(-2, 2) return (x:ge(-2) & x:le(2)):all()
    --> tensor(true, bool scalar cpu)
multinomial (see bernoulli, randint, randperm)
    Indices count from 1. Weights are not negative and need not sum to 1. Without replacement no
    index occurs twice, so a row needs num_samples weights above 0.
    shapes: x: n, or rows x n; the result: num_samples, or rows x num_samples
    > tensor({{0.0, 5.0}, {0.1, 0.0}}):multinomial(1)
    --> tensor({{2},
    -->         {1}}, i64 2x1 cpu)
poisson (see bernoulli, exponential_, multinomial)
    Each element is drawn at its own rate, the distribution's mean. The result has x's dtype.
    > poisson(tensor{0.0, 0.0}) --> tensor({0.0, 0.0}, f32 2 cpu)
exponential_ (see uniform_, poisson, geometric_)
    The time until the next of events that are lambd in a unit of time.
    options: lambd: the rate, above 0
geometric_ (see bernoulli, exponential_)
    The number of trials up to the first success, from 1.
    options: p: the probability of success, above 0
    > zeros(2):geometric_(1) --> tensor({1.0, 1.0}, f32 2 cpu)
cauchy_ (see normal_, log_normal_)
    options: median: the middle; sigma: half the distance between the quartiles, above 0
log_normal_ (see normal_, exp)
    options: mean, std: of the logarithms
bernoulli (see dropout, rand, multinomial)
    The result has x's dtype. Without p, x must hold floats from 0 to 1; with p its values do not
    matter.
    > bernoulli(tensor{0.0, 1.0, 1.0}) --> tensor({0.0, 1.0, 1.0}, f32 3 cpu)
view (see reshape, contiguous, unflatten, view_as)
    It is an error if the layout would need a copy, as after most transpositions; reshape copies
    then.
    shapes: as many elements as x
    > arange(1, 6):view(-1, 2)
    --> tensor({{1, 2},
    -->         {3, 4},
    -->         {5, 6}}, i64 3x2 cpu)
view_as (see view, reshape_as, expand_as)
    Only the shape of other is read.
    > arange(1, 4):view_as(ones(2, 2))
    --> tensor({{1, 2},
    -->         {3, 4}}, i64 2x2 cpu)
reshape_as (see reshape, view_as)
    A view where the memory allows it, else a copy. Only the shape of other is read.
    > arange(1, 4):reshape_as(ones(2, 2))
    --> tensor({{1, 2},
    -->         {3, 4}}, i64 2x2 cpu)
flatten (see ravel, reshape, unflatten)
    Also makes one dim of a 0-d tensor.
    shapes: x: any; the dims from start_dim to end_dim become one
    > table.concat(ones(2, 3, 4):flatten(2).shape, "x") --> 2x12
ravel (see flatten, reshape)
    As flatten without arguments.
    shapes: x: any; the result: one dim with all elements
    > tensor({{1, 2}, {3, 4}}):t():ravel() --> tensor({1, 3, 2, 4}, i64 4 cpu)
unflatten (see flatten, view)
    shapes: the product of sizes is the size of dim
    > arange(1, 6):unflatten(1, 2, -1)
    --> tensor({{1, 2, 3},
    -->         {4, 5, 6}}, i64 2x3 cpu)
squeeze (see unsqueeze, select, flatten)
    A view. Without dims all dims of size 1 are removed; a named dim that is larger stays.
    shapes: x: any; the result lacks dims of size 1: all, or those given
    > table.concat(ones(1, 2, 1):squeeze(3).shape, "x") --> 1x2
unsqueeze (see squeeze, atleast_2d, expand)
    A view. dim is the new dim's position in the result: 1 puts it first, -1 last.
    shapes: x: any; the result has one more dim, of size 1
    > tensor({1, 2}):unsqueeze(-1)
    --> tensor({{1},
    -->         {2}}, i64 2x1 cpu)
atleast_1d (see atleast_2d, atleast_3d, unsqueeze)
    A view, or x itself.
    shapes: x: any; a scalar becomes 1, others stay
    > tensor(5):atleast_1d() --> tensor({5}, i64 1 cpu)
atleast_2d (see atleast_1d, atleast_3d, unsqueeze)
    A view, or x itself; a vector becomes a row.
    shapes: x: any; a scalar becomes 1 x 1, n becomes 1 x n, others stay
    > tensor({1, 2}):atleast_2d() --> tensor({{1, 2}}, i64 1x2 cpu)
atleast_3d (see atleast_1d, atleast_2d, unsqueeze)
    A view, or x itself.
    shapes: n becomes 1 x n x 1, n x m becomes n x m x 1
    > table.concat(ones(2, 3):atleast_3d().shape, "x") --> 2x3x1
permute (see transpose, movedim, contiguous)
    A view. Every dim of x is named once: the result's first is x's dim dims[1], and so on.
    > table.concat(ones(2, 3, 4):permute(3, 1, 2).shape, "x") --> 4x2x3
transpose (see t, permute, swapaxes)
    A view.
    shapes: x: any; the result has the two sizes exchanged
    > table.concat(ones(2, 3, 4):transpose(1, -1).shape, "x") --> 4x3x2
t (see transpose, permute)
    A view.
    shapes: n x m is m x n
    > tensor({{1, 2, 3}, {4, 5, 6}}):t()
    --> tensor({{1, 4},
    -->         {2, 5},
    -->         {3, 6}}, i64 3x2 cpu)
movedim (see permute, transpose, moveaxis)
    A view. source and destination are one dim each, or two tables of equal length.
    > table.concat(ones(2, 3, 4):movedim(1, -1).shape, "x") --> 3x4x2
expand (see broadcast_to, expand_as, tile)
    A view in which repeated elements share their memory, so writing into it is an error. New dims
    may be added in front.
    shapes: x: any whose sizes are 1 or those asked for; the result has the shape given
    > tensor({{1}, {2}}):expand(-1, 3)
    --> tensor({{1, 1, 1},
    -->         {2, 2, 2}}, i64 2x3 cpu)
broadcast_to (see expand, tile)
    A view; writing into it is an error.
    shapes: x: any whose sizes are 1 or those asked for; the result has the shape given
    > tensor({1, 2}):broadcast_to(2, 2)
    --> tensor({{1, 2},
    -->         {1, 2}}, i64 2x2 cpu)
expand_as (see expand, view_as)
    A view. Only the shape of other is read.
    shapes: x: any whose sizes are 1 or other's; the result has other's
    > tensor({1, 2}):expand_as(ones(2, 2))
    --> tensor({{1, 2},
    -->         {1, 2}}, i64 2x2 cpu)
narrow (see select, slice, split)
    A view. start counts from 1, or from the end with -1.
    shapes: x: any; the result has length in dim
    > arange(1, 5):narrow(1, 2, 3) --> tensor({2, 3, 4}, i64 3 cpu)
select (see narrow, index_select, unbind)
    A view; as x[index] for dim 1. Lua's own select keeps its name: write x:select.
    shapes: x: any; the result lacks dim
    > tensor({{1, 2}, {3, 4}}):select(2, -1) --> tensor({2, 4}, i64 2 cpu)
slice (see narrow, select)
    A view; x["1:5:2"] is shorter. last is included; what is beyond the end is left out.
    shapes: x: any; the result has one element for each step in dim
    > arange(1, 6):slice(1, 2, 6, 2) --> tensor({2, 4, 6}, i64 3 cpu)
unfold (see as_strided, split, conv1d)
    A view in which overlapping windows share their elements. Elements that do not fill a window are
    left out.
    shapes: the size n of dim becomes (n - size) // step + 1
    > arange(1, 6):unfold(1, 3, 2)
    --> tensor({{1, 2, 3},
    -->         {3, 4, 5}}, i64 2x3 cpu)
as_strided (see unfold, stride, expand)
    A view. Strides are in elements. offset 1 is the first element of x, also where x is itself a
    view (PyTorch counts from 0, from the first of the whole memory).
    > arange(1, 4):as_strided({2, 3}, {1, 1})
    --> tensor({{1, 2, 3},
    -->         {2, 3, 4}}, i64 2x3 cpu)
diagonal (see diag, diag_embed, trace)
    A view: filling it writes into x. offset above 0 is above the main diagonal, below 0 below it.
    shapes: x: n x m; the result: min(n, m) less what offset takes; further dims in front are kept
    > tensor({{1, 2, 3}, {4, 5, 6}}):diagonal(1) --> tensor({2, 6}, i64 2 cpu)
split (see chunk, tensor_split, unbind, cat)
    Views, so nothing is copied.
    > arange(1, 5):split({1, 4})[2] --> tensor({2, 3, 4, 5}, i64 4 cpu)
chunk (see split, tensor_split)
    There may be fewer pieces than asked for: chunk(4) of 6 elements gives 3 pieces of 2.
    tensor_split always gives the number asked for.
    > #arange(1, 6):chunk(4) --> 3
tensor_split (see split, chunk)
    An index is the last element of its piece, and is included; the last piece is the rest.
    > arange(1, 5):tensor_split({2, 3})[3] --> tensor({4, 5}, i64 2 cpu)
unbind (see select, split, stack)
    The dim is removed.
    shapes: x: any; the results lack dim
    > tensor({{1, 2}, {3, 4}}):unbind(2)[1] --> tensor({1, 3}, i64 2 cpu)
stack (see cat, unbind, hstack, vstack)
    A copy; dim is the new dim's position in the result. Dtypes may differ, and are promoted.
    shapes: k tensors n x m: k x n x m, or n x k x m with dim = 2
    > stack({tensor{1, 2}, tensor{3, 4}}, 2)
    --> tensor({{1, 3},
    -->         {2, 4}}, i64 2x2 cpu)
hstack (see vstack, dstack, column_stack, cat)
    A copy.
    shapes: n x a and n x b: n x (a + b); a and b: a + b
    > hstack{tensor({{1}, {2}}), tensor({{3, 4}, {5, 6}})}
    --> tensor({{1, 3, 4},
    -->         {2, 5, 6}}, i64 2x3 cpu)
vstack (see hstack, dstack, stack, cat)
    A copy.
    shapes: a x m and b x m: (a + b) x m; a vector m is 1 x m
    > vstack{tensor{1, 2}, tensor{3, 4}}
    --> tensor({{1, 2},
    -->         {3, 4}}, i64 2x2 cpu)
dstack (see hstack, vstack, atleast_3d)
    A copy; tensors are first made 3-d as by atleast_3d.
    shapes: two n x m: n x m x 2; two vectors n: 1 x n x 2
    > dstack{tensor{1, 2}, tensor{3, 4}}
    --> tensor({{{1, 3},
    -->          {2, 4}}}, i64 1x2x2 cpu)
column_stack (see hstack, stack)
    A copy.
    shapes: two vectors n: n x 2; matrices n x a and n x b: n x (a + b)
    > column_stack{tensor{1, 2}, tensor{3, 4}}
    --> tensor({{1, 3},
    -->         {2, 4}}, i64 2x2 cpu)
tile (see repeat, repeat_interleave, expand)
    A copy; if there are more numbers than dims, new dims are put in front.
    shapes: x: any; each size times its number of repeats, counted from the last dim
    > tensor({{1, 2}, {3, 4}}):tile(2)
    --> tensor({{1, 2, 1, 2},
    -->         {3, 4, 3, 4}}, i64 2x4 cpu)
repeat (see tile, repeat_interleave, expand)
    A copy; if there are more numbers than dims, new dims are put in front. In Lua itself repeat …
    until c is a loop, whose condition sees the block's local variables.
    shapes: x: any; each size times its number of repeats
    > local x = tensor{1, 2} return x["repeat"](x, 2, 1)
    --> tensor({{1, 2},
    -->         {1, 2}}, i64 2x2 cpu)
repeat_interleave (see tile, repeat, index_select)
    repeats is one number, or a tensor with one for each index. Without dim, x is flattened first.
    With a tensor of repeats the host waits for the size, unless output_size gives it.
    shapes: x: any; dim becomes as long as the sum of repeats; without dim, one dim
    > tensor({5, 6}):repeat_interleave(tensor{2, 1}) --> tensor({5, 5, 6}, i64 3 cpu)
flip (see fliplr, flipud, roll, rot90)
    A copy, as in PyTorch. One dim or several.
    > tensor({{1, 2}, {3, 4}}):flip(1, 2)
    --> tensor({{4, 3},
    -->         {2, 1}}, i64 2x2 cpu)
fliplr (see flip, flipud)
    A copy.
    > tensor({{1, 2}, {3, 4}}):fliplr()
    --> tensor({{2, 1},
    -->         {4, 3}}, i64 2x2 cpu)
flipud (see flip, fliplr)
    A copy.
    > tensor({{1, 2}, {3, 4}}):flipud()
    --> tensor({{3, 4},
    -->         {1, 2}}, i64 2x2 cpu)
rot90 (see flip, transpose)
    Counter-clockwise as a matrix is printed; a negative k turns the other way. Never a view of x.
    shapes: n x m is m x n where k is odd
    > tensor({{1, 2}, {3, 4}}):rot90()
    --> tensor({{2, 4},
    -->         {1, 3}}, i64 2x2 cpu)
roll (see flip, pad)
    A copy. Shifts above 0 move towards higher indices; several shifts need the same number of dims.
    > arange(1, 4):roll(1) --> tensor({4, 1, 2, 3}, i64 4 cpu)
pad (see roll, cat, conv2d)
    A copy. A negative number removes elements. reflect mirrors without the edge itself, replicate
    repeats the edge, and circular continues from the other end.
    options: value: padding of mode constant, 0 if not given
    shapes: pad{a, b} makes the last dim a + b larger, pad{a, b, c, d} also the one before by c + d
    > tensor({1, 2, 3}):pad({2, 1}, "reflect") --> tensor({3, 2, 1, 2, 3, 2}, i64 6 cpu)
diag (see diagonal, diag_embed, diagflat, trace)
    A diagonal above 0 is above the main one, below 0 below it. PyTorch copies the diagonal; here
    filling it writes into the matrix.
    shapes: n is (n + |diagonal|) x (n + |diagonal|)
    > tensor({1, 2}):diag()
    --> tensor({{1, 0},
    -->         {0, 2}}, i64 2x2 cpu)
diag_embed (see diag, diagonal, eye)
    A copy. dim1 and dim2 are the positions of the new dims in the result.
    shapes: x: … x n; the result: … x (n + |offset|) x (n + |offset|)
    > tensor({1, 2}):diag_embed(1)
    --> tensor({{0, 1, 0},
    -->         {0, 0, 2},
    -->         {0, 0, 0}}, i64 3x3 cpu)
diagflat (see diag, diag_embed)
    A copy; x may have any shape.
    shapes: of n elements in all: (n + |offset|) x (n + |offset|)
    > tensor({{1}, {2}}):diagflat()
    --> tensor({{1, 0},
    -->         {0, 2}}, i64 2x2 cpu)
tril (see triu, diagonal)
    A copy; a diagonal above 0 keeps more, below 0 less.
    shapes: x: at least two dims, the last two are the matrices; the result has the same
    > ones(2, 3):tril()
    --> tensor({{1.0, 0.0, 0.0},
    -->         {1.0, 1.0, 0.0}}, f32 2x3 cpu)
triu (see tril, diagonal)
    A copy; a diagonal above 0 keeps less, below 0 more.
    shapes: x: at least two dims, the last two are the matrices; the result has the same
    > ones(2, 3):triu(1)
    --> tensor({{0.0, 1.0, 1.0},
    -->         {0.0, 0.0, 1.0}}, f32 2x3 cpu)
meshgrid (see cartesian_prod, linspace)
    The views repeat their elements without copying.
    shapes: vectors n and m: a list of two n x m, or m x n with 'xy'
    > local a, b = meshgrid(tensor{1, 2}, tensor{3, 4, 5}) return a * 10 + b
    --> tensor({{13, 14, 15},
    -->         {23, 24, 25}}, i64 2x3 cpu)
cartesian_prod (see meshgrid)
    The last vector's elements change fastest.
    shapes: k vectors of n, m, … elements: n * m * … x k
    > cartesian_prod(tensor{1, 2}, tensor{5, 6})
    --> tensor({{1, 5},
    -->         {1, 6},
    -->         {2, 5},
    -->         {2, 6}}, i64 4x2 cpu)
contiguous (see view, copy, is_contiguous)
    The elements are in row-major order, as view and some libraries need them.
    > ones(2, 3):t():contiguous():is_contiguous() --> true
copy (see clone, copy_, contiguous, to)
    Its memory is its own, and gradients pass through it.
    > tensor({1, 2}):copy("f32") --> tensor({1.0, 2.0}, f32 2 cpu)
detach (see clone, no_grad, backward)
    A view of the same memory: writing into it changes x, and no gradient passes through it.
    > tensor({1.0}, {requires_grad = true}):detach().requires_grad --> false
broadcast_tensors (see expand, broadcast_to)
    shapes: any that broadcast; each result has their common shape
    > local a, b = broadcast_tensors(ones(2, 1), ones(3)) return b.shape[1] --> 2
block_diag (see diag, cat)
    shapes: xs: matrices; the result has all their rows and columns
    > block_diag(ones(1, 2), tensor({{3.0}}))
    --> tensor({{1.0, 1.0, 0.0},
    -->         {0.0, 0.0, 3.0}}, f32 2x3 cpu)
unravel_index (see nonzero, argmax)
    options: shape: shape of the tensor that the indices belong to
    shapes: indices: any; the result: a list of one tensor for each dim of shape
    > unravel_index(tensor{6}, {2, 3})[2] --> tensor({3}, i64 1 cpu)
]==]
