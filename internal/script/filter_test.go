package script

import (
	"strings"
	"testing"
)

// TestFilters runs jq filters in their own process; some of them exceed a
// limit.
func TestFilters(t *testing.T) {
	r := newRunner(t)
	doc := []byte(`{"a":"` + strings.Repeat("y", 20_000) + `","n":12345678901234567890}`)
	for _, tt := range []struct{ name, filter, want string }{
		{"number", ".n", "12345678901234567890\n"},
		{"error", ".a.b", "jq: "},
		{"long text", `"x"*1000000000|length`, "more than 384 MB"},
		{"doubled", strings.Repeat("[.,.]|", 14) + "tojson|length", "jq: it "},
	} {
		t.Run("code/jq "+tt.name, func(t *testing.T) {
			part, err := r.Filter(t.Context(), doc, tt.filter, 1000)
			said := part.Text
			if err != nil {
				said = err.Error()
			}
			if !strings.Contains(said, tt.want) {
				t.Errorf("it says %q", said)
			}
		})
	}
}
