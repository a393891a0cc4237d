--!plain
-- Help texts of layers and of what all modules have; their form: scripts/lua/help/topics.lua.
return [==[
nn (see optim, data)
    nn.Linear(3, 4) makes a layer, and calling the layer runs it. nn.Sequential chains layers;
    nn.module makes a class of your own.
nn.Module (see nn, nn.module)
    The methods of all modules: parameters, to, train, eval, state_dict … ; a class of your own is
    nn.module "Name".
nn.Identity | nn.Identity() (see nn.Sequential)
    Returns its input; a stand-in for any layer.
    shapes: x: any; the result is x
    > nn.Identity()(tensor{1, 2}) --> tensor({1, 2}, i64 2 cpu)
nn.TransformerEncoder (see nn.TransformerEncoderLayer)
    options: make: function that returns a layer; num_layers: number of layers; norm: module after
        the last layer
    shapes: x: what the layers take; the result: what they give
    > local make = function() return nn.TransformerEncoderLayer(4, 2) end
    > return table.concat(nn.TransformerEncoder(make, 2)(ones(3, 2, 4)).shape, "x")
    --> 3x2x4
nn.is_module | nn.is_module(value) (see nn.module)
    Whether the value is a module, not a class of them.
nn.shape_text | nn.shape_text(x) (see nn.fail)
    The shape as messages show it: "2x3", or "scalar".
    > nn.shape_text(ones(2, 3)) --> 2x3
nn.raise | nn.raise(format, …) (see nn.fail)
    An error at the line of the script that called, not inside the layer.
nn.any.init (see nn.module)
    Called when a module is made, with its arguments: assigns parameters and layers.
nn.any.forward (see nn.module)
    What calling the module runs; model(x) also runs hooks.
nn.any.extra_repr
    The text in parentheses after the module's name in a printed tree.
nn.any.append (see nn.Sequential)
    Appends a module; returns the list.
nn.any.buffers
    A list of the tensors that it keeps in addition to its parameters.
nn.any.named_buffers
    for name, tensor in model:named_buffers() do … end.
nn.any.children
    Its direct submodules.
nn.any.modules
    The module and all modules below it.
nn.any.eval
    Evaluation mode: dropout is off, batch norms use their running statistics; returns the model.
nn.any.requires_grad_ (see requires_grad_)
    All parameters get gradients, or none with false; returns the model.
nn.init (see nn.init.kaiming_uniform_, nn.init.xavier_uniform_)
    Initializers: each function writes its tensor in place, records nothing and returns it.
nn.init.uniform_
    options: a: lower bound; b: upper bound
nn.init.trunc_normal_
    options: a: lower bound; b: upper bound
nn.init.kaiming_uniform_
    options: a: slope below zero; mode: 'fan_in' or 'fan_out'; nonlinearity: 'relu', 'leaky_relu',
        'tanh' …
nn.init.kaiming_normal_
    options: a: slope below zero; mode: 'fan_in' or 'fan_out'; nonlinearity: 'relu', 'leaky_relu',
        'tanh' …
nn.any.cpu (see to)
    Moves parameters and buffers to the cpu; returns the model.
    waits: for each of them and its copy
nn.any.double (see to)
    Converts parameters and buffers to f64; returns the model.
nn.any.gpu (see to)
    Moves parameters and buffers to the GPU, or on sim where there is none; returns the model.
    waits: for the copies, unless they are there already
nn.any.cuda (see to)
    Moves parameters and buffers to the first NVIDIA GPU; returns the model.
    waits: for the copies, unless they are there already
nn.any.to
    waits: for the copies, unless they are there already
nn.any.load_state_dict
    waits: for the copies of tensors from another device
nn.any.half (see to)
    Converts parameters and buffers to f16; returns the model.
nn.any.bfloat16 (see to)
    Converts parameters and buffers to bf16; returns the model.
nn.any.float (see to)
    Converts parameters and buffers to f32; returns the model.
nn.AdaptiveAvgPool1d (see adaptive_avg_pool1d)
nn.AdaptiveAvgPool2d (see adaptive_avg_pool2d)
nn.AdaptiveMaxPool1d (see adaptive_max_pool1d)
nn.AdaptiveMaxPool2d (see adaptive_max_pool2d)
nn.AvgPool1d (see avg_pool1d)
nn.AvgPool2d (see avg_pool2d)
nn.BCELoss (see binary_cross_entropy)
nn.BCEWithLogitsLoss (see binary_cross_entropy_with_logits)
nn.BatchNorm1d (see nn.BatchNorm2d)
nn.BatchNorm2d
    options: momentum: weight of the newest statistics in the running ones; false: these are the
        mean of those of all batches (PyTorch's None)
    shapes: x: n x channels x h x w; the result has the same
    > table.concat(nn.BatchNorm2d(3)(ones(2, 3, 8, 8)).shape, "x") --> 2x3x8x8
nn.BatchNorm3d (see nn.BatchNorm2d)
nn.CELU (see celu)
nn.Conv1d (see conv1d)
nn.Conv2d
    shapes: x: [n x] in_channels x h x w; the result: [n x] out_channels x the windows' number in
        each dim
    > table.concat(nn.Conv2d(3, 6, 3)(ones(2, 3, 8, 8)).shape, "x") --> 2x6x6x6
nn.Conv3d (see conv3d)
nn.ConvTranspose1d (see conv_transpose1d)
nn.ConvTranspose2d (see conv_transpose2d)
nn.ConvTranspose3d (see conv_transpose3d)
nn.CosineEmbeddingLoss (see cosine_embedding_loss)
nn.CrossEntropyLoss
    shapes: x: n x classes x …; target: n x …, classes from 1; the result is a scalar, or has
        target's shape with reduction 'none'
    > nn.CrossEntropyLoss()(zeros(2, 4), tensor{1, 4}) --> tensor(1.3863, f32 scalar cpu)
nn.Dropout (see dropout)
nn.Dropout1d (see nn.Dropout2d)
nn.Dropout2d
    shapes: x: n x channels x h x w; the result has the same
    > table.concat(nn.Dropout2d()(ones(2, 3, 8, 8)).shape, "x") --> 2x3x8x8
nn.Dropout3d (see nn.Dropout2d)
nn.ELU (see elu)
nn.Embedding
    shapes: indices: any, integers from 1; the result: … x embedding_dim
    > table.concat(nn.Embedding(10, 3)(tensor{1, 10}).shape, "x") --> 2x3
nn.Flatten (see flatten)
nn.GELU (see gelu)
nn.GLU (see glu)
nn.GRU (see gru)
nn.GRUCell
    shapes: x: n x input_size; h: n x hidden_size; the result: the new h
    > table.concat(nn.GRUCell(3, 5)(ones(2, 3)).shape, "x") --> 2x5
nn.GaussianNLLLoss (see gaussian_nll_loss)
nn.GroupNorm (see group_norm)
nn.Hardshrink (see hardshrink)
nn.Hardsigmoid (see hardsigmoid)
nn.Hardswish (see hardswish)
nn.Hardtanh (see hardtanh)
nn.HingeEmbeddingLoss (see hinge_embedding_loss)
nn.HuberLoss (see huber_loss)
nn.InstanceNorm1d (see nn.InstanceNorm2d)
nn.InstanceNorm2d
    shapes: x: n x channels x h x w; the result has the same
    > table.concat(nn.InstanceNorm2d(3)(ones(2, 3, 8, 8)).shape, "x") --> 2x3x8x8
nn.InstanceNorm3d (see nn.InstanceNorm2d)
nn.KLDivLoss (see kl_div)
nn.L1Loss (see l1_loss)
nn.LSTM
    shapes: x: l x n x input_size, or n x l x input_size with batch_first; h: layers x n x
        hidden_size, with bidirectional twice as many layers; the result: x's with hidden_size, and
        the last h and c
    > table.concat(nn.LSTM(3, 5)(ones(7, 2, 3)).shape, "x") --> 7x2x5
nn.LSTMCell
    shapes: x: n x input_size; h, c: n x hidden_size; the results: the new h and c
    > table.concat(nn.LSTMCell(3, 5)(ones(2, 3)).shape, "x") --> 2x5
nn.LayerNorm
    shapes: x: … x normalized_shape; the result has the same
    > table.concat(nn.LayerNorm(3)(ones(2, 3)).shape, "x") --> 2x3
nn.LeakyReLU (see leaky_relu)
nn.Linear
    shapes: x: … x in_features; the result: … x out_features
    > table.concat(nn.Linear(3, 2)(ones(4, 3)).shape, "x") --> 4x2
nn.LogSigmoid (see logsigmoid)
nn.LogSoftmax (see log_softmax)
nn.MSELoss (see mse_loss)
nn.MarginRankingLoss (see margin_ranking_loss)
nn.MaxPool1d (see max_pool1d)
nn.MaxPool2d
    shapes: x: [n x] channels x h x w; the result: [n x] channels x the windows' number in each dim
    > table.concat(nn.MaxPool2d(2)(ones(2, 3, 8, 8)).shape, "x") --> 2x3x4x4
nn.Mish (see mish)
nn.Sequential
    shapes: x: what the first module takes; the result: what the last one gives
    > local model = nn.Sequential{nn.Linear(3, 4), nn.ReLU()}
    > return table.concat(model(ones(2, 3)).shape, "x")
    --> 2x4
nn.ModuleList
    > #nn.ModuleList{nn.ReLU(), nn.Tanh()} --> 2
nn.MultiheadAttention
    shapes: query: l x n x embed_dim; key, value: s x n x embed_dim, or n first with batch_first;
        the result has query's shape
    > table.concat(nn.MultiheadAttention(4, 2)(ones(3, 2, 4), ones(3, 2, 4), ones(3, 2,
    >     4)).shape, "x")
    --> 3x2x4
nn.NLLLoss (see nll_loss)
nn.PReLU (see prelu)
nn.PoissonNLLLoss (see poisson_nll_loss)
nn.RMSNorm (see rms_norm)
nn.RNN (see rnn)
nn.RNNCell
    shapes: x: n x input_size; h: n x hidden_size; the result: the new h
    > table.concat(nn.RNNCell(3, 5)(ones(2, 3)).shape, "x") --> 2x5
nn.ReLU
    > nn.ReLU()(tensor{-2.0, 0.0, 2.0}) --> tensor({0.0, 0.0, 2.0}, f32 3 cpu)
nn.ReLU6 (see relu6)
nn.SELU (see selu)
nn.SiLU (see silu)
nn.Sigmoid (see sigmoid)
nn.SmoothL1Loss (see smooth_l1_loss)
nn.SoftMarginLoss (see soft_margin_loss)
nn.Softmax (see softmax)
nn.Softmin (see softmin)
nn.Softplus (see softplus)
nn.Softshrink (see softshrink)
nn.Softsign (see softsign)
nn.Tanh (see tanh)
nn.Tanhshrink (see tanhshrink)
nn.Threshold (see threshold)
nn.TransformerEncoderLayer
    shapes: x: l x n x d_model, or n x l x d_model with batch_first; the result has the same
    > table.concat(nn.TransformerEncoderLayer(4, 2)(ones(3, 2, 4)).shape, "x") --> 3x2x4
nn.TripletMarginLoss (see triplet_margin_loss)
nn.Unflatten (see unflatten)
nn.Upsample (see interpolate)
nn.AdaptiveAvgPool3d (see adaptive_avg_pool3d)
nn.AdaptiveMaxPool3d (see adaptive_max_pool3d)
nn.AvgPool3d (see avg_pool3d)
nn.MaxPool3d (see max_pool3d)
nn.MaxUnpool1d (see max_unpool1d, nn.MaxPool1d)
nn.MaxUnpool2d (see max_unpool2d, nn.MaxPool2d)
    Called with the numbers and indices of a MaxPool2d with return_indices, and perhaps output_size.
    shapes: x and indices: [n x] channels x h x w; the result: [n x] channels x h' x w'
    > local y, i = nn.MaxPool2d(2, {return_indices = true})(tensor{{{1.0, 2.0}, {4.0, 3.0}}})
    > return nn.MaxUnpool2d(2)(y, i)
    --> tensor({{{0.0, 0.0},
    -->          {4.0, 0.0}}}, f32 1x2x2 cpu)
nn.MaxUnpool3d (see max_unpool3d, nn.MaxPool3d)
nn.AlphaDropout (see alpha_dropout)
nn.FeatureAlphaDropout (see feature_alpha_dropout)
nn.Bilinear (see bilinear)
nn.CTCLoss (see ctc_loss)
nn.ChannelShuffle (see channel_shuffle)
nn.CosineSimilarity (see cosine_similarity)
nn.PairwiseDistance (see pairwise_distance)
nn.EmbeddingBag (see embedding_bag)
nn.Fold (see fold, nn.Unfold)
nn.Unfold (see unfold, fold, nn.Fold)
nn.LocalResponseNorm (see local_response_norm)
nn.ModuleDict (see nn.ModuleList, nn.ParameterDict)
    dict.name or dict["name"] is a module; dict:keys(), dict:values(), and for name, module in
    dict:items() do … end go through them in order, dict:update{…} adds some, dict:pop(name) removes
    one.
    > #nn.ModuleDict{relu = nn.ReLU(), tanh = nn.Tanh()} --> 2
nn.ParameterDict (see nn.ParameterList, nn.ModuleDict)
    dict.name is a parameter; keys, values, items, update and pop as of nn.ModuleDict.
    > #nn.ParameterDict{w = ones(2), b = zeros(1)} --> 2
nn.ParameterList (see nn.ParameterDict, nn.ModuleList)
    > #nn.ParameterList{ones(2), zeros(1)} --> 2
nn.MultiLabelMarginLoss (see multilabel_margin_loss)
    shapes: x, target: n x classes; the result is a scalar, or n with reduction 'none'
    > nn.MultiLabelMarginLoss()(tensor{0.0, 1.0}, tensor{1, 0}) --> tensor(1.0, f32 scalar cpu)
nn.MultiLabelSoftMarginLoss (see multilabel_soft_margin_loss)
    shapes: x, target: n x classes; the result is a scalar, or n with reduction 'none'
    > nn.MultiLabelSoftMarginLoss()(zeros(2), ones(2)) --> tensor(0.6931, f32 scalar cpu)
nn.MultiMarginLoss (see multi_margin_loss)
nn.PixelShuffle (see pixel_shuffle)
nn.PixelUnshuffle (see pixel_unshuffle)
nn.Softmax2d (see softmax)
nn.TransformerDecoder (see nn.TransformerDecoderLayer, nn.Transformer)
    shapes: tgt: l x n x d_model, or n x l x d_model with batch_first; memory: the same with a
        length of its own; masks: l x l, l x length of memory; those of keys: n x length; the
        result: tgt's
    > table.concat(nn.TransformerDecoder(nn.TransformerDecoderLayer(8, 2, 16), 2)(ones(3, 1,
    >     8), ones(5, 1, 8)).shape, "x")
    --> 3x1x8
nn.TransformerDecoderLayer (see nn.TransformerEncoderLayer, nn.Transformer)
    shapes: tgt: l x n x d_model, or n x l x d_model with batch_first; memory: the same with a
        length of its own; masks: l x l, l x length of memory; those of keys: n x length; the
        result: tgt's
    > table.concat(nn.TransformerDecoderLayer(8, 2, 16)(ones(3, 1, 8), ones(5, 1, 8)).shape, "x")
    --> 3x1x8
nn.Transformer (see nn.TransformerEncoder, nn.TransformerDecoder)
    nn.Transformer.generate_square_subsequent_mask(n) is a mask for tgt, in which each position sees
    itself and earlier ones.
    shapes: src, tgt: l x n x d_model, or n x l x d_model with batch_first, each with its own l; the
        result: tgt's
    > table.concat(nn.Transformer(8, 2, 1, 1, 16)(ones(5, 1, 8), ones(3, 1, 8)).shape, "x")
    --> 3x1x8
nn.UpsamplingBilinear2d (see interpolate, nn.Upsample)
nn.UpsamplingNearest2d (see interpolate, nn.Upsample)
nn.ZeroPad1d (see nn.ZeroPad2d, pad)
nn.ZeroPad2d (see pad)
    shapes: x: [n x] channels x h x w; the result: larger by padding on each side
    > table.concat(nn.ZeroPad2d(1)(ones(1, 2, 4, 4)).shape, "x") --> 1x2x6x6
nn.ZeroPad3d (see nn.ZeroPad2d, pad)
nn.ConstantPad1d (see nn.ConstantPad2d, pad)
nn.ConstantPad2d (see nn.ZeroPad2d, pad)
nn.ConstantPad3d (see nn.ConstantPad2d, pad)
nn.ReflectionPad1d (see nn.ReflectionPad2d, pad)
nn.ReflectionPad2d (see nn.ZeroPad2d, pad)
nn.ReflectionPad3d (see nn.ReflectionPad2d, pad)
nn.ReplicationPad1d (see nn.ReplicationPad2d, pad)
nn.ReplicationPad2d (see nn.ZeroPad2d, pad)
nn.ReplicationPad3d (see nn.ReplicationPad2d, pad)
nn.CircularPad1d (see nn.CircularPad2d, pad)
nn.CircularPad2d (see nn.ZeroPad2d, pad)
nn.CircularPad3d (see nn.CircularPad2d, pad)
nn.utils (see optim.clip_grad_norm_, nn.utils.rnn)
    Clipping of gradients by PyTorch's names, as optim has it; parameters as one vector; weight_norm
    and spectral_norm.
nn.utils.rnn (see nn.utils.rnn.pad_sequence)
    Sequences of different lengths.
nn.utils.rnn.pad_sequence (see stack, pad)
    options: padding_value: value of the padding; padding_side: 'right' or 'left'
    shapes: sequences: l x …, each with its own l; the result: longest l x n x …, or n x l x … with
        batch_first
    > nn.utils.rnn.pad_sequence({tensor{1, 2}, tensor{3}}, {batch_first = true})
    --> tensor({{1, 2},
    -->         {3, 0}}, i64 2x2 cpu)
nn.utils.rnn.pack_padded_sequence (see nn.utils.rnn.pad_packed_sequence, nn.LSTM)
    A PackedSequence has data, the steps of all sequences one after the other, and batch_sizes, how
    many are still going at each step. Layers over time compute no step of the padding, and their
    last states are those at each sequence's own end.
    options: lengths: a list or a tensor, which is waited for; batch_first: sequences x steps x …;
        enforce_sorted: false takes lengths in any order
    shapes: input: steps x sequences x …; data: the sum of lengths x …
    waits: for lengths on a device; where they are in another order, for the copy of that to one
    > nn.utils.rnn.pack_padded_sequence(tensor{{1, 2}, {3, 0}}, {2, 1}).data
    --> tensor({1, 2, 3}, i64 3 cpu)
nn.utils.rnn.pack_sequence (see nn.utils.rnn.pack_padded_sequence, nn.utils.rnn.pad_sequence)
    options: sequences: l x …, each with its own l; enforce_sorted: false takes them in any order
    > nn.utils.rnn.pack_sequence{tensor{1, 2}, tensor{3}}.batch_sizes[1] --> 2
nn.utils.rnn.pad_packed_sequence (see nn.utils.rnn.pack_padded_sequence)
    options: sequence: a PackedSequence, as layers over time return it; padding_value: value of the
        padding; total_length: steps of the result, the longest length if not given
    shapes: the result: steps x sequences x …, or sequences x steps x … with batch_first; lengths: n
    > local rnn = nn.utils.rnn
    > return (rnn.pad_packed_sequence(rnn.pack_sequence{tensor{1, 2}, tensor{3}}))
    --> tensor({{1, 3},
    -->         {2, 0}}, i64 2x2 cpu)
nn.utils.parameters_to_vector (see nn.utils.vector_to_parameters)
    > nn.utils.parameters_to_vector{ones(2), zeros(1)} --> tensor({1.0, 1.0, 0.0}, f32 3 cpu)
nn.utils.vector_to_parameters (see nn.utils.parameters_to_vector)
    > local w = zeros(2) nn.utils.vector_to_parameters(tensor{1.0, 2.0}, {w}) return w
    --> tensor({1.0, 2.0}, f32 2 cpu)
nn.utils.weight_norm (see nn.utils.spectral_norm, nn.utils.remove_weight_norm)
    options: module: the layer; name: name of the parameter; dim: dim whose slices have a length
        each
    > local m = nn.utils.weight_norm(nn.Linear(2, 3)) return m.weight_g.shape[1] --> 3
nn.utils.remove_weight_norm (see nn.utils.weight_norm)
    options: module: the layer; name: name of the parameter
    > nn.utils.remove_weight_norm(nn.utils.weight_norm(nn.Linear(2, 3))).weight.is_leaf --> true
nn.utils.spectral_norm (see nn.utils.weight_norm, nn.utils.remove_spectral_norm)
    options: module: the layer; name: name of the parameter; n_power_iterations: iterations in each
        forward; dim: dim of the matrix's rows, 2 for ConvTranspose, else 1
    > nn.utils.spectral_norm(nn.Linear(2, 3)).weight_u.shape[1] --> 3
nn.utils.remove_spectral_norm (see nn.utils.spectral_norm)
    options: module: the layer; name: name of the parameter
    > nn.utils.remove_spectral_norm(nn.utils.spectral_norm(nn.Linear(2, 3))).weight.is_leaf --> true
nn.any.deepcopy
    A copy of the model and of all that it holds, as copy.deepcopy makes in Python; make an
    optimizer for its parameters afterwards.
nn.any.keys
    The names of its entries, in order, as a list.
nn.any.values
    Its entries, in order, as a list.
nn.any.items
    for name, value in dict:items() do … end.
nn.any.update
    Adds the entries of a table of names, or of a list of {name, value}.
nn.any.pop
    Removes the entry of that name and returns it.
nn.any.accept
    Checks an entry of nn.ModuleDict or nn.ParameterDict, and may replace it.
nn.forget | nn.forget(module, key)
    Removes a field of any kind from a module.
nn.parallel (see nn.parallel.DistributedDataParallel, dist)
    A model trained by several processes: DistributedDataParallel.
nn.parallel.DistributedDataParallel
    call: nn.parallel.DistributedDataParallel(model [, {bucket = "25MB", group =}])
    Each rank trains a copy of model on its own part of every batch. All copies start with rank 0's
    parameters and buffers. Backward averages the gradients over the ranks, in buckets that are sent
    as soon as they are complete, while backward goes on. A parameter that some ranks do not use
    counts as zeros there; buffers are rank 0's at each forward. In a job of one rank it is the
    model. model.module is the model itself.
    options: bucket: bytes of gradients that are sent together, as "25MB"; group: what dist.group
        made; all ranks without it
    shapes: what the model takes
    raises: if the models' tensors differ between ranks; the message names the first one
    > nn.parallel.DistributedDataParallel(nn.Linear(2, 3))(ones(1, 2)).shape[2] --> 3
    see: dist.all_reduce, data.Loader, nn.parallel.DistributedDataParallel.no_sync
nn.parallel.DistributedDataParallel.no_sync | ddp:no_sync(fn, …)
    Runs fn, whose backwards add up gradients on each rank without sending them; the next backward
    outside averages the sums.
    see: nn.parallel.DistributedDataParallel
nn.module | nn.module(definition, [base]) (see nn, nn.parameter)
    nn.module "Name" makes a class: give it the methods init(…) and forward(…), and Name(…) makes a
    module. With a signature, nn.module{"Name", sig = "int size, bool bias=true"}, init gets its
    arguments checked and filled in. base: the class whose methods it inherits.
nn.parameter | nn.parameter(t) (see nn.module)
    A new tensor with the same values that requires gradients: a parameter of a layer.
nn.summary | nn.summary(model, x, …) (see nn)
    Runs model(x, …) once, without gradients, and returns a text with a line for each call of a
    layer: path, class, shape of the result, elements that it learns itself; then the totals.
]==]
