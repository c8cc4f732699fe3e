#!/bin/sh
# Runs the bundle's program for this system.
system=$(uname -s)-$(uname -m)
program=$(dirname "$0")/$system/tabellion
if [ ! -f "$program" ]; then
    echo "tabellion: this bundle has no program for $system" >&2
    exit 1
fi
exec "$program" "$@"
