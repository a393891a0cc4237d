--!plain
-- Rows of NumPy's functions, in the form of rows.lua; torch.f's are NumPy's, too, where np.f has
-- none.
return [==[
np.flatnonzero(X) = nonzero(X:flatten()):flatten()
np.array|tf.constant(X) = tensor(X)
np.size(X, AXIS) = X:size(AXIS)
np.append(X, L) = cat({X:flatten(), tensor(L)})
np.dot(X, Y) = matmul(X, Y)
np.max|np.amax(X, AXIS?, **) = amax(X, AXIS?, **)
np.min|np.amin(X, AXIS?, **) = amin(X, AXIS?, **)
np.append(X, N) = cat({X:flatten(), tensor{N}})
np.append(X, Y) = cat({X:flatten(), Y})
np.ndim(X) = X.ndim
np.shape(X) = X.shape
np.size(X) = X:numel()
np.size(X, AXIS) = X:size(AXIS)
np.cbrt(N) = math.abs(N) ^ (1 / 3) * (N < 0 and -1 or 1)
np.cbrt(X) = X:abs() ^ (1 / 3) * X:sign()
np.geomspace(A, B, NUM=50) = logspace(math.log(A, 10), math.log(B, 10), NUM)
np.triu_indices(N) = triu_indices(N, N):unbind(1)
np.tril_indices(N) = tril_indices(N, N):unbind(1)
np.select(CONDLIST, CHOICELIST, DEFAULT=0) = (function(c, v, r) for i = #c, 1, -1 do r =
    where(c[i], v[i], r) end return r end)(CONDLIST, CHOICELIST, DEFAULT)
np.apply_along_axis(F, AXIS, X) = -- ops take a dim themselves: sum(x, 2)
np.fromfunction(F, SIZE) = -- f(i, j) of tensors that broadcast: i = arange(0, 1):unsqueeze(2)
np.delete(X, N) = (function(t, i) local m = ones(#t):bool() m[i < 0 and #t + 1 + i or i + 1] = false
    return t[m] end)(X:flatten(), N)
np.insert(X, N, N2) = (function(t, i, v) return cat{t:narrow(1, 1, i), tensor{v},
    t:narrow(1, i + 1, #t - i)} end)(X:flatten(), N, N2)
np.delete(X, INDEX) = -- a mask or a list of what stays: x[mask], x[tensor{1, 3}]
np.insert(X, INDEX, Y) = -- cat of the parts: cat{x["1:2"], y, x["3:"]}
np.cov(X) = cov(X)
np.cov(X, Y) = cov(stack{X, Y})
np.corrcoef(X) = corrcoef(X)
np.corrcoef(X, Y) = corrcoef(stack{X, Y})
np.polyval(X, Y) = (function(p, x) local y = 0 for i = 1, #p do y = y * x + p[i] end return y
    end)(X, Y)
np.ediff1d(X) = X:flatten():diff()
np.convolve(X, Y) = (function(x, y) return conv1d(x:reshape(1, 1, -1), y:flip(1):reshape(1, 1, -1),
    {padding = #y - 1}):flatten() end)(X, Y)
np.interp(N, XP, FP) = (function(v, a, b) local i = searchsorted(a, v):clamp(2, #a) return
    b[i - 1] + ((v - a[i - 1]) / (a[i] - a[i - 1])):clamp(0, 1) * (b[i] - b[i - 1])
    end)(tensor{N}, XP, FP):item()
np.interp(X, XP, FP) = (function(v, a, b) local i = searchsorted(a, v):clamp(2, #a) return
    b[i - 1] + ((v - a[i - 1]) / (a[i] - a[i - 1])):clamp(0, 1) * (b[i] - b[i - 1]) end)(X, XP, FP)
np.take(X, INDEX) = X:flatten()[INDEX]
np.take(X, INDEX, AXIS) = X:index_select(AXIS, INDEX)
np.pad(X, PAD_WIDTH, CONSTANT_VALUES=0) = (function(t, w, v) local p = {} for i = t.ndim, 1, -1 do
    local e = type(w) == "number" and {w} or type(w[1]) == "table" and (w[i] or w[1]) or w
    p[#p + 1], p[#p + 2] = e[1], e[2] or e[1] end return pad(t, p, {value = v})
    end)(X, PAD_WIDTH, CONSTANT_VALUES)
np.full(SIZE, X, **) = full(SIZE, X, **)
np.identity(N, **) = eye(N, **)
np.eye(N, M, K) = ones(N, M):triu(K):tril(K)
np.eye(N, M) = eye(N, M)
np.eye(N, K) = ones(N, N):triu(K):tril(K)
np.eye(N, M, **) = eye(N, M, **)
np.eye(N, **) = eye(N, **)
np.tri(N) = ones(N, N):tril()
np.tri(N, M) = ones(N, M):tril()
np.tri(N, M, K) = ones(N, M):tril(K)
np.tri(N, K) = ones(N, N):tril(K)
np.cumsum(X, AXIS) = X:cumsum(AXIS)
np.cumprod(X, AXIS) = X:cumprod(AXIS)
np.cumsum(X) = X:flatten():cumsum(1)
np.cumprod(X) = X:flatten():cumprod(1)
np.expand_dims(X, AXIS) = X:unsqueeze(AXIS)
np.transpose(X) = X.T
np.transpose(X, AXES) = X:permute(AXES)
np.swapaxes(X, DIM, AXIS) = X:transpose(DIM, AXIS)
np.reshape(X, SHAPE) = X:reshape(SHAPE)
np.ravel(X) = X:flatten()
np.tile(X, REPS) = X:tile(REPS)
np.array_split(X, A) = tensor_split(X, A)
np.ptp(X) = X:max() - X:min()
np.clip(N, A_MIN, A_MAX) = math.max(A_MIN, math.min(N, A_MAX))
np.clip(X, A_MIN, A_MAX) = clamp(X, A_MIN, A_MAX)
np.clip(X, MIN, MAX) = clamp(X, MIN, MAX)
np.flip(X, AXIS) = flip(X, AXIS)
np.flip(X) = (function(t) for i = 1, t.ndim do t = t:flip(i) end return t end)(X)
np.average(X) = X:mean()
np.average(X, AXIS) = mean(X, AXIS)
np.average(X, WEIGHTS) = (X * WEIGHTS):sum() / WEIGHTS:sum()
np.polyfit(X, Y, DEG) = (linalg.lstsq(vander(X, DEG + 1), Y:unsqueeze(2))):flatten()
np.digitize(X, BINS) = bucketize(X, BINS, {right = true}) -- bins count from 1
np.vectorize(F) = F -- ops take whole tensors
np.meshgrid(X, Y) = meshgrid(X, Y, {indexing = "xy"})
np.random.default_rng.integers(N, LOW, STOP, SIZE) = randint(LOW, STOP, SIZE)
np.random.default_rng(N) = manual_seed(N) -- then rand, randn, randint and randperm
np.random.default_rng() = -- rand, randn, randint and randperm: manual_seed(n) repeats them
np.random.random(SIZE) = rand(SIZE)
np.random.standard_normal(SIZE) = randn(SIZE)
np.random.integers(STOP) = math.random(0, STOP)
np.random.integers(LOW, STOP) = math.random(LOW, STOP)
np.random.integers(LOW, STOP, SIZE) = randint(LOW, STOP, SIZE)
np.random.integers(STOP, SIZE) = randint(0, STOP, SIZE)
np.random.randint(STOP) = math.random(0, STOP)
np.random.randint(LOW, STOP) = math.random(LOW, STOP)
np.random.randint(LOW, STOP, SIZE) = randint(LOW, STOP, SIZE)
np.random.randint(STOP, SIZE) = randint(0, STOP, SIZE)
np.random.normal(LOC=0, SCALE=1, SIZE) = normal(LOC, SCALE, SIZE)
np.random.uniform(LOW=0, HIGH=1, SIZE) = rand(SIZE) * (HIGH - LOW) + LOW
np.random.permutation(N) = randperm(N) -- from 1, as indices are
np.random.permutation(X) = X[randperm(#X)]
np.random.shuffle(X) = X = X[randperm(#X)]
np.random.choice(N, SIZE) = randint(0, N - 1, SIZE)
np.random.choice(X, SIZE) = X[randint(1, #X, SIZE)]
np.save(FILE, X) = npy.save(FILE, X)
np.load(FILE) = npy.load(FILE)
np.savez(FILE, X) = npz.save(FILE, {arr_0 = X})
np.savez(FILE, **) = npz.save(FILE, {**})
np.savez_compressed(FILE, **) = npz.save(FILE, {**}, {compressed = true})
np.around|np.round_(X, DECIMALS=0) = round(X, {decimals = DECIMALS})
np.asanyarray|np.ascontiguousarray|np.asfortranarray|np.asmatrix|np.require|np.conjugate(X) = X
np.array_equiv(X, Y) = equal(X, Y)
np.array_str|np.array_repr|np.array2string(X, **) = tostring(X)
np.fabs(X) = abs(X)
np.degrees(X) = rad2deg(X)
np.radians(X) = deg2rad(X)
np.divmod(X, Y) = {X // Y, X % Y}
np.modf(X) = {frac(X), trunc(X)}
np.invert|np.bitwise_invert(X) = ~X
np.left_shift(X, Y) = bitwise_left_shift(X, Y)
np.right_shift(X, Y) = bitwise_right_shift(X, Y)
np.broadcast_arrays(X, Y) = broadcast_tensors{X, Y}
np.matrix_transpose|np.linalg.matrix_transpose(X) = X.mT
np.permute_dims(X, AXES) = X:permute(AXES)
np.rollaxis(X, AXIS) = X:movedim(AXIS, 1)
np.unstack(X, AXIS=1) = X:unbind(AXIS)
np.cumulative_sum(X) = X:cumsum(1)
np.cumulative_sum(X, AXIS) = X:cumsum(AXIS)
np.cumulative_prod(X) = X:cumprod(1)
np.cumulative_prod(X, AXIS) = X:cumprod(AXIS)
np.nancumsum(X) = nan_to_num(X):flatten():cumsum(1)
np.nancumsum(X, AXIS) = nan_to_num(X):cumsum(AXIS)
np.nanmax(X, AXIS?) = amax(where(isnan(X), -math.huge, X), AXIS?)
np.nanmin(X, AXIS?) = amin(where(isnan(X), math.huge, X), AXIS?)
np.nanargmax(X, AXIS?) = argmax(where(isnan(X), -math.huge, X), AXIS?) -- counts from 1
np.nanargmin(X, AXIS?) = argmin(where(isnan(X), math.huge, X), AXIS?) -- counts from 1
np.nanprod(X, AXIS?) = prod(where(isnan(X), 1, X), AXIS?)
np.nanstd(X) = std(X[~isnan(X)], {correction = 0})
np.nanvar(X) = var(X[~isnan(X)], {correction = 0})
np.nanpercentile(X, Q, AXIS?, **) = nanquantile(X, Q / 100, AXIS?, **)
np.fill_diagonal(X, Y) = X:diagonal():fill_(Y)
np.compress|np.extract(MASK, X) = X[MASK]
np.place|np.putmask(X, MASK, N) = X:masked_fill_(MASK, N)
np.copyto(X, Y) = X:copy_(Y)
np.correlate(X, Y) = conv1d(X:reshape(1, 1, -1), Y:reshape(1, 1, -1)):flatten()
np.take_along_axis(X, INDEX, AXIS) = take_along_dim(X, INDEX, AXIS)
np.put_along_axis(X, INDEX, Y, AXIS) = X:scatter_(AXIS, INDEX, Y)
np.diag_indices(N) = {arange(1, N), arange(1, N)}
np.ix_(X, Y) = -- x:index_select(1, rows):index_select(2, columns)
np.tril_indices_from(X) = tril_indices(#X, X:size(2)):unbind(1)
np.triu_indices_from(X) = triu_indices(#X, X:size(2)):unbind(1)
np.intersect1d(X, Y) = (unique(X[isin(X, Y)]))
np.setdiff1d(X, Y) = (unique(X[~isin(X, Y)]))
np.setxor1d(X, Y) = (unique(cat{X[~isin(X, Y)], Y[~isin(Y, X)]}))
np.union1d(X, Y) = (unique(cat{X, Y}))
np.unique_values(X) = (unique(X))
np.isscalar(X) = type(X) == "number"
np.partition|.partition(X, N) = (sort(X)) -- a whole sort
np.argpartition|.argpartition(X, N) = argsort(X) -- a whole sort, which counts from 1
np.vecdot(X, Y) = (X * Y):sum(-1)
np.matvec(X, Y) = (X @ Y:unsqueeze(-1)):squeeze(-1)
np.polyder(X) = X["1:-2"] * arange(#X - 1, 1, -1)
np.hanning(N) = hann_window(N, {periodic = false})
np.hamming(N) = hamming_window(N, {periodic = false})
np.blackman(N) = blackman_window(N, {periodic = false})
np.bartlett(N) = bartlett_window(N, {periodic = false})
np.histogram_bin_edges(X, BINS=10) = linspace(X:min():item(), X:max():item(), BINS + 1)
np.fromiter(X, **) = tensor(X)
np.shares_memory|np.may_share_memory(X, Y) = X:shares_storage(Y)
np.seterr(**) = -- nothing to set: nan.watch() names the op that makes a NaN
np.random.random_sample|np.random.ranf|np.random.sample(SIZE) = rand(SIZE)
np.random.exponential(SCALE=1, SIZE) = empty(SIZE):exponential_(1 / SCALE)
np.random.standard_exponential(SIZE) = empty(SIZE):exponential_()
np.random.lognormal(MEAN=0, SIGMA=1, SIZE) = exp(normal(MEAN, SIGMA, SIZE))
np.random.gumbel(LOC=0, SCALE=1, SIZE) = LOC - SCALE * log(-log(rand(SIZE)))
np.random.laplace(LOC=0, SCALE=1, SIZE) = LOC + SCALE * (empty(SIZE):exponential_() -
    empty(SIZE):exponential_())
np.random.multivariate_normal(MEAN, COV, N) = MEAN + randn(N, #MEAN) @ linalg.cholesky(COV).T
np.random.binomial(N, P, SIZE) = (rand({N, table.unpack(SIZE)}) < P):sum(1)
np.random.get_state() = get_rng_state()
np.random.set_state(X) = set_rng_state(X)
np.random.beta|np.random.chisquare|np.random.dirichlet|np.random.gamma|np.random.geometric(A?, B?,
    C?, **) = -- there are rand, randn, poisson, bernoulli, multinomial and x:exponential_()
np.savetxt(FILE, X, **) = (function(name, x) local f <close> = io.open(name, "w") for _, r in
    ipairs(x:tolist()) do f:write(type(r) == "table" and table.concat(r, " ") or r, "\n") end
    end)(FILE, X)
np.loadtxt|np.genfromtxt(FILE, **) = (function(name) local t = {} for line in io.lines(name) do
    local r = {} for n in line:gmatch "[^%s,]+" do r[#r + 1] = tonumber(n) end t[#t + 1] = r end
    return tensor(t) end)(FILE)
np.block(L) = (function(t) local r = {} for i, row in ipairs(t) do r[i] = is_tensor(row) and row or
    cat(row, -1) end return cat(r, is_tensor(t[1]) and -1 or 1) end)(L)
np.linalg.norm(X, **) = linalg.norm(X, **)
np.gradient(X) = (function(x) return cat{x["1:2"]:diff(), (x["3:"] - x["1:-3"]) / 2,
    x["-2:"]:diff()} end)(X)
np.histogram(X, EDGES) = histogram(X, tensor(EDGES))
np.histogram(X, BINS=10) = (function(x, n) return histc(x, n), linspace(x:min():item(),
    x:max():item(), n + 1) end)(X, BINS)
np.histogram(X, BINS=10, RANGE) = (function(x, n, r) return histc(x, n, r[1], r[2]), linspace(r[1],
    r[2], n + 1) end)(X, BINS, RANGE)
np.std(X, AXIS?, DDOF=0, **) = std(X, AXIS?, {correction = DDOF, **})
np.var(X, AXIS?, DDOF=0, **) = var(X, AXIS?, {correction = DDOF, **})
np.sort(X) = (sort(X))
np.sort(X, AXIS) = (sort(X, AXIS))
np.median(X, AXIS?, **) = quantile(X, 0.5, AXIS?, **)
np.nanmedian(X, AXIS?, **) = nanquantile(X, 0.5, AXIS?, **)
np.percentile(X, L, AXIS?, **) = quantile(X, tensor(L) / 100, AXIS?, **)
np.percentile(X, Q, AXIS?, **) = quantile(X, Q / 100, AXIS?, **)
np.triu(X, K?) = triu(X, K?)
np.tril(X, K?) = tril(X, K?)
np.floor_divide(X, Y) = X // Y
np.mod|np.remainder(X, Y) = X % Y
np.fmod(N, Y) = fmod(tensor(N), Y)
np.repeat(X, L, AXIS?) = X:repeat_interleave(tensor(L), AXIS?)
np.repeat(X, REPEATS, AXIS?) = X:repeat_interleave(REPEATS, AXIS?)
np.split(X, A, AXIS?) = tensor_split(X, A, AXIS?)
np.linspace(A, B, NUM=50) = linspace(A, B, NUM)
np.random.rand(A, B?, C?) = rand(A, B?, C?)
np.random.randn(A, B?, C?) = randn(A, B?, C?)
]==]
