--!plain
-- Help texts of losses, similarities and distances; their form: init.lua.
local reduction = "reduction: 'mean', 'sum', or 'none' for each loss"
local pairs_shape = "x, target: one shape, or they broadcast; the result is 0-d, with reduction = \z
    'none' in their shape"
return {
    cross_entropy = {
        text = "Takes scores that softmax has not seen, and classes counted from 1 or, of a float \z
            dtype, probabilities. The mean is over the weights of the labels that are not \z
            ignored; of probabilities, over their number. A label that is no class is an error; \z
            on a GPU it comes when the host next waits.",
        options = "weight: of each class, in one dim; ignore_index: a label that takes no part, \z
            not with probabilities; reduction: 'mean', 'sum', or 'none' for each loss; \z
            label_smoothing: share of each target, 0 to 1, that all classes get alike",
        shapes = "x: batch x classes x …, or classes; target: batch x …, or x's for \z
            probabilities; the result is 0-d unless reduction = 'none'",
        example = "cross_entropy(tensor({{0.0, 100.0}, {0.0, 100.0}}), tensor{1, 2})\n--> \z
            tensor(50.0, f32 scalar cpu)",
        see = "log_softmax, nll_loss, binary_cross_entropy_with_logits, nn.CrossEntropyLoss" },
    nll_loss = {
        text = "cross_entropy of what log_softmax gives. Classes count from 1. The mean is the \z
            sum over the weights of the labels that are not ignored: NaN where all are. A label \z
            that is no class is an error; on a GPU it comes when the host next waits.",
        options = "weight: of each class, in one dim; ignore_index: a label that takes no part; \z
            reduction: 'mean', 'sum', or 'none' for each loss",
        shapes = "x: batch x classes x …, or classes; target: batch x …, integers; weight: \z
            classes; the result is 0-d unless reduction = 'none'",
        example = "nll_loss(tensor({{-1.0, -2.0}, {-3.0, -4.0}}), tensor{1, 2}, tensor{1.0, \z
            3.0})\n--> tensor(3.25, f32 scalar cpu)",
        see = "cross_entropy, log_softmax, nn.NLLLoss" },
    binary_cross_entropy = {
        text = "x are probabilities, 0 to 1 (others are an error): with sigmoid before it \z
            binary_cross_entropy_with_logits is exact and faster. Since logarithms end at -100, \z
            so do losses at 100.",
        options = "weight: that losses are multiplied by, broadcast; " ..
            reduction,
            shapes = "x, target: one shape; the result is 0-d, with reduction = 'none' in \z
                    that shape",
        example = "binary_cross_entropy(tensor{0.0, 0.5}, ones(2), {reduction = \"none\"})\n--> \z
            tensor({100.0000,   0.6931}, f32 2 cpu)",
        see = "binary_cross_entropy_with_logits, bce, nn.BCELoss" },
    binary_cross_entropy_with_logits = {
        text = "x are scores that sigmoid has not seen. The mean is over all elements, whatever \z
            their weights.",
        options = "weight: that losses are multiplied by, broadcast; " .. reduction ..
            "; pos_weight: how often the part of target 1 counts, of each class or broadcast",
        shapes = "x, target: one shape; the result is 0-d, with reduction = 'none' in that shape",
        example = "binary_cross_entropy_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, \z
            {pos_weight = tensor{3.0, 3.0}, reduction = \"none\"})\n--> tensor({300.0, 100.0}, \z
            f32 2 cpu)",
        see = "binary_cross_entropy, cross_entropy, nn.BCEWithLogitsLoss" },
    bce_with_logits = {
        text = "The losses of binary_cross_entropy_with_logits one by one: a are scores, b \z
            targets, c counts where b is 1. Floats only.",
        example = "bce_with_logits(tensor{-100.0, 100.0}, tensor{1.0, 0.0}, 3)\n--> \z
            tensor({300.0, 100.0}, f32 2 cpu)",
        see = "binary_cross_entropy_with_logits, bce" },
    kl_div = {
        text = "x holds logarithms, target probabilities; where target is 0 the share is 0. \z
            'mean' is over all elements, as in PyTorch: the divergence itself is 'batchmean'.",
        options = "reduction: 'batchmean' (the sum over the size of dim 1), 'mean', 'sum' or \z
            'none'; log_target: target holds logarithms too",
        shapes = pairs_shape,
        example = "kl_div(tensor({{-2.0, -3.0}}), tensor({{1.0, 0.0}}), {reduction = \z
                \"batchmean\"})\n--> tensor(2.0, f32 scalar cpu)",
        see = "kl_term, log_softmax, cross_entropy, nn.KLDivLoss" },
    -- ---- losses: differences ----
    mse_loss = {
        text = "Shapes must be the same: one that only broadcasts is an error.",
        options = reduction,
        shapes = pairs_shape,
        example = "mse_loss(tensor{1.0, 2.0}, tensor{3.0, 2.0})\n--> tensor(2.0, f32 scalar cpu)",
        see = "squared_error, huber_loss, l1_loss, nn.MSELoss" },
    l1_loss = {
        text = "Where both are equal the gradient is 0.",
        options = reduction,
        shapes = pairs_shape,
        example = "l1_loss(tensor{1.0, 2.0}, tensor{4.0, 2.0})\n--> tensor(1.5, f32 scalar cpu)",
        see = "absolute_error, smooth_l1_loss, mse_loss, nn.L1Loss" },
    smooth_l1_loss = {
        text = "huber_loss over beta; beta = 0 is l1_loss.",
        options = reduction ..
            "; beta: the difference from which on it is a line, >= 0",
        shapes = pairs_shape,
        example = "smooth_l1_loss(zeros(2), tensor{0.5, 3.0}, {reduction = \"none\"})\n--> \z
            tensor({0.125, 2.500}, f32 2 cpu)",
        see = "huber_loss, smooth_l1, l1_loss" },
    huber_loss = {
        text = "delta times smooth_l1_loss with beta = delta.",
        options = reduction ..
            "; delta: the difference from which on it is a line, > 0",
        shapes = pairs_shape,
        example = "huber_loss(zeros(2), tensor{1.0, 3.0}, {delta = 2, reduction = \"none\"})\n--> \z
            tensor({0.5, 4.0}, f32 2 cpu)",
        see = "smooth_l1_loss, huber, mse_loss" },
    smooth_l1 = {
        text = "The losses of smooth_l1_loss one by one; c is beta, a number or a tensor. Floats \z
            only.",
        example = "smooth_l1(zeros(2), tensor{0.5, 3.0}, 1)\n--> tensor({0.125, 2.500}, f32 2 cpu)",
        see = "smooth_l1_loss, huber" },
    huber = {
        text = "The losses of huber_loss one by one; c is delta, a number or a tensor. Floats \z
            only.",
        example = "huber(zeros(2), tensor{1.0, 3.0}, 2)\n--> tensor({0.5, 4.0}, f32 2 cpu)",
        see = "huber_loss, smooth_l1" },
    -- ---- losses: distributions ----
    poisson_nll_loss = {
        text = "The part that depends on target alone is left out unless full is true.",
        options = "log_input: x is the mean's logarithm; full: with Stirling's approximation of \z
            log(target!) where target is above 1; eps: added to x before its logarithm is taken, \z
            where log_input is false; " .. reduction,
        shapes = pairs_shape,
        example = "poisson_nll_loss(tensor{0.0}, tensor{2.0})\n--> tensor(1.0, f32 scalar cpu)",
        see = "gaussian_nll_loss, nll_loss" },
    gaussian_nll_loss = {
        text = "(log(var) + (x - target)^2 / var) / 2. var broadcasts as any operand: of one \z
            variance for each row it is n x 1.",
        options = "full: with log(2 pi) / 2; eps: the least that var counts as; " .. reduction,
        shapes = "x, target, var: one shape, or they broadcast; the result is 0-d, with reduction \z
            = 'none' in their shape",
        example = "gaussian_nll_loss(tensor{1.0}, tensor{3.0}, ones(1))\n--> tensor(2.0, f32 \z
            scalar cpu)",
        see = "poisson_nll_loss, mse_loss" },
    -- ---- losses: sides and distances ----
    soft_margin_loss = {
        text = "Of a large product it is the product itself, so nothing overflows.",
        options = reduction,
        shapes = pairs_shape,
        example = "soft_margin_loss(tensor{-50.0}, tensor{1.0})\n--> tensor(50.0, f32 scalar cpu)",
        see = "softplus, binary_cross_entropy_with_logits, hinge_embedding_loss" },
    hinge_embedding_loss = {
        text = "x is a distance: small where two are alike (target 1), beyond the margin where \z
            they are not.",
        options = "margin: distance from which on nothing is lost; " .. reduction,
        shapes = pairs_shape,
        example = "hinge_embedding_loss(tensor{0.5, 0.25}, tensor{1, -1}, {reduction = \z
            \"none\"})\n--> tensor({0.50, 0.75}, f32 2 cpu)",
        see = "cosine_embedding_loss, pairwise_distance" },
    margin_ranking_loss = {
        text = "All three operands broadcast.",
        options = "margin: by how much the right one must be above; " .. reduction,
        shapes = "x1, x2, target: one shape, or they broadcast; the result is 0-d, with reduction \z
            = 'none' in their shape",
        example = "margin_ranking_loss(tensor{1.0, 2.0}, tensor{2.0, 0.0}, tensor{1, 1})\n--> \z
            tensor(0.5, f32 scalar cpu)",
        see = "triplet_margin_loss, hinge_embedding_loss" },
    cosine_embedding_loss = {
        text = "The cosine is along the last dim.",
        options = "margin: cosine up to which nothing is lost where target is -1; " ..
                reduction,
        shapes = "x1, x2: batch x size, or size; target: batch, or 0-d; the result is 0-d, with \z
            reduction = 'none' target's",
        example = "cosine_embedding_loss(tensor({{1.0, 0.0}, {1.0, 0.0}}), tensor({{2.0, 0.0}, \z
            {0.0, 5.0}}), tensor{1, 1}, {reduction = \"none\"})\n--> tensor({0.0, 1.0}, f32 2 \z
            cpu)",
        see = "cosine_similarity, triplet_margin_loss, hinge_embedding_loss" },
    triplet_margin_loss = {
        text = "Distances are those of pairwise_distance.",
        options = "margin: by how much negative must be farther; p: of the norm; eps: added to \z
            each difference; swap: negative's distance to positive counts where it is below that \z
            to anchor; " .. reduction,
        shapes = "anchor, positive, negative: … x size; the result is 0-d, with reduction = \z
            'none' without the last dim",
        example = "triplet_margin_loss(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), tensor({{0.0, \z
            2.0}}), {eps = 0})\n--> tensor(4.0, f32 scalar cpu)",
        see = "pairwise_distance, margin_ranking_loss, cosine_embedding_loss" },
    cosine_similarity = {
        text = "dim is 2 if not given, as in PyTorch (whose dim 1 that is), so vectors need 1. x1 \z
            and x2 broadcast.",
        options = "dim: along which; eps: the least that a norm counts as",
        shapes = "x1, x2: one shape, or they broadcast; the result is without dim",
        example = "cosine_similarity(tensor({{2.0, 0.0}, {0.0, 3.0}}), tensor({{5.0, 0.0}, {4.0, \z
            0.0}}))\n--> tensor({1.0, 0.0}, f32 2 cpu)",
        see = "cosine_embedding_loss, normalize, pairwise_distance" },
    pairwise_distance = {
        text = "Row by row; all rows with all are cdist's. eps keeps the root away from 0, and \z
            shows in the digits: 0 leaves it out.",
        options = "p: of the norm, math.huge too; eps: added to each difference; keepdim: keeps \z
            the last dim with size 1",
        shapes = "x1, x2: … x size, broadcast; the result is without the last dim",
        example = "pairwise_distance(tensor({{0.0, 0.0}}), tensor({{3.0, 4.0}}), {eps = 0})\n--> \z
            tensor({5.0}, f32 1 cpu)",
        see = "cdist, cosine_similarity, norm" },
    multi_margin_loss = {
        options = "p: 1, or 2 for squares; margin: by how much the right score is to be \z
            above; weight: of each class; reduction: 'mean', 'sum', or 'none' for each loss",
        shapes = "x: n x classes, or classes; target: n, or one, classes from 1; weight: \z
            classes; the result is 0-d unless reduction = 'none'",
        example = "multi_margin_loss(tensor({{0.0, 1.0}}), tensor{1})\n--> tensor(1.0, f32 \z
            scalar cpu)",
        see = "multilabel_margin_loss, cross_entropy, nn.MultiMarginLoss" },
    multilabel_margin_loss = {
        options = "reduction: 'mean', 'sum', or 'none' for each loss",
        shapes = "x, target: n x classes, or classes; the result is 0-d, with reduction = \z
            'none' n",
        example = "multilabel_margin_loss(tensor{0.0, 1.0}, tensor{1, 0})\n--> tensor(1.0, \z
            f32 scalar cpu)",
        see = "multi_margin_loss, multilabel_soft_margin_loss, nn.MultiLabelMarginLoss" },
    multilabel_soft_margin_loss = {
        options = "weight: that losses are multiplied by, broadcast; reduction: 'mean', \z
            'sum', or 'none' for each loss",
        shapes = "x, target: n x classes, or classes; the result is 0-d, with reduction = \z
            'none' n",
        example = "multilabel_soft_margin_loss(zeros(2), ones(2))\n--> tensor(0.6931, f32 \z
            scalar cpu)",
        see = "binary_cross_entropy_with_logits, multilabel_margin_loss, \z
            nn.MultiLabelSoftMarginLoss" },
    ctc_loss = {
        text = "Takes logarithms of chances, as log_softmax gives them. Classes count from 1, \z
            so that the blank is class 1 where PyTorch has 0. A target longer than its \z
            sequence allows has an infinite loss.",
        options = "input_lengths: times of each sequence; target_lengths: labels of each; \z
            blank: the class that stands for none; zero_infinity: targets that cannot be \z
            reached count 0, not infinity; reduction: 'mean' of losses over their labels, \z
            'sum', or 'none' for each",
        shapes = "log_probs: time x n x classes, or time x classes; targets: n x labels, or \z
            all in one line; lengths: n; the result is 0-d unless reduction = 'none'",
        example = "ctc_loss(zeros(2, 1, 2) - math.log(2), tensor({{2}}), {2}, {1})\n--> \z
            tensor(0.2877, f32 scalar cpu)",
        see = "log_softmax, cross_entropy, nn.CTCLoss" },
}
