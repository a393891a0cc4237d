--!plain
-- What arguments of ops, layers, optimizers and schedules are, by name, where a topic's `options`
-- say nothing better: Tab shows it inside {}. "op.name" is about that op's alone. 'words' in quotes
-- are the values that Tab offers in a string.
local text = [[
dim: the dim it goes along, from 1, or from the end with -1
dims: the dims it goes along, from 1, or from the end with -1
dim1: the first of two dims
dim2: the second of two dims
modules: a list of modules
twice: a tensor with two names comes under both
what: what messages call it
data.ImageFolder.transform: what each picture goes through
data.ImageFolder.channels: of each picture
data.ImageFolder.dtype: of the pictures: 'u8', 'f32' or 'i32'
data.ImageFolder.max_pixels: the most that a picture may have [268435456]
keepdim: dims that are reduced stay, with size 1
dtype: the result's type
device: where the result is
requires_grad: backward gives it a gradient
distinct.counts: how often each occurs, too
shape: the result's sizes
size: the result's sizes
n: how many, or how often
fft.fft.n: so many points: cut off, or filled up with zeros
fft.ifft.n: so many points: cut off, or filled up with zeros
fft.rfft.n: so many points: cut off, or filled up with zeros
fft.irfft.n: so many points: cut off, or filled up with zeros
m: columns, as many as rows if not given
s: sizes to cut to or fill up to before the transform
norm: how it is scaled: 'backward', 'ortho' or 'forward'
complex: the input holds pairs, real and imaginary part
weight: numbers that are learned, or weights of the classes
bias: what is added for each output, or whether there is such
weights: all weights, in PyTorch's order
eps: keeps a division from one by zero
reduction: 'mean', 'sum' or 'none'
target: what is to come out
input: what came out
stride: step of the window
padding: zeros on each side, or 'same' or 'valid'
padding_mode: what stands on the sides: 'zeros', 'reflect', 'replicate' or 'circular'
output_padding: is added to one side of the result
dilation: distance between elements of the window
groups: channels in so many parts that do not mix
kernel_size: size of the window
window_length: how many points
blank: the class that stands for none
zero_infinity: targets that cannot be reached count 0, not infinity
targets: what is to come out
log_probs: logarithms of chances
logits: scores of each class
theta: a matrix for each image
grid: x and y, from -1 to 1
upscale_factor: how many times as wide and high
downscale_factor: how many times less wide and high
n_fft: points of each window
hop_length: from one window to the next
win_length: of the window, which lies in the middle of n_fft
window: what each part is multiplied by
center: the first window has the first sample in its middle
normalized: over the root of n_fft
onesided: the frequencies that differ, of real numbers
in1_features: size of x1's last dim
in2_features: size of x2's last dim
num_encoder_layers: layers of the encoder
num_decoder_layers: layers of the decoder
entries: a table of names, or a list of {name, value}
ceil_mode: a last window that is not full counts
count_include_pad: zeros of the padding count in the mean
divisor_override: what sums are divided by, in place of the window's size
output_size: the result's sizes
return_indices: where the elements were, as well
hx: the state it begins with, zeros if not given
h: a state, zeros if not given
c: the cells' state, zeros if not given
lerp.c: how far from a to b, 0 to 1
index: integers, counted from 1
indices: integers, counted from 1
value: a number
values: what is put in
src: what is put in
source: what is put in, or the dims to move
updates: what is put in
destination: where the dims go
reduce: 'add' or 'multiply' joins with what is there
scatter_reduce.reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'
alpha: a factor
beta: a factor
smooth_l1_loss.beta: where the square goes over into the line
batch_first: batches are the first dim, not time
bidirectional: a second run from the end
dropout: how much is left out between layers, 0 to 1
dropout_p: how much is left out, 0 to 1
has_biases: whether the weights have biases among them
num_layers: so many, one on the other
nonlinearity: 'tanh' or 'relu'
p: a probability
norm.p: which norm: 2, 1, math.huge, 'fro' or 'nuc'
cdist.p: which norm: 2, 1, math.huge …
pairwise_distance.p: which norm: 2, 1, math.huge …
normalize.p: which norm: 2, 1, math.huge …
ord: which norm: 2, 1, math.huge, -math.huge …
train: whether it is training
training: whether it is training
first: where it begins
last: where it ends, included
step: distance between neighbours
start: where it begins, from 1
length: how many
steps: how many numbers
base: what is raised
a: the first operand
b: the second operand
x: the tensor
x1: the first of two
x2: the second of two
y: the other tensor
d: distance between samples
decimals: how many places after the point; below 0, before it
atol: difference that is allowed
rtol: difference that is allowed, as a part of the second
equal_nan: NaN equals NaN
unbiased: true is correction = 1, false 0
correction: is taken from the number of elements: 1 for a sample, 0 for all there is
k: how many, or which
kthvalue.k: which of them in order, from 1
topk.k: how many
rot90.k: quarters of a turn
mask: a bool tensor
margin: distance that is asked for
mode: which way
pad.mode: 'constant', 'reflect', 'replicate' or 'circular'
interpolate.mode: 'nearest', 'nearest-exact', 'linear', 'bilinear' or 'trilinear'
linalg.qr.mode: 'reduced', 'complete' or 'r'
pad: numbers before and after the last dim, then the one before it …
momentum: how much of the last steps goes on
normalized_shape: sizes of the last dims that are normed together
offset: how far from the first, or which diagonal: above 0 to the right
diagonal: which one: above 0 to the right, below 0 to the left
upper: the upper triangle counts, not the lower one
left: the matrix stands on the left
unitriangular: the diagonal counts as ones
b_ih: biases of the input
b_hh: biases of the state
w_ih: weights of the input
w_hh: weights of the state
high: the end of the range
low: the beginning of the range
min: the least
max: the greatest
other: a tensor like which it shall be
running_mean: means that are carried along
running_var: variances that are carried along
use_input_stats: statistics of the input, not the running ones
align_corners: the first and last elements stay at the ends
recompute_scale_factor: the factor is what the size, rounded down, comes to
descending: the largest first
stable: equal elements keep their order
sorted: in order
full: all terms, also those that learn nothing
hermitian: the matrix is symmetric
interpolation: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'
label_smoothing: how much of a label goes to all classes, 0 to 1
ignore_index: a label that counts for nothing
num_groups: parts that are normed apart
padding_idx: the row that learns nothing
q: a number from 0 to 1, or several
return_counts: how often each occurs, as well
return_inverse: where each element went, as well
right: after equal elements, not before them
scale_factor: how much larger, a number or one for each dim
threshold: a bound
pivot: rows are exchanged; there is no other way
test_elements: what is looked for
invert: which are not among them
row: how many rows
col: how many columns
transpose.dim0: the first of the two
uplo: which triangle counts: 'L' or 'U'
accumulate: adds to what is there
approximate: 'none' or 'tanh', which is faster
as_tuple: a list of a tensor for each dim
attn_mask: where to look: true, or numbers that are added
batch_dims: so many first dims are walked together
bins: how many parts
chunks: into how many pieces
clip_value: the largest that stays
max_norm: the largest that stays
norm_type: which norm: 2, 1, math.huge …
error_if_nonfinite: a norm that is no number is an error; waits
cond: a bool tensor
delta: where the square goes over into the line
driver: which way of LAPACK's: 'gels', 'gelsy', 'gelsd' or 'gelss'; of linalg.svd on CUDA: 'gesvd',
    'gesvdj' or 'gesvda'
rcond: singular values below this part of the largest count as 0
full_matrices: square u and v
include_self: x's own element counts
indexing: 'ij', or 'xy' with the first two dims exchanged
is_causal: nothing looks ahead
key: what is looked at
query: what looks
scale: a factor
largest: the largest, not the smallest
log_input: x is the logarithm
log_target: the target is a logarithm
mean: the middle
std: how wide it spreads
minlength: at least so many counts
nan: what takes NaN's place
posinf: what takes infinity's place
neginf: what takes minus infinity's place
non_blocking: the host goes on while its pinned memory is copied to a device; to the host the copy
    is pinned, and whatever reads it waits for it
num_classes: how many classes; -1: asked of the labels, which waits
num_samples: how many
replacement: an element may come more than once
out_int32: i32 in place of i64
pos_weight: weight of the true ones
anchor: the sample
positive: a sample that shall be near
negative: a sample that shall be far
prepend: is put before x first
append: is joined to the end of x first
repeats: how often
rounding_mode: 'trunc' or 'floor', none if not given
sections: how many pieces, or where they end
shifts: by how many places
side: 'left' or 'right'
sizes: sizes that the dim becomes
slope: slope below zero
negative_slope: slope below zero
sorted_sequence: numbers in order
sorter: what argsort gave for a sequence that is not in order
boundaries: numbers in order
swap: the farther of two distances counts
var: variances
equation: as 'ij,jk->ik'
inplace: writes into its argument
xs: a table of tensors
grads: a table of gradients
l: the triangular factor
ys: a table of tensors
tensors: a table of tensors
seed: decides the random numbers
lambd: where it is cut

affine: weight and bias are learned
elementwise_affine: weight and bias are learned
track_running_stats: means and variances are carried along for eval
num_features: channels
num_channels: channels
num_parameters: 1, or one for each channel
in_channels: channels of the input
out_channels: channels of the result
in_features: size of the input's last dim
out_features: size of the result's last dim
input_size: features of the input
hidden_size: features of the state
num_embeddings: how many rows
embedding_dim: size of a row
embed_dim: features
num_heads: heads, each of so large a part of the features
nhead: heads, each of so large a part of the features
d_model: features
dim_feedforward: features between the two linear layers
kdim: features of the keys
vdim: features of the values
activation: 'relu' or 'gelu'
layer_norm_eps: eps of the norms
norm_first: norms before, not after
start_dim: the first dim that is joined
end_dim: the last dim that is joined
unflattened_size: sizes that the dim becomes
min_val: the least
max_val: the greatest
init: what the slope begins with
add_bias_kv: keys and values get a bias in time
make: a function that gives a layer

params: a list of tensors, of groups {params = …, lr = …}, or a model
optimizer: whose learning rates change
init_scale: what losses are multiplied by at first
growth_factor: what the scale grows by
backoff_factor: what the scale shrinks by
growth_interval: steps without an infinite gradient until the scale grows
amp.GradScaler.enabled: false does nothing but step
amp_unscale.check: grads are only looked at
amp_update_scale.state: scale and growth_tracker
diverge.device: of the second run
diverge.dtype: of the second run's tensors of floats
diverge.ulp: the most that may lie between two results
check_finite.a: an operand of the op that made x
check_finite.b: another
check_finite.c: another
check_finite.op: the name of the op that made x
check_finite.step: the op in whose backward that ran
check_finite.module: the module that called it
check_finite.number: a number among the op's arguments is not finite
found_inf: not 0 where a gradient is infinite or NaN
schedulers: a list of schedules
lr: learning rate
lr_decay: how much the rate falls with each step
betas: how much of the means of gradients and of their squares goes on
optim.RMSprop.alpha: how much of the mean of squares goes on
optim.Adadelta.rho: how much of the means of squares goes on
optim.ASGD.alpha: power by which the rate falls
momentum_decay: how fast the momentum comes to its full size
decoupled_weight_decay: weight decay shrinks parameters and stays out of the averages
etas: what a step size is multiplied by where the sign has changed, and where it has not
step_sizes: the least and the greatest step
lambd: how fast the rate and the parameters fall
t0: the step at which averaging begins
max_iter: moves of one step at most
max_eval: evaluations of one step at most, 5/4 of max_iter if not given
tolerance_grad: a step ends where no gradient is larger
tolerance_change: a step ends where parameters or the loss change by less
history_size: of how many moves the gradients are kept
line_search_fn: 'strong_wolfe' looks along each direction; without it a move is lr long
dampening: how much of a gradient does not go into the momentum
weight_decay: how much parameters shrink
nesterov: looks ahead by the momentum
maximize: climbs instead
amsgrad: the greatest mean of squares so far counts
centered: divides by the variance, not the mean of squares
initial_accumulator_value: what the sum of squares begins with
T_max: steps of half a cosine
T_0: steps of the first cosine
T_mult: by how much each is longer than the one before
eta_min: the least rate
gamma: what rates are multiplied by
step_size: after how many steps
milestones: after which steps
factor: what the rate is multiplied by
total_iters: for how many steps
start_factor: what the first rate is multiplied by
end_factor: what the last rate is multiplied by
power: power of the polynomial
lr_lambda: a function of the number of steps, or one for each group
sparsity: the share of zeros
base_lr: the least rate
max_lr: the greatest rate
step_size_up: steps on the way up
step_size_down: steps on the way down, as many as up if not given
cycle_momentum: the momentum goes the other way
base_momentum: the least momentum
max_momentum: the greatest momentum
total_steps: steps in all, or epochs and steps_per_epoch
epochs: epochs in all
steps_per_epoch: steps of each
pct_start: which part is the way up, 0 to 1
anneal_strategy: 'cos' or 'linear'
div_factor: by how much less it begins
final_div_factor: by how much less than that it ends
three_phase: down as far as it began, then to the end
patience: epochs without progress that are borne
threshold_mode: 'rel' or 'abs'
optim.lr.ReduceLROnPlateau.mode: 'min' or 'max' of what is watched is better
optim.lr.CyclicLR.mode: 'triangular', 'triangular2' or 'exp_range'
nn.Upsample.mode: 'nearest', 'nearest-exact', 'linear', 'bilinear' or 'trilinear'
optim.lr.ReduceLROnPlateau.threshold: what counts as progress
cooldown: epochs after a change that do not count
min_lr: the least rate
]]

local options = {}
for name, what in text:gsub("\n +", " "):gmatch "([%w_.]+): ([^\n]+)" do options[name] = what end
return options
