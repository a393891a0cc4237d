--!plain
-- Help texts of linear algebra; their form: scripts/lua/help/topics.lua.
return [==[
matmul (see mm, bmm, einsum, linear, linalg.multi_dot)
    Both operands must have the same dtype, which may be an integer; 16-bit floats are summed in f32
    and rounded once. cuda.tf32(true) makes f32 faster and less exact on a GPU.
    shapes: n x k times k x m is n x m; further dims in front are batches and broadcast; a vector is
        a row or a column
    > ones(2, 3):matmul(ones(3, 2))
    --> tensor({{3.0, 3.0},
    -->         {3.0, 3.0}}, f32 2x2 cpu)
mm (see matmul, addmm, bmm)
    matmul of two matrices; other shapes are an error.
    shapes: n x k times k x m is n x m
    > tensor({{1, 2}, {3, 4}}):mm(tensor{{0, 1}, {1, 0}})
    --> tensor({{2, 1},
    -->         {4, 3}}, i64 2x2 cpu)
bmm (see matmul, baddbmm)
    matmul of two batches of matrices, which do not broadcast.
    shapes: b x n x k times b x k x m is b x n x m
    > bmm(ones(2, 1, 3), ones(2, 3, 1)):flatten() --> tensor({3.0, 3.0}, f32 2 cpu)
mv (see matmul, addmv, dot)
    matmul of a matrix and a vector.
    shapes: n x k times k is n
    > mv(tensor{{1, 2}, {3, 4}}, tensor{1, 1}) --> tensor({3, 7}, i64 2 cpu)
dot (see inner, linalg.vecdot, outer)
    matmul of two vectors; the result is a 0-d tensor on the device, so nothing waits.
    shapes: n times n is 0-d
    > tensor({1, 2}):dot(tensor{3, 4}) --> tensor(11, i64 scalar cpu)
inner (see dot, tensordot, outer)
    Products of the rows of a with the rows of b: matmul with b transposed.
    shapes: … x k and … x k: a's dims but the last, then b's dims but the last; 0-d operands: a * b
    > inner(tensor{{1, 2}, {3, 4}}, tensor{1, 10}) --> tensor({21, 43}, i64 2 cpu)
outer (see kron, inner, einsum)
    Dtypes are promoted as in a * b; matmul needs equal ones.
    shapes: n and m: n x m
    > outer(tensor{1, 2}, tensor{1, 10})
    --> tensor({{ 1, 10},
    -->         { 2, 20}}, i64 2x2 cpu)
kron (see outer, tile)
    Dtypes are promoted as in a * b; matmul needs equal ones.
    shapes: the size along each dim is the product of a's and b's
    > kron(tensor{1, 2}, tensor{1, 10}) --> tensor({ 1, 10,  2, 20}, i64 4 cpu)
einsum (see matmul, tensordot, trace)
    A letter for each dim. Letters that are missing after the arrow are summed over; without an
    arrow, those that occur twice. A letter twice in one operand takes its diagonal. More than two
    operands are multiplied by pairs, first the pair whose product adds the fewest elements.
    shapes: dims with the same letter have the same size, or 1
    > einsum("ij,jk->ik", ones(2, 3), ones(3, 2))
    --> tensor({{3.0, 3.0},
    -->         {3.0, 3.0}}, f32 2x2 cpu)
tensordot (see einsum, matmul, inner)
    dims are counted from 1, or from the end with -1, in the lists for a and for b.
    shapes: the dims of a that are not summed over, then those of b; dims that are have one size in
        a and b
    > tensordot(tensor{{1, 2}, {3, 4}}, tensor{{1, 2}, {3, 4}}) --> tensor(30, i64 scalar cpu)
addmm (see mm, addmv, baddbmm, linear)
    With beta = 0 x is not read, and its NaNs do not propagate.
    shapes: x: broadcast to n x m; a: n x k; b: k x m
    > addmm(tensor{1.0, 2.0}, eye(2), ones(2, 2), {alpha = 3})
    --> tensor({{4.0, 5.0},
    -->         {4.0, 5.0}}, f32 2x2 cpu)
addmv (see mv, addmm)
    With beta = 0 x is not read, and its NaNs do not propagate.
    shapes: x: broadcast to n; a: n x k; b: k
    > addmv(ones(2), tensor{{1.0, 2.0}, {3.0, 4.0}}, ones(2), {alpha = 2})
    --> tensor({ 7.0, 15.0}, f32 2 cpu)
baddbmm (see bmm, addmm)
    With beta = 0 x is not read, and its NaNs do not propagate.
    shapes: x: broadcast to b x n x m; a: b x n x k; b: b x k x m
    > baddbmm(ones(2, 1, 1), ones(2, 1, 3), ones(2, 3, 1), {beta = 10}):flatten()
    --> tensor({13.0, 13.0}, f32 2 cpu)
trace (see diagonal, einsum)
    For a batch write x:diagonal(0, -2, -1):sum(-1).
    shapes: n x m, not a batch: 0-d
    > tensor({{1, 2}, {3, 4}}):trace() --> tensor(5, i64 scalar cpu)
cross (see linalg.cross, linalg.vecdot)
    Without dim it is the first dim of size 3, as in PyTorch, so it may depend on the number of
    vectors; linalg.cross takes the last dim.
    shapes: a and b broadcast, size 3 along dim; the result has their common shape
    > cross(tensor{1, 0, 0}, tensor{0, 1, 0}) --> tensor({0, 0, 1}, i64 3 cpu)
logdet (see linalg.slogdet, linalg.det)
    -inf where the matrix is singular: there it has no derivative, and gradients are infinite or
    NaN.
    shapes: … x n x n: …
    > logdet(eye(3)) --> tensor(0.0, f32 scalar cpu)
cholesky_solve (see linalg.cholesky, linalg.solve_triangular, linalg.solve)
    l is the result of linalg.cholesky; one factor serves many right-hand sides.
    shapes: b: … x n x k; l: … x n x n; the result has b's
    > cholesky_solve(tensor{{4.0}, {9.0}}, tensor{{2.0, 0.0}, {0.0, 3.0}})
    --> tensor({{1.0},
    -->         {1.0}}, f32 2x1 cpu)
linalg.vecdot (see dot, inner, linalg.cross)
    Operands broadcast; 16-bit floats are summed in f32 and rounded once.
    shapes: x and y: one size along dim; the result has the common shape without dim
    > linalg.vecdot(tensor{{1, 2}, {3, 4}}, tensor{{1, 1}, {2, 2}}) --> tensor({ 3, 14}, i64 2 cpu)
linalg.cross (see cross, linalg.vecdot)
    Perpendicular to both; dtypes are promoted as in a * b.
    shapes: a and b broadcast, size 3 along dim; the result has their common shape
    > linalg.cross(tensor{1, 2, 3}, tensor{4, 5, 6}) --> tensor({-3,  6, -3}, i64 3 cpu)
linalg.multi_dot (see matmul, einsum)
    Takes a list. The order comes from the sizes alone, before anything is multiplied.
    shapes: n x k, k x m, …: matrices that fit; a vector in front is a row, at the end a column, and
        its dim is removed
    > linalg.multi_dot({ones(2, 3), ones(3, 2), ones(2)}) --> tensor({6.0, 6.0}, f32 2 cpu)
linalg.matrix_power (see matmul, linalg.inv)
    By squaring: about 2 log2(n) products. n = 0 gives the identity.
    shapes: … x n x n: the same
    > linalg.matrix_power(tensor{{2, 1}, {0, 1}}, 3)
    --> tensor({{8, 7},
    -->         {0, 1}}, i64 2x2 cpu)
linalg.norm (see linalg.vector_norm, linalg.matrix_norm, norm)
    Without ord all elements are one vector; with ord the number of dims, of x or in dim, says
    whether it is a vector's or a matrix's norm: see linalg.vector_norm and linalg.matrix_norm.
    options: ord: a number, inf, -inf, 'fro' or 'nuc'; dim: one, or a list of two; keepdim: keeps
        them with size 1; dtype: x is converted first
    > linalg.norm(tensor{3.0, 4.0}) --> tensor(5.0, f32 scalar cpu)
linalg.vector_norm (see linalg.norm, linalg.matrix_norm)
    For floats. Without dims all elements are one vector.
    options: ord: a number, also inf or -inf (math.huge); keepdim: keeps dims with size 1; dtype: x
        is converted first
    > linalg.vector_norm(tensor{{3.0, -4.0}, {0.0, 2.0}}, math.huge, 2)
    --> tensor({4.0, 2.0}, f32 2 cpu)
linalg.matrix_norm (see linalg.norm, linalg.svdvals, linalg.cond)
    fro: the root of the sum of squares; nuc: the sum of the singular values; 2 and -2: the largest
    and the smallest of them; 1 and -1: the largest and the smallest column sum of magnitudes; inf
    and -inf: row sum.
    shapes: … x n x m: …; keepdim keeps both dims with size 1
    > linalg.matrix_norm(tensor{{1.0, -2.0}, {3.0, 4.0}}, 1) --> tensor(6.0, f32 scalar cpu)
linalg.cond (see linalg.svdvals, linalg.matrix_norm, linalg.inv)
    How much an error of b may grow in the solution of x y = b.
    options: p: nil or 2: the largest singular value over the smallest; -2: the other way round;
        'fro', 'nuc', inf, -inf, 1, -1: the norm of x times that of its inverse
    shapes: … x n x m (with p other than 2 and -2 square): …
    > linalg.cond(tensor{{4.0, 0.0}, {0.0, 2.0}}):round() --> tensor(2.0, f32 scalar cpu)
linalg.matrix_rank (see linalg.svdvals, linalg.pinv)
    Without atol and rtol: rtol is the larger size times the dtype's epsilon. The result is a tensor
    on the device, so nothing waits.
    options: hermitian: eigenvalues' magnitudes in place of singular values, which is faster
    shapes: … x n x m: …, of i64
    > linalg.matrix_rank(tensor{{1.0, 2.0}, {2.0, 4.0}}) --> tensor(1, i64 scalar cpu)
linalg.pinv (see linalg.inv, linalg.lstsq, linalg.svd)
    Also of matrices that are singular or not square. Without atol and rtol: rtol is the larger size
    times the dtype's epsilon. To solve a x = b, linalg.lstsq is better.
    options: hermitian: x is symmetric; by eigenvalues, which is faster
    shapes: … x n x m: … x m x n
    > local x = tensor{{1.0, 2.0}, {2.0, 4.0}} return x:mm(linalg.pinv(x)):mm(x):round()
    --> tensor({{1.0, 2.0},
    -->         {2.0, 4.0}}, f32 2x2 cpu)
linalg.svd (see linalg.svdvals, linalg.eigh, linalg.pinv, linalg.qr)
    The singular values are in order, the largest first. Signs of vectors, and vectors of equal
    values, are not unique: devices may differ in them, and a gradient that depends on them, or on
    vectors beyond the values in full matrices, is NaN. On a GPU cuda.svd_driver() says which driver
    did the last one and sets one for all; in a profile kernels have its name in front. f32 and f64
    only, as for all of linalg that factors or solves.
    options: full_matrices: false for the first min(n, m) columns of U and rows of Vh alone, which
        is less work; driver: on CUDA 'gesvd', 'gesvdj' or 'gesvda' instead of what the shape
        suggests; an error elsewhere
    shapes: … x n x m: U … x n x n, S … x min(n, m), Vh … x m x m; or U … x n x min(n, m), Vh … x
        min(n, m) x m
    > local u, s, vh = linalg.svd(tensor{{3.0, 0.0}, {0.0, 4.0}}) return s:round()
    --> tensor({4.0, 3.0}, f32 2 cpu)
linalg.svdvals (see linalg.svd, linalg.matrix_rank, linalg.cond)
    Without the vectors, which is less work than linalg.svd.
    shapes: … x n x m: … x min(n, m)
    > linalg.svdvals(tensor{{0.0, 3.0}, {4.0, 0.0}}):round() --> tensor({4.0, 3.0}, f32 2 cpu)
linalg.qr (see linalg.lstsq, linalg.svd, linalg.cholesky)
    R's diagonal may be negative: signs are as LAPACK's reflections give them.
    shapes: … x n x m: Q … x n x k, R … x k x m, where k is min(n, m), with mode complete n
    > local q, r = linalg.qr(tensor{{3.0, 0.0}, {4.0, 5.0}}) return r:abs():round()
    --> tensor({{5.0, 4.0},
    -->         {0.0, 3.0}}, f32 2x2 cpu)
linalg.cholesky (see cholesky_solve, linalg.cholesky_ex, linalg.lu, linalg.eigh)
    A matrix that is not positive definite is an error. The CPU raises it at once, a GPU at the
    host's next wait, with the line that queued the op. linalg.cholesky_ex reports it in a tensor.
    shapes: … x n x n: the same
    > linalg.cholesky(tensor{{4.0, 2.0}, {2.0, 5.0}})
    --> tensor({{2.0, 0.0},
    -->         {1.0, 2.0}}, f32 2x2 cpu)
linalg.cholesky_ex (see linalg.cholesky)
    Returns two values. Where the second is not 0, the first is meaningless.
    shapes: … x n x n: the same, and …
    > local l, info = linalg.cholesky_ex(tensor{{1.0, 0.0}, {0.0, -1.0}}) return info:item() --> 2
linalg.lu (see linalg.lu_factor, linalg.solve, linalg.det)
    Rows are exchanged so that the largest element of a column becomes the pivot; P L U is x. To
    solve, use linalg.solve.
    shapes: … x n x m: P … x n x n, L … x n x k, U … x k x m, where k is min(n, m)
    > local p, l, u = linalg.lu(tensor{{0.0, 2.0}, {4.0, 1.0}}) return u
    --> tensor({{4.0, 1.0},
    -->         {0.0, 2.0}}, f32 2x2 cpu)
linalg.lu_factor (see linalg.lu, linalg.solve)
    Pivots are i32 and count from 1, as LAPACK's.
    shapes: … x n x m: the same, and … x min(n, m)
    > local lu, pivots = linalg.lu_factor(tensor{{0.0, 2.0}, {4.0, 1.0}}) return pivots
    --> tensor({2, 2}, i32 2 cpu)
linalg.solve (see linalg.lstsq, linalg.solve_triangular, cholesky_solve, linalg.inv)
    Better than the inverse times b: faster and more exact. A singular matrix is an error. The CPU
    raises it at once, a GPU at the host's next wait.
    shapes: a: … x n x n; b: … x n x k, or … x n; the result has b's
    > linalg.solve(tensor{{2.0, 1.0}, {0.0, 4.0}}, tensor{4.0, 8.0})
    --> tensor({1.0, 2.0}, f32 2 cpu)
linalg.solve_triangular (see linalg.solve, cholesky_solve, triu)
    upper has to be given: true or false. A 0 on the diagonal gives inf or NaN, no error.
    options: left: false for x a = b; unitriangular: the diagonal counts as ones and is not read
    shapes: a: … x n x n; b: … x n x k (left = false: … x k x n); the result has b's; batches
        broadcast
    > linalg.solve_triangular(tensor{{2.0, 0.0}, {1.0, 4.0}}, tensor{{2.0}, {9.0}}, false)
    --> tensor({{1.0},
    -->         {2.0}}, f32 2x1 cpu)
linalg.lstsq (see linalg.solve, linalg.pinv, linalg.qr)
    Returns four values; those that the driver does not compute are empty.
    options: driver: gels (a has full rank), gelsy, gelsd, gelss, as in LAPACK
    shapes: a: … x n x m; b: … x n x k, or … x n; the solution: … x m x k, or … x m
    > linalg.lstsq(tensor{{1.0, 1.0}, {1.0, 2.0}, {1.0, 3.0}}, tensor{3.0, 5.0, 7.0}):round()
    --> tensor({1.0, 2.0}, f32 2 cpu)
linalg.inv (see linalg.solve, linalg.pinv, linalg.inv_ex)
    A singular matrix is an error. The CPU raises it at once, a GPU at the host's next wait, with
    the line that queued the op. To solve a x = b, linalg.solve is better.
    shapes: … x n x n: the same
    > linalg.inv(tensor{{2.0, 1.0}, {1.0, 1.0}})
    --> tensor({{ 1.0, -1.0},
    -->         {-1.0,  2.0}}, f32 2x2 cpu)
linalg.inv_ex (see linalg.inv)
    Returns two values. Where the second is not 0, the first is meaningless.
    shapes: … x n x n: the same, and …
    > local y, info = linalg.inv_ex(tensor{{1.0, 0.0}, {0.0, 0.0}}) return info:item() --> 2
linalg.det (see linalg.slogdet, logdet, linalg.lu)
    0 for a singular matrix, which is no error. Gradients are right there, too, and so are higher
    derivatives up to the third, or all of them if at most three singular values are 0. The
    determinant of a large matrix often overflows or underflows; linalg.slogdet does not.
    shapes: … x n x n: …
    > linalg.det(tensor{{2.0, 1.0}, {0.0, 3.0}}) --> tensor(6.0, f32 scalar cpu)
linalg.slogdet (see linalg.det, logdet)
    Returns two values. For a singular matrix they are 0 and -inf, without an error; there it has no
    derivative, and gradients are infinite or NaN.
    shapes: … x n x n: … twice
    > local sign, log = linalg.slogdet(tensor{{0.0, 2.0}, {2.0, 0.0}}) return sign
    --> tensor(-1.0, f32 scalar cpu)
linalg.eigh (see linalg.eigvalsh, linalg.eig, linalg.svd)
    Returns two values. Signs of vectors, and vectors of equal values, are not unique: devices may
    differ in them, and a gradient that depends on those of equal values is NaN.
    options: uplo: triangle that is read, 'L' or 'U'; the other one mirrors it
    shapes: … x n x n: … x n and … x n x n
    > local w, v = linalg.eigh(tensor{{2.0, 1.0}, {1.0, 2.0}}) return w:round()
    --> tensor({1.0, 3.0}, f32 2 cpu)
linalg.eigvalsh (see linalg.eigh, linalg.eigvals)
    Without the vectors, which is less work than linalg.eigh.
    options: uplo: triangle that is read, 'L' or 'U'; the other one mirrors it
    shapes: … x n x n: … x n
    > linalg.eigvalsh(tensor{{3.0, 0.0}, {4.0, -3.0}}):round() --> tensor({-5.0,  5.0}, f32 2 cpu)
linalg.eig (see linalg.eigvals, linalg.eigh)
    gpush has no complex tensors, where PyTorch gives two of them. The values are in no order, the
    vectors have length 1; a gradient that depends on vectors of equal values is NaN. Of symmetric
    matrices: linalg.eigh.
    shapes: … x n x n: … x n twice, then … x n x n twice
    > local re, im, v_re, v_im = linalg.eig(tensor{{2.0, 1.0}, {0.0, 3.0}}) return re:sort():round()
    --> tensor({2.0, 3.0}, f32 2 cpu)
linalg.eigvals (see linalg.eig, linalg.eigvalsh)
    Without the vectors, which is less work than linalg.eig. The values are in no order.
    shapes: … x n x n: … x n twice
    > local re, im = linalg.eigvals(tensor{{0.0, -1.0}, {1.0, 0.0}}) return im:sort():round()
    --> tensor({-1.0,  1.0}, f32 2 cpu)
vander (see pow)
    options: N: how many powers, n if not given; increasing: from the power 0 upward
    shapes: x: n; the result: n x N
    > vander(tensor{1, 2, 3})
    --> tensor({{1, 1, 1},
    -->         {4, 2, 1},
    -->         {9, 3, 1}}, i64 3x3 cpu)
]==]
