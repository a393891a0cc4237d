# Slurm on this machine alone, for a test in bash: source it after tap.sh and dist.sh. Its daemons
# live in $HOME and end with the test.
# shellcheck shell=bash
for tool in munged slurmctld slurmd sbatch srun scancel; do
    command -v $tool >/dev/null 2>&1 ||
        tap_skip_all "Slurm is not installed: apt-get install slurm-wlm munge"
done
[ "$(id -u)" = 0 ] || tap_skip_all "Slurm's daemons need root"
[ -n "$GPUSH_SAN" ] && tap_skip_all "Slurm's jobs run without sanitizers"
srun_host=$(hostname -s)
export SLURM_CONF=$HOME/slurm.conf
mkdir -m 700 "$HOME/state" "$HOME/spool" "$HOME/munge"
head -c 1024 /dev/urandom >"$HOME/munge/key" && chmod 400 "$HOME/munge/key"
port=$((20000 + $$ % 20000))
cat >"$SLURM_CONF" <<X
ClusterName=gpush
SlurmctldHost=$srun_host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$HOME/munge/socket
CredType=cred/munge
StateSaveLocation=$HOME/state
SlurmdSpoolDir=$HOME/spool
SlurmctldPidFile=$HOME/slurmctld.pid
SlurmdPidFile=$HOME/slurmd.pid
SlurmctldLogFile=$HOME/slurmctld.log
SlurmdLogFile=$HOME/slurmd.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SchedulerType=sched/builtin
SchedulerParameters=sched_interval=1,batch_sched_delay=0
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=pmix
KillWait=10
ReturnToService=2
NodeName=$srun_host NodeAddr=127.0.0.1 CPUs=4 State=UNKNOWN
PartitionName=all Nodes=$srun_host Default=YES MaxTime=INFINITE State=UP
X

slurm_stop() {
    scancel --quiet --user=root 2>/dev/null
    for daemon in slurmd slurmctld; do
        [ ! -s "$HOME/$daemon.pid" ] || kill "$(cat "$HOME/$daemon.pid")"
    done
    munged --stop --socket="$HOME/munge/socket" --pid-file="$HOME/munge/pid" >/dev/null 2>&1
}
trap slurm_stop EXIT
munged --force --key-file="$HOME/munge/key" --socket="$HOME/munge/socket" \
    --pid-file="$HOME/munge/pid" --log-file="$HOME/munge/log" --seed-file="$HOME/munge/seed" \
    >munged.out 2>&1 || tap_skip_all "munged does not start here: $(tail -n 1 munged.out)"
for daemon in slurmctld slurmd; do
    $daemon >out 2>&1 || tap_skip_all "$daemon does not start here: $(tail -n 1 out)"
done

# within SECONDS COMMAND ...: whether the command succeeds in that time, tried ten times a second.
within() {
    local stop=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $stop ] || return 1
        sleep 0.1
    done
}
node_is_idle() { [ "$(sinfo --noheader --format=%t 2>/dev/null)" = idle ]; }
within 20 node_is_idle || tap_skip_all "Slurm has no node here: $(sinfo --noheader 2>&1 | head -n 1)"
srun --mpi=list 2>&1 | grep -q pmix || tap_skip_all "Slurm has no PMIx here, which Open MPI asks"

# submit OPTIONS... COMMAND: queues a job of two tasks; its number in job.
# shellcheck disable=SC2034 # job is for the test
submit() {
    local command=${!#}
    set -- "${@:1:$#-1}"
    job=$(sbatch --parsable --ntasks=2 --export=ALL "$@" --wrap="$command")
}
ended() { [ -z "$(squeue --noheader --jobs="$1" 2>/dev/null)" ]; }
