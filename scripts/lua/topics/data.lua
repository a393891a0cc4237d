--!plain
-- Help texts of data sets made of others; their form: init.lua.
return {
    ["data.Subset"] = { call = "data.Subset(dataset, indices)",
        text = "The samples of a data set with these indices, a list or a tensor of integers \z
            from 1. Of random ones, by weight: data.Subset(ds, multinomial(weights, n, true)).",
        example = "local ds = data.TensorDataset(tensor{10, 20, 30})\nreturn data.Subset(ds, {3, \z
            1})[1]\n--> tensor(30, i64 scalar cpu)",
        see = "data.random_split, data.ConcatDataset, multinomial" },
    ["data.ConcatDataset"] = { call = "data.ConcatDataset{a, b, …}",
        text = "Data sets one after the other.",
        example = "local ds = data.TensorDataset(tensor{10, 20})\nreturn #data.ConcatDataset{ds, \z
            ds}\n--> 4",
        see = "data.Subset, data.Dataset" },
    ["data.random_split"] = { call = "data.random_split(dataset, lengths [, {seed =}])",
        text = "Subsets of a data set at random, as many as there are lengths: numbers of \z
            samples, or shares that add up to 1. The order is that of manual_seed, or of a seed.",
        options = "lengths: numbers of samples that add up to all, or shares of 1; seed: the same \z
            parts each time, without touching the generator",
        example = "local train, test = data.random_split(data.TensorDataset(ones(10)), {0.8, \z
            0.2})\nreturn #train + #test\n--> 10",
        see = "data.Subset, randperm" },
}
