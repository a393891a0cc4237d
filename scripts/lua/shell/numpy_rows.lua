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
np.random.random(SIZE) = rand(SIZE)
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
