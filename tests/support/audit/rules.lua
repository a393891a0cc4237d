-- For tests/bindings/audit.lua: calls that ops accept although they look like a mistake, and why
-- that is right. See A.judge in audit.lua.
local function set(...)
    local s = {}
    for _, v in ipairs { ... } do s[v] = true end
    return s
end
local infinite, high = set("0/0", "math.huge", "-math.huge"), set("99", "math.maxinteger")
local function all(...)
    local s = {}
    for _, part in ipairs { ... } do for v in pairs(part) do s[v] = true end end
    return s
end
local numbers = all(infinite, set("0", "-1", "2"))

-- Ops whose tensors broadcast and promote, elementwise: rows of two or three operands, and others.
local pairwise = "isclose allclose where max min clamp float_power"
for name, row in pairs(require "gpush".ops()) do
    if row.sig:find "^operand!? a, operand b" then pairwise = pairwise .. " " .. name end
end
local distances = "cdist cosine_similarity pairwise_distance triplet_margin_loss dist linalg.vecdot"
local losses = "[%w_]+_loss binary_cross_entropy binary_cross_entropy_with_logits kl_div"
local writes = "scatter scatter_add scatter_nd scatter_reduce index_add index_copy index_put \z
    masked_scatter [%w_]+_scatter"
local shapes_alone = "expand_as reshape_as view_as type_as"

return {
    -- ---- options, numbers ----
    { nil, what = "wrong", value = set "{}",
        why = "an empty table that comes last is one of options, without any" },
    { nil, type = "numbers order", value = set "{}", why = "the same" },
    { "index_put", param = "dims", value = set "{}", why = "the same" },
    { nil, type = "int dim dims float", value = set("2.0", "{2.0}"), why = "2.0 is an integer" },
    { nil, type = "number operand", value = set "true",
        why = "true is the number 1, as in PyTorch" },
    { nil, what = "wrong", type = "bool", param = "keepdim", value = set "1",
        why = "a number that follows a dim is one more dim" },
    { nil, type = "operand", value = infinite,
        why = "an operand is any number, and the result shows it" },
    { nil, type = "float number",
        param = "value alpha beta negative_slope slope lambd threshold margin scale nan posinf \z
            neginf min max k dx tau", value = numbers,
        why = "the formula holds for any number, and the result shows NaN" },
    { nil, type = "float", param = "eps", value = numbers,
        why = "it is added as it stands, as in PyTorch" },
    { nil, type = "float number order", param = "p ord", value = all(numbers, set "1.5"),
        why = "norms have any order; NaN gives NaN" },
    { nil, type = "float operand", param = "rtol atol rcond", value = numbers,
        why = "a tolerance may be 0, or infinite" },
    { "batch_norm instance_norm", param = "momentum", value = numbers,
        why = "a weight of the new statistics, any as in PyTorch" },
    { "arange range linspace logspace", type = "number float", value = numbers,
        why = "ends and steps are any numbers; a range the other way is empty" },
    { "histc uniform bernoulli dropout gru lstm rnn cross_entropy huber_loss smooth_l1_loss \z
        scaled_dot_product_attention", type = "float number",
        value = set("0", "2", "-1"), why = "within what is asked for: what is outside raises" },
    { "huber_loss", param = "delta", value = set "math.huge",
        why = "a loss that is squared everywhere" },
    { "fft.r?fftfreq", param = "d", value = numbers,
        why = "a distance is any number, and the result shows it" },
    { "cov", param = "correction", why = "infinite where nothing is left to divide by" },
    { "std var std_mean var_mean", param = "correction", value = numbers,
        why = "NaN or infinite where nothing is left to divide by" },

    -- ---- integers ----
    { "tri[lu] tri[lu]_indices diag diag_embed diagflat diagonal diagonal_scatter", type = "int",
        param = "offset diagonal", why = "a diagonal outside of the matrix is empty" },
    { nil, type = "int", param = "ignore_index",
        why = "a label that is left out need not be there" },
    { nil, type = "int", param = "decimals", why = "places before and after the point" },
    { nil, type = "int ints",
        param = "n m steps row col num_samples num_classes minlength bins chunks output_size \z
            length size hop_length window_length N", value = all(set("0", "2.0", "{0}"), high),
        why = "a count" },
    { "rot90", param = "k", why = "turns go round" },
    { "roll", type = "ints", param = "shifts dims",
        why = "shifts go round; negative dims count from the end" },
    { "linalg.matrix_power", param = "n", why = "negative powers are those of the inverse" },
    { "topk kthvalue", param = "k", value = set("0", "2.0"), why = "a count" },
    { "avg_pool[23]d", param = "divisor_override",
        why = "a divisor is any number but 0, as in PyTorch" },
    { "select select_scatter narrow", type = "int", value = set("-1", "2.0"),
        why = "negative indices count from the end" },
    { "slice", type = "int", why = "bounds are cut to the dim, as those of a range" },
    { "unfold", param = "step", value = all(high, set "2.0"),
        why = "a step past the end leaves one window" },
    { "embedding embedding_bag", param = "padding_idx", value = set("-1", "2.0"),
        why = "negative indices count from the end" },
    { "randint randint_like", param = "low high", why = "from low to high, wherever these are" },
    { "one_hot", param = "num_classes", value = set "-1",
        why = "-1: the number that the largest says" },
    { "stack unsqueeze", param = "dim", value = set("-1", "2.0"),
        why = "negative dims count from the end" },
    { "gather_nd", param = "batch_dims", value = set("0", "2.0"), why = "a count of dims" },
    { "cauchy_ log_normal_", type = "float", value = numbers,
        why = "any middle, and any width above 0, as in PyTorch" },
    { "max_unpool%w+ max_pool%w+ avg_pool%w+ conv%w+ conv_transpose%w+ adaptive_[%w_]+ \z
        interpolate fft.%w+ pad as_strided index [%w_]+norm movedim unflatten fold affine_grid",
        type = "ints padding",
        why = "sizes of windows, steps and edges: one for all dims or one each; what does not fit \z
            raises" },
    { nil, type = "dim", value = set "-1", why = "negative dims count from the end" },
    { nil, type = "dims", value = set "{}", why = "no dims: all of them, or none to change" },
    { nil, type = "shape", value = set("{}", "{0}", "-1"),
        why = "a tensor of one number, of none; -1: the rest" },
    { nil, type = "tensors", value = set("{f(2)}", "{}", "{f(2), f(3, 1)}"),
        why = "lists of one, of none, of shapes that broadcast" },
    { nil, type = "varargs", value = set("{f(2)}", "{}", "{f(2), f(3, 1)}", "f(2)"),
        why = "as of tensors; one tensor is a list of one" },
    { "fft.i?fftshift", what = "wrong", param = "dim", value = set "{1, 1}",
        why = "a dim is shifted as often as it is named" },

    -- ---- values that are read in Lua ----
    { "gradient", param = "spacing", value = set("1.5", "-1", "{}"),
        why = "a distance is any number but 0" },
    { "combinations", param = "r", value = set "0", why = "no elements, as in PyTorch" },
    { "histogram", param = "bins", value = set "f(2)", why = "a vector of edges" },
    { "renorm", param = "maxnorm", value = set("math.huge", "0", "2"), why = "any size" },
    { "multigammaln", param = "p", value = set "99", why = "NaN, as x is not above (p - 1) / 2" },
    { "n?a?n?quantile", param = "q", why = "a number from 0 to 1, a list or a tensor of them" },
    { "new_tensor", param = "values", why = "values for a tensor" },
    { "[hvd]split tensor_split split", param = "sections size",
        why = "a number, or a list of places, cut to the dim" },
    { "tensordot", param = "dims", value = set "0", why = "no dims: all products" },

    -- ---- tensors that are not the first ----
    { pairwise, what = "bool i64 f64 column row short scalar empty",
        why = "elementwise: operands broadcast and promote" },
    { distances, what = "bool i64 f64 column row short scalar empty",
        why = "rows broadcast and promote, as in PyTorch" },
    { losses, what = "bool i64 f64", why = "a target is promoted" },
    { "check_finite", param = "a b c notes",
        why = "operands of any shape and dtype; any numbers" },
    { "addr cross linalg.cross kron outer inner polygamma isin searchsorted bucketize",
        what = "bool i64 f64 column row short scalar empty",
        why = "they promote, and take other shapes" },
    { "equal", what = "bool i64 f64 column row short scalar empty",
        why = "other shapes and values are not equal" },
    { shapes_alone, what = "bool i64 f64 device column row short scalar empty",
        why = "its shape, dtype or device is asked for" },
    { "polygamma", what = "device", why = "it is the only tensor" },
    { writes, what = "bool i64 f64",
        why = "values are converted to a dtype that holds them; others raise" },
    { "index_put scatter_nd masked_scatter", what = "column row short scalar empty",
        why = "values broadcast, or there are more than are written" },
    { "linalg.lu_solve gather gather_nd index_%w+ scatter[%w_]* take take_along_dim embedding \z
        cross_entropy nll_loss cosine_embedding_loss max_unpool%w+", what = "i64",
        why = "it is i64 already" },
    { "gather gather_nd index_%w+ scatter[%w_]* take take_along_dim embedding",
        what = "column row short scalar empty", why = "indices of another shape, of other values" },
    { "max_unpool%w+", what = "short", why = "a dim of size 1 stays as it is" },
    { "masked_%w+", param = "mask", why = "a mask broadcasts with the tensor, as in PyTorch" },
    { "embedding embedding_bag", param = "weight", what = "bool f64 i64 short",
        why = "rows of any dtype and size" },
    { "trapezoid cumulative_trapezoid grid_sample bilinear prelu",
        param = "x grid x2 bias weight", what = "bool i64 f64", why = "they promote" },
    { "trapezoid cumulative_trapezoid", param = "x", what = "row",
        why = "places that broadcast" },
    { "prelu", param = "weight", what = "column row short scalar",
        why = "as many numbers as channels, or one for all" },
    { "ctc_loss", param = "input_lengths target_lengths", value = set("0", "{0}"),
        why = "a target without labels" },
    { "ctc_loss", param = "targets", what = "short i64", why = "one label" },
    { "unravel_index", type = "shape", why = "a shape of any size" },
    { "batch_norm instance_norm", what = "f64",
        why = "statistics may be wider than what they are of" },
    { "addbmm linalg.lu_solve bmm matmul mm linalg.solve linalg.solve_triangular linalg.lstsq \z
        cholesky_solve tensordot linear conv%w+ conv_transpose%w+ scaled_dot_product_attention",
        what = "column row short scalar empty",
        why = "a matrix, kernel, bias or batch of another size" },
    { "gaussian_nll_loss", param = "var", what = "short", why = "a variance for each row" },
}
