--!plain
-- Rows of Julia's functions, in the form of rows.lua. set_to is what parse makes of A .= b.
return [==[
abs2(X) = X ^ 2
vec(X) = X.T:flatten() -- Julia's goes column by column
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
hcat(X, Y) = column_stack{X, Y}
CUDA.zeros(A, B?, C?) = zeros(A, B?, C?, {device = "gpu"})
CUDA.ones(A, B?, C?) = ones(A, B?, C?, {device = "gpu"})
CUDA.rand(A, B?, C?) = rand(A, B?, C?, {device = "gpu"})
CUDA.randn(A, B?, C?) = randn(A, B?, C?, {device = "gpu"})
CUDA.synchronize() = synchronize()
.set_to(X, V) = X:copy_(V)
.set_to(X, N) = X:fill_(N)
]==]
