#!/bin/sh
# Is there what the build needs? Names what is missing together with the command that installs it.
# Usage: prerequisites.sh PYTHON   (POSIX sh: it must run where nothing of ours is installed yet)
python=${1:-python3}
missing=0

if command -v apt-get >/dev/null 2>&1; then
    install_compiler="sudo apt-get install g++"
    install_python="sudo apt-get install python3"
    install_venv="sudo apt-get install python3-venv"
    install_headers="sudo apt-get install python3-dev"
elif command -v dnf >/dev/null 2>&1; then
    install_compiler="sudo dnf install gcc-c++"
    install_python="sudo dnf install python3"
    install_venv="sudo dnf install python3-pip"
    install_headers="sudo dnf install python3-devel"
elif command -v brew >/dev/null 2>&1; then
    install_compiler="xcode-select --install"
    install_python="brew install python"
    install_venv="brew install python"
    install_headers="brew install python"
else
    install_compiler="install g++ or clang++ with your system's package manager (Debian: sudo apt-get install g++; macOS: xcode-select --install)"
    install_python="install Python 3.11 or newer with your system's package manager (Debian: sudo apt-get install python3)"
    install_venv="install Python's venv module with your system's package manager (Debian: sudo apt-get install python3-venv)"
    install_headers="install Python's C headers with your system's package manager (Debian: sudo apt-get install python3-dev)"
fi

complain() {
    printf 'widemargin: %s\n    remedy: %s\n' "$1" "$2" >&2
    missing=1
}

if ! command -v "$python" >/dev/null 2>&1; then
    complain "no Python found under the name '$python'" "$install_python    (or: make PYTHON=/path/to/python3.11 ...)"
elif ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
    version=$("$python" -c 'import sys; print(".".join(map(str, sys.version_info[:3])))')
    complain "Python 3.11 or newer is needed, '$python' is $version" "$install_python    (or: make PYTHON=/path/to/python3.11 ...)"
else
    "$python" -c 'import ensurepip, venv' 2>/dev/null ||
        complain "this Python has no venv module (or no ensurepip)" "$install_venv"
    "$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
        complain "this Python has no C headers (Python.h)" "$install_headers"
fi

if [ -n "${CXX:-}" ]; then
    command -v "${CXX%% *}" >/dev/null 2>&1 || complain "the compiler named by CXX, '$CXX', is not there" "$install_compiler    (or unset CXX)"
elif ! command -v c++ >/dev/null 2>&1 && ! command -v g++ >/dev/null 2>&1 && ! command -v clang++ >/dev/null 2>&1; then
    complain "no C++ compiler found (c++, g++ or clang++)" "$install_compiler"
fi
exit $missing
