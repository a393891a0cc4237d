--!plain
-- Help texts of ops that index, search, sort and count; their form: scripts/lua/help/topics.lua.
return [==[
gather (see take_along_dim, index_select, scatter, gather_nd)
    Takes one element for each index. Indices count from 1, or from the end with -1. An index out of
    range is an error. The CPU raises it at once, a GPU at the host's next wait, with the line that
    queued the op.
    shapes: index: as many dims as x, none but dim larger than x's; the result has index's
    > tensor({{1, 2}, {3, 4}}):gather(2, tensor{{2}, {1}})
    --> tensor({{2},
    -->         {3}}, i64 2x1 cpu)
scatter (see scatter_add, scatter_reduce, gather, index_put)
    The reverse of gather; scatter_ writes into x itself. If several writes go to one position, the
    last one wins on every device, and only that one has a gradient; PyTorch does not define which
    wins.
    options: reduce: 'add' or 'multiply' combines src with x, in order
    shapes: index: as many dims as x; src: at least index's size in each dim, or a number; the
        result has x's
    > zeros(2, 3):scatter(2, tensor{{3}, {1}}, 1)
    --> tensor({{0.0, 0.0, 1.0},
    -->         {1.0, 0.0, 0.0}}, f32 2x3 cpu)
scatter_add (see scatter, scatter_reduce, index_add, bincount)
    Positions that occur more than once get the sum. It is the same in every run, since the order of
    addition is fixed. scatter_add_ writes into x itself.
    shapes: index: as many dims as x; src: at least index's size in each dim; the result has x's
    > zeros(3):scatter_add(1, tensor{1, 1, 3}, tensor{1.0, 2.0, 3.0})
    --> tensor({3.0, 0.0, 3.0}, f32 3 cpu)
scatter_reduce (see scatter_add, scatter)
    Positions that index does not name keep x's values; scatter_reduce_ writes into x itself.
    options: include_self: false leaves out x's own element where index points
    shapes: index: as many dims as x; src: at least index's size in each dim; the result has x's
    > ones(3):scatter_reduce(1, tensor{1, 1, 3}, tensor{5.0, 2.0, -3.0}, "amax")
    --> tensor({5.0, 1.0, 1.0}, f32 3 cpu)
gather_nd (see scatter_nd, gather, take)
    The last dim of indices holds an index for each of the first dims of x; the other dims are
    copied whole. PyTorch has no such op; it is TensorFlow's gather_nd with indices from 1.
    options: batch_dims: number of leading dims that x and indices share
    shapes: x: n1 x n2 x …; indices: … x k; the result: … x (x's dims after the first k)
    > gather_nd(tensor{{1, 2}, {3, 4}}, tensor{{1, 2}, {2, 1}}) --> tensor({2, 3}, i64 2 cpu)
scatter_nd (see gather_nd, scatter, index_put)
    If several writes go to one position, the last one wins; scatter_nd_ writes into x itself.
    PyTorch has no such op; it is TensorFlow's tensor_scatter_nd_update with indices from 1.
    options: reduce: 'add' or 'multiply' combines updates with x
    shapes: indices: … x k; updates: … x (x's dims after the first k), or a number; the result has
        x's
    > scatter_nd(zeros(2, 2), tensor{{1, 2}, {2, 1}}, tensor{5.0, 6.0})
    --> tensor({{0.0, 5.0},
    -->         {6.0, 0.0}}, f32 2x2 cpu)
index_select (see gather, select, narrow, index_add)
    Copies whole slices in the order of index. An index may occur more than once, or count from the
    end with -1. x[index] does the same along the first dim.
    shapes: index: k; the result has x's dims but k along dim
    > tensor({{1, 2}, {3, 4}}):index_select(2, tensor{2, 1, 1})
    --> tensor({{2, 1, 1},
    -->         {4, 3, 3}}, i64 2x3 cpu)
index_add (see index_copy, index_select, scatter_add)
    Slices that occur more than once are added up in their order; index_add_ writes into x itself.
    shapes: index: k; source: x's dims but k along dim; the result has x's
    > zeros(3):index_add(1, tensor{1, 1, 3}, ones(3), {alpha = 0.5})
    --> tensor({1.0, 0.0, 0.5}, f32 3 cpu)
index_copy (see index_fill, index_add, index_select)
    If a slice occurs more than once, the last one wins; index_copy_ writes into x itself.
    shapes: index: k; source: x's dims but k along dim; the result has x's
    > zeros(2, 2):index_copy(1, tensor{2}, tensor{{3.0, 4.0}})
    --> tensor({{0.0, 0.0},
    -->         {3.0, 4.0}}, f32 2x2 cpu)
index_fill (see index_copy, masked_fill)
    value is a number or a 0-d tensor; index_fill_ writes into x itself.
    shapes: index: k; the result has x's
    > tensor({{1, 2}, {3, 4}}):index_fill(2, tensor{1}, 0)
    --> tensor({{0, 2},
    -->         {0, 4}}, i64 2x2 cpu)
index_put (see scatter, scatter_nd, index_add, masked_fill)
    indices is a list of integer tensors, one for each dim, whose elements together name the
    positions; x[{rows, columns}] = values is the same in place. Masks go to masked_fill, or x[mask]
    = values. If several writes go to one position, the last one wins.
    options: accumulate: adds instead; dims: which dims the indices are for, the first ones if not
        given
    shapes: indices: broadcast together; values: broadcast to their common shape, then x's other
        dims
    > zeros(2, 2):index_put({tensor{1, 2}, tensor{2, 1}}, tensor{5.0, 6.0})
    --> tensor({{0.0, 5.0},
    -->         {6.0, 0.0}}, f32 2x2 cpu)
take (see gather, take_along_dim, index_select)
    Elements are counted row by row, from 1, or from the end with -1.
    shapes: x and index: any; the result has index's
    > take(tensor{{5, 6}, {7, 8}}, tensor{4, 1}) --> tensor({8, 5}, i64 2 cpu)
take_along_dim (see gather, argsort, take)
    Reorders x by what argsort, argmax with keepdim or topk gave.
    shapes: indices: as many dims as x, dims but dim broadcast; the result has the common ones, and
        indices' along dim
    > local x = tensor{{3, 1}, {2, 4}} return x:take_along_dim(x:argsort(2), 2)
    --> tensor({{1, 3},
    -->         {2, 4}}, i64 2x2 cpu)
where (see masked_fill, clamp, nonzero)
    With three arguments it chooses on the device, so nothing waits; the condition is a bool tensor,
    a and b are tensors or numbers. where(cond) alone waits, since its shape depends on data.
    shapes: cond, a and b broadcast; the result has their common shape
    > local x = tensor{-1, 2} return where(x > 0, x, 0) --> tensor({0, 2}, i64 2 cpu)
masked_fill (see where, masked_scatter, index_fill)
    The mask is a bool tensor; the result has x's dtype. An integer tensor cannot take a value with
    a fraction, nor one that its dtype cannot hold, such as -1 in u8 (PyTorch wraps it). Nothing
    waits; masked_fill_ writes into x itself, as x[mask] = value does.
    shapes: x and mask broadcast (not in place: there x's stays); value: a number or a 0-d tensor;
        the result has the common shape
    > local x = tensor{1, -2, 3} return x:masked_fill(x < 0, 0) --> tensor({1, 0, 3}, i64 3 cpu)
masked_select (see nonzero, where, masked_scatter)
    The elements are in row-major order; x[mask] is the same where mask has x's shape, and takes
    whole rows where it has fewer dims. The host waits, since the shape depends on data: where keeps
    the shape and does not.
    shapes: x and mask broadcast; the result has one dim
    > tensor({{1, 2}, {3, 4}}):masked_select(tensor{true, false}) --> tensor({1, 3}, i64 2 cpu)
masked_scatter (see masked_select, masked_fill)
    Nothing waits; masked_scatter_ writes into x itself. It is an error if source has fewer elements
    than the mask has true ones; a GPU raises it at the host's next wait.
    shapes: x and mask broadcast (not in place: there x's stays); source: any, with enough elements;
        the result has the common shape
    > tensor({1, 2, 3}):masked_scatter(tensor{true, false, true}, tensor{7, 8})
    --> tensor({7, 2, 8}, i64 3 cpu)
nonzero (see where, masked_select, count_nonzero)
    Indices count from 1 and are in row-major order. The host waits, since the shape depends on
    data: where(cond, a, b) does not.
    shapes: x: any; the result: n x dims, or with as_tuple a list of a tensor of n for each dim
    > tensor({{0, 1}, {2, 0}}):nonzero()
    --> tensor({{1, 2},
    -->         {2, 1}}, i64 2x2 cpu)
sort (see argsort, msort, topk, unique)
    Returns two values: the elements, and the positions that they had, counted from 1. Equal
    elements keep their order whether stable asks for it or not.
    > local v, at = tensor({3, 1, 2}):sort() return at --> tensor({2, 3, 1}, i64 3 cpu)
msort (see sort, argsort)
    Returns the elements without their indices; each column of a matrix is sorted separately.
    > tensor({{3, 1}, {2, 4}}):msort()
    --> tensor({{2, 1},
    -->         {3, 4}}, i64 2x2 cpu)
argsort (see sort, take_along_dim)
    Indices count from 1; take_along_dim puts any tensor into that order. Equal elements keep their
    order, and NaN counts as the largest.
    > tensor({2, 3, 1, 3}):argsort({descending = true}) --> tensor({2, 4, 1, 3}, i64 4 cpu)
topk (see kthvalue, sort, max)
    Returns two values: the elements, and their positions, counted from 1. Equal elements keep their
    order.
    options: largest: false for the smallest; dim: the last if not given
    shapes: x: any; both have k along dim
    > (tensor({3, 1, 2}):topk(2)) --> tensor({3, 2}, i64 2 cpu)
kthvalue (see topk, median, quantile, sort)
    Returns two values: the element and its position. k counts from 1: 1 is the minimum.
    shapes: x: any; both have x's dims but dim, which keepdim keeps as 1
    > local v, at = tensor({30, 10, 20}):kthvalue(2) return stack{v, at}
    --> tensor({20,  3}, i64 2 cpu)
searchsorted (see bucketize, sort, histc)
    Finds by binary search where each value would be inserted, counted from 1. The sequence must be
    sorted, which is not checked.
    options: side: 'left' or 'right', the same as right
    shapes: sorted_sequence: one row for all, or a row for each of values' rows; the result has
        values'
    > searchsorted(tensor{1, 3, 5}, tensor{0, 3, 9}) --> tensor({1, 2, 4}, i64 3 cpu)
bucketize (see searchsorted, histc, bincount)
    searchsorted with its arguments exchanged. The boundaries must be sorted, which is not checked.
    options: right: a boundary belongs to the bucket above it; out_int32: i32 in place of i64
    shapes: x: any, or a number; boundaries: n; the result has x's
    > bucketize(tensor{0, 3, 9}, tensor{1, 3, 5}, {right = true}) --> tensor({1, 3, 4}, i64 3 cpu)
bincount (see histc, unique, one_hot, scatter_add)
    Element i of the result counts the value i; PyTorch counts from 0, gpush from 1. Values are
    integers. The host waits, since the size depends on data, even if minlength is given;
    zeros(n):scatter_add(1, x, weights) does not wait.
    shapes: x and weights: n; the result: max(x), at least minlength; i64; with weights f32 if they
        are, else f64
    > bincount(tensor{1, 3, 3}) --> tensor({1, 0, 2}, i64 3 cpu)
histc (see bincount, bucketize, hist)
    For floats; the counts have x's dtype. An interval includes its lower end, and the last one also
    its upper end. Elements outside min … max are left out. It does not wait.
    shapes: x: any; the result: bins
    > histc(tensor{0.5, 1.0, 2.0, 9.0}, 4, 0, 4) --> tensor({1.0, 1.0, 1.0, 0.0}, f32 4 cpu)
histogram (see hist, histc, bincount)
    NaN and elements outside the edges are left out. It does not wait.
    shapes: x: any; as many counts as steps, and one edge more
    > local counts, edges = histogram(tensor{1.0, 2.0, 4.0}, 3) return counts
    --> tensor({1.0, 1.0, 1.0}, f32 3 cpu)
one_hot (see embedding, scatter, bincount)
    The result is i64. Labels count from 1; PyTorch's count from 0. With num_classes nothing waits.
    shapes: x: any; the result: x's, then num_classes, or the largest label
    > tensor({1, 3}):one_hot(3)
    --> tensor({{1, 0, 0},
    -->         {0, 0, 1}}, i64 2x3 cpu)
unique (see unique_consecutive, bincount, sort)
    Up to three values: the elements, the position of each of x's elements among them (counted from
    1), the counts. The result is sorted even with sorted = false, and each NaN is a separate
    element. The host waits, since the shape depends on data.
    options: return_inverse: also return the positions; return_counts: also return the counts; dim:
        whole slices along it are compared
    shapes: x: any; the result: n, or x's dims but n along dim; the positions have x's shape, or
        dim's size
    > local v, n = tensor({3, 1, 1, 2}):unique({return_counts = true}) return n
    --> tensor({2, 1, 1}, i64 3 cpu)
unique_consecutive (see unique, diff)
    Up to three values, as unique gives them, but x is not sorted: an element that occurs again
    later is listed again. The host waits, since the shape depends on data.
    options: return_inverse: also return the positions; return_counts: also return the lengths of
        the runs; dim: whole slices along it are compared
    shapes: x: any; the result: n, or x's dims but n along dim
    > tensor({1, 1, 2, 2, 1}):unique_consecutive() --> tensor({1, 2, 1}, i64 3 cpu)
isin (see eq, where)
    shapes: elements: any; the result has the same; test_elements: any
    > isin(tensor{1, 2, 3}, tensor{2, 3}) --> tensor({false,  true,  true}, bool 3 cpu)
embedding_bag (see embedding, nn.EmbeddingBag)
    options: offsets: where each bag begins in the vector, from 1; mode: 'mean', 'sum' or 'max';
        per_sample_weights: factors of the rows, with 'sum'; padding_idx: index that is left out
    shapes: input: n x indices, or a vector of them with offsets, n; weight: rows x size; the
        result: n x size
    > embedding_bag(tensor({{1, 2}}), tensor({{1.0, 2.0}, {3.0, 4.0}}))
    --> tensor({{2.0, 3.0}}, f32 1x2 cpu)
]==]
