--!plain
-- PyTorch's names that gpush lacks and that rows.lua cannot write with the line's own arguments:
-- what is there instead, in words, a comment in Lua, by the last part of the name.
-- tests/scripts/names.lua checks that every public name of PyTorch is there or answered, and that
-- what an answer calls exists.
local text = [==[
blockIdx threadIdx blockDim gridDim: cuda.kernel(text): in the text, as in CUDA C
environ: os.getenv 'NAME': the shell sets it, as in CUDA_VISIBLE_DEVICES=0 gpush s.lua
flags: x:is_contiguous()
base: x:shares_storage(y): says whether y is a view of the same memory
angle: atan2(z["..., 2"], z["..., 1"]), of complex numbers as pairs in a last dim of size 2
binomial: bernoulli(full({n}, p)):sum() is one number of the distribution
can_cast: (a + b).dtype: or x:to(dtype)
view_as_complex view_as_real resolve_conj: nothing to call: complex numbers are pairs in a last
    dim of size 2
resolve_neg set_flush_denormal as_subclass: nothing to call
is_complex: false: complex numbers are pairs in a last dim of size 2
is_conj is_neg is_nested is_quantized is_meta: false: there are no such tensors
real: z["..., 1"]: of pairs
imag: z["..., 2"]: of pairs
conj conj_physical: z * tensor{1, -1}: of pairs
conj_physical_: z["..., 2"]:neg_(): of pairs
cfloat cdouble chalf: complex numbers are pairs in a last dim of size 2
conv_tbc: conv1d(x, weight)
convolution: conv2d(x, weight)
data_ptr storage untyped_storage is_set_to is_shared: no addresses are shown;
    x:shares_storage(y) says whether y is a view of the same memory
storage_offset: where a view begins is not shown; x:stride() has its strides, and
    x:shares_storage(y) says whether y is a view of the same memory
set_: x = y gives the tensor another name; x:copy_(y) copies its elements
empty_strided: empty(n):as_strided(shape, strides)
empty_permuted: empty(shape):permute(dims)
finfo iinfo: their fields eps, tiny, max and min are there, of a dtype each
norm_except_dim: linalg.vector_norm(x, 2, dims, true)
from_file: npy.load(file): or safetensors.load(file)
frombuffer: tensor(list): or npy.load(file)
geqrf orgqr ormqr householder_product: linalg.qr(A)
ldl_factor ldl_factor_ex: linalg.cholesky(A): or linalg.lu_factor(A)
ldl_solve solve_ex: linalg.solve(A, b)
lu_factor_ex: linalg.lu_factor(A)
lu_unpack: linalg.lu(A)
tensorinv: linalg.inv(x:reshape(n, n))
tensorsolve: linalg.solve(A:reshape(n, n), b:reshape(n))
symeig lobpcg: linalg.eigh(A)
svd_lowrank: linalg.svd(A): of full rank; V is transposed
pca_lowrank: linalg.svd(x - x:mean(1, true))
matrix_sqrth: w, v = linalg.eigh(A); return (v * sqrt(w)):matmul(v.mT): of symmetric matrices
LinAlgError: pcall(linalg.inv, A)
get_device_module: cuda, and sim
grid_sampler grid_sampler_2d grid_sampler_3d: grid_sample(x, grid)
affine_grid_generator: affine_grid(theta, size)
histogramdd: histc(x, bins, low, high), of each column
index_reduce: x:scatter_reduce(dim, index, src, "amax")
index_reduce_: x = x:scatter_reduce(dim, index, src, "amax")
segment_reduce: x:scatter_reduce(dim, index, src, "sum")
initial_seed seed: manual_seed(n)
Generator: manual_seed(n), get_rng_state() and set_rng_state(state)
is_inference is_inference_mode_enabled: is_grad_enabled()
is_anomaly_enabled set_anomaly_enabled: autograd.detect_anomaly()
fractional_max_pool2d: adaptive_max_pool2d(x, n)
fractional_max_pool3d: adaptive_max_pool3d(x, n)
linear_cross_entropy: cross_entropy(linear(x, weight), labels)
multi_head_attention_forward: nn.MultiheadAttention(size, heads)(q, k, v)
rrelu rrelu_: leaky_relu(x, slope): with one slope, not a random one
triplet_margin_with_distance_loss TripletMarginWithDistanceLoss: (d(a, p) - d(a, n) +
    margin):relu():mean()
grouped_mm: bmm(a, b): or a loop of matmul
scaled_mm: matmul(a, b): in 16 bits by autocast("bf16", f)
nonzero_static: nonzero(x)
put: x:view(-1)[tensor(i)] = v
set_num_interop_threads: threads(n)
get_num_interop_threads: threads()
sparse_coo_tensor sparse_csr_tensor: zeros(…):index_put({rows, columns}, values): tensors are
    dense
to_sparse to_sparse_csr to_sparse_coo: nothing to call: tensors are dense; nonzero(x) has the
    indices
to_padded_tensor: nn.utils.rnn.pad_sequence(list)
is_coalesced layout: tensors are dense
values: x[x ~= 0]: tensors are dense
indices: nonzero(x): tensors are dense
is_sparse is_sparse_csr: false: tensors are dense
smm: matmul(a, b): tensors are dense
sparse_mask: x * mask: tensors are dense
quantize_per_tensor quantize_per_channel: x:half(): or x:bfloat16(): there are no quantized types
vmap: nothing to call: ops take a dim of batches in front
while_loop: while … do … end
is_xpu is_mps: false: x.device is "cpu", "gpu" or "sim"
dtype: a dtype is a text, such as "f32"
rnn_relu: rnn(x, h, weights, {nonlinearity = "relu"})
rnn_tanh: rnn(x, h, weights)
rnn_relu_cell: rnn_cell(x, h, w_ih, w_hh, {nonlinearity = "relu"})
rnn_tanh_cell: rnn_cell(x, h, w_ih, w_hh)
diagonal: diagonal(x)
matmul: matmul(a, b)
vander: vander(x)
AdaptiveLogSoftmaxWithLoss LinearCrossEntropyLoss: nn.CrossEntropyLoss()
Buffer UninitializedBuffer: self:register_buffer(name, x)
Container: nn.Sequential(a, b)
CrossMapLRN2d: nn.LocalResponseNorm(n)
DataParallel: nn.parallel.DistributedDataParallel(model)
FractionalMaxPool2d: nn.AdaptiveMaxPool2d(n)
FractionalMaxPool3d: nn.AdaptiveMaxPool3d(n)
LPPool1d: (avg_pool1d(x ^ p, k) * k) ^ (1 / p): in forward
LPPool2d: (avg_pool2d(x ^ p, k) * k ^ 2) ^ (1 / p): in forward
LPPool3d: (avg_pool3d(x ^ p, k) * k ^ 3) ^ (1 / p): in forward
RNNBase: nn.RNN(n, m), nn.LSTM(n, m) or nn.GRU(n, m)
RNNCellBase: nn.RNNCell(n, m), nn.LSTMCell(n, m) or nn.GRUCell(n, m)
RReLU: nn.LeakyReLU(slope): with one slope, not a random one
SyncBatchNorm: nn.BatchNorm2d(n): over each rank's part, or nn.GroupNorm(groups, n)
UninitializedParameter: nn.parameter(x)
Module: nn.module "Name"
Adafactor Muon: optim.AdamW(model)
SparseAdam: optim.Adam(model)
Optimizer: optim.SGD(model, {lr = 0.1})
LRScheduler: optim.lr.LambdaLR(opt, function(n) return … end)
get_total_norm: optim.clip_grad_norm_(model, math.huge): which returns it
clip_grads_with_norm_: optim.clip_grad_norm_(model, most)
clip_grad_norm: nn.utils.clip_grad_norm_(model, most)
skip_init: nn.Linear(n, m)
fuse_conv_bn_eval fuse_linear_bn_eval: nothing to call: model:eval()
parametrize: nn.utils.weight_norm(module): or nn.utils.spectral_norm(module)
BatchSampler DataLoader: data.Loader{ds, batch = 32}
RandomSampler: data.Loader{ds, shuffle = true}
SequentialSampler: data.Loader{ds}: in order
SubsetRandomSampler: data.Loader{data.Subset(ds, indices), shuffle = true}
WeightedRandomSampler: data.Subset(ds, multinomial(weights, n, true))
DistributedSampler: data.Loader{ds, sampler = "distributed"}
Sampler: data.Subset(ds, indices)
ChainDataset: data.ConcatDataset{a, b}
StackDataset: data.TensorDataset(x, y)
IterableDataset MapDataPipe IterDataPipe: data.Dataset{size = n, get = function(self, i) return …
    end}
default_collate: data.Loader{ds, collate = function(samples) return … end}
default_convert: tensor(list)
get_worker_info: nothing to ask: every sample has its own random numbers
apply_ map_: ops of whole tensors, or a loop over x:tolist()
new: x:new_zeros(shape)
record_stream: nothing to call: memory is kept while a stream uses it
resize_: x:reshape(shape): or zeros(shape)
resize_as: x:reshape(y.shape)
unsafe_split_with_sizes: x:split(sizes, dim)
dim_order: x:stride()
retains_grad: not shown; x:retain_grad() keeps the gradient of a tensor that is no leaf
share_memory_: nothing to call: workers are threads, which share memory
sum_to_size: x:sum(dims, true)
]==]

local advice = {}
for names, line in text:gsub("\n +", " "):gmatch "([^\n:]+): ([^\n]+)" do
    for name in names:gmatch "%S+" do advice[name] = "-- " .. line end
end
for _, name in ipairs { "Linear", "Conv1d", "Conv2d", "Conv3d", "ConvTranspose1d",
    "ConvTranspose2d", "ConvTranspose3d", "BatchNorm1d", "BatchNorm2d", "BatchNorm3d",
    "InstanceNorm1d", "InstanceNorm2d", "InstanceNorm3d" } do
    advice["Lazy" .. name] = ("-- nn.%s(inputs, outputs): sizes are given"):format(name)
end
return advice
