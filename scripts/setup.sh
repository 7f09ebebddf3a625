# shellcheck shell=bash
# What the scripts in this folder share; they source this file. bash 3.2, as on macOS, is enough.
#
#   environment NAME EXTRAS      make the virtual environment NAME ready and put it first on PATH
#   limit SECONDS COMMAND...     run a command, and end all that it started when the time is up

unset CDPATH
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)

say() { printf '%s\n' "$*" >&2; }
fail() { say "${0##*/}: $*"; exit 1; }

# environment NAME EXTRAS: <repository>/NAME holds this package with the comma-separated EXTRAS,
# or with more: extras are added to an environment, never taken away, so that scripts can share it.
environment() {
    ready "$1" "$2" || prepare "$1" "$2" || exit $?
    export VIRTUAL_ENV="$root/$1" PATH="$root/$1/bin:$PATH"
    unset PYTHONHOME
    hash -r
}

# The last thing `prepare` writes is the stamp: where the environment is, its Python, the checksum
# of the pyproject.toml it was made from, its extras. A moved copy or a new pyproject.toml shows.
ready() {
    local venv="$root/$1" python
    read_stamp "$venv"
    python=$(version_of "$venv/bin/python") || return 1
    [ ! -e "$venv/setup.unfinished" ] && [ "$stamp_path" = "$venv" ] &&
        [ "$stamp_python" = "$python" ] &&
        { [ -z "${PYTHON:-}" ] || [ "$(version_of "$PYTHON")" = "$python" ]; } &&
        [ "$stamp_checksum" = "$(cksum < "$root/pyproject.toml")" ] &&
        [ "$stamp_extras" = "$(union "$stamp_extras" "$2")" ]
}

read_stamp() {
    stamp_path="" stamp_python="" stamp_checksum="" stamp_extras=""
    [ ! -e "$1/setup.stamp" ] || {
        read -r stamp_path && read -r stamp_python && read -r stamp_checksum && read -r stamp_extras
    } < "$1/setup.stamp" || true
}

# union a,b b,c: prints a,b,c
union() {
    local all="$1" extra
    for extra in ${2//,/ }; do
        case ",$all," in
            *",$extra,"*) ;;
            *) all="${all:+$all,}$extra" ;;
        esac
    done
    echo "$all"
}

version_of() {
    "$1" -ES -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2> /dev/null
}

# prepare NAME EXTRAS: one at a time. The lock is on an open file, so it ends with the processes
# that hold it, however they end, and nothing is left to clean up.
prepare() (
    venv="$root/$1" log="$root/$1/setup.log"
    trap 'exit 130' INT
    find_python "$venv"
    exec 9< "$root/scripts/setup.sh"
    "$python" -I -c "$lock_9"
    ! ready "$1" "$2" || exit 0

    # Start afresh where an earlier set-up was cut short, Python is another or the folder has moved.
    if [ -e "$venv/setup.unfinished" ] || [ "$(version_of "$venv/bin/python")" != "$version" ] ||
        [ "${stamp_path:-$venv}" != "$venv" ]; then
        "$python" -I -c 'import ensurepip, venv' 2> /dev/null ||
            fail "$python cannot make virtual environments (it has no venv or no ensurepip" \
                "module): on Debian or Ubuntu, \`apt install python3-venv\` brings them."
        say "Setting up $1 (first time: about a minute) ..."
        rm -rf "$venv"
        if ! mkdir "$venv" || ! : > "$venv/setup.unfinished"; then fail "cannot write in $root."; fi
        "$python" -m venv "$venv" > "$log" 2>&1 || explain "$log" "$python -m venv failed"
    elif [ -z "$stamp_path" ]; then
        say "Setting up $1 (first time: about a minute) ..."
    else
        say "Updating $1 ..."
    fi

    : > "$venv/setup.unfinished"
    extras=$(union "$stamp_extras" "$2")
    checksum=$(cksum < "$root/pyproject.toml")
    if ! (cd "$root" && "$venv/bin/python" -m pip install -e ".[$extras]") > "$log" 2>&1; then
        rm "$venv/setup.unfinished"  # pip gives up in good order: what was there still works
        if grep -q 'Retrying (' "$log" && grep -qE 'No matching|Max retries|timed out' "$log"; then
            explain "$log" "the package index cannot be reached: is there a network or a proxy?"
        fi
        explain "$log" "pip could not install the package"
    fi
    printf '%s\n' "$venv" "$version" "$checksum" "$extras" > "$venv/setup.stamp"
    rm "$venv/setup.unfinished"
)

# explain LOG SENTENCE: fail, and show the last errors in the log.
explain() {
    say "${0##*/}: $2 (log: $1)"
    { grep -i error "$1" || cat "$1"; } | tail -n 5 | sed 's/^ */    /' >&2
    exit 1
}

# Sets python and version: $PYTHON; or else the Python that the environment has; or else the first
# one that is new enough.
find_python() {
    local candidate found=""
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
    else
        set -- "$1/bin/python" python3 python3.11 python3.12 python3.13 python3.14
    fi
    for candidate; do
        version=$(version_of "$candidate") || continue
        case $version in
            3.1[1-9] | 3.[2-9]?)
                # Not the python of an environment, which may be the one to replace, but its origin.
                python=$("$candidate" -I -c 'import sys; print(sys._base_executable)')
                return
                ;;
        esac
        found="${found:+$found, }$candidate is $version"
    done
    [ -n "$found" ] || found=${PYTHON:+"$PYTHON does not run"}
    fail "Python 3.11 or newer is needed, but ${found:-none was found}:" \
        "install one, or name it, as in PYTHON=/path/to/python3.12 ${0##*/}."
}

lock_9='
import fcntl, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
try:
    fcntl.flock(9, fcntl.LOCK_EX | fcntl.LOCK_NB)
except BlockingIOError:
    print("Waiting for another set-up to finish ...", file=sys.stderr)
    fcntl.flock(9, fcntl.LOCK_EX)
except OSError:
    pass  # a file system without locks
'

# limit SECONDS COMMAND...: the exit code is that of the command, or 124 when the time was up.
# The command gets a process group of its own, which is ended as a whole; mpirun ends its ranks.
limit() { python -c "$limit_py" "$@"; }

limit_py='
import os, signal, subprocess, sys

seconds, command = int(sys.argv[1]), sys.argv[2:]
signal.signal(signal.SIGTERM, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.default_int_handler)
job = subprocess.Popen(command, stdin=subprocess.DEVNULL, start_new_session=True)
try:
    code = job.wait(seconds)
    sys.exit(code if code >= 0 else 128 - code)
except subprocess.TimeoutExpired:
    print(f"stopped after {seconds} s:", *command[:3], "...", file=sys.stderr)
    code = 124
except KeyboardInterrupt:
    code = 130
for signum in signal.SIGTERM, signal.SIGKILL:
    try:
        os.killpg(job.pid, signum)
        job.wait(5)
    except (ProcessLookupError, subprocess.TimeoutExpired):
        pass
sys.exit(code)
'
