--!plain
-- Help texts of reductions and running results; their form: scripts/lua/help/topics.lua.
return [==[
min (see max, argmin, amin, aminmax, minimum)
    Indices count from 1; among equal elements it is the first one's. NaN propagates; an empty
    tensor is an error.
    shapes: x: any; the result is a scalar, or with dim two that have the dims left; keepdim keeps
        it as 1
    > local v, at = tensor({{3, 9}, {4, 1}}):min(2) return at --> tensor({1, 2}, i64 2 cpu)
amax (see max, amin, aminmax, argmax)
    One dim or several; max returns the indices, too. Equal largest elements share the gradient.
    > tensor({{1, 9}, {3, 4}}):amax(2) --> tensor({9, 4}, i64 2 cpu)
amin (see min, amax, aminmax, argmin)
    One dim or several; min returns the indices, too. Equal smallest elements share the gradient.
    > tensor({{1, 9}, {3, 4}}):amin(1) --> tensor({1, 4}, i64 2 cpu)
aminmax (see amin, amax, min, max)
    Two results, read in one pass.
    > local low, high = tensor({3, 9, 1}):aminmax() return high - low --> tensor(8, i64 scalar cpu)
argmax (see argmin, max, topk, argsort)
    Indices count from 1; without dim they are positions in the flattened x. Compare labels that
    count from 0, as in Python, by x:argmax(2) == labels + 1: otherwise few are equal, and no error
    says so.
    > tensor({{3, 9, 4}, {7, 1, 7}}):argmax(2) --> tensor({2, 1}, i64 2 cpu)
argmin (see argmax, min)
    Indices count from 1; without dim they are positions in the flattened x.
    > tensor({{3, 9, 4}, {7, 1, 7}}):argmin() --> tensor(5, i64 scalar cpu)
prod (see sum, cumprod)
    Over all elements, one dim or several; integers give i64. The product of no elements is 1.
    > tensor({{1, 2}, {3, 4}}):prod(2) --> tensor({ 2, 12}, i64 2 cpu)
all (see any, equal, count_nonzero)
    Gives a bool tensor, so nothing waits; true for an empty tensor. NaN is not zero.
    > tensor({{true, false}, {true, true}}):all(1) --> tensor({ true, false}, bool 2 cpu)
any (see all, count_nonzero, nonzero)
    Gives a bool tensor, so nothing waits; false for an empty tensor. NaN is not zero.
    > tensor({{0, 0}, {0, 5}}):any(2) --> tensor({false,  true}, bool 2 cpu)
count_nonzero (see nonzero, any, all)
    i64; nothing waits. NaN is not zero.
    > tensor({{0, 2, 3}, {0, 0, 1}}):count_nonzero(2) --> tensor({2, 1}, i64 2 cpu)
check_finite (see nan.watch, isfinite, nan_to_num)
    The error comes at once on the cpu, elsewhere at the next wait; the check itself does not wait.
    An infinity that comes from an operand, such as a mask of -inf, is accepted; a NaN never is.
    shapes: x, a, b, c: any; there is no result
    > local ok, what = pcall(check_finite, tensor{1, 0/0})
    > return (what:match "check_finite: .*")
    --> check_finite: 1 NaN and 0 infinite of 2 elements (f32 2)
nan (see nan.watch, autograd.detect_anomaly, isnan)
    nan.watch: which op made the first NaN or infinity, in which line and module.
nan.watch | nan.watch([fn, …])
    Finds out why a loss is NaN. The first op whose result holds a NaN or an infinity, forward or
    backward, raises an error that names the op, its line and module, the shape, and how many
    elements. Each result is checked on its device, without a wait: on a device the error comes with
    the next wait, such as item(), or with the one at the watch's end. Parameters that an
    optimizer's step writes are checked, too; results of ops that only move or choose elements are
    not. An infinity that comes from an operand, such as a mask of -inf, is accepted. Meanwhile
    functions of fuse and capture run op by op. fn(…) is watched, or a block: local _ <close> =
    nan.watch(); or, at the prompt, what follows until nan.watch(false).
    waits: once, where it ends
    > local ok, what = pcall(nan.watch, function() return tensor{1, 0}:log() end)
    > return (what:match "nan.watch: .*")
    --> nan.watch: log made 0 NaN and 1 infinite of 2 elements (f32 2)
    see: autograd.detect_anomaly, isnan, check_finite, optim.clip_grad_norm_
diverge | diverge(fn, {x, …}, {device =, dtype =, ulp = 16}) (see nan.watch, isclose, autocast)
    Finds where two runs diverge: fn(x, …) runs as given, and again on another device or in another
    dtype (by default on "gpu", else sim). It names the first op whose results differ by more than
    ulp, with its line and module, and how far the results before it differed. Differences
    accumulate from op to op, so a small one may come from the results before it. An ulp is the
    distance between neighbouring numbers of the narrower dtype at the result's largest element.
    Tensors and modules are copied, both runs draw the same random numbers, and a backward in fn is
    compared, too. NaN in both runs counts as equal, and is said. Each result is kept until the end.
    Results that are not of floats, of argmax, of gt, the indices of sort, are the same or not:
    the first that are not are in the sentence and in .choice. What only moves elements is not
    compared.
    waits: for the copies of tensors and results
    > return diverge(function(x) return (x + 0.5) - 256 end, tensor{256.0}, {dtype = "bf16"}).op
    --> sub
nansum (see sum, nanmean, nan_to_num)
    Integers give i64. If all elements are NaN, it is 0.
    > tensor({1.0, 0/0, 3.0}):nansum() --> tensor(4.0, f32 scalar cpu)
nanmean (see mean, nansum, nanmedian)
    Floats only. The sum is divided by the number of elements that are not NaN; if all are, it is
    NaN.
    > tensor({1.0, 0/0, 3.0}):nanmean() --> tensor(2.0, f32 scalar cpu)
median (see nanmedian, quantile, mode, kthvalue)
    Of an even number of elements it is the lower of the middle two; quantile(0.5) takes their mean.
    > tensor({4, 1, 3, 2}):median() --> tensor(2, i64 scalar cpu)
nanmedian (see median, nanquantile, nanmean)
    Of an even number of elements it is the lower of the middle two. If all are NaN, it is NaN.
    > tensor({5.0, 0/0, 1.0, 3.0}):nanmedian() --> tensor(3.0, f32 scalar cpu)
mode (see median, bincount, unique)
    Without dim it is the last one, unlike in max and median.
    > tensor({{1, 1, 2}, {4, 3, 4}}):mode() --> tensor({1, 4}, i64 2 cpu)
quantile (see nanquantile, median, kthvalue, sort)
    Floats only. A quantile between two elements is interpolated, which gives an infinity or NaN
    next to an infinite element. With a number q nothing waits; a table, or a vector on another
    device, is first copied to x's device, and the host waits for that.
    options: interpolation: between two elements, linear, lower, higher, midpoint or nearest
    shapes: x: any; the result has the dims that are not reduced, after one for the q where there
        are several
    > tensor({{1.0, 2.0, 3.0, 4.0}}):quantile({0, 0.5, 1}, 2)
    --> tensor({{1.0},
    -->         {2.5},
    -->         {4.0}}, f32 3x1 cpu)
nanquantile (see quantile, nanmedian)
    Floats only. If all elements are NaN, it is NaN.
    shapes: x: any; the result has the dims that are not reduced, after one for the q where there
        are several
    > tensor({1.0, 0/0, 3.0}):nanquantile(0.5) --> tensor(2.0, f32 scalar cpu)
var (see std, var_mean, mean)
    Floats only. correction = 1 is for a sample, 0 for a population; with 1, one element gives NaN.
    > tensor({2.0, 4.0, 6.0}):var() --> tensor(4.0, f32 scalar cpu)
std (see var, std_mean, mean)
    The square root of var: floats only, divided by n - correction before it.
    > tensor({1.0, 3.0}):std{correction = 0} --> tensor(1.0, f32 scalar cpu)
var_mean (see var, mean, std_mean)
    Two results.
    > local v, m = tensor({2.0, 4.0, 6.0}):var_mean() return m - v --> tensor(0.0, f32 scalar cpu)
std_mean (see std, mean, var_mean)
    Two results.
    > local s, m = tensor({2.0, 4.0, 6.0}):std_mean() return (tensor{8.0} - m) / s
    --> tensor({2.0}, f32 1 cpu)
logsumexp (see logcumsumexp, log_softmax, sum)
    The largest element is subtracted first, so that nothing overflows.
    > tensor({1000.0, 0.0}):logsumexp() --> tensor(1000.0, f32 scalar cpu)
norm (see linalg.norm, linalg.vector_norm, normalize)
    Floats only; a matrix counts as a vector of its elements. Infinity is math.huge.
    > tensor({{3.0, -4.0}, {0.0, 2.0}}):norm(1, 2) --> tensor({7.0, 2.0}, f32 2 cpu)
cumsum (see cumprod, logcumsumexp, diff, sum)
    The dim must be named.
    > tensor({{1, 2}, {3, 4}}):cumsum(1)
    --> tensor({{1, 2},
    -->         {4, 6}}, i64 2x2 cpu)
cumprod (see cumsum, prod)
    The dim must be named.
    > arange(1, 4):cumprod(1) --> tensor({ 1,  2,  6, 24}, i64 4 cpu)
logcumsumexp (see logsumexp, cumsum)
    Nothing overflows, as in logsumexp.
    > tensor({0.0, 1000.0}):logcumsumexp(1) --> tensor({   0.0, 1000.0}, f32 2 cpu)
cummax (see cummin, max, cumsum)
    Two results, both in the shape of x; indices count from 1.
    > local v, at = tensor({1, 3, 2, 3}):cummax(1) return at --> tensor({1, 2, 2, 4}, i64 4 cpu)
cummin (see cummax, min, cumsum)
    Two results, both in the shape of x; indices count from 1.
    > (tensor({3, 1, 2, 0}):cummin(1)) --> tensor({3, 1, 1, 0}, i64 4 cpu)
diff (see cumsum, sub)
    Of bool it says where neighbours differ.
    shapes: dim becomes shorter by n, once prepend and append are counted
    > tensor({1, 4, 9}):diff{prepend = tensor{0}} --> tensor({1, 3, 5}, i64 3 cpu)
trapezoid (see cumulative_trapezoid, diff)
    options: x: positions of y; dx: their distance, without x
    shapes: y: any; x: y's, or its size along dim; the result: y's without dim
    > trapezoid(tensor{1.0, 2.0, 3.0}) --> tensor(4.0, f32 scalar cpu)
cumulative_trapezoid (see trapezoid, cumsum)
    options: x: positions of y; dx: their distance, without x
    shapes: y: any; x: y's, or its size along dim; the result: y's, with one less along dim
    > cumulative_trapezoid(tensor{1.0, 2.0, 3.0}) --> tensor({1.5, 4.0}, f32 2 cpu)
cov (see corrcoef, var)
    options: correction: subtracted from the number of observations
    shapes: x: variables x observations, or observations; the result: variables x variables, or 0-d
    > cov(tensor({{1.0, 3.0}, {2.0, 0.0}}))
    --> tensor({{ 2.0, -2.0},
    -->         {-2.0,  2.0}}, f32 2x2 cpu)
corrcoef (see cov, cosine_similarity)
    shapes: x: variables x observations, or observations; the result: variables x variables, or 0-d
    > corrcoef(tensor({{1.0, 3.0}, {2.0, 0.0}}))
    --> tensor({{ 1.0, -1.0},
    -->         {-1.0,  1.0}}, f32 2x2 cpu)
]==]
