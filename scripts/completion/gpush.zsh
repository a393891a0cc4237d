#compdef gpush
# zsh completion for gpush: its options, then a script, then the script's own arguments; and the
# commands analyze, doctor, run and sync.
_gpush_first() {
    _alternative 'commands:command:(analyze doctor run sync)' 'scripts:script:_files -g "*.lua"'
}
if [[ ${words[2]} == analyze ]]; then
    _arguments -S \
        '2:file:_files' \
        '--html[write a page for a browser]:file:_files' \
        '--diff[show what changed since that profile or trace]:file:_files' \
        '--group[the rows of the table]:rows:(op region line shape stack rank)' \
        '--limit[how many rows the table has]:number:' \
        '*:file:_files'
    return
fi
_arguments -S \
    '*-e[run a string]:statement:' \
    '-i[enter the shell after the script]' \
    '*-l[require a module]:module:_files -g "*.lua(:r)"' \
    '-v[show version information]' \
    '-E[ignore environment variables]' \
    '-W[turn warnings on]' \
    '--plain[stock Lua, no tensor syntax]' \
    '--card[card that sim stands in for]:card:(h200 h100 a100 t4)' \
    '(- *)'{-h,--help}'[show the options]' \
    '--version[show version information]' \
    '1:script or command:_gpush_first' \
    '*::argument:_files'
