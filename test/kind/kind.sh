#!/usr/bin/env bash
# A cluster with Docker: kind.sh up [newest|oldest], kind.sh e2e [go test flags],
# kind.sh knative, kind.sh down. Needs Docker and Go; kind itself is built from
# the version that go.mod names.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
node=etcdroll-control-plane
work=$root/.kind
serving=knative-v1.15.2
kourier=knative-v1.15.1

kind() { go tool -C "$here" kind "$@"; }
kubectl() { docker exec -i "$node" kubectl --kubeconfig=/etc/kubernetes/admin.conf "$@"; }

docker version --format '{{.Server.Version}}' >/dev/null 2>&1 || {
  echo 'kind.sh: Docker does not answer; without it use make demo and make test' >&2
  exit 2
}

load_images() {
  make -C "$root" image VERSION=kind
  for name in trigger roll-fn; do
    tar -C "$root/dist/$name.oci" -cf - . | docker exec -i "$node" ctr --namespace=k8s.io images import -
  done
}

up() {
  kind create cluster --config "$here/${1:-newest}.yaml" --wait 3m
  load_images
}

# kubectl_here takes the node's own kubectl, so that no other version is needed.
kubectl_here() {
  mkdir -p "$work"
  docker cp "$node:/usr/bin/kubectl" "$work/kubectl" >/dev/null
}

render() { "$work/kubectl" kustomize "$1" | kubectl apply -f -; }

# roll_once is the README's three commands with the loaded images.
roll_once() {
  render "$root/config/sample"
  render "$1"
  kubectl -n etcd set image statefulset/etcd etcd=quay.io/coreos/etcd:v3.7.3
  local end=$((SECONDS + 600)) want have
  while ((SECONDS < end)); do
    read -r want have < <(kubectl -n etcd get statefulset etcd -o \
      'jsonpath={.status.updateRevision} {.metadata.annotations.etcdroll\.dev/converged-revision}') || true
    images=$(kubectl -n etcd get pods -l app=etcd -o 'jsonpath={.items[*].spec.containers[0].image}')
    [[ -n $want && $want == "${have:-}" && $images == *v3.7.3*v3.7.3*v3.7.3* ]] && return 0
    sleep 2
  done
  kubectl -n etcd describe statefulset etcd >&2
  kubectl -n etcd logs -l app.kubernetes.io/part-of=etcdroll --tail=50 --prefix >&2
  echo 'kind.sh: the first roll has not converged within ten minutes' >&2
  return 1
}

forget() { kubectl delete namespace etcd --ignore-not-found --wait --timeout=3m; }

# suite runs the end-to-end tests in a container that shares the node's
# network, where pods are reached at their addresses.
suite() {
  kind get kubeconfig --name etcdroll --internal |
    sed -E 's#server: .*#server: https://127.0.0.1:6443#' >"$work/kubeconfig"
  docker run --rm --network="container:$node" -w /src -v "$root:/src" \
    -v "$work/kubectl:/usr/local/bin/kubectl:ro" -v "$work/kubeconfig:/kubeconfig:ro" \
    -v etcdroll-go:/go -v etcdroll-cache:/root/.cache -e ETCDROLL_E2E_KUBECONFIG=/kubeconfig \
    golang:1.26 go test -timeout 60m -p 1 -parallel 1 "$@" ./test/e2e/
}

e2e() {
  kubectl_here
  roll_once "$here/overlay"
  forget
  suite "$@"
}

# knative installs Knative Serving and rolls through it. Eventing is covered by
# make test-knative, which needs no Docker.
knative() {
  kubectl_here
  local from=https://github.com/knative/serving/releases/download/$serving
  kubectl apply -f "$from/serving-crds.yaml"
  kubectl apply -f "$from/serving-core.yaml"
  kubectl apply -f "https://github.com/knative-extensions/net-kourier/releases/download/$kourier/kourier.yaml"
  kubectl -n knative-serving patch configmap config-network --type=merge -p '{"data":{"ingress-class":"kourier.ingress.networking.knative.dev"}}'
  kubectl -n knative-serving patch configmap config-deployment --type=merge -p '{"data":{"registries-skipping-tag-resolving":"index.docker.io,docker.io"}}'
  kubectl -n knative-serving wait deployment --all --for=condition=Available --timeout=5m
  roll_once "$here/overlay-knative"
  forget
}

down() {
  kind delete cluster --name etcdroll
  rm -rf "$work"
}

case ${1:-} in
up | e2e | knative | down) "$@" ;;
*)
  sed -n '2,4s/^# //p' "$0" >&2
  exit 2
  ;;
esac
