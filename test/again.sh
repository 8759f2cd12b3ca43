#!/usr/bin/env bash
# again.sh FLAGS -- PACKAGES runs go test. A package that fails runs once more,
# alone: a busy machine misses deadlines that a quiet one meets. What fails
# twice fails.
set -uo pipefail
flags=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do flags+=("$1"); shift; done
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${GO:-go}" test "${flags[@]}" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] && exit 0
mapfile -t failed < <(awk -F '\t' '$1 == "FAIL" && $2 != "" { split($2, p, " "); print p[1] }' "$log" | sort -u)
[ "${#failed[@]}" -gt 0 ] || exit "$status"
echo "== once more, alone: ${failed[*]}"
exec "${GO:-go}" test -p 1 -count=1 "${flags[@]}" "${failed[@]}"
