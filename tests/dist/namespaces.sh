#!/usr/bin/env bash
# Four machines in one: ranks in network namespaces of their own, which reach each other by TCP over
# veth alone, through links that are slowed down. And what prof:on predicts of such a network.
# shellcheck disable=SC2154 # status: dist.sh
. "$(dirname "$0")/../support/tap.sh"
. "$(dirname "$0")/../support/dist.sh"
[ -z "$GPUSH_SAN" ] || tap_skip_all "the sanitizers see the same code in the other tests of dist"
[ "$(id -u)" = 0 ] || tap_skip_all "network namespaces need root"
[ "$(command -v ip)" ] && [ "$(command -v tc)" ] || tap_skip_all "iproute2 is not installed"
case $(mpirun --version) in *"Open MPI"*) ;; *) tap_skip_all "it is another MPI than Open MPI" ;; esac
cd "$HOME" || exit 1
readonly MBIT=20
name=gpush$$
net=10.213.$(($$ % 250)) # of several runs at a time
made=0

clean() {
    for i in $(seq 0 $made); do ip netns del "$name-$i" 2>/dev/null; done
}
trap clean EXIT

# A switch, and machine I with a link to it of MBIT/s each way.
switch() {
    ip netns add "$name-0" && ip -n "$name-0" link add switch type bridge &&
        ip -n "$name-0" link set switch up && ip -n "$name-0" link set lo up &&
        ip -n "$name-0" addr add "$net.254/24" dev switch
}
machine() {
    local rate="tbf rate ${MBIT}mbit burst 5kb latency 2s"
    made=$1
    ip netns add "$name-$1" &&
        ip -n "$name-$1" link add eth0 type veth peer name "v$1" netns "$name-0" &&
        ip -n "$name-0" link set "v$1" master switch up &&
        ip -n "$name-$1" addr add "$net.$1/24" dev eth0 &&
        ip -n "$name-$1" link set eth0 up && ip -n "$name-$1" link set lo up &&
        tc -n "$name-$1" qdisc add dev eth0 root $rate &&
        tc -n "$name-0" qdisc add dev "v$1" root $rate
}
switch 2>err && machine 1 2>>err && machine 2 2>>err && machine 3 2>>err && machine 4 2>>err ||
    tap_skip_all "this system makes no slow links between namespaces: $(head -1 err)"

# In place of ssh: runs a command on the machine with that address, which has a name of its own.
cat >agent <<E2
#!/bin/sh
i=\${1##*.}
shift
exec ip netns exec $name-\$i unshare -u sh -c "hostname machine\$i; \$*"
E2
chmod +x agent

# on N SCRIPT: N ranks, one a machine; as `ranks`. They get the variables in `given`, too.
given=()
on() {
    local n=$1 hosts=$net.1
    shift
    for i in $(seq 2 "$n"); do hosts=$hosts,$net.$i; done
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        timeout -k 5 100 ip netns exec "$name-0" unshare -u sh -c "hostname machine0; exec \"\$@\"" sh \
        mpirun --mca plm_rsh_agent "$PWD/agent" --mca btl tcp,self \
        --mca btl_tcp_if_include "$net.0/24" --mca oob_tcp_if_include "$net.0/24" \
        -H "$hosts" -n "$n" "${given[@]}" "$GPUSH_BUILD/gpush" "$@" >out 2>err </dev/null
    status=$?
}

cat >x.lua <<'E2'
dist.init{timeout = 60}
local function step()
    for _ = 1, 3 do dist.barrier() end
    for _, n in ipairs{25000, 75000} do dist.all_reduce(ones(n)) end
end
assert(dist.all_reduce(ones(3)):sum():item() == 3 * dist.size)
local from = (dist.rank + 1) % dist.size
local got = zeros(2)
if dist.rank == 0 then dist.recv(got, from) dist.send(ones(2), dist.size - 1)
else dist.send(ones(2) * dist.rank, dist.rank - 1) dist.recv(got, from) end
print("got", dist.rank, got[1]:item())
local prof = profile.run({flops = true}, step)
prof:save(("%d-of-%d"):format(dist.rank, dist.size))
E2
on 4 x.lua
tap_is "$status $(sort out | tr -d '\n')" "0 got	0	1.0got	1	2.0got	2	3.0got	3	1.0" \
    "four ranks on four machines: $(head -c 300 err)"
on 2 x.lua
tap_is "$status" 0 "two on two: $(head -c 300 err)"

# NCCL on the stand-ins for it and for CUDA: ranks meet over TCP, and compare their calls.
if [ -e "$GPUSH_BUILD/fake/libgpush_nccl.so" ]; then
    cat >cuda.lua <<'E2'
dist.init{timeout = 60}
local x = full({1000}, dist.rank + 1.0, {device = "cuda"})
print(dist.rank, dist.all_reduce(x)[1]:item(), dist.all_gather(x):sum():item())
print(pcall(function() return dist.all_reduce(ones(2 + dist.rank, {device = "cuda"}))[1]:item() end))
E2
    fake=$GPUSH_BUILD/fake
    given=(-x "GPUSH_CUDA_PLUGIN=$fake/libgpush_cuda.so" -x "GPUSH_NCCL_PLUGIN=$fake/libgpush_nccl.so" -x "GPUSH_CUDA_LIBRARIES=$fake/nccl:$fake")
    on 4 cuda.lua
    tap_is "$status $(grep -c $'^[0-3]\t10.0\t10000.0$' out)" "0 4" "NCCL's collectives of four machines: $(head -c 300 err)"
    tap_is "$(grep -c 'false.*ranks differ: rank 0 calls dist.all_reduce(sum) of f32 2 at cuda.lua:4, rank' out)" 4 "and their calls are compared"
    given=()
else
    tap_skip "the stand-in for NCCL was not built"
fi

# Wide limits: other programs hold up the ranks, which no link does less than it is made to. What is measured on a quiet machine is in
# docs/distributed-reference.md.
cat >y.lua <<'E2'
local function job(n)
    local files = {}
    for r = 1, n do files[r] = ("%d-of-%d"):format(r - 1, n) end
    return profile.load(files)
end
local jobs, link = {[2] = job(2), [4] = job(4)}, {latency = 1e-4, bandwidth = tonumber(arg[1]) * 1e6 / 8}
local function check(what, prof, n, network)
    local p, is = prof:on{ranks = n, network = network}, jobs[n].wall_ns
    -- the links alone take 160 ms
    local good = p.wall_ns > 1.4e8 and p.wall_ns < is * 6 and p.predicted:find(n .. " ranks")
    print(("%s %s: %.0f ms predicted, %.0f ms then (%+.1f %%)"):format(good and "ok" or "WRONG", what,
        p.wall_ns / 1e6, is / 1e6, 100 * (p.wall_ns / is - 1)))
end
check("2 ranks from 2, the link as it was made", jobs[2], 2, link)
check("4 ranks from 4, the same", jobs[4], 4, link)
check("4 ranks from 2, the same", jobs[2], 4, link)
check("4 ranks from 2, the network as measured", jobs[2], 4, "measured")
local few = jobs[2]:on{ranks = 4, network = link, algorithm = "ring"}
local many = jobs[2]:on{ranks = 1024, network = link, algorithm = "ring"}
print(many.wall_ns > few.wall_ns + 5 * 2040 * 1e5 and "ok" or "WRONG", "1,024 ranks")
E2
"$GPUSH_BUILD/gpush" y.lua $MBIT >found 2>err
tap_is "$? $(grep -c '^ok' found) $(grep -c WRONG found) $(head -c 300 err)" "0 5 0 " "predictions"
sed 's/^/# /' found
tap_done
