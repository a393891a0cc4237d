--!plain
-- The table "they write = here write" of Python's, PyTorch's and NumPy's functions and methods,
-- which elsewhere.lua reads; a|b is a row of two names; a line that begins with spaces continues
-- the one before. Words of capitals are the arguments, by place or by name, which is in
-- small letters where it is not as here: DIM and AXIS count from 1 here, STOP is an exclusive
-- bound, which is inclusive here, INDEX an index, DEVICE a device, COND a condition; S, SEP is a
-- text, L a list, N a number, V a tensor.
-- `**` takes other named arguments; A? may be missing, and A=1 is what it is then. A note stands
-- behind --. A row of torch.f is that of a tensor's methods f and, in place, f_. What needs no row:
-- ops, whose signatures say which argument is a dim, and layers.
return [==[
length(V) = V:numel()
len|length(X) = #X
maximum(V) = V:max()
minimum(V) = V:min()
permutedims(X) = X.T
permutedims(X, L) = X:permute(L)
cat(X, Y, DIMS) = cat({X, Y}, DIMS)
str(L) = json.encode(L)
repr(S) = "'" .. S .. "'"
int(BOOL) = BOOL and 1 or 0
int(S) = math.tointeger(tonumber(S))
int|math.trunc|np.int64|np.int32(X) = math.tointeger((math.modf(X)))
float(S) = tonumber(S)
float(N) = N
float(V) = V:item()
float(X) = X + 0.0
bool(V) = V:bool():item()
bool(COND) = COND
torch.softmax(V) = softmax(V, (V.ndim == 2 or V.ndim > 3) and 2 or 1) -- PyTorch's choice
torch.log_softmax(V) = log_softmax(V, (V.ndim == 2 or V.ndim > 3) and 2 or 1) -- PyTorch's choice
abs(N) = math.abs(N)
round(V) = round(V)
round(V, N) = round(V, {decimals = N})
round(X) = math.tointeger(tonumber(("%.0f"):format(X)))
pow(V, X) = V ^ X
pow|np.power(X, Y) = X ^ Y
pow(A, B, N) = (function(a, b, m) local r = 1 for _ = 1, b do r = r * a % m end return r end)(A, B,
    N)
bin(N) = (function(n) local s = "" repeat s, n = n % 2 .. s, n // 2 until n == 0 return "0b" .. s
    end)(N)
divmod(X, Y) = {X // Y, X % Y}
max(L) = math.max(table.unpack(L))
min(L) = math.min(table.unpack(L))
max(X, DEFAULT) = (#X > 0 and math.max(table.unpack(X)) or DEFAULT)
min(X, DEFAULT) = (#X > 0 and math.min(table.unpack(X)) or DEFAULT)
sum(V) = V:sum(1)
sum(L) = (function() local t = 0 for _, v in ipairs(L) do t = t + v end return t end)()
sum(X, L) = (function() local t = {table.unpack(L)} for _, v in ipairs(X) do table.move(v, 1, #v,
    #t + 1, t) end return t end)()
sum(X, FIRST) = (function() local t = FIRST for _, v in ipairs(X) do t = t + v end return t end)()
any(L) = tensor(L):any():item()
all(L) = tensor(L):all():item()
sorted(X) = (function() local t = {table.unpack(X)} table.sort(t) return t end)()
sorted(X, REVERSE) = (function() local t = {table.unpack(X)} table.sort(t, function(a, b)
    if REVERSE then a, b = b, a end return a < b end) return t end)()
sorted(X, KEY, REVERSE=false) = (function() local t = {} for i, v in ipairs(X) do t[i] =
    {KEY(v), i, v} end table.sort(t, function(a, b) if a[1] == b[1] then return a[2] < b[2] end
    if REVERSE then a, b = b, a end return a[1] < b[1] end) for i, e in ipairs(t) do t[i] = e[3] end
    return t end)() -- equal ones keep their order
max(X, KEY) = (function() local m for _, v in ipairs(X) do if m == nil or KEY(v) > KEY(m) then
    m = v end end return m end)()
min(X, KEY) = (function() local m for _, v in ipairs(X) do if m == nil or KEY(v) < KEY(m) then
    m = v end end return m end)()
reversed(L) = (function(t) local r = {} for i = #t, 1, -1 do r[#r + 1] = t[i] end return r end)(L)
map(F, L) = (function() local t = {} for i, v in ipairs(L) do t[i] = F(v) end return t end)()
map(F, X, Y) = (function() local t = {} for i = 1, math.min(#X, #Y) do t[i] = F(X[i], Y[i]) end
    return t end)()
filter(F, L) = (function() local t = {} for _, v in ipairs(L) do if F(v) then t[#t + 1] = v end
    end return t end)()
range(STOP) = (function() local t = {} for i = 0, STOP do t[#t + 1] = i end return t end)()
range(X, STOP) = (function() local t = {} for i = X, STOP do t[#t + 1] = i end return t end)()
list(L) = {table.unpack(L)}
list(V) = V:unbind()
list|tuple|numpy|torch.positive|torch.Size|np.float32|np.float64|.to_dense|.coalesce(X) = X
list() = {}
set(X) = -- Lua has no sets: t[value] = true, and t[value] asks
enumerate(X) = ipairs(X) -- from 1
zip(X, Y) = (function() local t = {} for i = 1, math.min(#X, #Y) do t[i] = {X[i], Y[i]} end
    return t end)()
hasattr(X, S) = X[S] ~= nil
getattr(X, S) = X[S]
setattr(X, S, Y) = X[S] = Y
callable(X) = (type(X) == "function" or nn.is_module(X))
str|repr(X) = tostring(X)
id(X) = ("%p"):format(X)
dir|vars(X) = help(X)
input() = io.read()
ord(S) = S:byte()
chr(N) = utf8.char(N)
hex(N) = ("0x%x"):format(N)
super() = -- nothing to call: a class inherits from its base
globals() = _G
numel|torch.numel(X) = X:numel()
size|.size(X) = X.shape
size(X, N) = X:size(N)
ndims(X) = X.ndim
println|disp(X) = print(X)
.upper(X) = X:upper()
.lower(X) = X:lower()
.strip(X) = X:match "^%s*(.-)%s*$"
.lstrip(X) = X:match "^%s*(.*)$"
.rstrip(X) = X:match "^(.-)%s*$"
.strip(X, SEP) = X:match("^[" .. (SEP:gsub("%p", "%%%0")) .. "]*(.-)[" .. (SEP:gsub("%p", "%%%0"))
    .. "]*$")
.zfill(X, N) = ("0"):rep(N - #X) .. X
.ljust(X, N) = X .. (" "):rep(N - #X)
.rjust(X, N) = (" "):rep(N - #X) .. X
.index(S, SEP) = S:find(SEP, 1, true) - 1
.isalpha(X) = X:find "^%a+$" ~= nil
.split(S) = (function() local t = {} for w in S:gmatch "%S+" do t[#t + 1] = w end return t end)()
.split(X, SEP) = (function() local t = {} for w in (X .. SEP):gmatch("(.-)" .. (SEP:gsub("%p",
    "%%%0"))) do t[#t + 1] = w end return t end)()
.splitlines(X) = (function() local t = {} for w in X:gmatch "[^\n]+" do t[#t + 1] = w end return
    t end)()
.join(S, X) = table.concat(X, S)
.replace(X, SEP, S) = (X:gsub((SEP:gsub("%p", "%%%0")), (S:gsub("%%", "%%%%"))))
.startswith(X, PART) = X:sub(1, #PART) == PART
.endswith(X, PART) = X:sub(#X - #PART + 1) == PART
.isdigit(X) = X:find "^%d+$" ~= nil
.append(X, Y) = table.insert(X, Y)
.extend(X, Y) = table.move(Y, 1, #Y, #X + 1, X)
.insert(X, PLACE, Y) = table.insert(X, PLACE, Y)
.pop(X) = table.remove(X)
.pop(X, SEP) = (function() local v = X[SEP] X[SEP] = nil return v end)()
.pop(X, K, Y) = (function() local v = X[K] X[K] = nil if v == nil then return Y end return v end)()
.clear(X) = for k in pairs(X) do X[k] = nil end
.pop(X, PLACE) = table.remove(X, PLACE)
.sort(L) = table.sort(L)
.sort(L, REVERSE) = table.sort(L, function(a, b) if REVERSE then a, b = b, a end return a < b end)
.sort(L, KEY, REVERSE=false) = (function(l) local t = {} for i, v in ipairs(l) do t[i] =
    {KEY(v), i, v} end table.sort(t, function(a, b) if a[1] == b[1] then return a[2] < b[2] end
    if REVERSE then a, b = b, a end return a[1] < b[1] end) for i, e in ipairs(t) do l[i] = e[3] end
    end)(L) -- equal ones keep their order
.copy(L) = (function() local t = {} for k, v in pairs(L) do t[k] = v end return t end)()
.setdefault(X, K, Y) = (function() if X[K] == nil then X[K] = Y end return X[K] end)()
.index(L, L2) = (function() for i, v in ipairs(L) do if json.encode(v) == json.encode(L2) then
    return i - 1 end end end)()
.index(L, X) = (function() for i, v in ipairs(L) do if v == X then return i - 1 end end end)()
.count(L, X) = (function() local n = 0 for _, v in ipairs(L) do if v == X then n = n + 1 end end
    return n end)()
.remove(L, X) = for i, v in ipairs(L) do if v == X then table.remove(L, i) break end end
.reverse(L) = (function(t) for i = 1, #t // 2 do t[i], t[#t - i + 1] = t[#t - i + 1], t[i] end
    end)(L)
.find(S, SEP) = (S:find(SEP, 1, true) or 0) - 1
.count(S, SEP) = (select(2, S:gsub((SEP:gsub("%p", "%%%0")), "")))
.isalnum(X) = X:find "^%w+$" ~= nil
.capitalize(X) = X:sub(1, 1):upper() .. X:sub(2):lower()
.title(X) = (X:lower():gsub("%f[%a]%a", string.upper))
.items|.keys(X) = pairs(X)
.values(L) = (function() local t = {} for _, v in pairs(L) do t[#t + 1] = v end return t end)()
.get(X, SEP) = X[SEP]
.get(X, N) = X[N]
.get(X, SEP, Y) = X[SEP] == nil and Y or X[SEP]
.get(X, N, Y) = X[N] == nil and Y or X[N]
.update(X, **) = for k, v in pairs({**}) do X[k] = v end
.update(L, X) = for k, v in pairs(X) do L[k] = v end
.read(X) = X:read "a"
.readlines(X) = (function() local t = {} for line in X:lines "L" do t[#t + 1] = line end return
    t end)()
.write(X, Y) = X:write(Y)
.close(X) = X:close()
os.makedirs(D, **) = os.execute("mkdir -p " .. D)
os.makedirs(D, EXIST_OK) = os.execute("mkdir -p " .. D)
os.path.exists|os.path.isfile(FILE) = io.open(FILE) ~= nil
os.path.join(A, B) = A .. "/" .. B
os.path.basename(FILE) = FILE:match "[^/]*$"
os.path.dirname(FILE) = FILE:match "^(.*)/" or ""
os.path.splitext(FILE) = (function(f) local a, b = f:match "^(.+)(%.[^./]*)$" return
    {a or f, b or ""} end)(FILE)
itertools.chain(X, Y) = table.move(Y, 1, #Y, #X + 1, {table.unpack(X)})
functools.reduce(F, L) = (function(f, t) local a = t[1] for i = 2, #t do a = f(a, t[i]) end
    return a end)(F, L)
os.environ.get(S) = os.getenv(S)
json.dumps(X) = json.encode(X)
json.loads(X) = json.decode(X)
json.dump(X, FILE) = FILE:write(json.encode(X))
json.load(FILE) = json.decode(FILE:read "a")
time.time|time.perf_counter() = clock()
time.sleep(N) = os.execute("sleep " .. N)
copy.deepcopy|copy.copy(V) = V:clone()
copy.deepcopy(X) = X:deepcopy()
random.random|np.random.rand() = math.random()
random.randint(A, B) = math.random(A, B)
random.uniform(A, B) = A + (B - A) * math.random()
random.choice(L) = L[math.random(#L)]
random.seed(X) = math.randomseed(X)
math.prod(L) = tensor(L):prod():item()
math.isclose(A, B) = math.abs(A - B) <= 1e-9 * math.max(math.abs(A), math.abs(B))
math.factorial(N) = (function(n) local r = 1 for i = 2, n do r = r * i end return r end)(N)
math.comb(A, B) = (function(n, k) local r = 1 for i = 1, k do r = r * (n - k + i) // i end
    return r end)(A, B)
math.fabs(X) = math.abs(X) + 0.0
math.copysign(A, B) = (1 / B < 0 and -1 or 1) * math.abs(A)
math.degrees(X) = math.deg(X)
math.radians(X) = math.rad(X)
math.log2(X) = math.log(X, 2)
math.log10(X) = math.log(X, 10)
math.pow(A, B) = A ^ B
math.isnan(X) = X ~= X
math.hypot(A, B) = (A ^ 2 + B ^ 2) ^ 0.5
pd.read_csv(FILE) = (function() local t = {} for line in io.lines(FILE) do local row = {} for v
    in (line .. ","):gmatch "(.-)," do row[#row + 1] = tonumber(v) or v end t[#t + 1] = row end
    return t end)() -- a list of rows, the header first: there are no data frames
pd.DataFrame(X) = -- there are no data frames: tensor(rows), or a table of columns
plt.plot(X) = plot(X)
plt.plot(X, Y) = plot(X, Y)
plt.hist(X) = hist(X)
plt.imshow(X) = imshow(X)
plt.show() = -- plot, hist, heatmap and imshow draw at once
torch.distributions.Normal(LOC, SCALE) = -- z = mean + std * randn_like(mean): a sample
torch.distributions.Normal.sample|torch.distributions.Normal.rsample(LOC, N) = normal(LOC, N)
torch.distributions.Normal.sample|torch.distributions.Normal.rsample(LOC, SCALE) = LOC + SCALE *
    randn_like(LOC)
torch.distributions.Normal.sample(LOC, SCALE, SIZE) = normal(LOC, SCALE, SIZE)
torch.distributions.Normal.log_prob(LOC, N, VALUE) = -((VALUE - LOC) ^ 2) / (2 * N ^ 2) -
    math.log(N) - 0.5 * math.log(2 * math.pi)
torch.distributions.Normal.log_prob(LOC, SCALE, VALUE) = -((VALUE - LOC) ^ 2) / (2 * SCALE ^ 2) -
    SCALE:log() - 0.5 * math.log(2 * math.pi)
torch.distributions.Categorical(PROBS?) = -- multinomial(probs, 1): a sample, from 1
torch.distributions.Categorical.sample(PROBS) = multinomial(PROBS, 1):squeeze(-1)
torch.distributions.Categorical.sample(LOGITS) = multinomial(softmax(LOGITS, -1), 1):squeeze(-1)
torch.distributions.Categorical.entropy(LOGITS) = -(softmax(LOGITS, -1) * log_softmax(LOGITS,
    -1)):sum(-1)
torch.distributions.Bernoulli.sample(PROBS) = bernoulli(PROBS)
torch.distributions.Uniform.sample(LOW, HIGH, SIZE) = rand(SIZE) * (HIGH - LOW) + LOW
torch.range(A, B) = arange(A, B)
torch.randint(LOW, STOP, SIZE, **) = randint(LOW, STOP, SIZE, **)
torch.randint(STOP, SIZE, **) = randint(0, STOP, SIZE, **)
torch.randint_like(X, STOP) = randint_like(X, 0, STOP)
torch.randint_like(X, LOW, STOP) = randint_like(X, LOW, STOP)
torch.add|.add(X, Y, ALPHA) = X:add(ALPHA * Y)
torch.sub|.sub(X, Y, ALPHA) = X:sub(ALPHA * Y)
.add_(X, Y, ALPHA) = X:add_(ALPHA * Y)
.sub_(X, Y, ALPHA) = X:sub_(ALPHA * Y)
torch.linspace(A, B, STEPS, **) = linspace(A, B, STEPS, **)
torch.where|np.nonzero(X) = nonzero(X, {as_tuple = true})
torch.rsub(A, B) = B - A
torch.randperm(N, **) = randperm(N, **) -- from 1, as indices are
torch.is_tensor(X) = is_tensor(X)
torch.svd(X) = (function(u, s, vh) return u, s, vh.mT end)(linalg.svd(X, {full_matrices = false}))
torch.unfold(X, KERNEL_SIZE, **) = nn.Unfold(KERNEL_SIZE, **)(X)
torch.device(DEVICE) = DEVICE
torch.save(STATE, WEIGHTS) = checkpoint.save(WEIGHTS, STATE)
torch.load(WEIGHTS, **) = checkpoint.load(WEIGHTS, nil, {rng = false}) -- a table of what was saved,
    by its names
torch.cuda.amp.autocast(DTYPE="f16") = autocast(DTYPE)
torch.cuda.amp.autocast(ENABLED, DTYPE="f16") = autocast{dtype = DTYPE, enabled = ENABLED}
torch.cpu.amp.autocast(DTYPE="bf16") = autocast(DTYPE)
torch.set_default_tensor_type(X) = default_dtype("f64"), default_device("gpu")
torch.cuda.empty_cache() = empty_cache()
torch.cuda.memory_allocated() = memory("gpu").in_use
torch.cuda.max_memory_allocated() = memory("gpu").peak
torch.cuda.reset_peak_memory_stats() = reset_peak("gpu")
torch.cuda.manual_seed|torch.cuda.manual_seed_all|np.random.seed(X) = manual_seed(X)
torch.cuda.get_device_name(**) = (cuda.devices()[1] or {}).model -- nil without a card
torch.cuda.get_device_name(INDEX) = (cuda.devices()[INDEX] or {}).model -- nil without a card
torch.set_default_device(DEVICE) = default_device(DEVICE)
torch.autograd.set_detect_anomaly(X) = nan.watch(X) -- what it finds is raised at a wait, with its
    op and line; autograd.detect_anomaly(fn) checks backward at once
torch.utils.checkpoint.checkpoint|checkpoint(FN, X, **) = autograd.checkpoint(FN, X)
torch.cuda.current_device() = -- ops go to the device of their tensors; default_device() is of
    new ones
torch.cuda.Stream|np.cuda.Stream(**) = stream "gpu"
np.cuda.Stream.null.synchronize|np.cuda.runtime.deviceSynchronize() = synchronize()
np.cuda.Device.synchronize(N?) = synchronize()
np.cuda.Stream.null.use() = -- ops go to the device of their tensors
np.cuda.Device(N?) = -- ops go to the device of their tensors: {device = "cuda:1"} makes one there
np.cuda.Device.use(N?) = default_device("gpu")
np.get_default_memory_pool() = -- empty_cache() frees blocks; memory("gpu").in_use counts bytes
np.get_default_memory_pool.free_all_blocks() = empty_cache()
np.get_default_memory_pool.used_bytes() = memory("gpu").in_use
np.get_default_memory_pool.total_bytes() = memory("gpu").in_use + memory("gpu").cached
np.cuda.get_device_id|np.cuda.runtime.getDevice() = -- ops go to the device of their tensors:
    x.device
np.cuda.runtime.getDeviceCount() = #cuda.devices()
np.get_array_module(X) = -- nothing to choose: functions are the same on every device
np.asnumpy|cuda.as_cuda_array(X) = X:cpu()
cuda.to_device(X) = X:gpu()
cuda.device_array|cuda.pinned_array|cuda.mapped_array(SIZE) = empty(SIZE, {device = "gpu"})
cuda.device_array_like(X) = empty_like(X:gpu())
cuda.grid|cuda.gridsize(N) = -- in a kernel's text: blockIdx.x * blockDim.x + threadIdx.x
.conjugate(V) = V
.compress(V, MASK) = V[MASK]
.tofile|.dump(V, FILE) = npy.save(FILE, V)
.get(V) = V:cpu()
.copy_to_host(X) = X:cpu()
torch.cuda.CUDAGraph() = capture(fn) -- fn runs once and is replayed
torch.cuda.Event(**) = stream("gpu"):record() -- an event; timeit(f) and profile.run(f) time
    work on a device
torch.cuda.set_sync_debug_mode(MODE) = sync.mode = MODE
torch.cuda.get_sync_debug_mode() = sync.mode
torch.cuda.nvtx.range_push(S) = span = profile.region(S) -- it ends with span:close()
torch.cuda.nvtx.range_pop() = span:close()
torch.cuda.nvtx.range|nvtx.annotate(S) = profile.region(S)
torch.jit.script(F) = fuse(F) -- capture(f) replays all its ops
torch.jit.trace(F, X) = capture(F) -- it is recorded in its first call
torch.compile(F, **) = fuse(F) -- capture(f) replays all its ops
torch.profiler.profile(**) = profile.run(function() … end) -- in the function is what is recorded
torch.profiler.schedule(**) = profile.schedule({**})
torch.profiler.tensorboard_trace_handler(D) = function(prof) prof:trace("step.json") end -- as
    on_trace_ready; D is a folder there
torch.profiler.record_function|torch.autograd.profiler.record_function(S) =
    profile.record_function(S)
torch.utils.benchmark.Timer|benchmark.Timer(STMT, **) = timeit(function() return STMT end)
torch.autograd.grad(X, Y, **) = {grad(X, Y, **)}
dist.get_rank() = dist.rank
dist.get_world_size() = dist.size
dist.all_reduce(X, **) = dist.all_reduce_(X, **)
dist.destroy_process_group() = -- nothing to call: the end of the program leaves the job
DDP|nn.parallel.DistributedDataParallel(M, **) = nn.parallel.DistributedDataParallel(M)
nn.DataParallel(M) = nn.parallel.DistributedDataParallel(M)
nn.Parameter(X) = nn.parameter(X)
data.DataLoader|DataLoader(DS, **) = data.Loader{DS, **}
data.DataLoader|DataLoader(DS, N, **) = data.Loader{DS, batch = N, **}
SummaryWriter(X) = -- there is no TensorBoard: plot(list) draws losses at once
tqdm(X) = progress(X)
.numpy(X) = X -- NumPy's functions are here, of tensors
.astype|.type(X, DTYPE) = X:to(DTYPE)
.where(X, MASK, Y) = where(MASK, X, Y)
.to(X, DEVICE, **) = X:to(DEVICE, **)
.cuda(X, DEVICE, **) = X:to(DEVICE, **)
.cuda(X, **) = X:to("gpu", **)
.type|.typename(X) = X.dtype
.size(X, DIM) = X:size(DIM)
.stride(X, DIM) = X:stride()[DIM]
.backward(X, GRADIENT) = X:backward(GRADIENT)
.backward(X, RETAIN_GRAPH) = X:backward({retain_graph = RETAIN_GRAPH})
.get_device(X) = X.device
.mm(X, Y) = X:mm(Y)
.item(V, INDEX) = V:flatten()[INDEX]:item()
.item(V, INDEX, START) = V[{INDEX, START}]:item()
.state_dict(X) = X:state_dict()
.fill_diagonal_(X, Y) = (function(t) t:diagonal():fill_(Y) return t end)(X)
.grid(X) = -- there are no axes to set
.key_averages(X) = X:key_averages()
torch.tensor|np.array(X, DTYPE) = tensor(X, {dtype = DTYPE})
.fill(X, Y) = X:fill_(Y)
torch.adjoint(X) = X.mH
torch.slice_scatter(X, SRC, DIM, START, END) = slice_scatter(X, SRC, DIM, START, END)
torch.broadcast_shapes(A, B) = broadcast_tensors{zeros(A), zeros(B)}[1].shape
torch.__dlpack__(V) = V:to_dlpack()
torch.__dlpack_device__(V) = V.device
torch.promote_types(A, B) = (zeros(0, {dtype = A}) + zeros(0, {dtype = B})).dtype
torch.result_type(A, B) = (A + B).dtype
torch.chain_matmul(A, B) = A:matmul(B)
torch.chain_matmul(A, B, C) = linalg.multi_dot{A, B, C}
torch.cholesky_inverse(A) = (function(t) return cholesky_solve(eye(#t), t) end)(A)
torch.complex(REAL, IMAG) = stack({REAL, IMAG}, -1) -- pairs in a last dim of size 2
torch.polar(ABS, ANGLE) = stack({ABS * cos(ANGLE), ABS * sin(ANGLE)}, -1) -- pairs in a last dim
    of size 2
torch.constant_pad_nd(X, PAD, VALUE=0) = pad(X, PAD, {value = VALUE})
torch.cumulative_logsumexp(X, DIM) = logcumsumexp(X, DIM)
math.gcd(A, B) = (function(a, b) while b ~= 0 do a, b = b, a % b end return a end)(A, B)
math.lcm(A, B) = (function(a, b) local n = a * b while b ~= 0 do a, b = b, a % b end
    return n // a end)(A, B)
torch.frobenius_norm(X) = linalg.norm(X)
torch.nuclear_norm(X) = linalg.norm(X, "nuc")
torch.triangular_solve(B, A, UPPER=true) = linalg.solve_triangular(A, B, UPPER)
torch.is_signed(X) = X.dtype ~= "u8"
torch.is_nonzero(X) = X:item() ~= 0
torch.is_same_size(X, OTHER) = X.shape == OTHER.shape
torch.is_floating_point(X) = X:is_floating_point()
torch.isreal(X) = ones_like(X):bool()
torch.max_pool1d_with_indices(X, N, **) = max_pool1d(X, N, {return_indices = true, **})
torch.max_pool2d_with_indices(X, N, **) = max_pool2d(X, N, {return_indices = true, **})
torch.max_pool3d_with_indices(X, N, **) = max_pool3d(X, N, {return_indices = true, **})
torch.adaptive_max_pool1d_with_indices(X, N) = adaptive_max_pool1d(X, N, {return_indices = true})
torch.adaptive_max_pool2d_with_indices(X, N) = adaptive_max_pool2d(X, N, {return_indices = true})
torch.adaptive_max_pool3d_with_indices(X, N) = adaptive_max_pool3d(X, N, {return_indices = true})
torch.lp_pool1d(X, P, N) = (avg_pool1d(X ^ P, N) * N) ^ (1 / P)
torch.lp_pool2d(X, P, N) = (avg_pool2d(X ^ P, N) * N ^ 2) ^ (1 / P)
torch.lp_pool3d(X, P, N) = (avg_pool3d(X ^ P, N) * N ^ 3) ^ (1 / P)
torch.dropout1d(X, P=0.5) = nn.Dropout1d(P)(X)
torch.dropout2d|torch.feature_dropout(X, P=0.5) = nn.Dropout2d(P)(X)
torch.dropout3d(X, P=0.5) = nn.Dropout3d(P)(X)
torch.pdist(X) = (function(x) local i = triu_indices(#x, #x, 1) return
    cdist(x, x)[{i[1], i[2]}] end)(X)
torch.scalar_tensor(X, **) = tensor(X, **)
torch.set_printoptions|np.set_printoptions(**) = printoptions{**}
torch.set_float32_matmul_precision(S) = cuda.tf32(S ~= "highest") -- of a card
torch.get_float32_matmul_precision() = cuda.tf32() and "high" or "highest"
torch.stft(X, N, RETURN_COMPLEX, **) = stft(X, N, **)
torch.finfo.eps(T) = ({f64 = 2.0 ^ -52, f32 = 2.0 ^ -23, bf16 = 2.0 ^ -7, f16 = 2.0 ^ -10})[T]
torch.finfo.tiny|torch.finfo.smallest_normal(T) = ({f64 = 2.0 ^ -1022, f32 = 2.0 ^ -126, bf16 = 2.0
    ^ -126, f16 = 2.0 ^ -14})[T]
torch.finfo.max(T) = ({f64 = 0x1.fffffffffffffp1023, f32 = 0x1.fffffep127, bf16 = 0x1.fep127,
    f16 = 65504.0})[T]
torch.finfo.min(T) = ({f64 = -0x1.fffffffffffffp1023, f32 = -0x1.fffffep127,
    bf16 = -0x1.fep127, f16 = -65504.0})[T]
torch.iinfo.max(T) = ({i64 = math.maxinteger, i32 = 2147483647, i16 = 32767, i8 = 127,
    u8 = 255})[T]
torch.iinfo.min(T) = ({i64 = math.mininteger, i32 = -2147483648, i16 = -32768, i8 = -128,
    u8 = 0})[T]
.put_(X, INDEX, SOURCE) = X:view(-1)[INDEX] = SOURCE
.detach_(X) = X = X:detach()
.dequantize(X) = X:float()
.random_(X, LOW, STOP) = X:copy_(randint_like(X, LOW, STOP))
.random_(X, STOP) = X:copy_(randint_like(X, 0, STOP))
.resize_as_(X, OTHER) = X = X:reshape(OTHER.shape)
.register_post_accumulate_grad_hook(X, F) = X:register_hook(F)
.new_empty_strided(X, SIZE, STRIDE) = X:new_empty(SIZE)
open(FILE, MODE?) = io.open(FILE, MODE?)
.repeat(X, A, B?, C?) = X:tile(A, B?, C?)
.unsafe_chunk(X, N, DIM?) = X:chunk(N, DIM?)
.unsafe_split(X, N, DIM?) = X:split(N, DIM?)
.split_with_sizes(X, L, DIM?) = X:split(L, DIM?)
torch.autocast|torch.amp.autocast(DEVICE_TYPE, DTYPE) = autocast(DTYPE)
torch.autocast|torch.amp.autocast(DEVICE_TYPE, DTYPE, ENABLED) = autocast{dtype = DTYPE,
    enabled = ENABLED}
dist.init_process_group(X?, **) = dist.init()
torch.cuda.synchronize(DEVICE?) = synchronize(DEVICE?)
sys.exit(X?) = os.exit(X?)
torch.Tensor|torch.FloatTensor(L) = tensor(L, {dtype = "f32"})
torch.DoubleTensor(L) = tensor(L, {dtype = "f64"})
torch.LongTensor(L) = tensor(L, {dtype = "i64"})
torch.IntTensor(L) = tensor(L, {dtype = "i32"})
torch.Tensor(A, B?, C?) = empty(A, B?, C?)
tf.reduce_sum(X) = sum(X)
tf.reduce_mean(X) = mean(X)
jax.grad|torch.func.grad(F) = function(x) x = x:detach():requires_grad_() return grad(F(x), x) end
jax.jit(F) = fuse(F)
]==]
