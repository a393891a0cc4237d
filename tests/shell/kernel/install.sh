#!/usr/bin/env bash
# gpush kernel install writes a kernelspec that Jupyter finds; a kernel that cannot start says why.
. "$GPUSH_ROOT/tests/support/tap.sh"
gpush=$GPUSH_BUILD/gpush
cd "$HOME" || exit 1
tap_is "$("$gpush" kernel install)" "the kernel 'gpush' is in $HOME/.local/share/jupyter/kernels/gpush" "it is installed for this user"
tap_is "$(cat .local/share/jupyter/kernels/gpush/kernel.json)" \
    '{"argv":["'"$gpush"'","kernel","--connection","{connection_file}"],"display_name":"gpush","interrupt_mode":"message","language":"lua"}' \
    "by its whole path, and interrupted by messages"
"$gpush" kernel install --prefix "$HOME/an env" --name gpush-h200 --card h200 >out
tap_is "$? $(cat out)" "0 the kernel 'gpush-h200' is in $HOME/an env/share/jupyter/kernels/gpush-h200" "in an environment, under a name"
grep -q '^ok  notebooks    libzmq [0-9.]*; Jupyter knows the kernel$' <("$gpush" doctor)
tap_ok $? "gpush doctor sees it" "$("$gpush" doctor)"
grep -q '^ok  notebooks ' <(HOME=/nosuch VIRTUAL_ENV="$PWD/an env" "$gpush" doctor)
tap_ok $? "and in an environment" "$(HOME=/nosuch VIRTUAL_ENV="$PWD/an env" "$gpush" doctor)"
grep -q '"argv":\["[^"]*","--card","h200","kernel",.*"display_name":"gpush (.*H200.*, modelled)"' "an env/share/jupyter/kernels/gpush-h200/kernel.json"
tap_ok $? "with a card, which its name says is modelled" "$(cat an\ env/share/jupyter/kernels/gpush-h200/kernel.json)"
tap_is "$(JUPYTER_DATA_DIR=$HOME/j "$gpush" kernel install)" "the kernel 'gpush' is in $HOME/j/kernels/gpush" "where JUPYTER_DATA_DIR says"
tap_is "$(XDG_DATA_HOME=$HOME/x "$gpush" kernel install --user)" "the kernel 'gpush' is in $HOME/x/jupyter/kernels/gpush" "or XDG_DATA_HOME"

# refused STATUS WORDS MESSAGE: gpush kernel WORDS ends so, and says that.
refused() {
    # shellcheck disable=SC2086
    "$gpush" kernel $2 >out 2>err
    tap_is "$? $(grep -cF -- "$3" err) $(grep -c traceback err) $(cat out)" "$1 1 0 " "gpush kernel $2" "$(cat err)"
}
refused 2 "" "--connection needs a file"
refused 2 "install twice" "got 'twice'"
refused 2 "install --name ../up" "--name: expected letters"
refused 2 "install --user --prefix x" "one of them"
refused 2 "install --card h300" "--card: expected"
touch file
refused 3 "install --prefix file" "cannot make file/share"
connection() { printf '{"ip":"%s","transport":"tcp","key":"%s","signature_scheme":"%s","shell_port":%d,"control_port":2,"stdin_port":3,"iopub_port":4,"hb_port":5}' "$@" >c.json; }
refused 1 "--connection nosuch.json" "the connection file nosuch.json cannot be read"
echo '[' >c.json
refused 1 "--connection c.json" "the connection file c.json cannot be read"
for ip in 0.0.0.0 192.0.2.1 ::1 '*'; do
    connection "$ip" k hmac-sha256 50000
    refused 1 "--connection c.json" "name no port of this machine alone"
done
connection 127.0.0.1 k hmac-sha256 0
refused 1 "--connection c.json" "name no port of this machine alone"
connection 127.0.0.1 '' hmac-sha256 50000
refused 1 "--connection c.json" "the connection file has no key"
connection 127.0.0.1 k hmac-md5 50000
refused 1 "--connection c.json" "another scheme than hmac-sha256"
tap_done
