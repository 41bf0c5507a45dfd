#!/usr/bin/env bash
# Prints where promtool is. Without one on the PATH it is taken from Debian's
# package, unpacked beside the other cached binaries; nothing is installed.
set -euo pipefail
if command -v promtool; then
  exit
fi
cache="${XDG_CACHE_HOME:-$HOME/.cache}/etcdroll/prometheus"
if [ ! -x "$cache/usr/bin/promtool" ]; then
  command -v apt-get >/dev/null || { echo 'promtool is neither on the PATH nor to be had from apt; install Prometheus' >&2; exit 1; }
  mkdir -p "$cache"
  cd "$cache"
  apt-get download prometheus >&2 || { apt-get update >&2; apt-get download prometheus >&2; }
  dpkg-deb -x prometheus_*.deb .
fi
echo "$cache/usr/bin/promtool"
