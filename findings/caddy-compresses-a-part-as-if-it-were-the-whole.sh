#!/usr/bin/env bash
# Caddy with `encode gzip` and `file_server`: a client that takes gzip, as every HTTP library says that it does, asks for a part of a file with
# `Range`, to go on with a download or to read the end of a log.
#
# Most would guess: a 206 with the bytes as they are in the file, as nginx before a proxied API, HAProxy and h2o give; or one with a part of the
#   compressed file, as Apache gives, whose Content-Range counts compressed bytes; or the whole as a 200, as nginx and lighttpd give.
# What is so: a 206 whose Content-Range names bytes of the file, and whose body is these bytes, compressed for themselves. A range is one of the
#   representation that was selected, which is the compressed one here (RFC 9110 §14.4), so no client can put the parts together as the fields
#   say: two parts are 3,000 bytes by their Content-Range, and some hundred bytes by what came.
# Source: encode's responseWriter looks at Content-Type and Content-Encoding, and not at the status or Content-Range (Match and init in
#   modules/caddyhttp/encode/encode.go), so it compresses what file_server has cut.
# Bites: clients that keep parts as they came and decode the whole later, which RFC 9110 lets them do, caches of parts, and checks of the length
#   of a part. Who decodes each part by itself is served right.
set -euo pipefail
caddy="2.6.2-5"
work="$(mktemp -d)"
trap 'kill "${server:-}" 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT
(cd "$work" && apt-get -qq -o APT::Sandbox::User=root download "caddy=$caddy" && dpkg-deb -x caddy_*.deb root)
own="$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')"
mkdir "$work/files"
seq 1000 >"$work/files/numbers.txt"
printf '{\n admin off\n auto_https off\n}\n:%s {\n bind 127.0.0.1\n root * %s\n encode gzip\n file_server\n}\n' "$own" "$work/files" >"$work/Caddyfile"
HOME="$work" XDG_DATA_HOME="$work" "$work/root/usr/bin/caddy" run --config "$work/Caddyfile" --adapter caddyfile 2>"$work/log" &
server=$!
address="http://127.0.0.1:$own/numbers.txt"
for _ in $(seq 100); do curl -s -o "$work/answer" "$address" && break; sleep 0.1; done
part() {
  curl -sf -o "$work/$1" -D "$work/head" -H "Range: bytes=$1" "${@:2}" "$address"
  fields="$(tr -d '\r' <"$work/head" | sed -n 's/^content-range: //Ip; s/^content-encoding: //Ip' | sort | paste -sd ' ')"
  bytes="$(wc -c <"$work/$1")"
  own="its own bytes"
  cmp -s <(gzip -dcq "$work/$1" 2>/dev/null || cat "$work/$1") <(tail -c "+$((${1%-*} + 1))" "$work/files/numbers.txt" | head -c 1500) || own="others"
  [ "$bytes" = 1500 ] && echo "$fields: 1500 bytes, $own" || echo "$fields: fewer than 1500 bytes, which decode to $own"
}
seen="$(part 0-1499 -H 'Accept-Encoding: identity')
$(part 0-1499 -H 'Accept-Encoding: gzip')
$(part 1500-2999 -H 'Accept-Encoding: gzip')"
echo "Caddy $caddy"
echo "$seen"
[ "$seen" = "bytes 0-1499/3893: 1500 bytes, its own bytes
bytes 0-1499/3893 gzip: fewer than 1500 bytes, which decode to its own bytes
bytes 1500-2999/3893 gzip: fewer than 1500 bytes, which decode to its own bytes" ]
