package variable

import (
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/secrets"
)

func TestVariables(t *testing.T) {
	dir := t.TempDir()
	must.Write(t, filepath.Join(dir, "key.txt"), "from file\n")
	store := secrets.NewFileStore(filepath.Join(dir, "s"))
	must.OK(t, store.Set("api", "from store"))
	env := map[string]string{"A": "a", "EMPTY": "", "lower_case": "l", "NESTED": "${A}"}
	r := &Resolver{
		Lookup: func(k string) (string, bool) { v, ok := env[k]; return v, ok },
		Home:   "/home/u", Work: "/w", Base: dir, Secrets: store,
	}
	for _, tt := range []struct {
		in, want string
		missing  []string
	}{
		{"plain", "plain", nil},
		{"${A}", "a", nil},
		{"x${A}y${A}z", "xayaz", nil},
		{"${env:A}", "a", nil},
		{"${env:GONE:-d}", "d", nil},
		{"${lower_case}", "l", nil},
		{"${GONE:-default}", "default", nil},
		{"${GONE:-}", "", nil},
		{"${GONE:-https://h:1/x}", "https://h:1/x", nil},
		{"${EMPTY}", "", nil},
		{"${EMPTY:-d}", "d", nil},
		{"${NESTED}", "${A}", nil},
		{"${GONE}", "${GONE}", []string{"GONE"}},
		{"${A}-${GONE}-${ALSO}", "a-${GONE}-${ALSO}", []string{"GONE", "ALSO"}},
		{"${file:key.txt}", "from file", nil},
		{"${file:no.txt}", "${file:no.txt}", []string{"file:no.txt"}},
		{"${file:.}", "${file:.}", []string{"file:."}},
		{"${secret:api}", "from store", nil},
		{"${secret:no}", "${secret:no}", []string{"secret:no"}},
		{"${input:token}", "${input:token}", []string{"input:token"}},
		{"${userHome}/x", "/home/u/x", nil},
		{"${workspaceFolder}", "/w", nil},
		{"$${A}", "${A}", nil},
		{"${1}", "${1}", nil},
		{"${a b}", "${a b}", nil},
		{"${A", "${A", nil},
		{"${}", "${}", nil},
		{"$A", "$A", nil},
		{"${weird:thing}", "${weird:thing}", nil},
	} {
		t.Run(tt.in, func(t *testing.T) {
			got, _, missing := r.Text(tt.in)
			if got != tt.want {
				t.Errorf("text = %q, want %q", got, tt.want)
			}
			if diff := cmp.Diff(tt.missing, missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
		})
	}
}
