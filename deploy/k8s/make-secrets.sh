#!/bin/sh
# Makes the Secrets that no operator makes. It keeps existing ones, so it can be run again.
#   RPC_URL=https://… QUOTE_SIGNER_KEY_FILE=quote-signer.key deploy/k8s/make-secrets.sh production
#   POSTGRES_PASSWORD=… RPC_URL=… QUOTE_SIGNER_KEY_FILE=… deploy/k8s/make-secrets.sh small
# QUOTE_SIGNER_KEY_FILE has 0x and 64 hex digits. BOOK_READERS_FILE says who may read the book. Without it nobody may.
# REDIS_URL leads to an existing Redis, for small. GATEWAY_CERT_FILE and GATEWAY_KEY_FILE hold the certificate of the
# host name. Without them cert-manager must make it. Needs openssl.
set -eu
: "${RPC_URL:?JSON-RPC of Kaia nodes, comma-separated}" "${QUOTE_SIGNER_KEY_FILE:?file of the quote signer}"
namespace=${NAMESPACE:-makerbook}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
umask 077

make() { # type name, then --from-…. Put no value on the command line: others on this machine could read it.
  type=$1 name=$2
  shift 2
  if kubectl -n "$namespace" get secret "$name" >/dev/null 2>&1; then
    echo "$name is there"
  else
    kubectl -n "$namespace" create secret "$type" "$name" "$@"
  fi
}
give() { printf %s "$2" >"$folder/$1"; }
random() { openssl rand -hex 24; }

give rpc-url "$RPC_URL"
make generic chain --from-file=rpc-url="$folder/rpc-url"
tr -d '[:space:]' <"$QUOTE_SIGNER_KEY_FILE" >"$folder/key"
make generic quote-signer --from-file=key="$folder/key"
if [ -n "${BOOK_READERS_FILE:-}" ]; then
  make generic book-readers --from-file=readers.json="$BOOK_READERS_FILE"
else
  give readers.json '[]'
  make generic book-readers --from-file=readers.json="$folder/readers.json"
fi
if [ -n "${GATEWAY_CERT_FILE:-}" ]; then
  make tls gateway-certificate --cert="$GATEWAY_CERT_FILE" --key="${GATEWAY_KEY_FILE:?its key}"
fi
# This key signs the archive of the log. Keep its public key outside the cluster too.
openssl genpkey -algorithm ed25519 -out "$folder/key.pem"
openssl pkey -in "$folder/key.pem" -pubout -out "$folder/public.pem"
make generic log-archive --from-file=key.pem="$folder/key.pem" --from-file=public.pem="$folder/public.pem"

case ${1:-} in
production)
  for service in ingress query chain-watcher projector; do
    give username "makerbook_$(echo $service | tr - _)"
    give password "$(random)"
    make generic postgres-$service --type=kubernetes.io/basic-auth \
      --from-file=username="$folder/username" --from-file=password="$folder/password"
    # Have CloudNativePG take a new password at once.
    kubectl -n "$namespace" label --overwrite secret postgres-$service cnpg.io/reload=true >/dev/null
  done
  password=$(random)
  give query "redis://query:$password@redis:6379/0"
  # These lines are those of services/query/README.md.
  give users.acl "user default off
user query on >$password ~mb:g:* ~mb:q:* +info +ping +eval +set +del +exists +pexpire +hmget +hset +cluster|info +cluster|slots
"
  make generic redis --from-file=query="$folder/query" --from-file=users.acl="$folder/users.acl"
  # Make an authority for ten years, whose key is thrown away, and a certificate just as long for the name `redis`.
  openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 -subj /CN=makerbook-redis -keyout "$folder/ca.key" -out "$folder/ca.crt" 2>/dev/null
  openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=redis -keyout "$folder/tls.key" -out "$folder/tls.csr" 2>/dev/null
  echo subjectAltName=DNS:redis >"$folder/extensions"
  openssl x509 -req -in "$folder/tls.csr" -CA "$folder/ca.crt" -CAkey "$folder/ca.key" -CAcreateserial -days 3649 \
    -extfile "$folder/extensions" -out "$folder/tls.crt" 2>/dev/null
  make generic redis-certificate --from-file=ca.crt="$folder/ca.crt" --from-file=tls.crt="$folder/tls.crt" --from-file=tls.key="$folder/tls.key"
  ;;
small)
  give password "${POSTGRES_PASSWORD:?of the user of DATABASE_URL}"
  make generic postgres-app --from-file=password="$folder/password"
  give query "${REDIS_URL:-redis://redis:6379/0}"
  make generic redis --from-file=query="$folder/query"
  ;;
*)
  echo "which overlay: production or small" >&2
  exit 1
  ;;
esac
