--!plain
-- Help texts of losses, similarities and distances; their form: scripts/lua/help/topics.lua.
return [==[
cdist (see pairwise_distance, linalg.vector_norm)
    The differences of all pairs are made first: the memory grows with n * m * k.
    shapes: x1: … x n x k; x2: … x m x k; the result: … x n x m
    > cdist(tensor{{0.0, 0.0}}, tensor{{3.0, 4.0}, {0.0, 1.0}})
    --> tensor({{5.0, 1.0}}, f32 1x2 cpu)
normalize (see norm, cosine_similarity, layer_norm)
    dim is 2 by default (PyTorch's dim 1), so vectors need {dim = 1}.
    options: p: order of the norm, also math.huge; eps: lower bound of the norms
    > normalize(tensor{1.0, 3.0}, {p = 1, dim = 1}) --> tensor({0.25, 0.75}, f32 2 cpu)
cross_entropy (see log_softmax, nll_loss, binary_cross_entropy_with_logits, nn.CrossEntropyLoss)
    Takes unnormalized scores, without softmax, and classes from 1, or probabilities of a float
    dtype. The mean is weighted by the class weights of the labels that are not ignored; with
    probabilities it is over the number of targets. A label that is no class is an error; on a GPU
    it is raised when the host next waits.
    options: weight: weight of each class; ignore_index: label that is left out, not with
        probabilities; label_smoothing: share of each target, 0 to 1, spread over all classes
    shapes: x: batch x classes x …, or classes; target: batch x …, or x's for probabilities; the
        result is 0-d unless reduction = 'none'
    > cross_entropy(tensor({{0.0, 100.0}, {0.0, 100.0}}), tensor{1, 2})
    --> tensor(50.0, f32 scalar cpu)
nll_loss (see cross_entropy, log_softmax, nn.NLLLoss)
    cross_entropy of the result of log_softmax. Classes count from 1. The mean is the sum over the
    weights of the labels that are not ignored: NaN if all are. A label that is no class is an
    error; on a GPU it is raised when the host next waits.
    options: weight: weight of each class; ignore_index: label that is left out
    shapes: x: batch x classes x …, or classes; target: batch x …, integers; weight: classes; the
        result is 0-d unless reduction = 'none'
    > nll_loss(tensor({{-1.0, -2.0}, {-3.0, -4.0}}), tensor{1, 2}, tensor{1.0, 3.0})
    --> tensor(3.25, f32 scalar cpu)
binary_cross_entropy (see binary_cross_entropy_with_logits, bce, nn.BCELoss)
    x holds probabilities from 0 to 1; other values are an error. binary_cross_entropy_with_logits
    includes the sigmoid, and is more exact and faster. Logarithms are clamped at -100, so losses at
    100.
    options: weight: factor of each loss, broadcast
    shapes: x, target: one shape; the result is 0-d, with reduction = 'none' in that shape
    > binary_cross_entropy(tensor{0.0, 0.5}, ones(2), {reduction = "none"})
    --> tensor({100.0000,   0.6931}, f32 2 cpu)
binary_cross_entropy_with_logits (see binary_cross_entropy, cross_entropy, nn.BCEWithLogitsLoss)
    x holds unnormalized scores, without sigmoid. The mean is over all elements, whatever their
    weights.
    options: weight: factor of each loss, broadcast; pos_weight: weight of the positive examples,
        for each class or broadcast
    shapes: x, target: one shape; the result is 0-d, with reduction = 'none' in that shape
    > binary_cross_entropy_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0},
    >     {pos_weight = tensor{3.0, 3.0}, reduction = "none"})
    --> tensor({300.0, 100.0}, f32 2 cpu)
bce_with_logits (see binary_cross_entropy_with_logits, bce)
    The losses of binary_cross_entropy_with_logits one by one: a holds scores, b targets, c the
    weight where b is 1. Floats only.
    > bce_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, 3)
    --> tensor({300.0, 100.0}, f32 2 cpu)
kl_div (see kl_term, log_softmax, cross_entropy, nn.KLDivLoss)
    x holds logarithms, target probabilities; where target is 0 the term is 0. 'mean' is over all
    elements, as in PyTorch: the divergence itself is 'batchmean'.
    options: reduction: 'batchmean' (the sum over the size of dim 1), 'mean', 'sum' or 'none';
        log_target: target holds logarithms, too
    > kl_div(tensor({{-2.0, -3.0}}), tensor({{1.0, 0.0}}), {reduction = "batchmean"})
    --> tensor(2.0, f32 scalar cpu)
mse_loss (see squared_error, huber_loss, l1_loss, nn.MSELoss)
    Shapes must be the same: one that only broadcasts is an error.
    shapes: x, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none' in
        their shape
    > mse_loss(tensor{1.0, 2.0}, tensor{3.0, 2.0}) --> tensor(2.0, f32 scalar cpu)
l1_loss (see absolute_error, smooth_l1_loss, mse_loss, nn.L1Loss)
    Where both are equal the gradient is 0.
    > l1_loss(tensor{1.0, 2.0}, tensor{4.0, 2.0}) --> tensor(1.5, f32 scalar cpu)
smooth_l1_loss (see huber_loss, smooth_l1, l1_loss)
    huber_loss over beta; beta = 0 is l1_loss.
    options: beta: difference above which the loss is linear, >= 0
    > smooth_l1_loss(zeros(2), tensor{0.5, 3.0}, {reduction = "none"})
    --> tensor({0.125, 2.500}, f32 2 cpu)
huber_loss (see smooth_l1_loss, huber, mse_loss)
    delta times smooth_l1_loss with beta = delta.
    options: delta: difference above which the loss is linear, > 0
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
        log_input is false
    > poisson_nll_loss(tensor{0.0}, tensor{2.0}) --> tensor(1.0, f32 scalar cpu)
gaussian_nll_loss (see poisson_nll_loss, mse_loss)
    (log(var) + (x - target)^2 / var) / 2. var broadcasts as any operand: one variance for each row
    is n x 1.
    options: full: with log(2 pi) / 2; eps: lower bound of var
    shapes: x, target, var: one shape, or they broadcast; the result is 0-d, with reduction = 'none'
        in their shape
    > gaussian_nll_loss(tensor{1.0}, tensor{3.0}, ones(1)) --> tensor(2.0, f32 scalar cpu)
soft_margin_loss (see softplus, binary_cross_entropy_with_logits, hinge_embedding_loss)
    For a large product the loss is the product itself, so nothing overflows.
    > soft_margin_loss(tensor{-50.0}, tensor{1.0}) --> tensor(50.0, f32 scalar cpu)
hinge_embedding_loss (see cosine_embedding_loss, pairwise_distance)
    x is a distance: small where two are alike (target 1), beyond the margin where they are not.
    options: margin: distance above which the loss is 0
    > hinge_embedding_loss(tensor{0.5, 0.25}, tensor{1, -1}, {reduction = "none"})
    --> tensor({0.50, 0.75}, f32 2 cpu)
margin_ranking_loss (see triplet_margin_loss, hinge_embedding_loss)
    All three operands broadcast.
    options: margin: required difference
    shapes: x1, x2, target: one shape, or they broadcast; the result is 0-d, with reduction = 'none'
        in their shape
    > margin_ranking_loss(tensor{1.0, 2.0}, tensor{2.0, 0.0}, tensor{1, 1})
    --> tensor(0.5, f32 scalar cpu)
cosine_embedding_loss (see cosine_similarity, triplet_margin_loss, hinge_embedding_loss)
    The cosine is along the last dim.
    options: margin: cosine below which the loss is 0 where target is -1
    shapes: x1, x2: batch x size, or size; target: batch, or 0-d; the result is 0-d, with reduction
        = 'none' target's
    > cosine_embedding_loss(tensor({{1.0, 0.0}, {1.0, 0.0}}), tensor({{2.0, 0.0}, {0.0, 5.0}}),
    >     tensor{1, 1}, {reduction = "none"})
    --> tensor({0.0, 1.0}, f32 2 cpu)
triplet_margin_loss (see pairwise_distance, margin_ranking_loss, cosine_embedding_loss)
    Distances are those of pairwise_distance.
    options: margin: required difference of the distances; p: order of the norm; eps: added to each
        difference; swap: use the distance from negative to positive where it is smaller
    shapes: anchor, positive, negative: … x size; the result is 0-d, with reduction = 'none' without
        the last dim
    > triplet_margin_loss(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), tensor({{0.0, 2.0}}),
    >     {eps = 0})
    --> tensor(4.0, f32 scalar cpu)
cosine_similarity (see cosine_embedding_loss, normalize, pairwise_distance)
    dim is 2 by default (PyTorch's dim 1), so vectors need 1. x1 and x2 broadcast.
    options: eps: lower bound of the norms
    shapes: x1, x2: one shape, or they broadcast; the result is without dim
    > cosine_similarity(tensor({{2.0, 0.0}, {0.0, 3.0}}), tensor({{5.0, 0.0}, {4.0, 0.0}}))
    --> tensor({1.0, 0.0}, f32 2 cpu)
pairwise_distance (see cdist, cosine_similarity, norm)
    Row by row; cdist takes all pairs of rows. eps keeps the root away from 0 and changes the last
    digits; 0 leaves it out.
    options: p: order of the norm, also math.huge; eps: added to each difference; keepdim: keeps the
        last dim with size 1
    shapes: x1, x2: … x size, broadcast; the result is without the last dim
    > pairwise_distance(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), {eps = 0})
    --> tensor({5.0}, f32 1 cpu)
multi_margin_loss (see multilabel_margin_loss, cross_entropy, nn.MultiMarginLoss)
    options: p: 1, or 2 for squares; margin: required difference of the scores; weight: weight of
        each class
    shapes: x: n x classes, or classes; target: n, or one, classes from 1; weight: classes; the
        result is 0-d unless reduction = 'none'
    > multi_margin_loss(tensor({{0.0, 1.0}}), tensor{1}) --> tensor(1.0, f32 scalar cpu)
multilabel_margin_loss (see multi_margin_loss, multilabel_soft_margin_loss, nn.MultiLabelMarginLoss)
    shapes: x, target: n x classes, or classes; the result is 0-d, with reduction = 'none' n
    > multilabel_margin_loss(tensor{0.0, 1.0}, tensor{1, 0}) --> tensor(1.0, f32 scalar cpu)
multilabel_soft_margin_loss
    options: weight: factor of each loss, broadcast
    shapes: x, target: n x classes, or classes; the result is 0-d, with reduction = 'none' n
    > multilabel_soft_margin_loss(zeros(2), ones(2)) --> tensor(0.6931, f32 scalar cpu)
    see: binary_cross_entropy_with_logits, multilabel_margin_loss, nn.MultiLabelSoftMarginLoss
ctc_loss (see log_softmax, cross_entropy, nn.CTCLoss)
    Takes log-probabilities, as log_softmax returns them. Classes count from 1, so that the blank is
    class 1 where PyTorch has 0. A target longer than its sequence allows has an infinite loss.
    options: input_lengths: length of each sequence; target_lengths: number of labels of each;
        reduction: 'mean' of losses over their labels, 'sum', or 'none' for each
    shapes: log_probs: time x n x classes, or time x classes; targets: n x labels, or all in one
        vector; lengths: n; the result is 0-d unless reduction = 'none'
    > ctc_loss(zeros(2, 1, 2) - math.log(2), tensor({{2}}), {2}, {1})
    --> tensor(0.2877, f32 scalar cpu)
]==]
