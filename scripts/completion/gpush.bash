# bash completion for gpush: its options, then a script, then the script's own arguments; and the
# commands doctor, sync and analyze.
_gpush_analyze() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]}
    case $prev in
        --group) mapfile -t COMPREPLY < <(compgen -W 'op region line shape stack rank' -- "$cur") ;;
        --limit) ;;
        *)
            compopt -o filenames
            if [[ $cur == -* ]]; then
                mapfile -t COMPREPLY < <(compgen -W '--html --diff --group --limit --help' -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
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
            -* | sync | run) ;;
            analyze)
                _gpush_analyze
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
        ((COMP_CWORD > 1)) || mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W 'analyze doctor run sync' -- "$cur")
    fi
}
complete -F _gpush gpush
