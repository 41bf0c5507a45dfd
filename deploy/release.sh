#!/usr/bin/env bash
# Everything that a release consists of, without a registry or a network:
#   deploy/release.sh VERSION OUT
# The same commit gives the same bytes. PLATFORMS and KREW_PLATFORMS shorten
# the lists for a try.
set -euo pipefail
version=$1
if ! [[ $version =~ ^v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?$ ]]; then
  echo "release.sh: $version is no semantic version: write v1.2.3 or v1.2.3-rc.1" >&2
  exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$2"
out=$(cd "$2" && pwd)
time=$(git -C "$root" log -1 --format=%ct)
if [ -n "$(ls -A "$out")" ]; then
  echo "release.sh: $out is not empty; files of another release must not get among the checksums" >&2
  exit 2
fi

# pack writes an archive that depends on nothing but what is in it.
pack() { # NAME DIR FILE...
  local name=$1 dir=$2
  shift 2
  tar -C "$dir" --sort=name --owner=0 --group=0 --numeric-owner --mode=go-w --mtime="@$time" -cf - "$@" | gzip -9n >"$out/$name.tar.gz"
}

# manifests names this version's images, so that kubectl apply -k works as it is.
manifests() {
  local stage image
  stage=$(mktemp -d)
  cp -R "$root/config" "$root/LICENSE" "$stage/"
  for image in trigger roll-fn; do
    grep -rlE "image: etcdroll/$image\$" "$stage/config" | xargs sed -i -E "s#image: etcdroll/$image\$#&:$version#"
  done
  pack "etcdroll-config_$version" "$stage" config LICENSE
  rm -rf "$stage"
}

rm -rf "$root"/dist/*.oci
make -C "$root" image sbom "VERSION=$version" ${PLATFORMS:+"PLATFORMS=$PLATFORMS"}
for image in trigger roll-fn kubectl-etcdroll; do
  pack "etcdroll-${image}_$version.oci" "$root/dist/$image.oci" .
done
for command in trigger roll-fn kubectl-etcdroll; do
  cp "$root/dist/$command.cdx.json" "$out/$command.cdx.json"
done
manifests
read -ra krew <<<"${KREW_PLATFORMS:-}"
"$root/deploy/krew/release.sh" "$version" "$out" "${krew[@]}"
sums=$(cd "$out" && find . -maxdepth 1 -type f -printf '%f\n' | LC_ALL=C sort | xargs sha256sum)
printf '%s\n' "$sums" >"$out/SHA256SUMS"
