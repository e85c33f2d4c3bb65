#!/bin/sh
# Sets the images of an overlay to the digests in a registry, and prints them, one a line:
#   deploy/k8s/pin-images.sh registry.example.com/makerbook 0.2.0 [deploy/k8s/overlays/production]
# INSPECT is the command that prints the digest of an image. PREFIX goes before the image's name:
#   INSPECT="skopeo inspect --format {{.Digest}}" PREFIX=docker://
set -eu
registry=${1:?the registry, with the folder of the images} version=${2:?the version}
file=${3:-deploy/k8s/overlays/production}/kustomization.yaml
inspect='docker buildx imagetools inspect --format {{.Manifest.Digest}}'
new=$(mktemp)
trap 'rm -f "$new"' EXIT
pinned=
cp "$file" "$new"
for service in $(sed -n 's#^  - { name: makerbook/\([a-z-]*\),.*#\1#p' "$file"); do
  digest=$(${INSPECT:-$inspect} "${PREFIX:-}$registry/$service:$version")
  case $digest in sha256:*) ;; *) echo "$registry/$service:$version has no digest: $digest" >&2 && exit 1 ;; esac
  line="  - { name: makerbook/$service, newName: $registry/$service, digest: \"$digest\" } # $version"
  sed "s~^  - { name: makerbook/$service,.*~$line~" "$new" >"$new.next"
  mv "$new.next" "$new"
  pinned="$pinned$registry/$service@$digest
"
done
cp "$new" "$file"
printf %s "$pinned"
