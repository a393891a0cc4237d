--!plain
-- Help texts of ops that index, search, sort and count; their form: init.lua.
return {
    -- Elements at indices.
    gather = {
        text = "An element for each index, which counts from 1, or from the end with -1. An index \z
            out of range is an error: at once on the CPU, on a GPU where the host next waits, \z
            with the line that queued it.",
        shapes = "index: as many dims as x, none but dim larger than x's; the result has index's",
        example = "tensor({{1, 2}, {3, 4}}):gather(2, tensor{{2}, {1}})\n--> \z
            tensor({{2},\n-->         {3}}, i64 2x1 cpu)",
        see = "take_along_dim, index_select, scatter, gather_nd" },
    scatter = {
        text = "What gather reads, written; scatter_ writes into x itself. Of several writes to \z
            one place the last stays, on every device, and alone has a gradient: PyTorch leaves \z
            that open.",
        options = "reduce: 'add' or 'multiply' joins src with what x has, in order",
        shapes = "index: as many dims as x; src: at least index's size in each dim, or a number; \z
            the result has x's",
        example = "zeros(2, 3):scatter(2, tensor{{3}, {1}}, 1)\n--> tensor({{0.0, 0.0, \z
            1.0},\n-->         {1.0, 0.0, 0.0}}, f32 2x3 cpu)",
        see = "scatter_add, scatter_reduce, gather, index_put" },
    scatter_add = {
        text = "Places that occur more than once get the sum, the same in every run, since the \z
            order of addition does not change; scatter_add_ writes into x itself.",
        shapes = "index: as many dims as x; src: at least index's size in each dim; the result \z
            has x's",
        example = "zeros(3):scatter_add(1, tensor{1, 1, 3}, tensor{1.0, 2.0, 3.0})\n--> \z
            tensor({3.0, 0.0, 3.0}, f32 3 cpu)",
        see = "scatter, scatter_reduce, index_add, bincount" },
    scatter_reduce = {
        text = "Places where index does not point keep what x has; scatter_reduce_ writes into x \z
            itself.",
        options = "include_self: false leaves out x's own element where index points",
        shapes = "index: as many dims as x; src: at least index's size in each dim; the result \z
            has x's",
        example = "ones(3):scatter_reduce(1, tensor{1, 1, 3}, tensor{5.0, 2.0, -3.0}, \z
            \"amax\")\n--> tensor({5.0, 1.0, 1.0}, f32 3 cpu)",
        see = "scatter_add, scatter" },
    gather_nd = {
        text = "The last dim of indices holds as many indices as it has places, for the first \z
            dims of x; what they leave of x's dims comes whole. PyTorch has no such op: \z
            TensorFlow's, counted from 1.",
        options = "batch_dims: so many first dims are the same in x and indices, and are walked \z
            together",
        shapes = "x: n1 x n2 x …; indices: … x k; the result: … x (x's dims after the first k)",
        example = "gather_nd(tensor{{1, 2}, {3, 4}}, tensor{{1, 2}, {2, 1}})\n--> tensor({2, 3}, \z
            i64 2 cpu)",
        see = "scatter_nd, gather, take" },
    scatter_nd = {
        text = "Of several writes to one place the last stays; scatter_nd_ writes into x itself. \z
            PyTorch has no such op: TensorFlow's tensor_scatter_nd_update, counted from 1.",
        options = "reduce: 'add' or 'multiply' joins updates with what x has",
        shapes = "indices: … x k; updates: … x (x's dims after the first k), or a number; the \z
            result has x's",
        example = "scatter_nd(zeros(2, 2), tensor{{1, 2}, {2, 1}}, tensor{5.0, 6.0})\n--> \z
            tensor({{0.0, 5.0},\n-->         {6.0, 0.0}}, f32 2x2 cpu)",
        see = "gather_nd, scatter, index_put" },
    index_select = {
        text = "Whole slices, in the order of index, which may name one more than once, or count \z
            from the end with -1; a copy. x[index] does the same along the first dim.",
        shapes = "index: k; the result has x's dims but k along dim",
        example = "tensor({{1, 2}, {3, 4}}):index_select(2, tensor{2, 1, 1})\n--> tensor({{2, 1, \z
            1},\n-->         {4, 3, 3}}, i64 2x3 cpu)",
        see = "gather, select, narrow, index_add" },
    index_add = {
        text = "Slices that occur more than once are added up in their order; index_add_ writes \z
            into x itself.",
        shapes = "index: k; source: x's dims but k along dim; the result has x's",
        example = "zeros(3):index_add(1, tensor{1, 1, 3}, ones(3), {alpha = 0.5})\n--> \z
            tensor({1.0, 0.0, 0.5}, f32 3 cpu)",
        see = "index_copy, index_select, scatter_add" },
    index_copy = {
        text = "Of slices that occur more than once the last stays; index_copy_ writes into x \z
            itself.",
        shapes = "index: k; source: x's dims but k along dim; the result has x's",
        example = "zeros(2, 2):index_copy(1, tensor{2}, tensor{{3.0, 4.0}})\n--> tensor({{0.0, \z
            0.0},\n-->         {3.0, 4.0}}, f32 2x2 cpu)",
        see = "index_fill, index_add, index_select" },
    index_fill = {
        text = "value is a number or a 0-d tensor; index_fill_ writes into x itself.",
        shapes = "index: k; the result has x's",
        example = "tensor({{1, 2}, {3, 4}}):index_fill(2, tensor{1}, 0)\n--> tensor({{0, \z
            2},\n-->         {0, 4}}, i64 2x2 cpu)",
        see = "index_copy, masked_fill" },
    index_put = {
        text = "indices is a list of integer tensors, one for each dim, whose elements together \z
            name the places; x[{rows, columns}] = values is the same in place. Masks go to \z
            masked_fill, or x[mask] = values. Of several writes to one place the last stays.",
        options = "accumulate: adds instead; dims: which dims the indices are for, the first ones \z
            if not given",
        shapes = "indices: broadcast together; values: broadcast to their common shape, then x's \z
            other dims",
        example = "zeros(2, 2):index_put({tensor{1, 2}, tensor{2, 1}}, tensor{5.0, 6.0})\n--> \z
            tensor({{0.0, 5.0},\n-->         {6.0, 0.0}}, f32 2x2 cpu)",
        see = "scatter, scatter_nd, index_add, masked_fill" },
    take = {
        text = "Elements are counted row by row, from 1, or from the end with -1.",
        shapes = "x and index: any; the result has index's",
        example = "take(tensor{{5, 6}, {7, 8}}, tensor{4, 1})\n--> tensor({8, 5}, i64 2 cpu)",
        see = "gather, take_along_dim, index_select" },
    take_along_dim = {
        text = "Reorders x by what argsort, argmax with keepdim or topk gave.",
        shapes = "indices: as many dims as x, dims but dim broadcast; the result has the common \z
            ones, and indices' along dim",
        example = "local x = tensor{{3, 1}, {2, 4}} return x:take_along_dim(x:argsort(2), 2)\n--> \z
            tensor({{1, 3},\n-->         {2, 4}}, i64 2x2 cpu)",
        see = "gather, argsort, take" },

    -- Masks.
    where = {
        text = "With three arguments it chooses on the device, so nothing waits; the condition is \z
            a bool tensor, a and b are tensors or numbers. where(cond) alone waits, since its \z
            shape depends on data.",
        shapes = "cond, a and b broadcast; the result has their common shape",
        example = "local x = tensor{-1, 2} return where(x > 0, x, 0)\n--> tensor({0, 2}, i64 2 \z
            cpu)",
        see = "masked_fill, clamp, nonzero" },
    masked_fill = {
        text = "The mask is a bool tensor, the result has x's dtype: a value with a fraction does \z
            not go into integers, nor one that they cannot hold, as -1 into u8 (PyTorch wraps \z
            it). Nothing waits; masked_fill_ writes into x itself, as x[mask] = value does.",
        shapes = "x and mask broadcast (not in place: there x's stays); value: a number or a 0-d \z
            tensor; the result has the common shape",
        example = "local x = tensor{1, -2, 3} return x:masked_fill(x < 0, 0)\n--> tensor({1, 0, \z
            3}, i64 3 cpu)",
        see = "where, masked_scatter, index_fill" },
    masked_select = {
        text = "In the order of the rows; x[mask] is the same. The host waits, since the shape \z
            depends on data: where keeps the shape and does not.",
        shapes = "x and mask broadcast; the result has one dim",
        example = "tensor({{1, 2}, {3, 4}}):masked_select(tensor{true, false})\n--> tensor({1, \z
            3}, i64 2 cpu)",
        see = "nonzero, where, masked_scatter" },
    masked_scatter = {
        text = "Nothing waits; masked_scatter_ writes into x itself. Fewer elements of source \z
            than true ones are an error, which comes from a GPU where the host next waits.",
        shapes = "x and mask broadcast (not in place: there x's stays); source: any, with enough \z
            elements; the result has the common shape",
        example = "tensor({1, 2, 3}):masked_scatter(tensor{true, false, true}, tensor{7, 8})\n--> \z
            tensor({7, 2, 8}, i64 3 cpu)",
        see = "masked_select, masked_fill" },
    nonzero = {
        text = "In the order of the rows, counted from 1. The host waits, since the shape depends \z
            on data: where(cond, a, b) does not.",
        shapes = "x: any; the result: n x dims, or with as_tuple a list of a tensor of n for each \z
            dim",
        example = "tensor({{0, 1}, {2, 0}}):nonzero()\n--> tensor({{1, 2},\n-->         {2, 1}}, \z
            i64 2x2 cpu)",
        see = "where, masked_select, count_nonzero" },

    -- Order.
    sort = {
        text = "Two values: the elements and where they were, counted from 1. Equal elements keep \z
            their order whether stable asks for it or not.",
        shapes = "x: any; both have the same",
        example = "local v, at = tensor({3, 1, 2}):sort() return at\n--> tensor({2, 3, 1}, i64 3 \z
            cpu)",
        see = "argsort, msort, topk, unique" },
    msort = {
        text = "The elements alone, without their indices; each column of a matrix for itself.",
        shapes = "x: any; the result has the same",
        example = "tensor({{3, 1}, {2, 4}}):msort()\n--> tensor({{2, 1},\n-->         {3, 4}}, \z
            i64 2x2 cpu)",
        see = "sort, argsort" },
    argsort = {
        text = "Counted from 1; take_along_dim puts any tensor into the order. Equal elements \z
            keep theirs, NaN counts as the largest.",
        shapes = "x: any; the result has the same, of i64",
        example = "tensor({2, 3, 1, 3}):argsort({descending = true})\n--> tensor({2, 4, 1, 3}, \z
            i64 4 cpu)",
        see = "sort, take_along_dim" },
    topk = {
        text = "Two values: the elements and where they are, counted from 1. Of equal elements \z
            the first ones come first.",
        options = "largest: false for the smallest; dim: the last if not given",
        shapes = "x: any; both have k along dim",
        example = "(tensor({3, 1, 2}):topk(2))\n--> tensor({3, 2}, i64 2 cpu)",
        see = "kthvalue, sort, max" },
    kthvalue = {
        text = "Two values: the element and where it is. k counts from 1: 1 is the minimum.",
        shapes = "x: any; both have x's dims but dim, which keepdim keeps as 1",
        example = "local v, at = tensor({30, 10, 20}):kthvalue(2) return stack{v, at}\n--> \z
            tensor({20,  3}, i64 2 cpu)",
        see = "topk, median, quantile, sort" },

    -- Search.
    searchsorted = {
        text = "Where each value would be put in, counted from 1, found by halving; the sequence \z
            must be sorted, which is not checked.",
        options = "right: after equal elements, not before them; side: 'left' or 'right', the \z
            same in a word; sorter: what argsort gave for a sequence that is not sorted; \z
            out_int32: i32 in place of i64",
        shapes = "sorted_sequence: one row for all, or a row for each of values' rows; the result \z
            has values'",
        example = "searchsorted(tensor{1, 3, 5}, tensor{0, 3, 9})\n--> tensor({1, 2, 4}, i64 3 \z
            cpu)",
        see = "bucketize, sort, histc" },
    bucketize = {
        text = "searchsorted with the arguments the other way round. The boundaries must be \z
            sorted, which is not checked.",
        options = "right: a boundary belongs to the bucket above it; out_int32: i32 in place of \z
            i64",
        shapes = "x: any, or a number; boundaries: n; the result has x's",
        example = "bucketize(tensor{0, 3, 9}, tensor{1, 3, 5}, {right = true})\n--> tensor({1, 3, \z
            4}, i64 3 cpu)",
        see = "searchsorted, histc, bincount" },

    -- Counts.
    bincount = {
        text = "Element i of the result tells about the value i: PyTorch begins with 0, gpush \z
            with 1. Values are integers. The host waits, since the size depends on data, also \z
            where minlength is given; zeros(n):scatter_add(1, x, weights) does not wait.",
        shapes = "x and weights: n; the result: max(x), at least minlength; i64; with weights f32 \z
            if they are, else f64",
        example = "bincount(tensor{1, 3, 3})\n--> tensor({1, 0, 2}, i64 3 cpu)",
        see = "histc, unique, one_hot, scatter_add" },
    histc = {
        text = "For floats; the counts have x's dtype. A part holds its lower end, the last one \z
            its upper end too; elements outside of min … max are left out. It does not wait.",
        shapes = "x: any; the result: bins",
        example = "histc(tensor{0.5, 1.0, 2.0, 9.0}, 4, 0, 4)\n--> tensor({1.0, 1.0, 1.0, 0.0}, \z
            f32 4 cpu)",
        see = "bincount, bucketize, hist" },
    one_hot = {
        text = "The result is i64. Labels count from 1, as everywhere in gpush: PyTorch's from 0. \z
            With num_classes nothing waits.",
        shapes = "x: any; the result: x's, then num_classes, or the largest label",
        example = "tensor({1, 3}):one_hot(3)\n--> tensor({{1, 0, 0},\n-->         {0, 0, 1}}, i64 \z
            2x3 cpu)",
        see = "embedding, scatter, bincount" },
    unique = {
        text = "Up to three values: the elements, the places of x's elements among them (counted \z
            from 1), the counts. The result is sorted also with sorted = false; every NaN is an \z
            element of its own. The host waits, since the shape depends on data.",
        options = "return_inverse: the places too; return_counts: the counts too; dim: whole \z
            slices along it are compared",
        shapes = "x: any; the result: n, or x's dims but n along dim; the places have x's, or \z
            dim's size",
        example = "local v, n = tensor({3, 1, 1, 2}):unique({return_counts = true}) return n\n--> \z
            tensor({2, 1, 1}, i64 3 cpu)",
        see = "unique_consecutive, bincount, sort" },
    unique_consecutive = {
        text = "Up to three values, as unique gives them, but x is not sorted: an element that \z
            comes again later is there again. The host waits, since the shape depends on data.",
        options = "return_inverse: the places too; return_counts: the lengths of the runs too; \z
            dim: whole slices along it are compared",
        shapes = "x: any; the result: n, or x's dims but n along dim",
        example = "tensor({1, 1, 2, 2, 1}):unique_consecutive()\n--> tensor({1, 2, 1}, i64 3 cpu)",
        see = "unique, diff" },
}
