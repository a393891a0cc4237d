--!plain
-- Help texts of ops that make tensors and change shapes, and of random numbers; their form:
-- init.lua.
local same = "x: any; the result has the same"
return {
    -- ---- made from a shape ----
    ones = { text = "The shape is numbers or one table; the dtype is f32 unless said.",
        shapes = "the result has the shape given, as numbers or a list",
        example = "ones(2, 2, {dtype = \"i64\"})\n--> tensor({{1, 1},\n-->         {1, 1}}, i64 \z
            2x2 cpu)",
        see = "zeros, full, ones_like" },
    full = {
        text = "The shape is a table. Without dtype an integer gives i64, another number f32, and \z
            true or false bool.",
        shapes = "the result has the shape given, as a list",
        example = "full({3}, 7)\n--> tensor({7, 7, 7}, i64 3 cpu)",
        see = "zeros, ones, full_like, fill" },
    empty = { text = "Nothing is written: for tensors that are filled before they are read.",
        shapes = "the result has the shape given, as numbers or a list",
        example = "empty(3):fill_(7)\n--> tensor({7.0, 7.0, 7.0}, f32 3 cpu)",
        see = "zeros, empty_like, fill" },
    eye = { text = "Without m as many columns as rows; f32 unless a dtype is given.",
        shapes = "the result: n x m",
        example = "eye(2, 3)\n--> tensor({{1.0, 0.0, 0.0},\n-->         {0.0, 1.0, 0.0}}, f32 2x3 \z
            cpu)",
        see = "diag_embed, zeros" },
    range = {
        text = "i64 where all numbers are integers, else f32. Empty where last is not in the \z
            direction of step.",
        shapes = "the result: one dim, a number for each step from start to end",
        example = "range(5, 1, -2)\n--> tensor({5, 3, 1}, i64 3 cpu)",
        see = "arange, linspace" },
    linspace = {
        text = "Both ends are included; f32 unless a dtype is given. One step is first alone.",
        shapes = "the result: one dim of steps numbers",
        example = "linspace(0, 1, 5)\n--> tensor({0.00, 0.25, 0.50, 0.75, 1.00}, f32 5 cpu)",
        see = "logspace, arange" },
    logspace = { text = "first and last are the exponents, equally far apart and both included.",
        shapes = "the result: one dim of steps numbers",
        example = "logspace(0, 3, 4, 2):round()\n--> tensor({1.0, 2.0, 4.0, 8.0}, f32 4 cpu)",
        see = "linspace, arange" },
    zeros_like = { shapes = same,
        example = "zeros_like(tensor{1, 2})\n--> tensor({0, 0}, i64 2 cpu)",
        see = "zeros, ones_like, full_like, empty_like" },
    ones_like = { shapes = same,
        example = "ones_like(tensor{5, 6}, {dtype = \"f32\"})\n--> tensor({1.0, 1.0}, f32 2 cpu)",
        see = "ones, zeros_like, full_like" },
    full_like = { text = "The dtype is x's, whatever the value: 7.5 in an integer tensor is 7.",
        shapes = same,
        example = "full_like(tensor{1, 2}, 7)\n--> tensor({7, 7}, i64 2 cpu)",
        see = "full, zeros_like, ones_like" },
    empty_like = { text = "Nothing is written: for tensors that are filled before they are read.",
        shapes = same,
        example = "empty_like(tensor{1, 2}):fill_(5)\n--> tensor({5, 5}, i64 2 cpu)",
        see = "empty, zeros_like" },
    fill = {
        text = "In an integer tensor the value loses its fraction; one that the dtype cannot \z
            hold, as -1 in u8, is an error, where PyTorch wraps it. A view that is filled in \z
            place changes what it is a view of.",
        shapes = same,
        example = "local x = zeros(2, 2) x:diagonal():fill_(5) return x\n--> tensor({{5.0, \z
            0.0},\n-->         {0.0, 5.0}}, f32 2x2 cpu)",
        see = "full, masked_fill, index_fill" },

    -- ---- random numbers ----
    manual_seed = {
        text = "Restarts the random numbers of all devices: the same seed gives the same \z
            numbers on every device and with any number of threads.",
        example = "manual_seed(7) local a = rand(3) manual_seed(7) return equal(a, rand(3))\n--> \z
            true",
        see = "rand, get_rng_state, set_rng_state" },
    rand = { text = "Floats only; f32 unless a dtype is given. 0 occurs, 1 does not.",
        shapes = "the result has the shape given, as numbers or a list",
        example = "local x = rand(10, 10) return (x:ge(0) & x:lt(1)):all()\n--> tensor(true, bool \z
            scalar cpu)",
        see = "randn, randint, uniform, rand_like, manual_seed" },
    randint = {
        text = "PyTorch leaves high out. i64 unless a dtype is given; the shape is numbers or a \z
            table.",
        shapes = "the result has the shape given, as a list",
        example = "local x = randint(1, 6, {10, 10}) return (x:ge(1) & x:le(6)):all()\n--> \z
            tensor(true, bool scalar cpu)",
        see = "randint_like, rand, randperm" },
    randperm = { text = "Counted from 1, so that it is an index; i64 unless a dtype is given.",
        shapes = "the result: n",
        example = "(randperm(4):sort())\n--> tensor({1, 2, 3, 4}, i64 4 cpu)",
        see = "randint, multinomial, index_select" },
    rand_like = { text = "For an integer x a float dtype must be given.", shapes = same,
        example = "rand_like(zeros(2, 3)):lt(1):all()\n--> tensor(true, bool scalar cpu)",
        see = "rand, randn_like, randint_like" },
    randn_like = {
        text = "Mean 0 and standard deviation 1. For an integer x a float dtype must be given.",
        shapes = same,
        example = "randn_like(tensor{1, 2}, {dtype = \"f64\"}).dtype\n--> f64",
        see = "randn, normal, rand_like" },
    randint_like = { text = "The dtype is x's, also where that is a float.", shapes = same,
        example = "randint_like(zeros(2), 3, 3)\n--> tensor({3.0, 3.0}, f32 2 cpu)",
        see = "randint, rand_like" },
    uniform = {
        text = "x gives the shape, the dtype (floats only) and the device, not the values; \z
            uniform_ is the usual form.",
        shapes = same,
        example = "local x = empty(50):uniform_(-2, 2) return (x:ge(-2) & x:le(2)):all()\n--> \z
            tensor(true, bool scalar cpu)",
        see = "rand, normal, rand_like" },
    normal = {
        text = "Of tensors the dtype must be a float, and shapes broadcast. x:normal_(mean, std) \z
            fills a tensor that is there.",
        shapes = "mean and std: broadcast, or two numbers and a shape in a table",
        example = "normal(tensor{1.0, 2.0}, 0)\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "randn, randn_like, uniform" },
    multinomial = {
        text = "Indices count from 1. Weights are not negative and need not sum to 1. Without \z
            replacement no index occurs twice, so a row must have that many weights above 0.",
        shapes = "x: n, or rows x n; the result: num_samples, or rows x num_samples",
        example = "tensor({{0.0, 5.0}, {0.1, 0.0}}):multinomial(1)\n--> tensor({{2},\n-->         \z
            {1}}, i64 2x1 cpu)",
        see = "bernoulli, randint, randperm" },
    bernoulli = {
        text = "The result has x's dtype. Without p x must be of floats from 0 to 1; with p its \z
            values do not matter.",
        shapes = same,
        example = "bernoulli(tensor{0.0, 1.0, 1.0})\n--> tensor({0.0, 1.0, 1.0}, f32 3 cpu)",
        see = "dropout, rand, multinomial" },

    -- ---- another shape ----
    view = {
        text = "An error where the layout would need a copy, as after most transpositions: \z
            reshape copies then.",
        shapes = "as many elements as x",
        example = "arange(1, 6):view(-1, 2)\n--> tensor({{1, 2},\n-->         {3, \z
            4},\n-->         {5, 6}}, i64 3x2 cpu)",
        see = "reshape, contiguous, unflatten, view_as" },
    view_as = { text = "Only the shape of other is read.",
        shapes = "x: any; the result has other's, with as many elements",
        example = "arange(1, 4):view_as(ones(2, 2))\n--> tensor({{1, 2},\n-->         {3, 4}}, \z
            i64 2x2 cpu)",
        see = "view, reshape_as, expand_as" },
    reshape_as = {
        text = "A view where the memory allows it, else a copy. Only the shape of other is read.",
        shapes = "x: any; the result has other's, with as many elements",
        example = "arange(1, 4):reshape_as(ones(2, 2))\n--> tensor({{1, 2},\n-->         {3, 4}}, \z
            i64 2x2 cpu)",
        see = "reshape, view_as" },
    flatten = { text = "Also makes one dim of a 0-d tensor.",
        shapes = "x: any; the dims from start_dim to end_dim become one",
        example = "table.concat(ones(2, 3, 4):flatten(2).shape, \"x\")\n--> 2x12",
        see = "ravel, reshape, unflatten" },
    ravel = { text = "As flatten without arguments.",
        shapes = "x: any; the result: one dim with all elements",
        example = "tensor({{1, 2}, {3, 4}}):t():ravel()\n--> tensor({1, 3, 2, 4}, i64 4 cpu)",
        see = "flatten, reshape" },
    unflatten = { shapes = "the product of sizes is the size of dim",
        example = "arange(1, 6):unflatten(1, 2, -1)\n--> tensor({{1, 2, 3},\n-->         {4, 5, \z
            6}}, i64 2x3 cpu)",
        see = "flatten, view" },
    squeeze = { text = "A view. Without dims all of size 1; a dim that is named and larger stays.",
        shapes = "x: any; the result lacks dims of size 1: all, or those given",
        example = "table.concat(ones(1, 2, 1):squeeze(3).shape, \"x\")\n--> 1x2",
        see = "unsqueeze, select, flatten" },
    unsqueeze = {
        text = "A view. 1 puts it first, -1 last: it is the new dim's place in the result.",
        shapes = "x: any; the result has a dim of size 1 more",
        example = "tensor({1, 2}):unsqueeze(-1)\n--> tensor({{1},\n-->         {2}}, i64 2x1 cpu)",
        see = "squeeze, atleast_2d, expand" },
    atleast_1d = { text = "A view, or x itself.",
        shapes = "x: any; a scalar becomes 1, others stay",
        example = "tensor(5):atleast_1d()\n--> tensor({5}, i64 1 cpu)",
        see = "atleast_2d, atleast_3d, unsqueeze" },
    atleast_2d = { text = "A view, or x itself; a vector becomes a row.",
        shapes = "x: any; a scalar becomes 1 x 1, n becomes 1 x n, others stay",
        example = "tensor({1, 2}):atleast_2d()\n--> tensor({{1, 2}}, i64 1x2 cpu)",
        see = "atleast_1d, atleast_3d, unsqueeze" },
    atleast_3d = { text = "A view, or x itself.",
        shapes = "n becomes 1 x n x 1, n x m becomes n x m x 1",
        example = "table.concat(ones(2, 3):atleast_3d().shape, \"x\")\n--> 2x3x1",
        see = "atleast_1d, atleast_2d, unsqueeze" },
    permute = {
        text = "A view. Every dim of x is named once: the result's first is x's dim dims[1], and \z
            so on.",
        shapes = "x: any; the result has the same sizes in another order",
        example = "table.concat(ones(2, 3, 4):permute(3, 1, 2).shape, \"x\")\n--> 4x2x3",
        see = "transpose, movedim, contiguous" },
    transpose = { text = "A view.",
        shapes = "x: any; the result has the two sizes exchanged",
        example = "table.concat(ones(2, 3, 4):transpose(1, -1).shape, \"x\")\n--> 4x3x2",
        see = "t, permute, swapaxes" },
    t = { text = "A view.", shapes = "n x m is m x n",
        example = "tensor({{1, 2, 3}, {4, 5, 6}}):t()\n--> tensor({{1, 4},\n-->         {2, \z
            5},\n-->         {3, 6}}, i64 3x2 cpu)",
        see = "transpose, permute" },
    movedim = {
        text = "A view. source and destination are a dim each, or two tables as long as each \z
            other.",
        shapes = "x: any; the result has the same sizes in another order",
        example = "table.concat(ones(2, 3, 4):movedim(1, -1).shape, \"x\")\n--> 3x4x2",
        see = "permute, transpose, moveaxis" },
    expand = {
        text = "A view in which repeated elements are one in memory: to write into it is an \z
            error. New dims may stand in front.",
        shapes = "x: any whose sizes are 1 or those asked for; the result has the shape given",
        example = "tensor({{1}, {2}}):expand(-1, 3)\n--> tensor({{1, 1, 1},\n-->         {2, 2, \z
            2}}, i64 2x3 cpu)",
        see = "broadcast_to, expand_as, tile" },
    broadcast_to = { text = "A view; to write into it is an error.",
        shapes = "x: any whose sizes are 1 or those asked for; the result has the shape given",
        example = "tensor({1, 2}):broadcast_to(2, 2)\n--> tensor({{1, 2},\n-->         {1, 2}}, \z
            i64 2x2 cpu)",
        see = "expand, tile" },
    expand_as = { text = "A view. Only the shape of other is read.",
        shapes = "x: any whose sizes are 1 or other's; the result has other's",
        example = "tensor({1, 2}):expand_as(ones(2, 2))\n--> tensor({{1, 2},\n-->         {1, \z
            2}}, i64 2x2 cpu)",
        see = "expand, view_as" },

    -- ---- parts ----
    narrow = { text = "A view. start counts from 1, or from the end with -1.",
        shapes = "x: any; the result has length in dim",
        example = "arange(1, 5):narrow(1, 2, 3)\n--> tensor({2, 3, 4}, i64 3 cpu)",
        see = "select, slice, split" },
    select = {
        text = "A view; as x[index] for dim 1. Lua's own select keeps its name: write x:select.",
        shapes = "x: any; the result lacks dim",
        example = "tensor({{1, 2}, {3, 4}}):select(2, -1)\n--> tensor({2, 4}, i64 2 cpu)",
        see = "narrow, index_select, unbind" },
    slice = {
        text = "A view; x[\"1:5:2\"] is shorter. last is included; what is beyond the end is left \z
            out.",
        shapes = "x: any; the result has one element for each step in dim",
        example = "arange(1, 6):slice(1, 2, 6, 2)\n--> tensor({2, 4, 6}, i64 3 cpu)",
        see = "narrow, select" },
    unfold = {
        text = "A view, in which windows that overlap share their elements. What does not fill a \z
            window is left out.",
        shapes = "the size n of dim becomes (n - size) // step + 1",
        example = "arange(1, 6):unfold(1, 3, 2)\n--> tensor({{1, 2, 3},\n-->         {3, 4, \z
                5}}, i64 2x3 cpu)",
        see = "as_strided, split, conv1d" },
    as_strided = {
        text = "A view. Strides are in elements. offset 1 is the first element of x, also where x \z
            is itself a view (PyTorch counts from 0, from the first of the whole memory).",
        shapes = "x: any; the result has the shape given",
        example = "arange(1, 4):as_strided({2, 3}, {1, 1})\n--> tensor({{1, 2, 3},\n-->         \z
            {2, 3, 4}}, i64 2x3 cpu)",
        see = "unfold, stride, expand" },
    diagonal = {
        text = "A view: filling it writes into x. offset above 0 is above the main diagonal, \z
            below 0 below it.",
        shapes = "x: n x m; the result: min(n, m) less what offset takes; further dims in front \z
            are kept",
        example = "tensor({{1, 2, 3}, {4, 5, 6}}):diagonal(1)\n--> tensor({2, 6}, i64 2 cpu)",
        see = "diag, diag_embed, trace" },
    split = { text = "Views, so nothing is copied.",
        shapes = "x: any; the parts have x's, but for dim, which is split",
        example = "arange(1, 5):split({1, 4})[2]\n--> tensor({2, 3, 4, 5}, i64 4 cpu)",
        see = "chunk, tensor_split, unbind, cat" },
    chunk = {
        text = "There may be fewer pieces than asked for: 6 elements in 4 are 3 pieces of 2. \z
            tensor_split always gives as many.",
        shapes = "x: any; the parts have x's, but for dim, which is split",
        example = "#arange(1, 6):chunk(4)\n--> 3",
        see = "split, tensor_split" },
    tensor_split = {
        text = "An index is the last element of its piece, and is included; the last piece is the \z
            rest.",
        shapes = "x: any; the parts have x's, but for dim, which is split",
        example = "arange(1, 5):tensor_split({2, 3})[3]\n--> tensor({4, 5}, i64 2 cpu)",
        see = "split, chunk" },
    unbind = { text = "The dim goes away.",
        shapes = "x: any; the results lack dim",
        example = "tensor({{1, 2}, {3, 4}}):unbind(2)[1]\n--> tensor({1, 3}, i64 2 cpu)",
        see = "select, split, stack" },

    -- ---- joined ----
    stack = {
        text = "A copy; dim is the new one's place in the result. Dtypes may differ: the result's \z
            holds all.",
        shapes = "k tensors n x m: k x n x m, or n x k x m with dim = 2",
        example = "stack({tensor{1, 2}, tensor{3, 4}}, 2)\n--> tensor({{1, 3},\n-->         {2, \z
            4}}, i64 2x2 cpu)",
        see = "cat, unbind, hstack, vstack" },
    hstack = { text = "A copy.", shapes = "n x a and n x b: n x (a + b); a and b: a + b",
        example = "hstack{tensor({{1}, {2}}), tensor({{3, 4}, {5, 6}})}\n--> tensor({{1, 3, \z
            4},\n-->         {2, 5, 6}}, i64 2x3 cpu)",
        see = "vstack, dstack, column_stack, cat" },
    vstack = { text = "A copy.", shapes = "a x m and b x m: (a + b) x m; a vector m is 1 x m",
        example = "vstack{tensor{1, 2}, tensor{3, 4}}\n--> tensor({{1, 2},\n-->         {3, 4}}, \z
            i64 2x2 cpu)",
        see = "hstack, dstack, stack, cat" },
    dstack = { text = "A copy; tensors are first made 3-d as by atleast_3d.",
        shapes = "two n x m: n x m x 2; two vectors n: 1 x n x 2",
        example = "dstack{tensor{1, 2}, tensor{3, 4}}\n--> tensor({{{1, 3},\n-->          {2, \z
            4}}}, i64 1x2x2 cpu)",
        see = "hstack, vstack, atleast_3d" },
    column_stack = { text = "A copy.",
        shapes = "two vectors n: n x 2; matrices n x a and n x b: n x (a + b)",
        example = "column_stack{tensor{1, 2}, tensor{3, 4}}\n--> tensor({{1, 3},\n-->         {2, \z
            4}}, i64 2x2 cpu)",
        see = "hstack, stack" },

    -- ---- repeated, turned, moved ----
    tile = { text = "A copy; more numbers than dims put new dims in front.",
        shapes = "x: any; each size times its number of repeats, counted from the last dim",
        example = "tensor({{1, 2}, {3, 4}}):tile(2)\n--> tensor({{1, 2, 1, 2},\n-->         {3, \z
            4, 3, 4}}, i64 2x4 cpu)",
        see = "repeat, repeat_interleave, expand" },
    ["repeat"] = {
        text = "A copy; more numbers than dims put new dims in front. As a word of Lua's: repeat \z
            … until c, which sees the block's local variables.",
        shapes = "x: any; each size times its number of repeats",
        example = "local x = tensor{1, 2} return x[\"repeat\"](x, 2, 1)\n--> tensor({{1, \z
            2},\n-->         {1, 2}}, i64 2x2 cpu)",
        see = "tile, repeat_interleave, expand" },
    repeat_interleave = {
        text = "repeats is one number, or a tensor with one for each index. Without dim x is seen \z
            in one dim. With a tensor of repeats the host waits for the size, which output_size \z
            says in advance.",
        shapes = "x: any; dim becomes as long as the sum of repeats; without dim, one dim",
        example = "tensor({5, 6}):repeat_interleave(tensor{2, 1})\n--> tensor({5, 5, 6}, i64 3 \z
            cpu)",
        see = "tile, repeat, index_select" },
    flip = { text = "A copy, as in PyTorch. One dim or several.", shapes = same,
        example = "tensor({{1, 2}, {3, 4}}):flip(1, 2)\n--> tensor({{4, 3},\n-->         {2, 1}}, \z
            i64 2x2 cpu)",
        see = "fliplr, flipud, roll, rot90" },
    fliplr = { text = "A copy.",
        shapes = "x: at least two dims; the result has the same",
        example = "tensor({{1, 2}, {3, 4}}):fliplr()\n--> tensor({{2, 1},\n-->         {4, 3}}, \z
            i64 2x2 cpu)",
        see = "flip, flipud" },
    flipud = { text = "A copy.",
        shapes = "x: at least one dim; the result has the same",
        example = "tensor({{1, 2}, {3, 4}}):flipud()\n--> tensor({{3, 4},\n-->         {1, 2}}, \z
            i64 2x2 cpu)",
        see = "flip, fliplr" },
    rot90 = {
        text = "Counter-clockwise as a matrix is printed; a negative k turns the other way. Never \z
            a view of x.",
        shapes = "n x m is m x n where k is odd",
        example = "tensor({{1, 2}, {3, 4}}):rot90()\n--> tensor({{2, 4},\n-->         {1, \z
                3}}, i64 2x2 cpu)",
        see = "flip, transpose" },
    roll = {
        text = "A copy. Shifts above 0 move towards higher indices; several shifts go with as \z
            many dims.",
        shapes = same,
        example = "arange(1, 4):roll(1)\n--> tensor({4, 1, 2, 3}, i64 4 cpu)",
        see = "flip, pad" },
    pad = {
        text = "A copy. A negative number takes elements away. reflect leaves the edge itself \z
            out, replicate repeats it, circular goes on at the other end.",
        options = "value: what is put in with mode constant, 0 if not given",
        shapes = "pad{a, b} makes the last dim a + b larger, pad{a, b, c, d} also the one \z
                before by c + d",
        example = "tensor({1, 2, 3}):pad({2, 1}, \"reflect\")\n--> tensor({3, 2, 1, 2, 3, 2}, i64 \z
            6 cpu)",
        see = "roll, cat, conv2d" },

    -- ---- matrices and grids ----
    diag = {
        text = "A diagonal above 0 is above the main one, below 0 below it. PyTorch copies the \z
            diagonal; here filling it writes into the matrix.",
        shapes = "n is (n + |diagonal|) x (n + |diagonal|)",
        example = "tensor({1, 2}):diag()\n--> tensor({{1, 0},\n-->         {0, 2}}, i64 2x2 \z
                cpu)",
        see = "diagonal, diag_embed, diagflat, trace" },
    diag_embed = { text = "A copy. dim1 and dim2 are the places of the new dims in the result.",
        shapes = "x: … x n; the result: … x (n + |offset|) x (n + |offset|)",
        example = "tensor({1, 2}):diag_embed(1)\n--> tensor({{0, 1, 0},\n-->         {0, 0, \z
            2},\n-->         {0, 0, 0}}, i64 3x3 cpu)",
        see = "diag, diagonal, eye" },
    diagflat = { text = "A copy; x may have any shape.",
        shapes = "of n elements in all: (n + |offset|) x (n + |offset|)",
        example = "tensor({{1}, {2}}):diagflat()\n--> tensor({{1, 0},\n-->         {0, 2}}, i64 \z
            2x2 cpu)",
        see = "diag, diag_embed" },
    tril = { text = "A copy; a diagonal above 0 keeps more, below 0 less.",
        shapes = "x: at least two dims, the last two are the matrices; the result has the same",
        example = "ones(2, 3):tril()\n--> tensor({{1.0, 0.0, 0.0},\n-->         {1.0, 1.0, 0.0}}, \z
            f32 2x3 cpu)",
        see = "triu, diagonal" },
    triu = { text = "A copy; a diagonal above 0 keeps less, below 0 more.",
        shapes = "x: at least two dims, the last two are the matrices; the result has the same",
        example = "ones(2, 3):triu(1)\n--> tensor({{0.0, 1.0, 1.0},\n-->         {0.0, 0.0, \z
            1.0}}, f32 2x3 cpu)",
        see = "tril, diagonal" },
    meshgrid = { text = "The views repeat their elements without copying.",
        shapes = "vectors n and m: a list of two n x m, or m x n with 'xy'",
        example = "local a, b = meshgrid{tensor{1, 2}, tensor{3, 4, 5}} return a * 10 + b\n--> \z
            tensor({{13, 14, 15},\n-->         {23, 24, 25}}, i64 2x3 cpu)",
        see = "cartesian_prod, linspace" },
    cartesian_prod = { text = "The last vector's elements change fastest.",
        shapes = "k vectors of n, m, … elements: n * m * … x k",
        example = "cartesian_prod{tensor{1, 2}, tensor{5, 6}}\n--> tensor({{1, 5},\n-->         \z
            {1, 6},\n-->         {2, 5},\n-->         {2, 6}}, i64 4x2 cpu)",
        see = "meshgrid" },

    -- ---- copies, places, what a tensor is ----
    contiguous = { text = "Row after row, the last dim closest: what view and some libraries need.",
        shapes = "x: any; the result has the same",
        example = "ones(2, 3):t():contiguous():is_contiguous()\n--> true",
        see = "view, copy, is_contiguous" },
    copy = { text = "Its memory is its own, and gradients pass through it.", shapes = same,
        example = "tensor({1, 2}):copy(\"f32\")\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "clone, copy_, contiguous, to" },
    detach = { text = "A view of the same memory: writing into it changes x, gradients end at it.",
        shapes = "x: any; the result has the same",
        example = "tensor({1.0}, {requires_grad = true}):detach().requires_grad\n--> false",
        see = "clone, no_grad, backward" },

    -- ---- comparisons of whole tensors ----
    equal = {
        text = "Dtypes may differ, 1 equals 1.0; NaN equals nothing. Where the shapes differ \z
            nothing is waited for.",
        shapes = "a, b: any, which must be the same to be equal; the result is true or false, no \z
            tensor",
        example = "equal(tensor{1, 2}, tensor{1.0, 2.0})\n--> true",
        see = "eq, allclose, all" },
    allclose = { text = "Tolerances as in isclose.",
        shapes = "a, b: broadcast to a common shape; the result is true or false, no tensor",
        example = "tensor({1.0, 2.0}):allclose(tensor{1.0, 2.25}, {atol = 0.5})\n--> true",
        see = "isclose, equal" },
    isclose = {
        text = "Not symmetric: rtol is of b. Infinities of one sign are close. Gives a bool \z
            tensor, so nothing waits.",
        shapes = "operands broadcast; the result has their common shape",
        example = "tensor({1.0, 2.0, 3.0}):isclose(2.5, {atol = 0.5})\n--> tensor({false,  true,  \z
            true}, bool 3 cpu)",
        see = "allclose, equal, eq" },
}
