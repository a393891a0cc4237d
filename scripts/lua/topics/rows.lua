--!plain
-- Help texts of rows that other ops queue, and users seldom; their form: init.lua.
return {
    adagrad_step = {
        shapes = "lists of tensors; those at the same place have the same shape",
        example = "local p = tensor{1.0}\nadagrad_step({p}, {tensor{2.0}}, {zeros(1)}, {lr = \z
            0.5})\nreturn p\n--> tensor({0.5}, f32 1 cpu)" },
    adam_step = {
        shapes = "lists of tensors; those at the same place have the same shape",
        example = "local p = tensor{1.0}\nadam_step({p}, {tensor{2.0}}, {zeros(1)}, {zeros(1)}, \z
            {lr = 0.5, eps = 0})\nreturn p\n--> tensor({0.5}, f32 1 cpu)" },
    argsort_rows = {
        shapes = "x: rows x columns; the result: rows",
        example = "argsort_rows(tensor{{2, 1}, {1, 5}, {1, 3}})\n--> tensor({3, 2, 1}, i64 3 \z
            cpu)" },
    attention = {
        shapes = "query: b x h x l x e; key: b x h x s x e; value: b x h x s x v; the result: b \z
            x h x l x v",
        example = "local q, v = zeros(1, 1, 2, 1), tensor({1.0, 3.0}):reshape(1, 1, 2, \z
            1)\nreturn attention(q, q, v):flatten()\n--> tensor({2.0, 2.0}, f32 2 cpu)" },
    attention_forward = {
        shapes = "query: b x h x l x e; key: b x h x s x e; value: b x h x s x v; the result: b \z
            x h x l x v",
        example = "local q, v = zeros(1, 1, 2, 1), tensor({1.0, 3.0}):reshape(1, 1, 2, \z
            1)\nlocal y, sums = attention_forward(q, q, v) return sums:exp():flatten()\n--> \z
            tensor({2.0, 2.0}, f32 2 cpu)" },
    clamp_between = {
        shapes = "operands broadcast; the result has their common shape",
        example = "clamp_between(tensor{1.0, 2.5, 5.0}, 2, 3)\n--> tensor({2.0, 2.5, 3.0}, f32 \z
            3 cpu)" },
    clip_grad_norm = {
        shapes = "a list of tensors, each of any shape",
        example = "local g = tensor{3.0, 4.0}\nreturn clip_grad_norm({g}, 1)\n--> tensor(5.0, \z
            f32 scalar cpu)" },
    clip_grad_value = {
        shapes = "a list of tensors, each of any shape",
        example = "local g = tensor{3.0, -4.0}\nclip_grad_value({g}, 1) return g\n--> tensor({ \z
            1.0, -1.0}, f32 2 cpu)" },
    count_labels = {
        shapes = "x: n; the results: 4096, and of no dim",
        example = "local n = count_labels(tensor{3, 1, 1}) return n:narrow(1, 1, 3)\n--> \z
            tensor({2, 0, 1}, i64 3 cpu)" },
    distinct = {
        shapes = "x: … ; the result: as many as there are distinct elements",
        example = "local v, n = distinct(tensor{3, 1, 1}) return n\n--> tensor(2, i64 scalar \z
            cpu)" },
    gru_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs",
        example = "local y = gru_forward(zeros(2, 1), tensor({{4.0}}), {zeros(3, 1), zeros(3, \z
            1)}, {has_biases = false})\nreturn y:flatten()\n--> tensor({2.0, 1.0}, f32 2 cpu)" },
    index = {
        shapes = "x: any; the result has the shape of the parts chosen",
        example = "tensor({5, 6, 7}):index({tensor{3, 1}})\n--> tensor({7, 5}, i64 2 cpu)" },
    lstm_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs",
        example = "local w = {zeros(4, 1), zeros(4, 1)}\nlocal _, h, c = lstm_forward(zeros(2, \z
            1), {zeros(1, 1), tensor({{4.0}})}, w, {has_biases = false})\nreturn c\n--> \z
            tensor({{1.0}}, f32 1x1 cpu)" },
    masked_put = {
        shapes = "x: any; mask: broadcasts to it; values: as many as mask selects",
        example = "masked_put(tensor{1, 2, 3}, tensor{true, false, true}, tensor{7, 8})\n--> \z
            tensor({7, 2, 8}, i64 3 cpu)" },
    rmsprop_step = {
        shapes = "lists of tensors; those at the same place have the same shape",
        example = "local p = tensor{1.0}\nrmsprop_step({p}, {tensor{2.0}}, {zeros(1)}, {lr = \z
            0.25, alpha = 0, eps = 0})\nreturn p\n--> tensor({0.75}, f32 1 cpu)" },
    rnn_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs",
        example = "local w = {ones(1, 1), ones(1, 1)}\nlocal y = rnn_forward(tensor({{1.0}, \z
            {2.0}}), nil, w, {has_biases = false, nonlinearity = \"relu\"})\nreturn \z
            y:flatten()\n--> tensor({1.0, 3.0}, f32 2 cpu)" },
    sgd_step = {
        shapes = "lists of tensors; those at the same place have the same shape",
        example = "local p = tensor{1.0}\nsgd_step({p}, {tensor{2.0}}, nil, {lr = \z
            0.25})\nreturn p\n--> tensor({0.5}, f32 1 cpu)" },
}
