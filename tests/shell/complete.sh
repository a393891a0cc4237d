#!/bin/bash
# Completion on a screen: what Tab offers and inserts, and that it runs none of the user's code.
root=${GPUSH_ROOT:-$(cd "$(dirname "$0")/../.." && pwd)}
build=$(cd "${GPUSH_BUILD:-$root/build/default}" && pwd)
. "$root/tests/support/tap.sh"
. "$root/tests/support/screen.sh"
cd "$HOME" || exit 1
cat >init.lua <<'END'
x = randn(3, 4)
settings = {alpha = 1, alpine = 2, beta = {gamma = 3}}
trap = setmetatable({own = 1}, {__index = function() print "RAN" end, __pairs = function() print "RAN" end})
made, kern = pcall(cuda.kernel, "__global__ void twice(float *x) { x[threadIdx.x] *= 2; }")
_, kernels = pcall(cuda.module, "__constant__ int c = 3; __global__ void f(int *x) { x[0] = c; }")
END
mkdir -p folder && touch folder/data_one.npy folder/data_two.npy mymodule.lua
screen 90 24 "$build/gpush -i init.lua"
ready
line() { key C-u; type_ "$1"; key Tab; }
# puts TYPED RESULT NAME: Tab makes the line this.
puts() { line "$1"; sees "> $2" "$3"; key C-u; gone "> $2" "$3: cleared"; }

puts 'settings.b' 'settings.beta' "a field"
puts 'settings.beta.g' 'settings.beta.gamma' "a field of a field"
puts 'settings.al' 'settings.alp' "what all have in common"
line 'settings.alp'
sees 'alpine  2' "the choices"
puts '%%timei' '%%timeit' "a magic of cells"
puts 'collectg' 'collectgarbage' "a global"
key C-l
puts 'x:cumpro' 'x:cumprod' "a method of the value before it"
puts 'x.requires_' 'x.requires_grad' "a property"
puts 'f(x):cumpro' 'f(x):cumprod' "a method of what only running would tell"
puts '("ab"):gm' '("ab"):gmatch' "a method of a string"
puts 'f("ab"):cumpro' 'f("ab"):cumprod' "and not of a call with one"
if command -v gcc >/dev/null; then # without it there is no kernel
    puts 'kern:ov' 'kern:over' "a method of a kernel"
    puts 'kernels:ker' 'kernels:kernel' "and of a module of kernels"
    line 'kern:'
    sees 'counts' "all that a kernel has"
fi
line 'x:su'
sees 'sum over dims, or of all' "choices come with their help"
puts 'zeros(3, {requires' 'zeros(3, {requires_grad =' "what every creator takes"
puts 'zeros(3, {nons' 'zeros(3, {nons' "no such option"
puts 'tensor({1}, {dev' 'tensor({1}, {device =' "an option of what is no op"
puts 'data.Loader{x, batch = 2, shuf' 'data.Loader{x, batch = 2, shuffle =' "an option that a file's head explains"
line 'conv2d(x, x, {str'
sees '> conv2d(x, x, {stride =' "an option that stands behind tensors"
key C-u
line 'conv2d(x, x, {'
sees "step of the kernel [1]" "options come with their help and what they are otherwise"
puts 'cross_entropy(x, y, {reduction = "su' 'cross_entropy(x, y, {reduction = "sum' "what a string option may be"
line 'nn.Conv2d(1, 2, 3, {padding_'
sees '> nn.Conv2d(1, 2, 3, {padding_mode =' "an option of a layer"
key C-u
puts 'sync.mode = "er' 'sync.mode = "error' "a mode"
puts 'sync.wa' 'sync.warn' "a variable of sync's"
puts 'zeros(3, {device = ' 'zeros(3, {device = "' "after an = where strings go, a quote"
puts 'y = ' 'y =' "where none is known there is nothing"
line 'printo'
sees 'printoptions' "a function that is no op"
puts 'x:sum{keep' 'x:sum{keepdim =' "an option of a method"
puts 'conv2d(x, x, {dil' 'conv2d(x, x, {dilation =' "an option of a function"
puts 'zeros(3, {dev' 'zeros(3, {device =' "a creator's option"
puts 'zeros(3, {device = "si' 'zeros(3, {device = "sim' "a device"
puts 'zeros(3, {dtype = "bf' 'zeros(3, {dtype = "bf16' "a dtype"
puts 'x:to("bf' 'x:to("bf16' "what :to takes"
puts 'npy.load("fol' 'npy.load("folder/' "a folder"
puts 'npy.load("folder/da' 'npy.load("folder/data_' "files in it"
puts 'require "mymo' 'require "mymodule' "a module"
puts 'nn.Seq' 'nn.Sequential' "a layer that was not loaded yet"
line 'nn.Conv'
sees 'ConvTranspose3d' "layers whose file has another name"
puts 'optim.AdamW' 'optim.AdamW' "an optimizer that stands beside another"
puts 'optim.clip_grad_n' 'optim.clip_grad_norm_' "what an area has beside its files"
puts 'checkpoint.lo' 'checkpoint.load' "an area that was not read yet"
line 'sync.re'
sees 'Prints who waited' "functions that are no op come with help's first sentence"
line 'nn.Module.zero'
sees '> nn.Module.zero_grad' "a method of a class"
puts 'optim.lr.Cyc' 'optim.lr.CyclicLR' "a schedule"
puts 'data.TensorD' 'data.TensorDataset' "a data set"
puts 'data.transforms.RandomC' 'data.transforms.RandomCrop' "a transform"
puts 'linalg.sv' 'linalg.svd' "a group's op"
puts 'repe' 'repeat' "a keyword" 
puts ':relo' ':reload' "a command"
puts ':run mymo' ':run mymodule.lua' "a command's file"
puts '?conv_transpose1' '?conv_transpose1d' "a name to ask about"
puts '-- x:cumpro' '-- x:cumpro' "nothing in a comment"
line 'trap.'
sees '> trap.own' "a table with metamethods"
gone RAN "none of which ran"
key C-u
type_ 'if x then'; key Enter; key Tab
until_ eval '[[ $(cursor) == 8,* ]]'
tap_ok $? "Tab at the start of a line indents by four columns" "$(cursor)"
key C-c
tap_done
