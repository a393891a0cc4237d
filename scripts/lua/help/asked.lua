--!plain
-- Words by which people ask for an entry and which its name and text need not have: words of
-- PyTorch, NumPy and Julia, and of daily life. search.lua reads them.
local text = [[
accuracy: correct metric score right percent confusion matrix f1 precision recall
debugging: debug breakpoint step through inspect print shape mistake bug assert wrong
train a model: loop training epoch step learn fit network gan autoencoder
image classification: picture mnist cifar cnn convolution classify classifier
text classification: nlp tokenizer tokenize vocabulary sentence sentiment word classify classifier
prompt: history multiline line edit key shortcut copy paste repl notebook jupyter
from python: python pytorch numpy julia matlab convert translate differ syntax compare
run a script: file program execute command argument start
freeze layers: freezing frozen requires_grad transfer finetune fine tuning
early stopping: stop training best patience overfit
overfitting: overfit regularize regularization generalization
gradient accumulation: accumulate small memory batch
gpu utilisation: utilization low idle usage busy underused
data loader speed: dataloader loader slow bottleneck worker
training fails: loss gradient not decreasing falling learn converge vanishing stuck wrong
evaluate: eval validation validate test predict prediction inference mode model
custom loss: own function weighted class weight imbalanced regression
batch size: minibatch larger
split data: train test validation
pretrained model: weight transfer learning finetune huggingface torchvision load
export: onnx torchscript deploy serve
profile: go slow slowly speed performance bottleneck hotspot time faster benchmark
profile.run: profiler bottleneck time record flame
gpush profile: go slow slowly speed training why performance bottleneck faster time script
gpush sync: wait find synchronize stall block slow script
sync.report: wait how many find synchronize stall block stuck line
sync.mode: warn debug set_sync_debug_mode error
sync.explain: wait find explain cause avoid why
sync.async: log print loss item without wait asynchronous
sync.budget: limit ci test
gpush analyze: trace torch pytorch profiler chrome json read tensorboard nsight
gpush mcp: assistant agent llm ai chat protocol json
gpush record: torch pytorch python train profiler trace torchrun ddp
doctor: version gpu card cuda nvidia found missing driver detect available broken wrong problem
cuda: gpu card nvidia device list available count
cuda.is_available: gpu card found available
sim: gpu card without simulate fake emulate none
memory: oom out leak usage vram peak gpu full
cuda.memory_summary: oom out vram
cuda.module: rawmodule template constant several kernels
cuda.kernel: own custom kernel cuda c write rawkernel numba race bounds check sanitizer thread bank
gpush fit: memory oom out vram fit enough large big model gpu
empty_cache: memory oom free release cache vram
--card: gpu card without simulate h100 a100 t4 modelled
labs: lab example exercise demo learn tutorial course lecture practice
tutorial: start begin beginner introduction guide documentation doc manual learn book
install: installation setup build compile download apt pip conda update
quit: exit leave close stop end bye
checkpoint: save saving store training model resume load weight state_dict
checkpoint.save: save store write model weight training best
checkpoint.load: load restore resume model weight state_dict
npy: load store read write file numpy array
npz: load store file numpy several
to_dlpack: dlpack numpy pytorch cupy jax python share memory export interoperate
from_dlpack: dlpack numpy pytorch cupy jax python share memory import from_numpy
npy.save: save store write file numpy tensor disk convert
npy.load: load read file numpy tensor disk
safetensors: load store weight huggingface pth
safetensors.save: save store write weight model huggingface
image.load: read picture png photo
data.ImageFolder: load image picture folder directory
data.transforms: augmentation augment normalize image flip crop preprocess
data.Dataset: load custom dataset own class text tokenizer csv
transpose: swap axes dim matrix t
permute: transpose reorder axes swap dim dimension moveaxis
reshape: shape resize view change tensor
squeeze: remove dim unsqueeze expand_dims newaxis
unsqueeze: add dim dimension axis newaxis expand_dims
cat: concatenate join hcat vcat append merge vstack hstack
stack: concatenate join
matmul: multiply multiplication matrix matrices product dot mm bmm gemm mul
to: move model gpu cuda device transfer copy cast convert dtype type float half cpu
item: number scalar value float python
tolist: convert list table array lua numpy
tensor: create make array new list from table
randn: random normal distribution gaussian noise
rand: random uniform
randint: random integer
manual_seed: seed reproducible reproducibility result deterministic random
one_hot: encoding categorical label
arange: range sequence linspace colon
where: condition mask ternary if select ifelse
nonzero: find indices index true
masked_select: filter boolean mask
gather_nd: index indices pick
topk: largest top best k
sort: order ascending descending sortperm
argmax: index largest findmax
nn: layer network neural model module
nn.Linear: layer dense fully connected regression
nn.Embedding: text word token vocabulary
nn.LSTM: text sequence rnn classification
nn.Sequential: layer chain model stack
nn.module: class custom layer own define model write
nn.summary: print model parameter count number summary
optim: optimizer optimiser train gradient descent
optim.Adam: optimizer
optim.SGD: optimizer optimiser gradient descent momentum
optim.lr: learning rate schedule scheduler decay warmup
data.Loader: dataloader batch dataset loader worker minibatch shuffle
optim.AdamW: weight decay regularization
data: dataset dataloader batch csv
backward: gradient autograd grad derivative differentiate backprop
grad: gradient derivative differentiate jacobian
no_grad: disable gradient inference eval without
amp: mixed precision half 16 bit fp16 bf16
autocast: mixed precision half 16 bit fp16 bf16
plot: graph chart draw figure matplotlib line show
hist: draw histogram
imshow: image picture show
timeit: function call time measure benchmark how long
compare: time measure benchmark faster two
nn.parallel.DistributedDataParallel: ddp two multi multiple several gpu distributed data parallel
gpush run: multi multiple several gpu distributed process mpirun torchrun parallel
dist.init: distributed multi multiple several process
pin_memory: pinned copy fast transfer host
fuse: compile jit fusion kernel torch.compile
capture: graph cuda compile replay launch
linalg.inv: inverse invert
linalg.solve: equation linear system backslash
linalg.svd: singular value decomposition
linalg.eigh: eigenvalue eigenvector symmetric
fft: fourier transform
einsum: einstein contraction
autograd.detect_anomaly: nan inf anomaly
nan.watch: nan inf infinite infinity loss my becomes first which op made overflow explode
isnan: nan inf missing
diverge: different differ result gpu cpu bf16 precision mismatch wrong same accuracy disagree
threads: cpu core thread number parallel
printoptions: all element whole full print format digit precision show
synchronize: wait device finish
stream: parallel overlap concurrent queue
fork: parallel concurrent async thread overlap
clip: limit bound clamp
optim.clip_grad_norm_: clip clipping gradient norm exploding
nn.Dropout: regularization overfit
cross_entropy: loss classification
sim.card: gpu modelled h100 a100 t4 h200
require: import package module library
help: help doc documentation docstring manual search
string.format: format f-string printf number
]]

local asked = {}
for name, words in text:gmatch "([^\n]-): ([^\n]+)" do asked[name] = words end
return asked
