# bash completion for gpush: its options, then a script, then the script's own arguments; and the
# commands analyze, compare, doctor, profile, run and sync.
_gpush_files() { # the options of analyze or compare, and files
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    case $prev in
        --group) mapfile -t COMPREPLY < <(compgen -W 'op region line shape stack module rank' -- "$cur") ;;
        --of) mapfile -t COMPREPLY < <(compgen -W 'wall device waited waits' -- "$cur") ;;
        --limit | --fail-above) ;;
        *)
            compopt -o filenames
            if [[ $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W "$1" -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            ;;
    esac
}
# gpush profile's options before its script; false: another word is to be completed.
_gpush_profile() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    case $prev in
        --group) mapfile -t COMPREPLY < <(compgen -W 'op region line shape stack module' -- "$cur") ;;
        --sort) mapfile -t COMPREPLY < <(compgen -W 'count cpu_time_total self_cpu_time_total device_time_total self_device_time_total' -- "$cur") ;;
        --limit | --steps | --stack-depth | --max-events) ;;
        --html | --trace | --save | --folded | --speedscope)
            compopt -o filenames
            mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            ;;
        *)
            [[ $cur == -* ]] || return
            mapfile -t COMPREPLY < <(compgen -W '--table --html --trace --save --folded --speedscope --group --sort --limit --stack --stack-depth --memory --shapes --flops --steps --max-events --help' -- "$cur")
            ;;
    esac
}
_gpush() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} i
    COMPREPLY=()
    if [[ ${COMP_WORDS[1]} == sync && $COMP_CWORD -gt 1 && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '--warn --error --baseline --update --budget --quiet --help' -- "$cur")
        return
    fi
    if [[ ${COMP_WORDS[1]} == profile && $COMP_CWORD -gt 1 ]] && _gpush_profile; then return; fi
    if [[ ${COMP_WORDS[1]} == run && $COMP_CWORD -gt 1 && $cur == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W '-n --hosts --print --help' -- "$cur")
        return
    fi
    case $prev in
        -e) return ;;
        --card)
            mapfile -t COMPREPLY < <(compgen -W 'h200 h100 a100 t4' -- "$cur")
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
            -* | profile | sync | run) ;;
            analyze)
                _gpush_files '--html --diff --group --limit --network --ranks --card --help'
                return
                ;;
            compare)
                _gpush_files '--fail-above --of --group --limit --help'
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
        ((COMP_CWORD > 1)) || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W 'analyze compare doctor profile run sync' -- "$cur")
    fi
}
complete -F _gpush gpush
