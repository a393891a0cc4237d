--!plain
-- Help texts of data sets and loaders; their form: scripts/lua/help/topics.lua.
return [==[
data (see nn, optim)
    Data sets, and loaders that make batches of them, optionally in threads.
data.raise | data.raise(text) (see data)
    An error at the line of the script that called, not inside the loader.
data.Dataset (see data.Loader)
    shapes: a sample: what get gives; a loader puts a dim in front
    > local ds = data.Dataset{size = 3, get = function(self, i) return tensor{i, i * i} end}
    > return ds[3]
    --> tensor({3, 9}, i64 2 cpu)
data.TensorDataset (see data.Loader)
    shapes: tensors: n x any; sample i: those without the first dim
    > local ds = data.TensorDataset(tensor({{1, 2}, {3, 4}}), tensor{5, 6})
    > local x, y = ds:get(2) return y
    --> tensor(6, i64 scalar cpu)
data.ImageFolder (see data.Loader, data.transforms)
    shapes: a sample: channels x height x width and a number, or what transform gives
    > local folder = os.tmpname() os.remove(folder)
    > os.execute("mkdir -p " .. folder .. "/cat")
    > image.save(folder .. "/cat/1.png", zeros(3, 4, 4))
    > return data.ImageFolder(folder).classes[1]
    --> cat
data.Loader (see data.Dataset, data.TensorDataset)
    shapes: a batch: batch x a sample's shape; the last one may be smaller
    waits: for a worker where none has a batch ready, which is no wait for a device
    > local ds = data.TensorDataset(arange(1, 5):reshape(5, 1))
    > local sizes = {}
    > for step, x in data.Loader({ds, batch = 2})() do sizes[step] = #x end
    > return table.concat(sizes, " ")
    --> 2 2 1
data.any.get (see data.Dataset)
    A sample as one or several values, by its index.
data.any.report (see data.Loader)
    Whether the step or the loader waits, and how many workers would be enough.
data.transforms (see data.ImageFolder)
    Functions of an image, channels x height x width, to be composed: data.transforms.Compose {…}.
    shapes: x: channels x height x width, with any leading dims
    > local crop = data.transforms.CenterCrop(2)
    > return table.concat(crop(zeros(3, 4, 4)).shape, "x")
    --> 3x2x2
data.transforms.RandomHorizontalFlip | data.transforms.RandomHorizontalFlip([p=0.5])
    Exchanges left and right with probability p.
data.transforms.RandomVerticalFlip | data.transforms.RandomVerticalFlip([p=0.5])
    Exchanges top and bottom with probability p.
data.Subset | data.Subset(dataset, indices) (see data.random_split, data.ConcatDataset, multinomial)
    The samples of a data set with these indices, a list or a tensor of integers from 1. Of random
    ones, by weight: data.Subset(ds, multinomial(weights, n, true)).
    waits: for indices on a device
    > local ds = data.TensorDataset(tensor{10, 20, 30})
    > return data.Subset(ds, {3, 1})[1]
    --> tensor(30, i64 scalar cpu)
data.ConcatDataset | data.ConcatDataset{a, b, …} (see data.Subset, data.Dataset)
    Concatenates data sets.
    > local ds = data.TensorDataset(tensor{10, 20})
    > return #data.ConcatDataset{ds, ds}
    --> 4
data.random_split | data.random_split(dataset, lengths [, {seed =}]) (see data.Subset, randperm)
    Random subsets of a data set, one for each length. Lengths are numbers of samples, or shares
    that add up to 1. The order follows manual_seed, or seed.
    options: lengths: numbers of samples that add up to all, or shares of 1; seed: the same parts
        each time, without touching the generator
    > local train, test = data.random_split(data.TensorDataset(ones(10)), {0.8, 0.2})
    > return #train + #test
    --> 10
]==]
