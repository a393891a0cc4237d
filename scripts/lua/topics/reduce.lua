--!plain
-- Help texts of reductions and running results; their form: init.lua.
local reduced = "x: any; the result has the dims that are not reduced; keepdim keeps them as 1"
local same = "x: any; the result has the same"
return {
    -- ---- reductions ----
    min = {
        text = "Indices count from 1; of equal elements it is the first's. NaN wins; no elements \z
            are an error.",
        shapes = "x: any; the result is a scalar, or with dim two that have the dims left; \z
            keepdim keeps it as 1",
        example = "local v, at = tensor({{3, 9}, {4, 1}}):min(2) return at\n--> tensor({1, 2}, \z
            i64 2 cpu)",
        see = "max, argmin, amin, aminmax, minimum" },
    amax = {
        text = "One dim or several; max gives the places too. Equal largest elements share the \z
            gradient.",
        example = "tensor({{1, 9}, {3, 4}}):amax(2)\n--> tensor({9, 4}, i64 2 cpu)",
        see = "max, amin, aminmax, argmax" },
    amin = {
        text = "One dim or several; min gives the places too. Equal smallest elements share the \z
            gradient.",
        example = "tensor({{1, 9}, {3, 4}}):amin(1)\n--> tensor({1, 4}, i64 2 cpu)",
        see = "min, amax, aminmax, argmin" },
    aminmax = { text = "Two results, read in one pass.", shapes = reduced,
        example = "local low, high = tensor({3, 9, 1}):aminmax() return high - low\n--> tensor(8, \z
            i64 scalar cpu)",
        see = "amin, amax, min, max" },
    argmax = { text = "Counted from 1; without dim in x seen as one row. Labels that count from \z
            0, as Python's do, are compared as x:argmax(2) == labels + 1: without it none or few \z
            are equal, and no error tells.", shapes = reduced,
        example = "tensor({{3, 9, 4}, {7, 1, 7}}):argmax(2)\n--> tensor({2, 1}, i64 2 cpu)",
        see = "argmin, max, topk, argsort" },
    argmin = { text = "Counted from 1; without dim in x seen as one row.", shapes = reduced,
        example = "tensor({{3, 9, 4}, {7, 1, 7}}):argmin()\n--> tensor(5, i64 scalar cpu)",
        see = "argmax, min" },
    prod = {
        text = "Over all elements, one dim or several; integers give i64. Of no elements it is 1.",
        example = "tensor({{1, 2}, {3, 4}}):prod(2)\n--> tensor({ 2, 12}, i64 2 cpu)",
        see = "sum, cumprod" },
    all = { text = "Gives a bool tensor, so nothing waits; true of no elements. NaN is not zero.",
        example = "tensor({{true, false}, {true, true}}):all(1)\n--> tensor({ true, false}, bool \z
            2 cpu)",
        see = "any, equal, count_nonzero" },
    any = { text = "Gives a bool tensor, so nothing waits; false of no elements. NaN is not zero.",
        example = "tensor({{0, 0}, {0, 5}}):any(2)\n--> tensor({false,  true}, bool 2 cpu)",
        see = "all, count_nonzero, nonzero" },
    count_nonzero = { text = "i64; nothing waits. NaN is not zero.",
        shapes = "x: any; the result has the dims that are not reduced",
        example = "tensor({{0, 2, 3}, {0, 0, 1}}):count_nonzero(2)\n--> tensor({2, 1}, i64 2 cpu)",
        see = "nonzero, any, all" },
    check_finite = {
        text = "At once on the cpu, else at the next wait; nothing waits for it. An infinity that \z
            an operand brings, as a mask of -inf, is passed on, a NaN never.",
        shapes = "x, a, b, c: any; there is no result",
        example = [[
local ok, what = pcall(check_finite, tensor{1, 0/0})
return (what:match "check_finite: .*")
--> check_finite: 1 NaN and 0 infinite of 2 elements (f32 2)]],
        see = "nan.watch, isfinite, nan_to_num" },
    nan = {
        text = "nan.watch: which op made the first NaN or infinity, in which line and module.",
        see = "nan.watch, autograd.detect_anomaly, isnan" },
    ["nan.watch"] = { call = "nan.watch([fn, …])",
        text = "A loss is NaN: the first op whose result holds a NaN or an infinity, forward or \z
            backward, is an error that says the op, its line and module, the shape, and how many \z
            elements. Each result is looked at where it is, without a wait: on a device the error \z
            comes with the next wait, such as item(). So are parameters that an optimizer's \z
            step writes. Results of ops that only move or choose elements are not looked at. \z
            An infinity that an operand brings, as a mask of -inf, is passed on. Functions of \z
            fuse and capture run op by op meanwhile. fn(…) is watched, or \z
            a block: local _ <close> = nan.watch(); or, at the prompt, what follows until \z
            nan.watch(false).",
        example = "local ok, what = pcall(nan.watch, function() return tensor{1, 0}:log() end)\n\z
            return (what:match \"nan.watch: .*\")\n--> nan.watch: log made 0 NaN and 1 infinite \z
            of 2 elements (f32 2)",
        see = "autograd.detect_anomaly, isnan, check_finite, optim.clip_grad_norm_" },
    diverge = { call = "diverge(fn, {x, …}, {device =, dtype =, ulp = 16})",
        text = "Where two results part: fn(x, …) runs as it is given, and again on another \z
            device or in another dtype (by default on \"gpu\", else sim); the first op whose \z
            result parts by more than ulp is named with its line and module, and how far the \z
            results before it were apart. Differences add up from op to op: what is small \z
            beside the results before may be due to these. An ulp is the distance of \z
            neighbours in the narrower dtype at the largest element of the result. Tensors \z
            and modules are copied, both runs draw the same random numbers, and a backward \z
            in fn is compared, too. Each result is kept until the end.",
        example = [[
return diverge(function(x) return (x + 0.5) - 256 end, tensor{256.0}, {dtype = "bf16"}).op
--> sub]],
        see = "nan.watch, isclose, autocast" },
    nansum = { text = "Integers give i64. Of NaNs alone it is 0.", shapes = reduced,
        example = "tensor({1.0, 0/0, 3.0}):nansum()\n--> tensor(4.0, f32 scalar cpu)",
        see = "sum, nanmean, nan_to_num" },
    nanmean = {
        text = "Floats only. What is divided by is the number of the others; of NaNs alone it is \z
            NaN.",
        shapes = reduced,
        example = "tensor({1.0, 0/0, 3.0}):nanmean()\n--> tensor(2.0, f32 scalar cpu)",
        see = "mean, nansum, nanmedian" },
    median = {
        text = "Of an even number of elements the lower middle one, an element of x; \z
            quantile(0.5) takes the mean of both.",
        shapes = reduced,
        example = "tensor({4, 1, 3, 2}):median()\n--> tensor(2, i64 scalar cpu)",
        see = "nanmedian, quantile, mode, kthvalue" },
    nanmedian = {
        text = "Of an even number of elements the lower middle one. Of NaNs alone it is NaN.",
        shapes = reduced,
        example = "tensor({5.0, 0/0, 1.0, 3.0}):nanmedian()\n--> tensor(3.0, f32 scalar cpu)",
        see = "median, nanquantile, nanmean" },
    mode = { text = "Unlike in max and median the dim is the last one if it is not given.",
        shapes = reduced,
        example = "tensor({{1, 1, 2}, {4, 3, 4}}):mode()\n--> tensor({1, 4}, i64 2 cpu)",
        see = "median, bincount, unique" },
    quantile = {
        text = "Floats only. Between elements it is interpolated, so between an infinity and \z
            another element infinite or NaN; an infinity that is the quantile itself stays one. A \z
            number q needs no waiting; a table, or a vector on another device, is first copied to \z
            x's device, for which the host waits.",
        options = "interpolation: between two elements, linear, lower, higher, midpoint or nearest",
        shapes = "x: any; the result has the dims that are not reduced, after one for the q \z
                where there are several",
        example = "tensor({{1.0, 2.0, 3.0, 4.0}}):quantile({0, 0.5, 1}, 2)\n--> \z
            tensor({{1.0},\n-->         {2.5},\n-->         {4.0}}, f32 3x1 cpu)",
        see = "nanquantile, median, kthvalue, sort" },
    nanquantile = { text = "Floats only. Of NaNs alone it is NaN.",
        shapes = "x: any; the result has the dims that are not reduced, after one for the q \z
            where there are several",
        example = "tensor({1.0, 0/0, 3.0}):nanquantile(0.5)\n--> tensor(2.0, f32 scalar cpu)",
        see = "quantile, nanmedian" },
    var = {
        text = "Floats only. correction 1 is for samples, 0 for all there are; of one element the \z
            first is NaN.",
        shapes = reduced,
        example = "tensor({2.0, 4.0, 6.0}):var()\n--> tensor(4.0, f32 scalar cpu)",
        see = "std, var_mean, mean" },
    std = { text = "The square root of var: floats only, divided by n - correction before it.",
        shapes = reduced,
        example = "tensor({1.0, 3.0}):std{correction = 0}\n--> tensor(1.0, f32 scalar cpu)",
        see = "var, std_mean, mean" },
    var_mean = { text = "Two results.", shapes = reduced,
        example = "local v, m = tensor({2.0, 4.0, 6.0}):var_mean() return m - v\n--> tensor(0.0, \z
            f32 scalar cpu)",
        see = "var, mean, std_mean" },
    std_mean = { text = "Two results.", shapes = reduced,
        example = "local s, m = tensor({2.0, 4.0, 6.0}):std_mean() return (tensor{8.0} - m) / \z
            s\n--> tensor({2.0}, f32 1 cpu)",
        see = "std, mean, var_mean" },
    logsumexp = { text = "The largest element is taken out first, so nothing overflows.",
        shapes = reduced,
        example = "tensor({1000.0, 0.0}):logsumexp()\n--> tensor(1000.0, f32 scalar cpu)",
        see = "logcumsumexp, log_softmax, sum" },
    norm = {
        text = "Floats only; a matrix counts as a vector of its elements. Infinity is math.huge.",
        shapes = reduced,
        example = "tensor({{3.0, -4.0}, {0.0, 2.0}}):norm(1, 2)\n--> tensor({7.0, 2.0}, f32 2 cpu)",
        see = "linalg.norm, linalg.vector_norm, normalize" },

    -- ---- running results ----
    cumsum = { text = "The dim must be named.", shapes = same,
        example = "tensor({{1, 2}, {3, 4}}):cumsum(1)\n--> tensor({{1, 2},\n-->         {4, 6}}, \z
            i64 2x2 cpu)",
        see = "cumprod, logcumsumexp, diff, sum" },
    cumprod = { text = "The dim must be named.", shapes = same,
        example = "arange(1, 4):cumprod(1)\n--> tensor({ 1,  2,  6, 24}, i64 4 cpu)",
        see = "cumsum, prod" },
    logcumsumexp = { text = "Nothing overflows, as in logsumexp.", shapes = same,
        example = "tensor({0.0, 1000.0}):logcumsumexp(1)\n--> tensor({   0.0, 1000.0}, f32 2 cpu)",
        see = "logsumexp, cumsum" },
    cummax = { text = "Two results, both in the shape of x; indices count from 1.",
        shapes = "x: any; both results have the same",
        example = "local v, at = tensor({1, 3, 2, 3}):cummax(1) return at\n--> tensor({1, 2, 2, \z
            4}, i64 4 cpu)",
        see = "cummin, max, cumsum" },
    cummin = { text = "Two results, both in the shape of x; indices count from 1.",
        shapes = "x: any; both results have the same",
        example = "(tensor({3, 1, 2, 0}):cummin(1))\n--> tensor({3, 1, 1, 0}, i64 4 cpu)",
        see = "cummax, min, cumsum" },
    diff = { text = "Of bool it says where neighbours differ.",
        shapes = "dim becomes shorter by n, once prepend and append are counted",
        example = "tensor({1, 4, 9}):diff{prepend = tensor{0}}\n--> tensor({1, 3, 5}, i64 3 cpu)",
        see = "cumsum, sub" },
}
