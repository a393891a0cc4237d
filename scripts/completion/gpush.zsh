#compdef gpush
# zsh completion for gpush: its options, then a script, then the script's own arguments.
_arguments -S \
    '*-e[run a string]:statement:' \
    '-i[enter the shell after the script]' \
    '*-l[require a module]:module:_files -g "*.lua(:r)"' \
    '-v[show version information]' \
    '-E[ignore environment variables]' \
    '-W[turn warnings on]' \
    '--plain[stock Lua, no tensor syntax]' \
    '(- *)'{-h,--help}'[show the options]' \
    '--version[show version information]' \
    '1:script:_files -g "*.lua"' \
    '*::argument:_files'
