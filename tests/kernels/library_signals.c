/* oneDNN's kernels, made at run time, use the stack pointer as an ordinary register: a handler's
 * frame would overwrite the heap. So signals must be blocked, but for faults, in whatever thread
 * calls it, and in those of the pool that it computes on. Here a function that looks at the masks
 * stands in the table before oneDNN's: no processor is needed whose kernels do so. */
#include "tap.h"

#include <dirent.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

#include "bindings/bind.h"
#include "bindings/memory.h"
#include "bindings/module.h"
#include "kernels/blas/blas.h"

#include <lauxlib.h>

static atomic_int calls, open_here, open_pool, no_faults;

static bool takes_signals(const sigset_t *mask) {
    static const int outside[] = {SIGINT, SIGALRM, SIGPROF, SIGWINCH, SIGTERM, SIGUSR1, SIGUSR2};
    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
        if (!sigismember(mask, outside[i])) return true;
    return false;
}

/* What of the pool would take a signal now. */
static void look_at_pool(void) {
#pragma omp parallel
    {
        sigset_t mask;
        pthread_sigmask(SIG_SETMASK, NULL, &mask);
        if (takes_signals(&mask)) atomic_fetch_add(&open_pool, 1);
    }
}

static const gp_blas_table *theirs;

static dnnl_status_t look_and_multiply(char transa, char transb, dnnl_dim_t M, dnnl_dim_t N,
                                       dnnl_dim_t K, float alpha, const float *A, dnnl_dim_t lda,
                                       const float *B, dnnl_dim_t ldb, float beta, float *C,
                                       dnnl_dim_t ldc) {
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    atomic_fetch_add(&calls, 1);
    if (takes_signals(&mask)) atomic_fetch_add(&open_here, 1);
    if (sigismember(&mask, SIGSEGV) || sigismember(&mask, SIGFPE)) atomic_fetch_add(&no_faults, 1);
    dnnl_status_t status =
        theirs->dnnl_sgemm(transa, transb, M, N, K, alpha, A, lda, B, ldb, beta, C, ldc);
    if (!omp_in_parallel() && omp_get_max_threads() > 1) look_at_pool();
    return status;
}

/* `needs`: it is known to multiply by oneDNN, whatever the processor. */
static const struct {
    const char *name;
    bool needs;
    const char *program;
} cases[] = {
    {"a product", true, "local _ = x:matmul(x)"},
    {"products in slices", true, "local _ = xs:bmm(xs)"},
    {"one thread", true, "threads(1) local _ = x:matmul(x) threads(2)"},
    {"products in slices on one thread", true, "threads(1) local _ = xs:bmm(xs) threads(2)"},
    {"a layer and its gradient", true, "nn.Linear(300, 300)(x):sum():backward()"},
    {"a recurrent layer and its gradient", true,
     "nn.LSTM(64, 256)(randn(20, 32, 64)):sum():backward()"},
    {"attention", true, "scaled_dot_product_attention(xs, xs, xs)"},
    {"a convolution and its gradient", false,
     "nn.Conv2d(16, 32, 3)(randn(8, 16, 64, 64)):sum():backward()"},
    {"a factorization", false,
     "linalg.solve(x, x) linalg.qr(x) linalg.cholesky(x:matmul(x:t()) + 999 * eye(300))"},
    {"16 bits", false, "local h = x:to 'bf16' local _ = h:matmul(h) h:to 'f16':matmul(h:to 'f16')"},
    {"a queue of sim", true, "local y = x:to 'sim' local _ = y:matmul(y):sum():item()"},
    {"a fork", true, "wait(fork(function() return x:matmul(x) end))"},
    {"a loader's worker", true,
     "local function get() local x = ones(300, 300) return x:matmul(x) end "
     "for _ in data.Loader {data.Dataset {size = 4, get = get}, workers = 1}() do end"},
    {"samples of the script", true,
     "profile.run({lua = true}, function() local _ = x:matmul(x), xs:bmm(xs) end)"},
};

static void look(lua_State *L, int i) {
    calls = open_here = open_pool = no_faults = 0;
    bool ran = luaL_dostring(L, cases[i].program) == LUA_OK;
    if (!tap_ok(ran && open_here == 0 && open_pool == 0, "%s: signals wait, in %d calls",
                cases[i].name, calls))
        fprintf(stderr, "# %d calls took signals, %d threads of the pool; %s\n", open_here,
                open_pool, ran ? "" : lua_tostring(L, -1));
    tap_ok(no_faults == 0 && (calls > 0 || !cases[i].needs), "and faults do not");
    lua_settop(L, 0);
}

int main(void) {
    static gp_blas_table ours;
    lua_State *L = gp_lua_newstate();
    if (!gp_blas_open()) return fprintf(stderr, "%s\n", gp_error());
    ours = *(theirs = gp_blas);
    ours.dnnl_sgemm = look_and_multiply;
    gp_blas = &ours;
    gp_lua_open_state(L, GP_LUA_SYNTAX);
    if (luaL_dostring(L, "threads(2) x = randn(300, 300) xs = randn(4, 300, 300)"))
        fprintf(stderr, "# %s\n", lua_tostring(L, -1));
    for (int i = 0; i < (int)(sizeof cases / sizeof *cases); i++) look(L, i);
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    tap_ok(takes_signals(&mask), "afterwards signals come again");
    lua_close(L);
    return tap_done();
}
