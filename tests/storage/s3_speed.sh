#!/usr/bin/env bash
# MB/s to an S3 server and back, varve beside curl on the same server, as a ratio.
#
#     s3_speed.sh BUILD_DIR DIR [MB=256]      DIR: where versitygw.py has built the server
set -euo pipefail
build=$1 mb=${3:-256}
where=$(mktemp -d)
coproc server { exec python3 "$(dirname "${BASH_SOURCE[0]}")/versitygw.py" "$2"; }
stop="exec ${server[1]}>&-; wait $server_PID || true; rm -rf $where"
trap "$stop" EXIT
while read -r word rest <&"${server[0]}"; do
    [ "$word" = env ] && export "${rest?}"
    [ "$word" = uri ] && break
done
url=$AWS_ENDPOINT_URL/varve/speed
curl_s3() {
    curl -sS -f --aws-sigv4 "aws:amz:$AWS_REGION:s3" --user "$AWS_ACCESS_KEY_ID:$AWS_SECRET_ACCESS_KEY" \
        -H 'x-amz-content-sha256: UNSIGNED-PAYLOAD' "$@"
}
head -c "$((mb << 20))" /dev/urandom >"$where/file"
for _ in 1 2 3; do
    up=$(curl_s3 -T "$where/file" -o /dev/null -w '%{speed_upload}' "$url")
    down=$(curl_s3 -o "$where/back" -w '%{speed_download}' "$url")
    curl_s3 -X DELETE -o /dev/null "$url"
    ours=$("$build/tests/bench_s3" "$AWS_ENDPOINT_URL" varve "$mb")
    jq -r --argjson up "$up" --argjson down "$down" '
        def r: . * 100 | round / 100;
        "up   varve \(.upload_mb_s) MB/s, curl \($up / 1048576 | round) MB/s, ratio \(.upload_mb_s * 1048576 / $up | r)",
        "down varve \(.download_mb_s) MB/s, curl \($down / 1048576 | round) MB/s, ratio \(.download_mb_s * 1048576 / $down | r)"' <<<"$ours"
done
