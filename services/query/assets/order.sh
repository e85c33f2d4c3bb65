is() { expr "$MAKER_KEY" : "$1" >/dev/null; }
is '0x[0-9a-fA-F]\{64\}$' && ! is '0x0*$' && ! is '0x[fF]\{31\}' || { echo 'MAKER_KEY is no private key: 0x and 64 hex digits' >&2; exit 1; }
base=BASE_URL/v0alpha/limit-orders
domain=$(curl -sf $base/info | jq .domains.order)
jq -n --argjson domain "$domain" \
  --arg maker "$(cast wallet address "$MAKER_KEY")" --arg sell "$SELL_TOKEN" --arg buy "$BUY_TOKEN" \
  --arg salt "0x$(od -An -tx1 -N32 /dev/urandom | tr -d ' \n')" \
  --arg expiry "$(printf '0x%x' $(($(date +%s) + 3600)))" '
  def fields(type): map({name: ., type: type});
  {
    primaryType: "Order",
    domain: $domain,
    types: {
      EIP712Domain: ((["name", "version"] | fields("string"))
        + (["chainId"] | fields("uint256")) + (["verifyingContract"] | fields("address"))),
      Order: ((["salt", "nonce", "expiresAt"] | fields("uint256"))
        + (["making", "taking"] | fields("TokenAmount")) + (["maker", "permittedTaker"] | fields("address"))),
      TokenAmount: ((["token"] | fields("address")) + (["amount"] | fields("uint256")))
    },
    message: {
      salt: $salt, nonce: "0x0", expiresAt: $expiry,
      making: {token: $sell, amount: "0x3e8"},
      taking: {token: $buy, amount: "0x1f4"},
      maker: $maker,
      permittedTaker: "0x0000000000000000000000000000000000000000"
    }
  }' > order.json
signature=$(cast wallet sign --private-key "$MAKER_KEY" --data --from-file order.json)
jq --arg signature "$signature" '[{order: .message, signature: $signature}]' order.json |
  curl -si $base -H 'Content-Type: application/json' -d @-
