#!/usr/bin/env bash
# Prints where AsyncAPI's own schema of AsyncAPI 3.0 documents is. It is taken
# from the npm package of the AsyncAPI project, unpacked beside the other cached
# binaries; nothing is installed.
set -euo pipefail
version=6.11.1
cache="${ETCDROLL_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/etcdroll}/asyncapi-$version"
file="$cache/package/schemas/3.0.0-without-\$id.json"
if [ ! -f "$file" ]; then
  command -v npm >/dev/null || { echo 'npm is needed for the schema of AsyncAPI' >&2; exit 1; }
  mkdir -p "$cache"
  cd "$cache"
  npm pack --silent "@asyncapi/specs@$version" >&2
  tar xzf asyncapi-specs-*.tgz
fi
echo "$file"
