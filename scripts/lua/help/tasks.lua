--!plain
-- Help texts of tasks that have no function of their own name: what to write for them. The words by
-- which people ask are in asked.lua; their form: topics.lua.
return [==[
accuracy (see argmax, cross_entropy)
    The share of rows whose largest score is that of the label. Labels count from 1, as argmax does:
    y + 1 where yours count from 0, otherwise few are equal, and no error says so. Add up the sums
    on the device, and read them once an epoch.
    > (tensor{{1., 3.}, {2., 0.}}:argmax(2) == tensor{2, 2}):float():mean()
    --> tensor(0.5, f32 scalar cpu)
debugging (see nan.watch, autograd.detect_anomaly, diverge, training fails, nn.summary)
    print(x) shows a tensor, x.shape, x.dtype and x.device what it is; errors name the op, its
    argument and the line. A NaN: nan.watch() names the op that made it. Different results on a GPU:
    diverge. A loss that does not fall: help "training fails". assert(x.shape[2] == 4) in forward
    finds a wrong layer.
train a model (see data.Loader, optim, evaluate, checkpoint, training fails)
    Forward, loss, backward, step, for each batch. model:to "gpu" before the optimizer is made,
    model:train() before the loop, model:eval() after it. gpush lab digits is a whole program.
    > local model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
    > local opt = optim.Adam(model, {lr = 0.01})
    > local set = data.TensorDataset(rand(64, 2), ones(64, 1))
    > for epoch = 1, 2 do
    >     for _, x, y in data.Loader{set, batch = 16, shuffle = true}() do
    >         local loss = mse_loss(model(x), y)
    >         opt:zero_grad()
    >         loss:backward()
    >         opt:step()
    >     end
    > end
    > return model(ones(3, 2)).shape[1]
    --> 3
image classification (see data.ImageFolder, data.transforms, nn.Conv2d, train a model, accuracy)
    data.ImageFolder reads a folder of images for each class; convolutions, then a linear layer with
    an output for each class, and cross_entropy. gpush lab digits is a whole program.
    > local model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(),
    >     nn.Linear(4 * 3 * 3, 10))
    > return cross_entropy(model(rand(2, 1, 8, 8)), tensor{1, 10}).ndim
    --> 0
text classification (see nn.Embedding, nn.LSTM, cross_entropy, train a model)
    A text is a tensor of word numbers, from 1: a table gives each word its number,
    nn.utils.rnn.pad_sequence makes texts equally long (its padding_value is a number of its own).
    nn.Embedding turns numbers into vectors, their mean or an nn.LSTM joins them, nn.Linear gives a
    score for each class.
    > local number = {good = 1, bad = 2, film = 3}
    > local words = {}
    > for word in ("good film"):gmatch "%S+" do
    >     words[#words + 1] = number[word]
    > end
    > local embed, score = nn.Embedding(3, 8), nn.Linear(8, 2)
    > local x = embed(tensor{words}):mean(2)
    > return cross_entropy(score(x), tensor{1}).ndim
    --> 0
freeze layers (see no_grad, checkpoint.load, optim)
    model:requires_grad_(false) freezes a model or one of its layers: backward computes no gradients
    for it. Give the optimizer the parameters that are left.
    > local body = nn.Linear(2, 3):requires_grad_(false)
    > return body.weight.requires_grad
    --> false
early stopping (see checkpoint.save, data.random_split, optim.lr.ReduceLROnPlateau)
    Keep the lowest validation loss: save the model when it falls, and leave the loop when it has
    not fallen for some epochs.
    > local best, since = math.huge, 0
    > for epoch, loss in ipairs{3, 2, 2.5, 2.6, 9} do
    >     if loss < best then best, since = loss, 0 -- checkpoint.save(…) here
    >     else since = since + 1 end
    >     if since == 2 then return epoch end
    > end
    --> 4
overfitting (see early stopping, nn.Dropout, data.transforms, data.random_split)
    The training loss falls while the validation loss rises. What helps: more data or
    data.transforms, nn.Dropout, weight_decay of the optimizer, a smaller model, early stopping.
    data.random_split holds out data; gpush lab digits shows both losses.
gradient accumulation (see backward, optim, data.Loader)
    Gradients add up until zero_grad: call backward for several batches, each loss divided by their
    number, and then the optimizer's step and zero_grad once.
    > local w = ones(1):requires_grad_()
    > for _ = 1, 4 do (w:sum() / 4):backward() end
    > return w.grad:item()
    --> 1.0
gpu utilisation (see gpush profile, gpush sync, data.Loader, capture)
    A device that idles waits for the host: for waits (gpush sync script.lua), for a loader (more
    workers), or for launches (larger batches, capture, fuse). gpush profile script.lua says which
    dominated, and what each is worth.
data loader speed (see data.Loader, gpush profile, pin_memory)
    loader:report() says whether the step or the loader waits, and how many workers would do. What
    helps: workers = 2 or more, larger batches, cheaper work in get, or part of it on the device.
training fails (see optim.lr, accuracy, cross_entropy, optim.clip_grad_norm_, detect_anomaly)
    A loss that does not fall: too high or low a learning rate (try a tenth and ten times),
    zero_grad missing, labels that count from 0, softmax before cross_entropy (which has its own),
    inputs far from mean 0 and deviation 1. First overfit one batch: a model that cannot do so has a
    mistake.
evaluate (see no_grad, accuracy, nn)
    model:eval() switches dropout off and batch_norm to its running figures, no_grad records nothing
    for backward; model:train() goes back.
    > local model = nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5)):eval()
    > return no_grad(function() return model(ones(3, 2)) end).requires_grad
    --> false
custom loss (see mse_loss, cross_entropy, backward)
    A loss is a function of tensors that returns a 0-d one: backward goes through any ops. Class
    weights are cross_entropy's weight.
    > local function loss(x, y) return ((x - y):abs() + 1):log():mean() end
    > return loss(ones(2), ones(2)):item()
    --> 0.0
batch size (see data.Loader, gpush fit, profile.whatif, gradient accumulation)
    data.Loader{set, batch = 64}. Larger ones keep a device busier; gpush fit script.lua says
    whether they fit in each card's memory (--card t4: in that one's), prof:whatif{batch = {64,
    128}} what a run would take.
split data (see data.random_split, data.Subset)
    data.random_split(set, {0.8, 0.2}) gives the parts, for training and testing, one by one.
pretrained model (see safetensors, checkpoint.load, freeze layers)
    safetensors.load(file) gives the tensors of a file by name, as others save them;
    model:load_state_dict(tensors) puts them into layers of the same names. Freeze the layers that
    should not learn, and replace the last one.
export (see safetensors.save, npz.save, profile.trace)
    safetensors.save(file, model:state_dict()) is read by other programs; there is no export to
    ONNX. profile.folded, prof:trace and prof:table export profiles.
]==]
