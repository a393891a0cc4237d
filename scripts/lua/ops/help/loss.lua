--!plain
-- Help texts of losses, similarities and distances; their form: scripts/lua/help/topics.lua.
return [==[
cdist (see pairwise_distance, linalg.vector_norm)
    The differences of all pairs are made first: the memory grows with n * m * k.
    shapes: x1: … x n x k; x2: … x m x k; the result: … x n x m
    > cdist(tensor{{0.0, 0.0}}, tensor{{3.0, 4.0}, {0.0, 1.0}})
    --> tensor({{5.0, 1.0}}, f32 1x2 cpu)
normalize (see norm, cosine_similarity, layer_norm)
    dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need {dim = 1}.
    options: p: of the norm, math.huge too; dim: along which norms are taken; eps: the least that is
        divided by
    > normalize(tensor{1.0, 3.0}, {p = 1, dim = 1}) --> tensor({0.25, 0.75}, f32 2 cpu)
cross_entropy (see log_softmax, nll_loss, binary_cross_entropy_with_logits, nn.CrossEntropyLoss)
    Takes scores that softmax has not seen, and classes counted from 1 or, of a float dtype,
    probabilities. The mean is over the weights of the labels that are not ignored; of
    probabilities, over their number. A label that is no class is an error; on a GPU it comes when
    the host next waits.
    options: weight: of each class, in one dim; ignore_index: a label that takes no part, not with
        probabilities; reduction: 'mean', 'sum', or 'none' for each loss; label_smoothing: share of
        each target, 0 to 1, that all classes get alike
    shapes: x: batch x classes x …, or classes; target: batch x …, or x's for probabilities; the
        result is 0-d unless reduction = 'none'
    > cross_entropy(tensor({{0.0, 100.0}, {0.0, 100.0}}), tensor{1, 2})
    --> tensor(50.0, f32 scalar cpu)
nll_loss (see cross_entropy, log_softmax, nn.NLLLoss)
    cross_entropy of what log_softmax gives. Classes count from 1. The mean is the sum over the
    weights of the labels that are not ignored: NaN where all are. A label that is no class is an
    error; on a GPU it comes when the host next waits.
    options: weight: of each class, in one dim; ignore_index: a label that takes no part; reduction:
        'mean', 'sum', or 'none' for each loss
    shapes: x: batch x classes x …, or classes; target: batch x …, integers; weight: classes; the
        result is 0-d unless reduction = 'none'
    > nll_loss(tensor({{-1.0, -2.0}, {-3.0, -4.0}}), tensor{1, 2}, tensor{1.0, 3.0})
    --> tensor(3.25, f32 scalar cpu)
binary_cross_entropy (see binary_cross_entropy_with_logits, bce, nn.BCELoss)
    x are probabilities, 0 to 1 (others are an error): with sigmoid before it
    binary_cross_entropy_with_logits is exact and faster. Since logarithms end at -100, so do losses
    at 100.
    options: weight: that losses are multiplied by, broadcast; reduction: 'mean', 'sum', or 'none'
        for each loss
    shapes: x, target: one shape; the result is 0-d, with reduction = 'none' in that shape
    > binary_cross_entropy(tensor{0.0, 0.5}, ones(2), {reduction = "none"})
    --> tensor({100.0000,   0.6931}, f32 2 cpu)
binary_cross_entropy_with_logits (see binary_cross_entropy, cross_entropy, nn.BCEWithLogitsLoss)
    x are scores that sigmoid has not seen. The mean is over all elements, whatever their weights.
    options: weight: that losses are multiplied by, broadcast; reduction: 'mean', 'sum', or 'none'
        for each loss; pos_weight: how often the part of target 1 counts, of each class or broadcast
    shapes: x, target: one shape; the result is 0-d, with reduction = 'none' in that shape
    > binary_cross_entropy_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0},
    >     {pos_weight = tensor{3.0, 3.0}, reduction = "none"})
    --> tensor({300.0, 100.0}, f32 2 cpu)
bce_with_logits (see binary_cross_entropy_with_logits, bce)
    The losses of binary_cross_entropy_with_logits one by one: a are scores, b targets, c counts
    where b is 1. Floats only.
    > bce_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, 3)
    --> tensor({300.0, 100.0}, f32 2 cpu)
kl_div (see kl_term, log_softmax, cross_entropy, nn.KLDivLoss)
    x holds logarithms, target probabilities; where target is 0 the share is 0. 'mean' is over all
    elements, as in PyTorch: the divergence itself is 'batchmean'.
    options: reduction: 'batchmean' (the sum over the size of dim 1), 'mean', 'sum' or 'none';
        log_target: target holds logarithms too
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > kl_div(tensor({{-2.0, -3.0}}), tensor({{1.0, 0.0}}), {reduction = "batchmean"})
    --> tensor(2.0, f32 scalar cpu)
mse_loss (see squared_error, huber_loss, l1_loss, nn.MSELoss)
    Shapes must be the same: one that only broadcasts is an error.
    options: reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > mse_loss(tensor{1.0, 2.0}, tensor{3.0, 2.0}) --> tensor(2.0, f32 scalar cpu)
l1_loss (see absolute_error, smooth_l1_loss, mse_loss, nn.L1Loss)
    Where both are equal the gradient is 0.
    options: reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > l1_loss(tensor{1.0, 2.0}, tensor{4.0, 2.0}) --> tensor(1.5, f32 scalar cpu)
smooth_l1_loss (see huber_loss, smooth_l1, l1_loss)
    huber_loss over beta; beta = 0 is l1_loss.
    options: reduction: 'mean', 'sum', or 'none' for each loss; beta: the difference from which on
        it is a line, >= 0
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > smooth_l1_loss(zeros(2), tensor{0.5, 3.0}, {reduction = "none"})
    --> tensor({0.125, 2.500}, f32 2 cpu)
huber_loss (see smooth_l1_loss, huber, mse_loss)
    delta times smooth_l1_loss with beta = delta.
    options: reduction: 'mean', 'sum', or 'none' for each loss; delta: the difference from which on
        it is a line, > 0
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > huber_loss(zeros(2), tensor{1.0, 3.0}, {delta = 2, reduction = "none"})
    --> tensor({0.5, 4.0}, f32 2 cpu)
smooth_l1 (see smooth_l1_loss, huber)
    The losses of smooth_l1_loss one by one; c is beta, a number or a tensor. Floats only.
    > smooth_l1(zeros(2), tensor{0.5, 3.0}, 1) --> tensor({0.125, 2.500}, f32 2 cpu)
huber (see huber_loss, smooth_l1)
    The losses of huber_loss one by one; c is delta, a number or a tensor. Floats only.
    > huber(zeros(2), tensor{1.0, 3.0}, 2) --> tensor({0.5, 4.0}, f32 2 cpu)
poisson_nll_loss (see gaussian_nll_loss, nll_loss)
    The part that depends on target alone is left out unless full is true.
    options: log_input: x is the mean's logarithm; full: with Stirling's approximation of
        log(target!) where target is above 1; eps: added to x before its logarithm is taken, where
        log_input is false; reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > poisson_nll_loss(tensor{0.0}, tensor{2.0}) --> tensor(1.0, f32 scalar cpu)
gaussian_nll_loss (see poisson_nll_loss, mse_loss)
    (log(var) + (x - target)^2 / var) / 2. var broadcasts as any operand: of one variance for each
    row it is n x 1.
    options: full: with log(2 pi) / 2; eps: the least that var counts as; reduction: 'mean', 'sum',
        or 'none' for each loss
    shapes: x, target, var: one shape, or they broadcast; the result is 0-d, with reduction = 'none'
        in their shape
    > gaussian_nll_loss(tensor{1.0}, tensor{3.0}, ones(1)) --> tensor(2.0, f32 scalar cpu)
soft_margin_loss (see softplus, binary_cross_entropy_with_logits, hinge_embedding_loss)
    Of a large product it is the product itself, so nothing overflows.
    options: reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > soft_margin_loss(tensor{-50.0}, tensor{1.0}) --> tensor(50.0, f32 scalar cpu)
hinge_embedding_loss (see cosine_embedding_loss, pairwise_distance)
    x is a distance: small where two are alike (target 1), beyond the margin where they are not.
    options: margin: distance from which on nothing is lost; reduction: 'mean', 'sum', or 'none' for
        each loss
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > hinge_embedding_loss(tensor{0.5, 0.25}, tensor{1, -1}, {reduction = "none"})
    --> tensor({0.50, 0.75}, f32 2 cpu)
margin_ranking_loss (see triplet_margin_loss, hinge_embedding_loss)
    All three operands broadcast.
    options: margin: by how much the right one must be above; reduction: 'mean', 'sum', or 'none'
        for each loss
    shapes: x1, x2, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none'
        in their shape
    > margin_ranking_loss(tensor{1.0, 2.0}, tensor{2.0, 0.0}, tensor{1, 1})
    --> tensor(0.5, f32 scalar cpu)
cosine_embedding_loss (see cosine_similarity, triplet_margin_loss, hinge_embedding_loss)
    The cosine is along the last dim.
    options: margin: cosine up to which nothing is lost where target is -1; reduction: 'mean',
        'sum', or 'none' for each loss
    shapes: x1, x2: batch x size, or size; target: batch, or 0-d; the result is 0-d, with reduction
        = 'none' target's
    > cosine_embedding_loss(tensor({{1.0, 0.0}, {1.0, 0.0}}), tensor({{2.0, 0.0}, {0.0, 5.0}}),
    >     tensor{1, 1}, {reduction = "none"})
    --> tensor({0.0, 1.0}, f32 2 cpu)
triplet_margin_loss (see pairwise_distance, margin_ranking_loss, cosine_embedding_loss)
    Distances are those of pairwise_distance.
    options: margin: by how much negative must be farther; p: of the norm; eps: added to each
        difference; swap: negative's distance to positive counts where it is below that to anchor;
        reduction: 'mean', 'sum', or 'none' for each loss
    shapes: anchor, positive, negative: … x size; the result is 0-d, with reduction = 'none' without
        the last dim
    > triplet_margin_loss(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), tensor({{0.0, 2.0}}),
    >     {eps = 0})
    --> tensor(4.0, f32 scalar cpu)
cosine_similarity (see cosine_embedding_loss, normalize, pairwise_distance)
    dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need 1. x1 and x2
    broadcast.
    options: dim: along which; eps: the least that a norm counts as
    shapes: x1, x2: one shape, or they broadcast; the result is without dim
    > cosine_similarity(tensor({{2.0, 0.0}, {0.0, 3.0}}), tensor({{5.0, 0.0}, {4.0, 0.0}}))
    --> tensor({1.0, 0.0}, f32 2 cpu)
pairwise_distance (see cdist, cosine_similarity, norm)
    Row by row; all rows with all are cdist's. eps keeps the root away from 0, and shows in the
    digits: 0 leaves it out.
    options: p: of the norm, math.huge too; eps: added to each difference; keepdim: keeps the last
        dim with size 1
    shapes: x1, x2: … x size, broadcast; the result is without the last dim
    > pairwise_distance(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), {eps = 0})
    --> tensor({5.0}, f32 1 cpu)
multi_margin_loss (see multilabel_margin_loss, cross_entropy, nn.MultiMarginLoss)
    options: p: 1, or 2 for squares; margin: by how much the right score is to be above; weight: of
        each class; reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x: n x classes, or classes; target: n, or one, classes from 1; weight: classes; the
        result is 0-d unless reduction = 'none'
    > multi_margin_loss(tensor({{0.0, 1.0}}), tensor{1}) --> tensor(1.0, f32 scalar cpu)
multilabel_margin_loss (see multi_margin_loss, multilabel_soft_margin_loss, nn.MultiLabelMarginLoss)
    options: reduction: 'mean', 'sum', or 'none' for each loss
    shapes: x, target: n x classes, or classes; the result is 0-d, with reduction = 'none' n
    > multilabel_margin_loss(tensor{0.0, 1.0}, tensor{1, 0}) --> tensor(1.0, f32 scalar cpu)
multilabel_soft_margin_loss
    options: weight: that losses are multiplied by, broadcast; reduction: 'mean', 'sum', or 'none'
        for each loss
    shapes: x, target: n x classes, or classes; the result is 0-d, with reduction = 'none' n
    > multilabel_soft_margin_loss(zeros(2), ones(2)) --> tensor(0.6931, f32 scalar cpu)
    see: binary_cross_entropy_with_logits, multilabel_margin_loss, nn.MultiLabelSoftMarginLoss
ctc_loss (see log_softmax, cross_entropy, nn.CTCLoss)
    Takes logarithms of chances, as log_softmax gives them. Classes count from 1, so that the blank
    is class 1 where PyTorch has 0. A target longer than its sequence allows has an infinite loss.
    options: input_lengths: times of each sequence; target_lengths: labels of each; blank: the class
        that stands for none; zero_infinity: targets that cannot be reached count 0, not infinity;
        reduction: 'mean' of losses over their labels, 'sum', or 'none' for each
    shapes: log_probs: time x n x classes, or time x classes; targets: n x labels, or all in one
        line; lengths: n; the result is 0-d unless reduction = 'none'
    > ctc_loss(zeros(2, 1, 2) - math.log(2), tensor({{2}}), {2}, {1})
    --> tensor(0.2877, f32 scalar cpu)
]==]
