--!plain
-- What arguments of ops, layers, optimizers and schedules mean, by name, where a topic's `options`
-- say nothing better: Tab shows it inside {}. Names with the same meaning share a line; "op.name"
-- is about that op's alone. 'words' in quotes are the values that Tab offers in a string.
local text = [[
dim: the dimension to work along; the first is 1, the last -1
dims: the dimensions to work along; the first is 1, the last -1
dim1, transpose.dim0: the first of two dimensions
dim2: the second of two dimensions
keepdim: keep the reduced dimensions, with size 1
start_dim: the first dimension to flatten
end_dim: the last dimension to flatten
dtype: data type of the result
device: device of the result
requires_grad: backward computes a gradient for it
shape, size, output_size: sizes of the result
sizes, unflattened_size: sizes that replace the dimension
normalized_shape: sizes of the last dimensions, which are normalized together
x: the input tensor
y: the other tensor
a, x1: the first operand
b, x2: the second operand
other: tensor whose shape or dtype is taken
input: the model's output
target, targets: the expected values
logits: unnormalized scores of each class
log_probs: log-probabilities of each class
label_smoothing: share of each label that is spread over all classes, 0 to 1
ignore_index: label that is left out of the loss
last_epoch: last step before, of a schedule that is resumed, which begins one step on; -1 for none
num_classes: number of classes; -1 takes it from the labels, which waits
reduction: how the losses are reduced: 'mean', 'sum' or 'none'
log_input: x holds logarithms
log_target: target holds logarithms
full: include the constant terms, which have no gradient
pos_weight: weight of the positive examples
weight: the learned weight, or a weight for each class
weights: all weights, in PyTorch's order
bias: the bias vector; or true to have one
eps: small number that keeps a divisor from being zero
margin: distance that is required
anchor: the reference sample
positive: sample of the same class
negative: sample of another class
swap: use the farther of the two distances to the negative sample
blank: index of the blank class
zero_infinity: infinite losses, of targets that are too long, count 0
smooth_l1_loss.beta, delta: distance from which the loss is linear
var: predicted variances

n: how many
fft.fft.n, fft.ifft.n, fft.rfft.n, fft.irfft.n: length of the signal; a longer one is cropped, a
    shorter one padded with zeros
s: sizes of the signal; longer ones are cropped, shorter ones padded with zeros
norm: scaling: 'backward', 'ortho' or 'forward'
complex: the input holds pairs of real and imaginary parts
d: distance between samples
n_fft: length of each window
hop_length: distance between the starts of two windows
win_length: length of the window function, which is centred within n_fft
window: factors that each window is multiplied by
window_length: number of points
periodic: true for spectra; false gives a symmetric window, for filters
center: the first window is centred on the first sample
normalized: divide by the square root of n_fft
onesided: only the frequencies that differ for real numbers

in_channels: channels of the input
out_channels: channels of the result
num_channels, num_features: number of channels
kernel_size: size of the window
stride: step of the window
padding: zeros on each side, or 'same' or 'valid'
padding_mode: what the padding holds: 'zeros', 'reflect', 'replicate' or 'circular'
output_padding: size added to one side of the result
dilation: distance between elements of the window
groups: number of independent channel groups
num_groups: number of channel groups, each normalized by itself
ceil_mode: also use a last window that is not full
count_include_pad: the mean includes the zeros of the padding
divisor_override: divisor in place of the window's size
return_indices: also return the positions of the maxima
upscale_factor: factor by which width and height grow
downscale_factor: factor by which width and height shrink
scale_factor: magnification, one number or one for each dimension
align_corners: the corner elements keep their positions and values
recompute_scale_factor: derive the factor from the rounded size
theta: an affine matrix for each image
grid: x and y of each point, from -1 to 1
pad.mode: 'constant', 'reflect', 'replicate' or 'circular'
interpolate.mode: 'nearest', 'nearest-exact', 'linear', 'bilinear' or 'trilinear'
nn.Upsample.mode: 'nearest', 'nearest-exact', 'linear', 'bilinear' or 'trilinear'
pad: numbers of elements before and after, first for the last dimension

in_features: size of the input's last dimension
out_features: size of the result's last dimension
in1_features: size of x1's last dimension
in2_features: size of x2's last dimension
num_embeddings: number of rows
embedding_dim: size of a row
padding_idx: row that gets no gradient
input_size: features of the input
hidden_size: features of the state
hx: initial state; zeros if not given
h: hidden state; zeros if not given
c: cell state; zeros if not given
b_ih: biases of the input
b_hh: biases of the state
w_ih: weights of the input
w_hh: weights of the state
has_biases: weights includes biases
num_layers: number of stacked layers
num_encoder_layers: layers of the encoder
num_decoder_layers: layers of the decoder
bidirectional: add a second pass from the end
batch_first: the first dimension is the batch, not time
nonlinearity: 'tanh' or 'relu'
dropout: dropout probability between layers, 0 to 1
dropout_p: dropout probability, 0 to 1
query: what is compared with the keys
key: what the queries are compared with
attn_mask: true where attention is allowed, or numbers that are added to the scores
is_causal: no element attends to later ones
num_heads, nhead: number of heads, among which the features are divided
d_model, embed_dim: number of features
dim_feedforward: features between the two linear layers
kdim: features of the keys
vdim: features of the values
add_bias_kv: append a learned key and value to the sequence
activation: 'relu' or 'gelu'
layer_norm_eps: eps of the normalizations
norm_first: normalize before attention and linear layers, not after
affine, elementwise_affine: learn a weight and a bias
track_running_stats: keep running means and variances for eval
running_mean: running means, which are updated
running_var: running variances, which are updated
use_input_stats: use the input's statistics, not the running ones
momentum: weight of the newest statistics, or of the past steps
num_parameters: 1, or one for each channel
init: initial slope
negative_slope, slope: slope below zero
approximate: 'none', or 'tanh', which is faster
inplace: write the result into the input
make: function that returns a layer
modules: a list of modules
entries: a table of names, or a list of {name, value}
train, training: training mode, not evaluation

index, indices: integers, counted from 1
value: a number
values, src, updates: values to write
source: values to write, or the dimensions to move
destination: new positions of the dimensions
reduce: 'add' or 'multiply' combines with the existing values
scatter_reduce.reduce: 'sum', 'prod', 'mean', 'amax' or 'amin'
include_self: the existing value takes part
accumulate: add to the existing values
batch_dims: number of leading dimensions that both share
mask: a bool tensor
cond: a bool tensor that selects a or b
as_tuple: return a list with a tensor for each dimension
test_elements: values to look for
invert: true for the elements that are not among them
sorted_sequence, boundaries: numbers in ascending order
sorter: result of argsort for an unsorted sequence
right: insert after equal elements, not before
side: 'left' or 'right'
out_int32: return i32, not i64
descending: largest first
stable: equal elements keep their order
sorted: return the elements in order
largest: the largest, not the smallest
k: how many, or which
kthvalue.k: rank of the element, from 1
topk.k: how many
rot90.k: number of quarter turns
distinct.counts, return_counts: also return how often each occurs
return_inverse: also return the position of each element in the result
minlength: least number of counts
range: least and largest number of the intervals
density: return a density, whose integral is 1, not counts
bins: number of intervals
q: a quantile from 0 to 1, or several
interpolation: between two elements: 'linear', 'lower', 'higher', 'midpoint' or 'nearest'

unbiased: true is correction = 1, false 0
correction: subtracted from the number of elements: 1 for a sample, 0 for a population
norm.p: order of the norm: 2, 1, math.huge, 'fro' or 'nuc'
cdist.p, pairwise_distance.p, normalize.p: order of the norm: 2, 1, math.huge …
ord: order of the norm: 2, 1, math.huge, -math.huge …
norm_type: order of the norm: 2, 1, math.huge …
max_norm: norm to which larger gradients are scaled
maxnorm: norm to which larger slices are scaled
clip_value: largest magnitude of a gradient
error_if_nonfinite: raise an error if the norm is not finite; waits
p: a probability
mean: mean of the distribution
std: standard deviation
low: lower end of the range
high: upper end of the range
min, min_val: lower bound
max, max_val: upper bound
threshold: the bound
lambd: values of at most this magnitude become 0
num_samples: number of samples
replacement: an element may be drawn more than once
seed: seed of the random numbers
alpha, beta, scale: a factor
lerp.c: position between a and b, 0 to 1
base: the number that is raised
decimals: digits after the point; a negative number rounds before it
rounding_mode: 'trunc' or 'floor'; not rounded if not given
atol: allowed absolute difference
rtol: allowed difference relative to the second operand
equal_nan: NaN equals NaN
nan: replacement of NaN
posinf: replacement of infinity
neginf: replacement of minus infinity
first: the first number
last: the last number, which is included
step: distance between two numbers
start: first position, from 1
length: number of elements
steps: number of points
offset: distance from the first, or the diagonal: above 0 to the right
diagonal: which diagonal: above 0 to the right, below 0 to the left
m: number of columns; that of rows if not given
row: number of rows
col: number of columns
chunks, sections: number of pieces, or where they end
r: elements of each combination
with_replacement: an element may occur more than once
spacing: distance between the samples, or their positions
edge_order: order of the differences at the ends: 1 or 2
shifts: number of positions to move
repeats: number of repetitions
prepend: tensor put before x
append: tensor put after x
indexing: 'ij', or 'xy', which exchanges the first two dimensions
equation: for example 'ij,jk->ik'
mode: which variant

linalg.qr.mode: 'reduced', 'complete' or 'r'
lu: packed factors, from linalg.lu_factor
pivots: row exchanges, from linalg.lu_factor
adjoint: solve with the transposed matrix
full_matrices: return square u and v
hermitian: the matrix is symmetric
upper: use the upper triangle, not the lower one
uplo: the triangle that is read: 'L' or 'U'
left: the matrix is the left factor
unitriangular: the diagonal is taken as ones
pivot: must be true: rows are always exchanged
l: the triangular factor
rcond: singular values below this share of the largest count as 0
driver: LAPACK's routine: 'gels', 'gelsy', 'gelsd' or 'gelss'; of linalg.svd on CUDA: 'gesvd',
    'gesvdj' or 'gesvda'

group: result of dist.group; all ranks if not given
async: return a future for wait; the host need not wait
root, dst, src: number of a rank in the job, from 0
op: 'sum', 'mean', 'prod', 'min' or 'max'
xs, ys, tensors: a list of tensors
grads: a list of gradients
twice: report a tensor with two names under both
what: name for messages
data.ImageFolder.transform: function applied to each picture
data.ImageFolder.channels: channels of each picture
data.ImageFolder.dtype: type of the pictures: 'u8', 'f32' or 'i32'
data.ImageFolder.max_pixels: limit of a picture's pixels [268435456]
non_blocking: the host goes on while its pinned memory is copied to a device; to the host the copy
    is pinned, and whatever reads it waits for it

params: a list of tensors or of groups {params = …, lr = …}, or a model
optimizer: optimizer whose learning rates change
init_scale: initial factor of the loss
growth_factor: factor by which the scale grows
backoff_factor: factor by which the scale shrinks
growth_interval: steps with finite gradients after which the scale grows
amp.GradScaler.enabled: false only steps
amp_unscale.check: check the gradients without changing them
amp_update_scale.state: the scale and growth_tracker
found_inf: not 0 where a gradient is infinite or NaN
diverge.device: device of the second run
diverge.dtype: float type of the second run
diverge.ulp: largest allowed difference between two results
check_finite.a: an operand of the op that made x
check_finite.b, check_finite.c: another operand
check_finite.notes: numbers by which nan.watch knows what made x
lr: learning rate
lr_decay: decay of the learning rate in each step
betas: decay rates of the averages of gradients and of their squares
optim.RMSprop.alpha: decay rate of the average of squares
optim.Adadelta.rho: decay rate of the averages of squares
optim.ASGD.alpha: power by which the learning rate decays
optim.ASGD.lambd: decay of the learning rate and the parameters
t0: step at which averaging begins
momentum_decay: how fast the momentum reaches its full size
weight_decay: factor by which parameters shrink
decoupled_weight_decay: apply weight decay to parameters, not to gradients
etas: factors of a step size whose gradient's sign changed, and did not change
step_sizes: smallest and largest step
max_iter: most iterations in a step
max_eval: most evaluations in a step; 5/4 of max_iter if not given
tolerance_grad: stop a step when no gradient is larger
tolerance_change: stop a step when parameters or the loss change by less
history_size: number of past iterations that are kept
line_search_fn: 'strong_wolfe' searches along each direction; else an iteration moves by lr
dampening: share of a gradient that stays out of the momentum
nesterov: use Nesterov's momentum
maximize: maximize instead of minimizing
amsgrad: use the largest average of squares so far
centered: divide by the variance, not the average of squares
initial_accumulator_value: initial sum of squares
sparsity: share of zeros

schedulers: a list of schedules
gamma: factor of the learning rate
step_size: steps between two changes
milestones: steps at which the rate changes
lr_lambda: a function of the number of steps, or one for each group
factor: factor of the learning rate
total_iters: number of steps that it lasts
start_factor: factor at the start
end_factor: factor at the end
power: power of the polynomial
T_max: steps of half a cosine
T_0: steps of the first cycle
T_mult: factor by which each cycle is longer than the one before
eta_min, min_lr, base_lr: lowest learning rate
max_lr: highest learning rate
step_size_up: steps of the rise
step_size_down: steps of the fall; step_size_up if not given
cycle_momentum: the momentum falls while the rate rises
base_momentum: lowest momentum
max_momentum: highest momentum
total_steps: number of steps, if not epochs and steps_per_epoch
epochs: number of epochs
steps_per_epoch: steps of each epoch
pct_start: share of the steps in which the rate rises, 0 to 1
anneal_strategy: 'cos' or 'linear'
div_factor: max_lr divided by the first rate
final_div_factor: the first rate divided by the last one
three_phase: fall to the first rate, then to the last one
patience: epochs without progress that are tolerated
cooldown: epochs after a change that are not counted
threshold_mode: 'rel' or 'abs'
optim.lr.ReduceLROnPlateau.mode: 'min' or 'max': which end of the value is better
optim.lr.ReduceLROnPlateau.threshold: least change that counts as progress
optim.lr.CyclicLR.mode: 'triangular', 'triangular2' or 'exp_range'
]]

local options = {}
for names, what in text:gsub("\n +", " "):gmatch "([%w_., ]+): ([^\n]+)" do
    for name in names:gmatch "[%w_.]+" do options[name] = what end
end
return options
