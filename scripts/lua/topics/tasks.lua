--!plain
-- Help texts of tasks that have no function of their own name: what to write for them. Their form:
-- init.lua; the words by which people ask are in ../help/asked.lua.
return {
    accuracy = {
        text = "The share of rows whose largest score stands at the label. Labels count from 1, \z
            as argmax does: y + 1 where yours count from 0, else none or few are equal and no \z
            error tells. Add the sums up on the device, and read them once an epoch.",
        example = "(tensor{{1., 3.}, {2., 0.}}:argmax(2) == tensor{2, 2}):float():mean()\n\z
            --> tensor(0.5, f32 scalar cpu)",
        see = "argmax, cross_entropy" },
    debugging = {
        text = "print(x) shows a tensor, x.shape, x.dtype and x.device what it is; errors name \z
            the op, its argument and the line. A NaN: nan.watch() names the op that made it. \z
            Other results on a GPU: diverge. A loss that does not fall: help \"training fails\". \z
            assert(x.shape[2] == 4) in forward finds a wrong layer.",
        see = "nan.watch, autograd.detect_anomaly, diverge, training fails, nn.summary" },
    ["train a model"] = {
        text = "Forward, loss, backward, step, for each batch. model:to \"gpu\" before the \z
            optimizer is made, model:train() before the loop, model:eval() after it. gpush lab \z
            digits is a whole program.",
        example = [[
local model = nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 1))
local opt = optim.Adam(model, {lr = 0.01})
local set = data.TensorDataset(rand(64, 2), ones(64, 1))
for epoch = 1, 2 do
    for _, x, y in data.Loader{set, batch = 16, shuffle = true}() do
        local loss = mse_loss(model(x), y)
        opt:zero_grad()
        loss:backward()
        opt:step()
    end
end
return model(ones(3, 2)).shape[1]
--> 3]],
        see = "data.Loader, optim, evaluate, checkpoint, training fails" },
    ["image classification"] = {
        text = "data.ImageFolder reads a folder of images for each class; convolutions, then a \z
            linear layer with an output for each class, and cross_entropy. gpush lab digits is a \z
            whole program.",
        example = "local model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), \z
            nn.Flatten(),\n    nn.Linear(4 * 3 * 3, 10))\nreturn \z
            cross_entropy(model(rand(2, 1, 8, 8)), tensor{1, 10}).ndim\n--> 0",
        see = "data.ImageFolder, data.transforms, nn.Conv2d, train a model, accuracy" },
    ["text classification"] = {
        text = "A text is a tensor of word numbers, from 1: a table gives each word its number, \z
            nn.utils.rnn.pad_sequence makes texts equally long (its padding_value is a number of \z
            its own). nn.Embedding turns numbers into \z
            vectors, their mean or an nn.LSTM joins them, nn.Linear gives a score for each class.",
        example = [[
local number = {good = 1, bad = 2, film = 3}
local words = {}
for word in ("good film"):gmatch "%S+" do
    words[#words + 1] = number[word]
end
local embed, score = nn.Embedding(3, 8), nn.Linear(8, 2)
local x = embed(tensor{words}):mean(2)
return cross_entropy(score(x), tensor{1}).ndim
--> 0]],
        see = "nn.Embedding, nn.LSTM, cross_entropy, train a model" },
    ["freeze layers"] = {
        text = "model:requires_grad_(false) freezes a model or one of its layers: backward \z
            computes no gradients for it. Give the optimizer the parameters that are left.",
        example = "local body = nn.Linear(2, 3):requires_grad_(false)\nreturn \z
            body.weight.requires_grad\n--> false",
        see = "no_grad, checkpoint.load, optim" },
    ["early stopping"] = {
        text = "Keep the lowest loss of data that is not learnt from; save the model where it \z
            falls, and leave the loop where it has not fallen for some epochs.",
        example = [[
local best, since = math.huge, 0
for epoch, loss in ipairs{3, 2, 2.5, 2.6, 9} do
    if loss < best then best, since = loss, 0 -- checkpoint.save(…) here
    else since = since + 1 end
    if since == 2 then return epoch end
end
--> 4]],
        see = "checkpoint.save, data.random_split, optim.lr.ReduceLROnPlateau" },
    overfitting = {
        text = "The loss of learning falls while that of data kept back rises. What helps: more \z
            data or data.transforms, nn.Dropout, weight_decay of the optimizer, a smaller \z
            model, early stopping. data.random_split keeps data back; gpush lab digits shows \z
            both losses.",
        see = "early stopping, nn.Dropout, data.transforms, data.random_split" },
    ["gradient accumulation"] = {
        text = "Gradients add up until zero_grad: call backward for several batches, each loss \z
            divided by their number, and then the optimizer's step and zero_grad once.",
        example = "local w = ones(1):requires_grad_()\nfor _ = 1, 4 do (w:sum() / 4):backward() \z
            end\nreturn w.grad:item()\n--> 1.0",
        see = "backward, optim, data.Loader" },
    ["gpu utilisation"] = {
        text = "A device that idles waits for the host: for waits (gpush sync script.lua), for a \z
            loader (more workers), or for launches (larger batches, capture, fuse). gpush profile \z
            script.lua says which dominated, and what each is worth.",
        see = "gpush profile, gpush sync, data.Loader, capture" },
    ["data loader speed"] = {
        text = "loader:report() says whether the step or the loader waits, and how many workers \z
            would do. What helps: workers = 2 or more, larger batches, cheaper work in get, \z
            or part of it on the device.",
        see = "data.Loader, gpush profile, pin_memory" },
    ["training fails"] = {
        text = "A loss that does not fall: too high or low a learning rate (try a tenth and ten \z
            times), zero_grad missing, labels that count from 0, softmax before cross_entropy \z
            (which has its own), inputs far from mean 0 and deviation 1. First learn one batch by \z
            heart: a model that cannot has a mistake.",
        see = "optim.lr, accuracy, cross_entropy, optim.clip_grad_norm_, detect_anomaly" },
    evaluate = {
        text = "model:eval() switches dropout off and batch_norm to its running figures, no_grad \z
            records nothing for backward; model:train() goes back.",
        example = "local model = nn.Sequential(nn.Linear(2, 1), nn.Dropout(0.5)):eval()\nreturn \z
            no_grad(function() return model(ones(3, 2)) end).requires_grad\n--> false",
        see = "no_grad, accuracy, nn" },
    ["custom loss"] = {
        text = "A loss is a function of tensors that returns a 0-d one: backward goes through any \z
            ops. Class weights are cross_entropy's weight.",
        example = "local function loss(x, y) return ((x - y):abs() + 1):log():mean() end\nreturn \z
            loss(ones(2), ones(2)):item()\n--> 0.0",
        see = "mse_loss, cross_entropy, backward" },
    ["batch size"] = {
        text = "data.Loader{set, batch = 64}. Larger ones keep a device busier; gpush fit \z
            script.lua says whether they fit in a card's memory, prof:whatif{batch = {64, 128}} \z
            what a run would take.",
        see = "data.Loader, gpush fit, profile.whatif, gradient accumulation" },
    ["split data"] = {
        text = "data.random_split(set, {0.8, 0.2}) gives the parts, for training and testing, one \z
            by one.",
        see = "data.random_split, data.Subset" },
    ["pretrained model"] = {
        text = "safetensors.load(file) gives the tensors of a file by name, as others save them; \z
            model:load_state_dict(tensors) puts them into layers of the same names. Freeze what \z
            is not to learn, and put a new last layer.",
        see = "safetensors, checkpoint.load, freeze layers" },
    ["export"] = {
        text = "safetensors.save(file, model:state_dict()) is read by other programs; there is no \z
            export to ONNX. profile.folded, prof:trace and prof:table export profiles.",
        see = "safetensors.save, npz.save, profile.trace" },
}
