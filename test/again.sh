#!/usr/bin/env bash
# again.sh FLAGS -- PACKAGES runs go test. A test that fails runs once more,
# alone: a busy machine misses deadlines that a quiet one meets. A data race, a
# panic, a leak or a process that exits unexpectedly is never run again. What
# fails twice fails. The first output of what was run again is printed at the
# end, so that nobody overlooks it. With DEPTH=N a failed subtest of that depth
# runs again, instead of the whole test.
set -uo pipefail
flags=()
while [ $# -gt 0 ] && [ "$1" != "--" ]; do flags+=("$1"); shift; done
shift
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${GO:-go}" test "${flags[@]}" "$@" 2>&1 | tee "$log"
status=${PIPESTATUS[0]}
[ "$status" -eq 0 ] && exit 0
if grep -nE 'DATA RACE|^panic:|fatal error:|leak|^exit status ([^1]|1[0-9])|^signal: ' "$log"; then
  echo "== not run again: the lines above are faults, whatever the machine does"
  exit "$status"
fi
# One line for each failed package: its path and a pattern of its failed tests.
again=$(awk -F '\t' -v depth="${DEPTH:-0}" '
  function pattern(name) { gsub(/[][\\.*+?(){}|^$]/, "\\\\&", name); gsub("/", "$/^", name); return "^" name "$" }
  /^ *--- FAIL: / { sub(/^ */, ""); split($0, w, " "); if (split(w[3], parts, "/") - 1 <= depth) failed[++n] = w[3] }
  $1 == "FAIL" && $2 != "" {
    tests = ""
    for (i = 1; i <= n; i++) {
      for (j = i + 1; j <= n && index(failed[j], failed[i] "/") != 1; j++);
      if (j > n) tests = tests (tests == "" ? "" : "|") pattern(failed[i]) # no subtest of it failed
    }
    split($2, p, " "); print p[1] " " (tests == "" ? "^()$" : tests); n = 0
  }
  $1 == "ok" { n = 0 }' "$log")
if [ -z "$again" ] || grep -qF '^()$' <<<"$again"; then # a package did not build, or its tests did not begin
  exit "$status"
fi
status=0
while read -r package tests; do
  echo "== once more, alone: $package $tests"
  "${GO:-go}" test -p 1 -count=1 "${flags[@]}" -run "$tests" "$package" </dev/null || status=$?
done <<<"$again"
echo "== what failed at first:"
grep -E -A 30 '^ *--- FAIL' "$log"
exit "$status"
