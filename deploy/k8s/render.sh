#!/bin/sh
# Renders every overlay into deploy/k8s/rendered, which is committed: so a review shows what a change does to the cluster,
# and the tests need no kubectl.
set -eu
cd "$(dirname "$0")"
for overlay in overlays/*/; do
  name=$(basename "$overlay")
  kubectl kustomize "$overlay" > "rendered/$name.yaml"
done
