# fish completion for gpush: its options, then a script, then the script's own arguments; and the
# commands analyze, compare, doctor, fit, help, kernel, lab, labs, mcp, profile, record, run and sync.
set -l commands analyze compare doctor fit help kernel lab labs mcp profile record run sync
set -l none "not __fish_seen_subcommand_from $commands"
set -l columns 'count cpu_time_total self_cpu_time_total device_time_total self_device_time_total'
set -l cards 'h200 h100 a100 v100 mi250 t4'
complete -c gpush -n __fish_use_subcommand -a "$commands"

# COMMAND OPTION TEXT: an option without a value; a fourth argument has its values, "" for a number,
# or is "file".
function __gpush_option
    set -l flag -l
    string match -q '?' -- $argv[2]; and set flag -s
    set -l value
    if set -q argv[4]
        if test "$argv[4]" = file
            set value -r -F
        else
            set value -x -a "$argv[4]"
        end
    end
    complete -c gpush -n "__fish_seen_subcommand_from $argv[1]" $flag $argv[2] -d "$argv[3]" $value
end

for c in $commands
    complete -c gpush -n "__fish_seen_subcommand_from $c" -s h -l help -d 'show the options'
end
for c in analyze compare profile record
    __gpush_option $c limit 'how many rows the table has' ''
end
for c in analyze compare record
    __gpush_option $c group 'the rows of the table' 'op region line shape stack module kernel rank'
end
for c in analyze record
    __gpush_option $c baseline 'fail where there is more than in this file' file
    __gpush_option $c update 'write that file again'
    __gpush_option $c fail-on 'check only some' 'waits launches copies bytes peak'
    __gpush_option $c tap 'print the checks as TAP'
    __gpush_option $c junit 'write them for JUnit' file
end
for c in analyze profile record sync
    __gpush_option $c json 'print one line of JSON'
end
for c in analyze compare
    __gpush_option $c max-bytes 'read no larger files' ''
end
__gpush_option analyze html 'write a page for a browser' file
__gpush_option analyze diff 'show what changed since that profile or trace' file
__gpush_option analyze network 'predict the times on a network' '10Gb 25Gb 100Gb 200Gb 400Gb 800Gb nvlink pcie5 measured'
__gpush_option analyze ranks 'predict them with that many ranks' ''
__gpush_option analyze card 'predict them on a card' "$cards"
__gpush_option compare fail-above 'fail where it has more than that many percent more' ''
__gpush_option compare of 'what is compared' 'wall device waited waits'
__gpush_option fit card 'whether it fits this one' "$cards"
__gpush_option fit limit 'how many lines that hold the peak' ''
__gpush_option fit max-events 'record no more events' ''
__gpush_option kernel connection 'run a kernel with this connection file' file
__gpush_option kernel user 'install for this user'
__gpush_option kernel prefix 'install in that folder' file
__gpush_option kernel name 'the name of the kernel' ''
__gpush_option kernel card 'card that sim stands in for' "$cards"
__gpush_option profile table 'show only the table'
__gpush_option profile html 'write a page for a browser' file
__gpush_option profile trace 'write a trace for Perfetto' file
__gpush_option profile save 'write all of the record' file
__gpush_option profile folded 'write stacks for flamegraph.pl' file
__gpush_option profile speedscope 'write stacks for speedscope.app' file
__gpush_option profile group 'the rows of the table' 'op region line shape stack module kernel'
__gpush_option profile sort 'their order' "$columns"
__gpush_option profile stack 'record where each op was called'
__gpush_option profile stack-depth 'the same, with the innermost calls only' ''
__gpush_option profile memory 'record who allocated memory'
__gpush_option profile shapes 'record shapes'
__gpush_option profile flops 'record operations and bytes'
__gpush_option profile steps 'record these steps only, as 10-12' ''
__gpush_option profile max-events 'record no more events' ''
__gpush_option record skip 'leave out the first steps' ''
__gpush_option record steps 'how many steps to record' ''
__gpush_option record seconds 'record that many seconds instead' ''
__gpush_option record stacks 'record the lines of the program'
__gpush_option record shapes 'record shapes'
__gpush_option record memory 'record who allocated memory'
__gpush_option record html 'write a page for a browser' file
__gpush_option record save 'keep the record' file
__gpush_option record m 'run a module of Python' ''
__gpush_option run n 'how many processes' ''
__gpush_option run hosts 'on these machines' '(__fish_print_hostnames)'
__gpush_option run restarts 'start the job again where it fails' ''
__gpush_option run print 'only print the command'
__gpush_option sync warn 'print a line at each wait'
__gpush_option sync error 'refuse waits'
__gpush_option sync baseline 'fail where waits are not in this file' file
__gpush_option sync update 'write that file again'
__gpush_option sync budget 'fail where there are more waits' ''
__gpush_option sync skip 'begin after that many steps of an optimizer' ''
__gpush_option sync quiet 'print only what fails'
complete -c gpush -n '__fish_seen_subcommand_from kernel' -f -a install
complete -c gpush -n '__fish_seen_subcommand_from lab' -f -a 'gathernd find_the_wait masked_loss seven_tips fork_wait my_kernel svd svd_live digits ddp'
functions -e __gpush_option

complete -c gpush -n "$none" -s e -x -d 'run a string'
complete -c gpush -n "$none" -s i -d 'enter the shell after the script'
complete -c gpush -n "$none" -s l -r -d 'require a module'
complete -c gpush -n "$none" -s v -l version -d 'show version information'
complete -c gpush -n "$none" -s E -d 'ignore environment variables'
complete -c gpush -n "$none" -s W -d 'turn warnings on'
complete -c gpush -n "$none" -l plain -d 'stock Lua, no tensor syntax'
complete -c gpush -n "$none" -l card -x -a "$cards" -d 'card that sim stands in for'
complete -c gpush -n "$none" -s h -l help -d 'show the options'
