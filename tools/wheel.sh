#!/bin/sh
# wheel.sh BIN PYTHON...: for each interpreter a wheel, repaired to manylinux, installed in an environment of its own
# with nothing on the PATH but that environment (no compiler), and tried by `widemargin doctor`.
set -eu
bin=$1
shift
rm -rf dist wheelhouse
mkdir -p dist
for python in "$@"; do
    "$python" -m venv build/wheel-env
    # a wheel of the stable ABI serves later interpreters too
    if ! build/wheel-env/bin/python -m pip download --quiet --no-index --no-deps --dest build/wheel-env \
        --find-links dist widemargin >/dev/null 2>&1; then
        build/wheel-env/bin/python -m pip install --quiet --disable-pip-version-check build
        build/wheel-env/bin/python -m build --wheel --outdir dist
    fi
    rm -rf build/wheel-env
done
for wheel in dist/*.whl; do
    PATH="$(cd "$bin" && pwd):$PATH" "$bin/python" -m auditwheel repair --wheel-dir wheelhouse "$wheel"
done
for python in "$@"; do
    rm -rf build/wheel-try
    "$python" -m venv build/wheel-try
    build/wheel-try/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        --find-links wheelhouse widemargin
    env -i PATH="$(pwd)/build/wheel-try/bin" HOME=/nonexistent build/wheel-try/bin/widemargin doctor
done
ls -l wheelhouse
