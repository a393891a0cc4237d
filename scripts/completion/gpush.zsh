#compdef gpush
# zsh completion for gpush: its options, then a script, then the script's own arguments; and the
# commands analyze, compare, doctor, fit, help, kernel, lab, labs, mcp, profile, record, run and sync.
_gpush_first() {
    _alternative 'commands:command:(analyze compare doctor fit help kernel lab labs mcp profile record run sync)' 'scripts:script:_files -g "*.lua"'
}
if [[ ${words[2]} == analyze ]]; then
    _arguments -S \
        '2:file:_files' \
        '--json[print one line of JSON]' \
        '--baseline[fail where there is more than in this file]:file:_files' \
        '--update[write that file again]' \
        '--fail-on[check only some]:list:(waits launches copies bytes peak)' \
        '--tap[print the checks as TAP]' \
        '--junit[write them for JUnit]:file:_files' \
        '--html[write a page for a browser]:file:_files' \
        '--diff[show what changed since that profile or trace]:file:_files' \
        '--group[the rows of the table]:rows:(op region line shape stack module kernel rank)' \
        '--limit[how many rows the table has]:number:' \
        '--max-bytes[read no larger files]:bytes:' \
        '--network[predict the times on a network]:network:(10Gb 25Gb 100Gb 200Gb 400Gb 800Gb nvlink pcie5 measured)' \
        '--ranks[predict them with that many ranks]:number:' \
        '--card[predict them on a card]:card:(h200 h100 a100 v100 mi250 t4)' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:file:_files'
    return
fi
if [[ ${words[2]} == kernel ]]; then
    _arguments -S \
        '2:word:(install)' \
        '--connection[run a kernel with this connection file]:file:_files' \
        '--user[install for this user]' \
        '--prefix[install in that folder]:folder:_files -/' \
        '--name[the name of the kernel]:name:' \
        '--card[card that sim stands in for]:card:(h200 h100 a100 v100 mi250 t4)' \
        '(- *)'{-h,--help}'[show the options]'
    return
fi
if [[ ${words[2]} == compare ]]; then
    _arguments -S \
        '2:before:_files' \
        '3:after:_files' \
        '--fail-above[fail where it has more than that many percent more]:percentage:' \
        '--of[what is compared]:measure:(wall device waited waits)' \
        '--group[the rows of the table]:rows:(op region line shape stack module kernel rank)' \
        '--limit[how many rows the table has]:number:' \
        '--max-bytes[read no larger files]:bytes:' \
        '(- *)'{-h,--help}'[show the options]'
    return
fi
if [[ ${words[2]} == profile ]]; then
    _arguments -S \
        '2:script:_files -g "*.lua"' \
        '--json[print one line of JSON]' \
        '--table[show only the table]' \
        '--html[write a page for a browser]:file:_files' \
        '--trace[write a trace for Perfetto]:file:_files' \
        '--save[write all of the record]:file:_files' \
        '--folded[write stacks for flamegraph.pl]:file:_files' \
        '--speedscope[write stacks for speedscope.app]:file:_files' \
        '--group[the rows of the table]:rows:(op region line shape stack module kernel)' \
        '--sort[their order]:column:(count cpu_time_total self_cpu_time_total device_time_total self_device_time_total)' \
        '--limit[how many rows the table has]:number:' \
        '--stack[record where each op was called]' \
        '--stack-depth[the same, with the innermost calls only]:number:' \
        '--memory[record who allocated memory]' \
        '--shapes[record shapes]' \
        '--flops[record operations and bytes]' \
        '--steps[record these steps only]:steps as in 10-12:' \
        '--max-events[record no more events]:number:' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:argument:_files'
    return
fi
if [[ ${words[2]} == record ]]; then
    _arguments -S \
        '2:program:_files' \
        '--skip[leave out the first steps]:number:' \
        '--steps[how many steps to record]:number:' \
        '--seconds[record that many seconds instead]:number:' \
        '--stacks[record the lines of the program]' \
        '--shapes[record shapes]' \
        '--memory[record who allocated memory]' \
        '--json[print one line of JSON]' \
        '--baseline[fail where there is more than in this file]:file:_files' \
        '--update[write that file again]' \
        '--fail-on[check only some]:list:(waits launches copies bytes peak)' \
        '--tap[print the checks as TAP]' \
        '--junit[write them for JUnit]:file:_files' \
        '--html[write a page for a browser]:file:_files' \
        '--save[keep the record]:file:_files' \
        '--group[the rows of the table]:rows:(op region line shape stack module kernel rank)' \
        '--limit[how many rows the table has]:number:' \
        '-m[run a module of Python]:module:' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:argument:_files'
    return
fi
if [[ ${words[2]} == fit ]]; then
    _arguments -S \
        '2:script:_files -g "*.lua"' \
        '--card[whether it fits this one]:card:(h200 h100 a100 v100 mi250 t4)' \
        '--limit[how many lines that hold the peak]:number:' \
        '--max-events[record no more events]:number:' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:argument:_files'
    return
fi
if [[ ${words[2]} == sync ]]; then
    _arguments -S \
        '2:script:_files -g "*.lua"' \
        '--warn[print a line at each wait]' \
        '--error[refuse waits]' \
        '--skip[begin after that many steps of an optimizer]:number:' \
        '--baseline[fail where waits are not in this file]:file:_files' \
        '--update[write that file again]' \
        '--budget[fail where there are more waits]:number:' \
        '--json[print one line of JSON]' \
        '--quiet[print only what fails]' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:argument:_files'
    return
fi
if [[ ${words[2]} == lab ]]; then
    _arguments -S '2:lab:(gathernd find_the_wait masked_loss seven_tips fork_wait my_kernel svd svd_live digits ddp)' '(- *)'{-h,--help}'[show the options]' '*:argument:_files'
    return
fi
if [[ ${words[2]} == run ]]; then
    _arguments -S \
        '2:script:_files -g "*.lua"' \
        '-n[how many processes]:number:' \
        '--hosts[on these machines]:machines:_hosts' \
        '--restarts[start the job again where it fails]:number:' \
        '--print[only print the command]' \
        '(- *)'{-h,--help}'[show the options]' \
        '*:argument:_files'
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
    '--card[card that sim stands in for]:card:(h200 h100 a100 v100 mi250 t4)' \
    '(- *)'{-h,--help}'[show the options]' \
    '--version[show version information]' \
    '1:script or command:_gpush_first' \
    '*::argument:_files'
