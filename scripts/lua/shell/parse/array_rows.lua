--!plain
-- Rows of Julia's, MATLAB's and R's functions, in the form of rows.lua. A row of julia.f, matlab.f
-- or R.f is of a line in that language alone; a _ stands where R has a dot in a name. set_to is
-- what parse makes of A .= b; span, hvcat and part of what arrays.lua makes of a:b, [a b; c d] and
-- v(:), each_max of max.(a, b).
return [==[
abs2(X) = X ^ 2
vec(X) = X.T:flatten() -- theirs goes column by column
similar(X) = empty_like(X)
sortperm(X) = argsort(X)
findall(V) = nonzero(V):flatten()
count(V) = V:sum()
ifelse(V, X, Y) = where(V, X, Y)
Float32(V) = V:float()
Float64(V) = V:double()
cu|CuArray(V) = V:gpu()
cu|CuArray(L) = tensor(L, {device = "gpu"})
Array(V) = V:cpu()
push!(X, Y) = table.insert(X, Y)
fill!(X, N) = X:fill_(N)
vcat(X, Y) = cat{X, Y}
vcat(X, Y, V) = cat{X, Y, V}
hcat(X, Y) = column_stack{X, Y}
hcat(X, Y, V) = column_stack{X, Y, V}
repeat(X, A, B?) = X:tile(A, B?)
tr(X) = trace(X)
diagm(V) = diag(V)
diagm(L) = diag(tensor(L))
each_max(V, N) = clamp(V, {min = N})
each_max(X, Y) = maximum(X, Y)
each_min(V, N) = clamp(V, {max = N})
each_min(X, Y) = minimum(X, Y)
hvcat(L) = tensor(L)
span(A, B) = arange(A, B)
span(A, STEP, B) = arange(A, B, STEP)
CUDA.zeros(A, B?, C?) = zeros(A, B?, C?, {device = "gpu"})
CUDA.ones(A, B?, C?) = ones(A, B?, C?, {device = "gpu"})
CUDA.rand(A, B?, C?) = rand(A, B?, C?, {device = "gpu"})
CUDA.randn(A, B?, C?) = randn(A, B?, C?, {device = "gpu"})
CUDA.synchronize() = synchronize()
.set_to(X, V) = X:copy_(V)
.set_to(X, N) = X:fill_(N)
julia.fill(N, A, B?, C?) = full({A, B?, C?}, N)
julia.trues(A, B?) = ones(A, B?):bool()
julia.falses(A, B?) = zeros(A, B?):bool()
julia.collect(X) = X
julia.range(A, B, LENGTH) = linspace(A, B, LENGTH)
julia.range(A, B, STEP) = arange(A, B, STEP)
julia.maximum(X, DIMS) = amax(X, DIMS, true)
julia.minimum(X, DIMS) = amin(X, DIMS, true)
julia.extrema(X) = {aminmax(X)}
julia.sort(X, REV=false) = (sort(X, {descending = REV}))
julia.sort(X, DIMS, REV=false) = (sort(X, DIMS, REV))
julia.sortperm(X, REV) = argsort(X, {descending = REV})
julia.cumsum(V) = cumsum(V, 1)
julia.cumprod(V) = cumprod(V, 1)
julia.reshape|matlab.reshape(X, A, B) = X.T:reshape(B, A).T -- theirs goes column by column
julia.map(F, V) = F(V)
julia.findmax(X) = {max(X, 1)}
julia.findmin(X) = {min(X, 1)}
julia.findfirst(V) = nonzero(V):flatten()[1]
julia.circshift|matlab.circshift(X, N) = X:roll(N, 1)
julia.dropdims(X, DIMS) = X:squeeze(DIMS)
julia.selectdim(X, N, N2) = X:select(N, N2)
julia.mapreduce(F, FUN, V) = FUN(F(V))
julia.filter(F, V) = V[F(V)]
julia.isempty(X) = #X == 0
julia.shuffle(X) = X[randperm(#X)]
copy(V) = V:clone()
zero(V) = zeros_like(V)
one(V) = ones_like(V)
julia.eachindex(X) = arange(1, #X)
julia.accumulate(X, V) = cumsum(V, 1)
matlab.nnz(V) = count_nonzero(V)
matlab.isequal(X, Y) = equal(X, Y)
matlab.arrayfun(F, V) = F(V)
matlab.bsxfun(F, X, Y) = F(X, Y)
matlab.trapz(V) = trapezoid(V)
matlab.permute(X, L) = X:permute(L)
matlab.num2cell(V) = V:tolist()
R.cor(X, Y) = corrcoef(stack{X, Y})["1, 2"]
R.array(X, DIM) = X:reshape(DIM)
R.scale(X) = (X - X:mean(1)) / X:std(1)
R.is_null(X) = X == nil
R.pmax(X, Y) = maximum(X, Y)
R.pmin(X, Y) = minimum(X, Y)
R.tail(X, N=6) = X:narrow(1, #X - N + 1, N)
R.tcrossprod(X) = X @ X.T
R.chol(X) = linalg.cholesky(X).T
R.eigen(X) = {linalg.eigh(X)}
R.nchar(S) = #S
R.sprintf(S, A?, B?) = (S):format(A?, B?)
julia.eachrow(X) = X:unbind(1)
julia.eachcol(X) = X:unbind(2)
julia.round(X, DIGITS) = round(X, {decimals = DIGITS})
julia.transpose|R.t(X) = X.T
first(V) = V[1]
last(V) = V[-1]
julia.eltype(X) = X.dtype
julia.reverse|R.rev(X) = X:flip(1)
julia.isapprox(X, Y) = allclose(X, Y)
julia.norm|matlab.norm(X) = linalg.norm(X)
matlab.max(X, L, N) = amax(X, N, true)
matlab.min(X, L, N) = amin(X, N, true)
matlab.max|matlab.min(V, N) = clamp(V, N)
matlab.repmat(X, A, B) = X:tile(A, B)
matlab.gpuArray(V) = V:gpu()
matlab.gather(V) = V:cpu()
matlab.horzcat(X, Y) = hstack{X, Y}
matlab.vertcat(X, Y) = vstack{X, Y}
matlab.cat(N, X, Y) = cat({X, Y}, N)
matlab.isempty(X) = #X == 0
matlab.find(V) = nonzero(V):flatten()
matlab.sort(X, S) = (sort(X, {descending = S == "descend"}))
matlab.randi(N, A, B) = randint(1, N, {A, B})
matlab.double(V) = V:double()
matlab.single(V) = V:float()
matlab.mod|matlab.rem(X, Y) = X % Y
matlab.fprintf(S, A?, B?, C?) = io.write((S):format(A?, B?, C?))
matlab.num2str(X) = tostring(X)
matlab.rng(N) = manual_seed(N)
matlab.tic() = t0 = clock()
matlab.toc() = clock() - t0
R.dim(X) = X.shape
R.nrow(X) = X:size(1)
R.ncol(X) = X:size(2)
R.apply(X, MARGIN, FUN) = FUN(X, 3 - MARGIN)
R.sapply|R.lapply(V, FUN) = FUN(V)
R.rowSums(X) = X:sum(2)
R.colSums(X) = X:sum(1)
R.rowMeans(X) = X:mean(2)
R.colMeans(X) = X:mean(1)
R.which_max(X) = argmax(X)
R.which_min(X) = argmin(X)
R.which(V) = nonzero(V):flatten()
R.matrix(N, NROW, NCOL) = full({NROW, NCOL}, N)
R.matrix(X, NROW=-1, NCOL=-1, BYROW) = X:reshape(NROW, NCOL)
R.matrix(X, NROW=-1, NCOL=-1) = X:reshape(NCOL, NROW).T -- R's goes column by column
R.seq(A, B, BY) = arange(A, B, BY)
R.seq(A, B, LENGTH_OUT) = linspace(A, B, LENGTH_OUT)
R.seq(A, B) = arange(A, B)
R.seq_len(A) = arange(1, A)
R.seq_along(X) = arange(1, #X)
R.rep(N, TIMES) = full({TIMES}, N)
R.rep(V, TIMES) = V:tile(TIMES)
R.rep(V, EACH) = V:repeat_interleave(EACH)
R.rbind(X, Y) = vstack{X, Y}
R.cbind(X, Y) = column_stack{X, Y}
R.solve(A) = linalg.inv(A)
R.solve(A, B) = linalg.solve(A, B)
R.crossprod(X) = X.T @ X
R.rnorm(A) = randn(A)
R.rnorm(A, MEAN=0, SD=1) = normal(MEAN, SD, {A})
R.runif(A, MIN=0, MAX=1) = rand(A) * (MAX - MIN) + MIN
R.set_seed(N) = manual_seed(N)
R.order(X) = argsort(X)
R.is_na(X) = isnan(X)
R.head(X, N=6) = X:narrow(1, 1, N)
R.sd(X) = std(X)
R.paste(S, X) = S .. " " .. tostring(X)
R.paste0(S, X) = S .. tostring(X)
R.as_numeric(X) = X
R.cat(S) = io.write(S)
R.library(X) = -- nothing to import: ones, nn, optim are here; require "name" reads a file
]==]
