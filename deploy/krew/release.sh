#!/usr/bin/env bash
# Builds the archives of the kubectl plugin and its Krew manifest:
#   deploy/krew/release.sh VERSION OUT [OS_ARCH...]
# Without platforms: all of the manifest. The archives are the same bytes for
# the same commit.
set -euo pipefail
version=$1 out=$2
shift 2
root=$(cd "$(dirname "$0")/../.." && pwd)
manifest=$root/deploy/krew/etcdroll.yaml
mkdir -p "$out"
out=$(cd "$out" && pwd)
commit=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo unknown)
time=$(git -C "$root" log -1 --format=%ct 2>/dev/null || echo 0)

cp "$manifest" "$out/etcdroll.yaml"
sed -i "s/@VERSION@/$version/g" "$out/etcdroll.yaml"
platforms=("$@")
[ $# -gt 0 ] || mapfile -t platforms < <(grep -o '@SHA256_[a-z0-9_]*@' "$manifest" | sed 's/@SHA256_//; s/@//')
for platform in "${platforms[@]}"; do
  bin=kubectl-etcdroll
  [ "${platform%_*}" = windows ] && bin=$bin.exe
  stage=$(mktemp -d)
  GOOS=${platform%_*} GOARCH=${platform#*_} CGO_ENABLED=0 go build -C "$root" -trimpath -buildvcs=false -tags grpcnotrace \
    -ldflags "-s -w -X main.version=$version -X main.commit=$commit" -o "$stage/$bin" ./cmd/kubectl-etcdroll
  install -m 755 "$root/deploy/krew/kubectl_complete-etcdroll" "$stage/"
  install -m 644 "$root/LICENSE" "$stage/"
  archive=$out/kubectl-etcdroll_$platform.tar.gz
  tar -C "$stage" --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$time" -cf - . | gzip -9n > "$archive"
  rm -rf "$stage"
  sum=$(sha256sum "$archive" | cut -d' ' -f1)
  sed -i "s/@SHA256_$platform@/$sum/" "$out/etcdroll.yaml"
done
