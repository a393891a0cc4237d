--!plain
-- Help texts of the fields and methods of tensors and other values; their form: topics.lua.
return [==[
tensor.shape | x.shape (see size, ndim, reshape)
    The sizes of the dims, as a list that == compares by content. Nothing waits: the host knows
    them. for i, part in ipairs(x) iterates over the first dim.
    > zeros(2, 3).shape == {2, 3} --> true
tensor.dtype | x.dtype (see to, default_dtype)
    The elements' type: f64 f32 f16 bf16 i64 i32 i16 i8 u8 or bool.
    > tensor{1, 2}.dtype --> i64
tensor.device | x.device (see to, devices)
    Where the elements are: cpu, sim:0, cuda:0 …
    > ones(2).device --> cpu
tensor.ndim | x.ndim (see dim, shape)
    How many dims there are.
    > ones(2, 3).ndim --> 2
tensor.T | x.T (see t, transpose, permute)
    A view with the dims in reverse order, as NumPy's: a matrix transposed.
    > tensor({{1, 2, 3}}).T
    --> tensor({{1},
    -->         {2},
    -->         {3}}, i64 3x1 cpu)
tensor.mT | x.mT (see T, transpose)
    A view with the last two dims exchanged: each matrix of a batch transposed.
    > zeros(5, 2, 3).mT.shape --> {5, 3, 2}
tensor.mH | x.mH (see mT, H)
    As x.mT: numbers are real.
    > zeros(5, 2, 3).mH.shape --> {5, 3, 2}
tensor.H | x.H (see T, mT)
    A matrix transposed: numbers are real.
    > zeros(2, 3).H.shape --> {3, 2}
tensor.grad | x.grad (see backward, requires_grad_, retain_grad)
    The gradient that backward added up for this leaf, or nil; x.grad = nil clears it.
    > local x = tensor({3.0}, {requires_grad = true}); (x * x):sum():backward() return x.grad
    --> tensor({6.0}, f32 1 cpu)
tensor.requires_grad | x.requires_grad (see requires_grad_, no_grad, detach)
    Whether ops of it are recorded for backward; of a leaf it may be set.
    > ones(2):requires_grad_().requires_grad --> true
tensor.is_leaf | x.is_leaf (see requires_grad, retain_grad)
    Whether no recorded op made it: backward gives gradients to leaves that require them.
    > ones(2).is_leaf --> true
tensor._version | x._version (see clone)
    How often the tensor's memory was written in place, its views included.
    > ones(2):add_(1):mul_(2)._version --> 2
tensor.grad_fn | x.grad_fn (see is_leaf)
    The name of the recorded op that made it, or nil of a leaf.
    > (ones(2):requires_grad_() * 2).grad_fn --> mul
size | x:size([dim]) (see shape, numel, stride)
    The sizes of all dims as a list, or that of one; dims count from 1, or from the end with -1.
    > zeros(2, 3):size(-1) --> 3
stride | x:stride([dim]) (see is_contiguous, as_strided)
    The distance in memory between neighbours along each dim, or one, in elements.
    > zeros(2, 3):stride(1) --> 3
dim | x:dim() (see ndim, size)
    How many dims there are; x.ndim is the same.
    > ones(2, 3):dim() --> 2
ndimension | x:ndimension() (see dim)
    How many dims there are: dim by its older name.
    > ones(2, 3):ndimension() --> 2
is_floating_point | x:is_floating_point() (see dtype)
    Whether the dtype is f64, f32, f16 or bf16.
    > ones(2):is_floating_point() --> true
numel | x:numel() (see size, element_size)
    How many elements there are.
    > zeros(2, 3):numel() --> 6
nelement | x:nelement() (see numel)
    How many elements there are: numel by its older name.
    > zeros(2, 3):nelement() --> 6
element_size | x:element_size() (see numel)
    Bytes of one element.
    > zeros(2):element_size() --> 4
is_contiguous | x:is_contiguous() (see contiguous, stride)
    Whether the elements are consecutive in memory, the last dim's adjacent.
    > zeros(2, 3).T:is_contiguous() --> false
is_pinned | x:is_pinned() (see pin_memory)
    Whether the elements are in host memory that a device copies from while the host goes on.
    > zeros(2):pin_memory():is_pinned() --> true
shares_storage | x:shares_storage(y) (see clone, view)
    Whether both show the same memory, as views do: a write to one may be seen in the other.
    > local x = zeros(2, 3) return x:shares_storage(x[1]) --> true
item | x:item() (see tolist, sync)
    The number in a tensor of one element. The host waits for the device: sync.report() counts it.
    waits: for x
    > tensor{42}:item() --> 42
tolist | x:tolist() (see item, tensor)
    Nested tables of the numbers or booleans; of a 0-d tensor its number. One wait for the device
    and one copy, whatever the size.
    waits: for x
    > tensor({{1, 2}, {3, 4}}):tolist()[2][1] --> 3
copy_ | x:copy_(y) (see clone, fill_, to)
    Writes y's elements into x, broadcast and converted to x's dtype and device; between devices it
    waits.
    waits: where x and y are on different devices
    > zeros(2):copy_(tensor{3, 4}) --> tensor({3.0, 4.0}, f32 2 cpu)
pin_memory | x:pin_memory() (see is_pinned, to, data)
    A copy in host memory that a device copies from while the host goes on (x:to(device,
    {non_blocking = true})); x itself if it is there already.
    > zeros(2):pin_memory():is_pinned() --> true
backward | y:backward([gradient], [retain_graph=false], [create_graph=false])
    Adds the gradients of a 0-d tensor, or of y weighted by gradient, to x.grad of every leaf that
    requires them.
    options: gradient: weights of y's shape, where y is not 0-d; retain_graph: what backward needs
        is kept for another one; create_graph: the gradients can be differentiated again
    > local x = tensor({3.0}, {requires_grad = true}); (x * x):sum():backward() return x.grad
    --> tensor({6.0}, f32 1 cpu)
    see: grad, no_grad, detach
requires_grad_ | x:requires_grad_([on=true]) (see backward, detach, no_grad)
    Ops of x are recorded from here on, and backward gives x a gradient; returns x.
    > ones(2):requires_grad_().requires_grad --> true
retain_grad | x:retain_grad() (see backward, register_hook)
    backward sets x.grad although x is no leaf.
    > local y = ones(2):requires_grad_() * 2; y:retain_grad(); y:sum():backward() return y.grad
    --> tensor({1.0, 1.0}, f32 2 cpu)
register_hook | x:register_hook(fn) (see backward, retain_grad)
    fn(gradient) is called when x's gradient is complete; a tensor that it returns replaces the
    gradient. The result's remove() removes the hook.
    > local x = ones(2):requires_grad_(); x:register_hook(function(g)
    > return g * 10 end); x:sum():backward() return x.grad
    --> tensor({10.0, 10.0}, f32 2 cpu)
capsule.pointer | capsule:pointer() (see to_dlpack)
    The address of the DLPack tensor, an integer, for another language. Whoever takes it calls the
    tensor's deleter once; the capsule is empty.
stream.use | stream:use([fn, …]) (see stream, current_stream)
    Ops of this thread go to the stream until the value is closed, local _ <close> = s:use(), or
    while fn runs.
stream.record | stream:record() (see stream, synchronize)
    An event after all that is queued on the stream.
stream.wait | stream:wait(event) (see stream)
    What is queued from here on starts after the event; the host does not wait.
stream.busy | stream:busy() (see stream)
    Whether it has work that is not done; does not wait.
stream.queued | stream:queued() (see stream)
    How many ops are queued and not done.
stream.synchronize | stream:synchronize() (see synchronize, sync)
    Waits until all that is queued on the stream is done.
    waits: for what is queued on the stream
event.done | event:done() (see stream)
    Whether what was queued before the event is done; does not wait.
event.synchronize | event:synchronize() (see stream, sync)
    Waits for the event.
    waits: for what was queued before the event
event.elapsed | event:elapsed(later) (see timeit, profile)
    Seconds on the device between two events; waits for the later one.
    waits: for the later event
double | x:double() (see to)
    x as f64: x:to "f64". x itself if it is already.
char | x:char() (see to)
    x as i8: x:to "i8". x itself if it is already.
short | x:short() (see to)
    x as i16: x:to "i16". x itself if it is already.
bfloat16 | x:bfloat16() (see to)
    x as bf16: x:to "bf16". x itself if it is already.
float | x:float() (see to)
    x as f32: x:to "f32". x itself if it is already.
tensor.cuda | x:cuda() (see to, devices)
    x on the first NVIDIA GPU: x:to "cuda". x itself if it is there already.
    waits: for a copy, unless x is there already
gpu | x:gpu() (see to, devices)
    x on the GPU, or on sim where there is none: x:to "gpu". x itself if it is there already.
    waits: for a copy, unless x is there already
cpu | x:cpu() (see to, devices)
    x in the host's memory: x:to "cpu". x itself if it is there already.
    waits: for x and its copy, unless x is there already
    > ones(2, {device = "sim"}):cpu().device --> cpu
bool | x:bool() (see to)
    x as bool: x:to "bool". x itself if it is already.
byte | x:byte() (see to)
    x as u8: x:to "u8". x itself if it is already.
half | x:half() (see to)
    x as f16: x:to "f16". x itself if it is already.
long | x:long() (see to)
    x as i64: x:to "i64". x itself if it is already.
int | x:int() (see to)
    x as i32: x:to "i32". x itself if it is already.
]==]
