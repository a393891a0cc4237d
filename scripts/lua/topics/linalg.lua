--!plain
-- Help texts of ops of linear algebra and Fourier's; their form: init.lua.
return {
    -- Products.
    matmul = {
        text = "Both operands have one dtype, also integers; 16-bit floats are summed in f32 and \z
            rounded once. cuda.tf32(true) makes f32 faster and less exact on a GPU.",
        shapes = "n x k times k x m is n x m; further dims in front are batches and broadcast; a \z
            vector is a row or a column",
        example = "ones(2, 3):matmul(ones(3, 2))\n--> tensor({{3.0, 3.0},\n-->         {3.0, \z
            3.0}}, f32 2x2 cpu)",
        see = "mm, bmm, einsum, linear, linalg.multi_dot" },
    mm = {
        text = "matmul for two matrices alone: other shapes are an error.",
        shapes = "n x k times k x m is n x m",
        example = "tensor({{1, 2}, {3, 4}}):mm(tensor{{0, 1}, {1, 0}})\n--> tensor({{2, \z
            1},\n-->         {4, 3}}, i64 2x2 cpu)",
        see = "matmul, addmm, bmm" },
    bmm = {
        text = "matmul for two batches of matrices alone: batches do not broadcast.",
        shapes = "b x n x k times b x k x m is b x n x m",
        example = "bmm(ones(2, 1, 3), ones(2, 3, 1)):flatten()\n--> tensor({3.0, 3.0}, f32 2 cpu)",
        see = "matmul, baddbmm" },
    mv = {
        text = "matmul for a matrix and a vector alone.",
        shapes = "n x k times k is n",
        example = "mv(tensor{{1, 2}, {3, 4}}, tensor{1, 1})\n--> tensor({3, 7}, i64 2 cpu)",
        see = "matmul, addmv, dot" },
    dot = {
        text = "matmul for two vectors alone; the result is a 0-d tensor on the device, nothing \z
            waits.",
        shapes = "n times n is 0-d",
        example = "tensor({1, 2}):dot(tensor{3, 4})\n--> tensor(11, i64 scalar cpu)",
        see = "inner, linalg.vecdot, outer" },
    inner = {
        text = "A row of a with a row of b: matmul with b transposed.",
        shapes = "… x k and … x k: a's dims but the last, then b's dims but the last; 0-d \z
            operands: a * b",
        example = "inner(tensor{{1, 2}, {3, 4}}, tensor{1, 10})\n--> tensor({21, 43}, i64 2 cpu)",
        see = "dot, tensordot, outer" },
    outer = {
        text = "Dtypes are joined as in a * b, where matmul wants one.",
        shapes = "n and m: n x m",
        example = "outer(tensor{1, 2}, tensor{1, 10})\n--> tensor({{ 1, 10},\n-->         { 2, \z
            20}}, i64 2x2 cpu)",
        see = "kron, inner, einsum" },
    kron = {
        text = "Dtypes are joined as in a * b, where matmul wants one.",
        shapes = "the size along each dim is the product of a's and b's",
        example = "kron(tensor{1, 2}, tensor{1, 10})\n--> tensor({ 1, 10,  2, 20}, i64 4 cpu)",
        see = "outer, tile" },
    einsum = {
        text = "A letter for each dim; what is missing after the arrow is summed over, without \z
            an arrow what occurs twice. A letter twice in one operand is its diagonal. More than \z
            two operands are multiplied by pairs, first the pair whose product adds the fewest \z
            elements.",
        shapes = "dims of one letter have one size, or 1",
        example = "einsum(\"ij,jk->ik\", ones(2, 3), ones(3, 2))\n--> tensor({{3.0, \z
            3.0},\n-->         {3.0, 3.0}}, f32 2x2 cpu)",
        see = "matmul, tensordot, trace" },
    tensordot = {
        text = "dims are counted from 1, or from the end with -1, in the lists for a and for b.",
        shapes = "the dims of a that are not summed over, then those of b; dims that are have one \z
            size in a and b",
        example = "tensordot(tensor{{1, 2}, {3, 4}}, tensor{{1, 2}, {3, 4}})\n--> tensor(30, i64 \z
            scalar cpu)",
        see = "einsum, matmul, inner" },
    addmm = {
        text = "With beta = 0 x is not read, so that its NaNs do not count.",
        shapes = "x: broadcast to n x m; a: n x k; b: k x m",
        example = "addmm(tensor{1.0, 2.0}, eye(2), ones(2, 2), {alpha = 3})\n--> tensor({{4.0, \z
            5.0},\n-->         {4.0, 5.0}}, f32 2x2 cpu)",
        see = "mm, addmv, baddbmm, linear" },
    addmv = {
        text = "With beta = 0 x is not read, so that its NaNs do not count.",
        shapes = "x: broadcast to n; a: n x k; b: k",
        example = "addmv(ones(2), tensor{{1.0, 2.0}, {3.0, 4.0}}, ones(2), {alpha = 2})\n--> \z
            tensor({ 7.0, 15.0}, f32 2 cpu)",
        see = "mv, addmm" },
    baddbmm = {
        text = "With beta = 0 x is not read, so that its NaNs do not count.",
        shapes = "x: broadcast to b x n x m; a: b x n x k; b: b x k x m",
        example = "baddbmm(ones(2, 1, 1), ones(2, 1, 3), ones(2, 3, 1), {beta = \z
            10}):flatten()\n--> tensor({13.0, 13.0}, f32 2 cpu)",
        see = "bmm, addmm" },
    trace = {
        text = "Of a batch: x:diagonal(0, -2, -1):sum(-1).",
        shapes = "n x m, not a batch: 0-d",
        example = "tensor({{1, 2}, {3, 4}}):trace()\n--> tensor(5, i64 scalar cpu)",
        see = "diagonal, einsum" },
    cross = {
        text = "Without dim it is the first of size 3, as in PyTorch, so that the number of \z
            vectors may change which one it is: linalg.cross takes the last.",
        shapes = "a and b broadcast, size 3 along dim; the result has their common shape",
        example = "cross(tensor{1, 0, 0}, tensor{0, 1, 0})\n--> tensor({0, 0, 1}, i64 3 cpu)",
        see = "linalg.cross, linalg.vecdot" },
    cdist = {
        text = "The differences of all pairs are made first: the memory grows with n * m * k.",
        shapes = "x1: … x n x k; x2: … x m x k; the result: … x n x m",
        example = "cdist(tensor{{0.0, 0.0}}, tensor{{3.0, 4.0}, {0.0, 1.0}})\n--> tensor({{5.0, \z
            1.0}}, f32 1x2 cpu)",
        see = "pairwise_distance, linalg.vector_norm" },
    logdet = {
        text = "-inf where the matrix is singular: there it has no derivative, and gradients are \z
            infinite or NaN.",
        shapes = "… x n x n: …",
        example = "logdet(eye(3))\n--> tensor(0.0, f32 scalar cpu)",
        see = "linalg.slogdet, linalg.det" },
    cholesky_solve = {
        text = "l is what linalg.cholesky gave, so that one factor serves many right sides.",
        shapes = "b: … x n x k; l: … x n x n; the result has b's",
        example = "cholesky_solve(tensor{{4.0}, {9.0}}, tensor{{2.0, 0.0}, {0.0, 3.0}})\n--> \z
            tensor({{1.0},\n-->         {1.0}}, f32 2x1 cpu)",
        see = "linalg.cholesky, linalg.solve_triangular, linalg.solve" },
    ["linalg.vecdot"] = {
        text = "Operands broadcast; 16-bit floats are summed in f32 and rounded once.",
        shapes = "x and y: one size along dim; the result has the common shape without dim",
        example = "linalg.vecdot(tensor{{1, 2}, {3, 4}}, tensor{{1, 1}, {2, 2}})\n--> tensor({ 3, \z
            14}, i64 2 cpu)",
        see = "dot, inner, linalg.cross" },
    ["linalg.cross"] = {
        text = "At right angles to both; dtypes are joined as in a * b.",
        shapes = "a and b broadcast, size 3 along dim; the result has their common shape",
        example = "linalg.cross(tensor{1, 2, 3}, tensor{4, 5, 6})\n--> tensor({-3,  6, -3}, i64 3 \z
            cpu)",
        see = "cross, linalg.vecdot" },
    ["linalg.multi_dot"] = {
        text = "Takes a list. The order comes from the sizes alone, before anything is multiplied.",
        shapes = "n x k, k x m, …: matrices that fit; a vector in front is a row, at the end a \z
            column, and its dim goes away",
        example = "linalg.multi_dot({ones(2, 3), ones(3, 2), ones(2)})\n--> tensor({6.0, 6.0}, \z
            f32 2 cpu)",
        see = "matmul, einsum" },
    ["linalg.matrix_power"] = {
        text = "By squaring: about 2 log2(n) products. n = 0 gives the identity.",
        shapes = "… x n x n: the same",
        example = "linalg.matrix_power(tensor{{2, 1}, {0, 1}}, 3)\n--> tensor({{8, \z
            7},\n-->         {0, 1}}, i64 2x2 cpu)",
        see = "matmul, linalg.inv" },

    -- Norms, and what singular values tell.
    ["linalg.norm"] = {
        text = "Without ord all elements are one vector; with ord x, or dim, says whether the \z
            norm is a vector's or a matrix's: see linalg.vector_norm and linalg.matrix_norm for \z
            which there are.",
        options = "ord: a number, inf, -inf, 'fro' or 'nuc'; dim: one, or a list of two; keepdim: \z
            keeps them with size 1; dtype: x is converted first",
        shapes = "x: any; the result has the dims that are not reduced",
        example = "linalg.norm(tensor{3.0, 4.0})\n--> tensor(5.0, f32 scalar cpu)",
        see = "linalg.vector_norm, linalg.matrix_norm, norm" },
    ["linalg.vector_norm"] = {
        text = "For floats. Without dims all elements are one vector.",
        options = "ord: a number, also inf or -inf (math.huge); keepdim: keeps dims with size 1; \z
            dtype: x is converted first",
        shapes = "x: any; the result has the dims that are not reduced",
        example = "linalg.vector_norm(tensor{{3.0, -4.0}, {0.0, 2.0}}, math.huge, 2)\n--> \z
            tensor({4.0, 2.0}, f32 2 cpu)",
        see = "linalg.norm, linalg.matrix_norm" },
    ["linalg.matrix_norm"] = {
        text = "fro: the root of the sum of squares; nuc: the sum of the singular values; 2 and \z
            -2: the largest and the smallest of them; 1 and -1: the largest and the smallest \z
            column sum of magnitudes; inf and -inf: row sum.",
        shapes = "… x n x m: …; keepdim keeps both dims with size 1",
        example = "linalg.matrix_norm(tensor{{1.0, -2.0}, {3.0, 4.0}}, 1)\n--> tensor(6.0, f32 \z
            scalar cpu)",
        see = "linalg.norm, linalg.svdvals, linalg.cond" },
    ["linalg.cond"] = {
        text = "How much larger an error of b may become in the solution of x y = b.",
        options = "p: nil or 2: the largest singular value over the smallest; -2: the other way \z
            round; 'fro', 'nuc', inf, -inf, 1, -1: the norm of x times that of its inverse",
        shapes = "… x n x m (with p other than 2 and -2 square): …",
        example = "linalg.cond(tensor{{4.0, 0.0}, {0.0, 2.0}}):round()\n--> tensor(2.0, f32 \z
            scalar cpu)",
        see = "linalg.svdvals, linalg.matrix_norm, linalg.inv" },
    ["linalg.matrix_rank"] = {
        text = "Without atol and rtol: rtol is the larger size times the dtype's epsilon. The \z
            result is a tensor on the device, nothing waits.",
        options = "hermitian: eigenvalues' magnitudes in place of singular values, which is faster",
        shapes = "… x n x m: …, of i64",
        example = "linalg.matrix_rank(tensor{{1.0, 2.0}, {2.0, 4.0}})\n--> tensor(1, i64 scalar \z
            cpu)",
        see = "linalg.svdvals, linalg.pinv" },
    ["linalg.pinv"] = {
        text = "Also of matrices that are singular or not square. Without atol and rtol: rtol is \z
            the larger size times the dtype's epsilon. To solve a x = b, linalg.lstsq is better.",
        options = "hermitian: x is symmetric; by eigenvalues, which is faster",
        shapes = "… x n x m: … x m x n",
        example = "local x = tensor{{1.0, 2.0}, {2.0, 4.0}} return \z
            x:mm(linalg.pinv(x)):mm(x):round()\n--> tensor({{1.0, 2.0},\n-->         {2.0, 4.0}}, \z
            f32 2x2 cpu)",
        see = "linalg.inv, linalg.lstsq, linalg.svd" },

    -- Factors.
    ["linalg.svd"] = {
        text = "The singular values are in order, the largest first. Signs of vectors, and \z
            vectors of equal values, are not determined: devices may differ in them, and a \z
            gradient that depends on them, or on vectors beyond the values in full matrices, is \z
            NaN. On a GPU cuda.svd_driver() says which driver did the last one and sets one for \z
            all; in a profile kernels have its name in front. f32 and f64 only, as all of linalg \z
            that factors or solves.",
        options = "full_matrices: false for the first min(n, m) columns of U and rows of Vh \z
            alone, which is less work; driver: on CUDA 'gesvd', 'gesvdj' or 'gesvda' instead of \z
            what the shape suggests; an error elsewhere",
        shapes = "… x n x m: U … x n x n, S … x min(n, m), Vh … x m x m; or \z
            U … x n x min(n, m), Vh … x min(n, m) x m",
        example = "local u, s, vh = linalg.svd(tensor{{3.0, 0.0}, {0.0, 4.0}}) return \z
            s:round()\n--> tensor({4.0, 3.0}, f32 2 cpu)",
        see = "linalg.svdvals, linalg.eigh, linalg.pinv, linalg.qr" },
    ["linalg.svdvals"] = {
        text = "Without the vectors, which is less work than linalg.svd.",
        shapes = "… x n x m: … x min(n, m)",
        example = "linalg.svdvals(tensor{{0.0, 3.0}, {4.0, 0.0}}):round()\n--> tensor({4.0, 3.0}, \z
            f32 2 cpu)",
        see = "linalg.svd, linalg.matrix_rank, linalg.cond" },
    ["linalg.qr"] = {
        text = "R's diagonal may be negative: signs are as LAPACK's reflections give them.",
        shapes = "… x n x m: Q … x n x k, R … x k x m, where k is min(n, m), with \z
            mode complete n",
        example = "local q, r = linalg.qr(tensor{{3.0, 0.0}, {4.0, 5.0}}) return \z
            r:abs():round()\n--> tensor({{5.0, 4.0},\n-->         {0.0, 3.0}}, f32 2x2 cpu)",
        see = "linalg.lstsq, linalg.svd, linalg.cholesky" },
    ["linalg.cholesky"] = {
        text = "A matrix that is not positive definite is an error: at once on the CPU, on a GPU \z
            where the host next waits, with the line that queued it. linalg.cholesky_ex says it \z
            in a tensor.",
        shapes = "… x n x n: the same",
        example = "linalg.cholesky(tensor{{4.0, 2.0}, {2.0, 5.0}})\n--> tensor({{2.0, \z
            0.0},\n-->         {1.0, 2.0}}, f32 2x2 cpu)",
        see = "cholesky_solve, linalg.cholesky_ex, linalg.lu, linalg.eigh" },
    ["linalg.cholesky_ex"] = {
        text = "Two values. Where the second is not 0 the first is of no use.",
        shapes = "… x n x n: the same, and …",
        example = "local l, info = linalg.cholesky_ex(tensor{{1.0, 0.0}, {0.0, -1.0}}) return \z
            info:item()\n--> 2",
        see = "linalg.cholesky" },
    ["linalg.lu"] = {
        text = "With rows exchanged so that the largest element of a column leads: P L U is x. \z
            For solving, linalg.solve.",
        shapes = "… x n x m: P … x n x n, L … x n x k, U … x k x m, where k is min(n, m)",
        example = "local p, l, u = linalg.lu(tensor{{0.0, 2.0}, {4.0, 1.0}}) return u\n--> \z
            tensor({{4.0, 1.0},\n-->         {0.0, 2.0}}, f32 2x2 cpu)",
        see = "linalg.lu_factor, linalg.solve, linalg.det" },
    ["linalg.lu_factor"] = {
        text = "Pivots are i32 and count from 1, as LAPACK's.",
        shapes = "… x n x m: the same, and … x min(n, m)",
        example = "local lu, pivots = linalg.lu_factor(tensor{{0.0, 2.0}, {4.0, 1.0}}) return \z
            pivots\n--> tensor({2, 2}, i32 2 cpu)",
        see = "linalg.lu, linalg.solve" },

    -- Equations.
    ["linalg.solve"] = {
        text = "Better than the inverse times b: faster and more exact. A singular matrix is an \z
            error: at once on the CPU, on a GPU where the host next waits.",
        shapes = "a: … x n x n; b: … x n x k, or … x n; the result has b's",
        example = "linalg.solve(tensor{{2.0, 1.0}, {0.0, 4.0}}, tensor{4.0, 8.0})\n--> \z
            tensor({1.0, 2.0}, f32 2 cpu)",
        see = "linalg.lstsq, linalg.solve_triangular, cholesky_solve, linalg.inv" },
    ["linalg.solve_triangular"] = {
        text = "upper has to be given: true or false. A 0 on the diagonal gives inf or NaN, no \z
            error.",
        options = "left: false for x a = b; unitriangular: the diagonal counts as ones and is not \z
            read",
        shapes = "a: … x n x n; b: … x n x k (left = false: … x k x n); the result has b's; \z
            batches broadcast",
        example = "linalg.solve_triangular(tensor{{2.0, 0.0}, {1.0, 4.0}}, tensor{{2.0}, {9.0}}, \z
            false)\n--> tensor({{1.0},\n-->         {2.0}}, f32 2x1 cpu)",
        see = "linalg.solve, cholesky_solve, triu" },
    ["linalg.lstsq"] = {
        text = "Four values; those that the driver does not find have no elements.",
        options = "rcond: singular values at most so large a part of the largest count as 0; \z
            driver: gels (a has full rank), gelsy, gelsd, gelss, as in LAPACK",
        shapes = "a: … x n x m; b: … x n x k, or … x n; the solution: \z
            … x m x k, or … x m",
        example = "linalg.lstsq(tensor{{1.0, 1.0}, {1.0, 2.0}, {1.0, 3.0}}, tensor{3.0, 5.0, \z
            7.0}):round()\n--> tensor({1.0, 2.0}, f32 2 cpu)",
        see = "linalg.solve, linalg.pinv, linalg.qr" },
    ["linalg.inv"] = {
        text = "A singular matrix is an error: at once on the CPU, on a GPU where the host next \z
            waits, with the line that queued it. To solve a x = b, linalg.solve is better.",
        shapes = "… x n x n: the same",
        example = "linalg.inv(tensor{{2.0, 1.0}, {1.0, 1.0}})\n--> tensor({{ 1.0, \z
            -1.0},\n-->         {-1.0,  2.0}}, f32 2x2 cpu)",
        see = "linalg.solve, linalg.pinv, linalg.inv_ex" },
    ["linalg.inv_ex"] = {
        text = "Two values. Where the second is not 0 the first is of no use.",
        shapes = "… x n x n: the same, and …",
        example = "local y, info = linalg.inv_ex(tensor{{1.0, 0.0}, {0.0, 0.0}}) return \z
            info:item()\n--> 2",
        see = "linalg.inv" },
    ["linalg.det"] = {
        text = "0 for a singular matrix, no error; gradients are right there, too, and so are \z
            theirs up to the third derivative, or to any where at most three singular values are \z
            0. Of large matrices it soon is too large or too small for its dtype: linalg.slogdet \z
            is not.",
        shapes = "… x n x n: …",
        example = "linalg.det(tensor{{2.0, 1.0}, {0.0, 3.0}})\n--> tensor(6.0, f32 scalar cpu)",
        see = "linalg.slogdet, logdet, linalg.lu" },
    ["linalg.slogdet"] = {
        text = "Two values; for a singular matrix 0 and -inf, no error: there it has no \z
            derivative, and gradients are infinite or NaN.",
        shapes = "… x n x n: … twice",
        example = "local sign, log = linalg.slogdet(tensor{{0.0, 2.0}, {2.0, 0.0}}) return \z
            sign\n--> tensor(-1.0, f32 scalar cpu)",
        see = "linalg.det, logdet" },

    -- Eigenvalues.
    ["linalg.eigh"] = {
        text = "Two values. Signs of vectors, and vectors of equal values, are not determined: \z
            devices may differ in them, and a gradient that depends on those of equal values is \z
            NaN.",
        options = "uplo: 'L' or 'U', the triangle that is read; the other one is taken to mirror \z
            it",
        shapes = "… x n x n: … x n and … x n x n",
        example = "local w, v = linalg.eigh(tensor{{2.0, 1.0}, {1.0, 2.0}}) return w:round()\n--> \z
            tensor({1.0, 3.0}, f32 2 cpu)",
        see = "linalg.eigvalsh, linalg.eig, linalg.svd" },
    ["linalg.eigvalsh"] = {
        text = "Without the vectors, which is less work than linalg.eigh.",
        options = "uplo: 'L' or 'U', the triangle that is read; the other one is taken to mirror \z
            it",
        shapes = "… x n x n: … x n",
        example = "linalg.eigvalsh(tensor{{3.0, 0.0}, {4.0, -3.0}}):round()\n--> tensor({-5.0,  \z
            5.0}, f32 2 cpu)",
        see = "linalg.eigh, linalg.eigvals" },
    ["linalg.eig"] = {
        text = "gpush has no complex tensors, where PyTorch gives two of them. The values are in \z
            no order, the vectors have length 1; a gradient that depends on vectors of equal \z
            values is NaN. Of symmetric matrices: linalg.eigh.",
        shapes = "… x n x n: … x n twice, then … x n x n twice",
        example = "local re, im, v_re, v_im = linalg.eig(tensor{{2.0, 1.0}, {0.0, 3.0}}) return \z
            re:sort():round()\n--> tensor({2.0, 3.0}, f32 2 cpu)",
        see = "linalg.eigvals, linalg.eigh" },
    ["linalg.eigvals"] = {
        text = "Without the vectors, which is less work than linalg.eig. The values are in no \z
            order.",
        shapes = "… x n x n: … x n twice",
        example = "local re, im = linalg.eigvals(tensor{{0.0, -1.0}, {1.0, 0.0}}) return \z
            im:sort():round()\n--> tensor({-1.0,  1.0}, f32 2 cpu)",
        see = "linalg.eig, linalg.eigvalsh" },

    -- Fourier transforms. gpush has no complex tensors: a last dim of 2 is real and imaginary part.
    ["fft.fft"] = {
        text = "gpush has no complex tensors: a last dim of 2 holds the real and the imaginary \z
            part, where PyTorch has a complex number. fft.rfft does half the work for a real \z
            tensor.",
        options = "norm: 'backward' leaves the factor 1 / n to the inverse, 'forward' has it \z
            here, 'ortho' 1 / sqrt(n) in both",
        shapes = "real … x n …: … x n … x 2; complex=true: the same as x",
        example = "fft.fft(tensor{1.0, 2.0, 3.0, 4.0})\n--> tensor({{10.0,  0.0},\n-->         \z
            {-2.0,  2.0},\n-->         {-2.0,  0.0},\n-->         {-2.0, -2.0}}, f32 4x2 cpu)",
        see = "fft.ifft, fft.rfft, fft.fft2, fft.fftfreq" },
    ["fft.ifft"] = {
        text = "norm has the name that fft.fft had: 'backward' multiplies by 1 / n here.",
        shapes = "… x n … x 2: the same",
        example = "fft.ifft(tensor{{2.0, 0.0}, {0.0, 0.0}})\n--> tensor({{1.0, 0.0},\n-->         \z
            {1.0, 0.0}}, f32 2x2 cpu)",
        see = "fft.fft, fft.irfft" },
    ["fft.rfft"] = {
        text = "norm: as in fft.fft.",
        shapes = "… x n …: … x n // 2 + 1 … x 2",
        example = "fft.rfft(tensor{1.0, 2.0, 3.0, 4.0})\n--> tensor({{10.0,  0.0},\n-->         \z
            {-2.0,  2.0},\n-->         {-2.0,  0.0}}, f32 3x2 cpu)",
        see = "fft.irfft, fft.fft, fft.rfftfreq" },
    ["fft.irfft"] = {
        text = "Half of the frequencies do not tell whether n was even: give n where it was odd.",
        shapes = "… x m … x 2: … x n …, n being 2 m - 2 if not given",
        example = "fft.irfft(fft.rfft(tensor{1.0, 2.0, 3.0, 2.0}))\n--> tensor({1.0, 2.0, 3.0, \z
            2.0}, f32 4 cpu)",
        see = "fft.rfft, fft.ifft" },
    ["fft.fft2"] = {
        text = "norm and pairs: as in fft.fft. dims are counted without that of pairs.",
        shapes = "real … x h x w: … x h x w x 2; complex=true: the same as x",
        example = "fft.fft2(tensor{{1.0, 2.0}, {3.0, 4.0}}):select(-1, 1)\n--> tensor({{10.0, \z
            -2.0},\n-->         {-4.0,  0.0}}, f32 2x2 cpu)",
        see = "fft.ifft2, fft.rfft2, fft.fftn" },
    ["fft.ifft2"] = {
        text = "norm: as in fft.ifft. dims are counted without that of pairs.",
        shapes = "… x h x w x 2: the same",
        example = "fft.ifft2(fft.fft2(tensor{{1.0, 2.0}, {3.0, 4.0}})):select(-1, 1)\n--> \z
            tensor({{1.0, 2.0},\n-->         {3.0, 4.0}}, f32 2x2 cpu)",
        see = "fft.fft2, fft.irfft2" },
    ["fft.rfft2"] = {
        text = "norm and pairs: as in fft.fft.",
        shapes = "… x h x w: … x h x w // 2 + 1 x 2",
        example = "fft.rfft2(ones(2, 4)).shape[2]\n--> 3",
        see = "fft.irfft2, fft.fft2, fft.rfftn" },
    ["fft.irfft2"] = {
        text = "Give s where the last size was odd, which the frequencies do not tell. dims are \z
            counted without that of pairs.",
        shapes = "… x h x m x 2: … x h x w, w being 2 m - 2 if not given",
        example = "fft.irfft2(fft.rfft2(tensor{{1.0, 2.0}, {3.0, 4.0}}))\n--> tensor({{1.0, \z
            2.0},\n-->         {3.0, 4.0}}, f32 2x2 cpu)",
        see = "fft.rfft2, fft.ifft2" },
    ["fft.fftn"] = {
        text = "norm and pairs: as in fft.fft. dims are counted without that of pairs.",
        shapes = "real: x's, then 2; complex=true: the same as x",
        example = "fft.fftn(ones(2, 2, 2))[1][1][1]\n--> tensor({8.0, 0.0}, f32 2 cpu)",
        see = "fft.ifftn, fft.rfftn, fft.fft2" },
    ["fft.ifftn"] = {
        text = "norm: as in fft.ifft. dims are counted without that of pairs.",
        shapes = "… x 2: the same",
        example = "fft.ifftn(fft.fftn(tensor{{1.0, 2.0}, {3.0, 4.0}})):select(-1, 1)\n--> \z
            tensor({{1.0, 2.0},\n-->         {3.0, 4.0}}, f32 2x2 cpu)",
        see = "fft.fftn, fft.irfftn" },
    ["fft.rfftn"] = {
        text = "norm and pairs: as in fft.fft.",
        shapes = "… x n, n along the last of the dims: … x n // 2 + 1 x 2",
        example = "fft.rfftn(ones(2, 2, 2))[1][1]\n--> tensor({{8.0, 0.0},\n-->         {0.0, \z
            0.0}}, f32 2x2 cpu)",
        see = "fft.irfftn, fft.fftn" },
    ["fft.irfftn"] = {
        text = "Give s where the last size was odd, which the frequencies do not tell. dims are \z
            counted without that of pairs.",
        shapes = "… x m x 2: … x n, n being 2 m - 2 if not given",
        example = "fft.irfftn(fft.rfftn(tensor{{1.0, 2.0}, {3.0, 4.0}}))\n--> tensor({{1.0, \z
            2.0},\n-->         {3.0, 4.0}}, f32 2x2 cpu)",
        see = "fft.rfftn, fft.ifftn" },
    ["fft.fftfreq"] = {
        text = "In cycles per unit of d; the first element is frequency 0. fft.fftshift puts them \z
            in order.",
        shapes = "n, of the default dtype if none is given",
        example = "fft.fftfreq(4)\n--> tensor({ 0.00,  0.25, -0.50, -0.25}, f32 4 cpu)",
        see = "fft.rfftfreq, fft.fftshift, fft.fft" },
    ["fft.rfftfreq"] = {
        text = "In cycles per unit of d; the first element is frequency 0.",
        shapes = "n // 2 + 1, of the default dtype if none is given",
        example = "fft.rfftfreq(4, 0.5)\n--> tensor({0.0, 0.5, 1.0}, f32 3 cpu)",
        see = "fft.fftfreq, fft.rfft" },
    ["fft.fftshift"] = {
        text = "What fft.fft gave has a dim of pairs at its end, which must not be shifted: give \z
            the dims.",
        shapes = "x: any; the result has the same",
        example = "fft.fftshift(fft.fftfreq(4))\n--> tensor({-0.50, -0.25,  0.00,  0.25}, f32 4 \z
            cpu)",
        see = "fft.ifftshift, fft.fftfreq, roll" },
    ["fft.ifftshift"] = {
        text = "Differs from fft.fftshift where a size is odd.",
        shapes = "x: any; the result has the same",
        example = "fft.ifftshift(arange(1, 5))\n--> tensor({3, 4, 5, 1, 2}, i64 5 cpu)",
        see = "fft.fftshift, roll" },
}
