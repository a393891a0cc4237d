--!plain
-- Second names that PyTorch has for an op: the same function, so help and records say the first.
local gpush, methods = ...

local second = {
    abs = "absolute", acos = "arccos", acosh = "arccosh", asin = "arcsin", asinh = "arcsinh",
    atan = "arctan", atan2 = "arctan2",
    atanh = "arctanh", cat = "concat concatenate", clamp = "clip", div = "divide true_divide",
    ge = "greater_equal", gt = "greater",
    le = "less_equal", lt = "less", movedim = "moveaxis", mul = "multiply", ne = "not_equal",
    neg = "negative", nonzero = "argwhere",
    outer = "ger", sub = "subtract", transpose = "swapaxes swapdims", trunc = "fix",
    vstack = "row_stack",
    -- Of linalg: torch.inverse(x) and x:inverse() beside torch.linalg.inv(x).
    ["linalg.cholesky"] = "cholesky", ["linalg.det"] = "det", ["linalg.inv"] = "inverse",
    ["linalg.matrix_power"] = "matrix_power",
    ["linalg.pinv"] = "pinverse", ["linalg.qr"] = "qr", ["linalg.slogdet"] = "slogdet",
}

debug.getregistry()["gpush.synonyms"] = second -- for help
for first, names in pairs(second) do
    local of_linalg = first:match "^linalg%.(.+)"
    local fn = of_linalg and gpush.linalg[of_linalg] or gpush[first]
    for name in names:gmatch "%S+" do
        gpush[name] = fn
        if of_linalg or methods[first] then methods[name] = fn end
        methods[name .. "_"] = methods[first .. "_"]
    end
end
