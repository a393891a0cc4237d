--!plain
-- Help texts of rows that other ops queue, and users seldom; their form: ../topics.lua.
return {
    adagrad_step = {
        shapes = "lists of tensors; those at the same place have the same shape" },
    adam_step = {
        shapes = "lists of tensors; those at the same place have the same shape" },
    argsort_rows = {
        shapes = "x: … x n; the result has the same" },
    attention = {
        shapes = "query: b x h x l x e; key: b x h x s x e; value: b x h x s x v; the result: b \z
            x h x l x v" },
    attention_forward = {
        shapes = "query: b x h x l x e; key: b x h x s x e; value: b x h x s x v; the result: b \z
            x h x l x v" },
    clip_grad_norm = {
        shapes = "a list of tensors, each of any shape" },
    clip_grad_value = {
        shapes = "a list of tensors, each of any shape" },
    distinct = {
        shapes = "x: … ; the result: as many as there are distinct elements" },
    gru_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs" },
    index = {
        shapes = "x: any; the result has the shape of the parts chosen" },
    lstm_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs" },
    masked_put = {
        shapes = "x: any; mask: broadcasts to it; values: as many as mask selects" },
    rmsprop_step = {
        shapes = "lists of tensors; those at the same place have the same shape" },
    rnn_forward = {
        shapes = "as gru's, lstm's and rnn's, and what backward needs" },
    sgd_step = {
        shapes = "lists of tensors; those at the same place have the same shape" },
}
