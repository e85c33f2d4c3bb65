#!/bin/sh
# Renders every overlay into deploy/k8s/rendered, which is committed: so a review shows what a change does to the cluster,
# and the tests need no kubectl. They compare sources and result with rendered/SHA256SUMS (`sha256sum --check`).
set -eu
cd "$(dirname "$0")"
for overlay in overlays/*/; do
  name=$(basename "$overlay")
  kubectl kustomize "$overlay" > "rendered/$name.yaml"
done
find base components overlays rendered -type f ! -name SHA256SUMS | LC_ALL=C sort | xargs sha256sum > rendered/SHA256SUMS
