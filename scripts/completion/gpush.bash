# bash completion for gpush: its options, then a script, then the script's own arguments; and the
# commands analyze, compare, doctor, fit, help, kernel, lab, labs, mcp, profile, record, run and sync.
# Completes what stands after the option $1; false: nothing is known of it.
_gpush_value() {
    local cur=${COMP_WORDS[COMP_CWORD]} words=
    case $1 in
        --group) words='op region line shape stack module kernel' ;;
        --of) words='wall device waited waits' ;;
        --sort) words='count cpu_time_total self_cpu_time_total device_time_total self_device_time_total' ;;
        --card) words='h200 h100 a100 v100 mi250 t4' ;;
        --fail-on) words='waits launches copies bytes peak' ;;
        --network) words='10Gb 25Gb 100Gb 200Gb 400Gb 800Gb nvlink pcie5 measured' ;;
        --html | --trace | --save | --folded | --speedscope | --diff | --baseline | --junit | --connection | --prefix)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            return
            ;;
        --limit | --steps | --seconds | --stack-depth | --max-events | --max-bytes | --budget | --skip | --fail-above | --ranks | -n | --hosts | --restarts | --name) return ;;
        *) return 1 ;;
    esac
    [[ $1 != --group || ${COMP_WORDS[1]} == profile ]] || words+=' rank'
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
# Completes the options of analyze or compare, $1, and their files.
_gpush_files() {
    local cur=${COMP_WORDS[COMP_CWORD]}
    _gpush_value "${COMP_WORDS[COMP_CWORD - 1]}" && return
    compopt -o filenames
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
    else
        mapfile -t COMPREPLY < <(compgen -f -- "$cur")
    fi
}
# Completes a command's options, $1, before its script; those of $2 take no value. False: another
# word is to be completed.
_gpush_options() {
    local cur=${COMP_WORDS[COMP_CWORD]} i
    for ((i = 2; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* ]] || return 1 # the script
        [[ " $2 " == *" ${COMP_WORDS[i]} "* ]] || ((i++))
    done
    ((i == COMP_CWORD)) || { _gpush_value "${COMP_WORDS[COMP_CWORD - 1]}" && return; }
    [[ $cur == -* ]] || return
    mapfile -t COMPREPLY < <(compgen -W "$1 --help" -- "$cur")
}
_gpush() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
    COMPREPLY=()
    if ((COMP_CWORD > 1)); then
        case ${COMP_WORDS[1]} in
            sync) _gpush_options '--warn --error --baseline --update --budget --skip --json --quiet' '--warn --error --update --json --quiet' && return ;;
            kernel)
                if ((COMP_CWORD == 2)) && [[ $cur != -* ]]; then
                    mapfile -t COMPREPLY < <(compgen -W install -- "$cur")
                else
                    _gpush_files '--connection --user --prefix --name --card --help'
                fi
                return
                ;;
            fit) _gpush_options '--card --limit --max-events' '' && return ;;
            lab)
                ((COMP_CWORD > 2)) || mapfile -t COMPREPLY < <(compgen -W 'gathernd find_the_wait masked_loss seven_tips fork_wait my_kernel svd svd_live digits ddp --help' -- "$cur")
                return
                ;;
            record)
                _gpush_options '--skip --steps --seconds --stacks --shapes --memory --json --baseline --update --fail-on --tap --junit --html --save --group --limit -m' '--stacks --shapes --memory --json --update --tap -m' && return
                ;;
            run) _gpush_options '-n --hosts --restarts --print' '--print' && return ;;
            profile)
                _gpush_options '--json --table --html --trace --save --folded --speedscope --group --sort --limit --stack --stack-depth --memory --shapes --flops --steps --max-events' \
                    '--json --table --stack --memory --shapes --flops' && return
                ;;
        esac
    fi
    case $prev in
        -e) return ;;
        --card)
            _gpush_value --card
            return
            ;;
        -l)
            mapfile -t COMPREPLY < <(compgen -f -X '!*.lua' -- "$cur" | sed 's/\.lua$//')
            return
            ;;
    esac
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${COMP_WORDS[i]} in
            -e | -l | --card) ((i++)) ;;
            -* | fit | profile | record | sync | run) ;;
            analyze)
                _gpush_files '--json --baseline --update --fail-on --tap --junit --html --diff --group --limit --max-bytes --network --ranks --card --help'
                return
                ;;
            compare)
                _gpush_files '--fail-above --of --group --limit --max-bytes --help'
                return
                ;;
            *) # a script is there: what follows is its business
                compopt -o default
                return
                ;;
        esac
    done
    if [[ $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '-e -i -l -v -E -W --plain --card --help --version -- -' -- "$cur")
    else
        compopt -o filenames
        mapfile -t COMPREPLY < <(compgen -f -X '!*.lua' -- "$cur"; compgen -d -- "$cur")
        ((COMP_CWORD > 1)) || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W 'analyze compare doctor fit help kernel lab labs mcp profile record run sync' -- "$cur")
    fi
}
complete -F _gpush gpush
