package script

import (
	"context"
	"strings"
	"testing"
	"time"

	"mcp-all-in-one/internal/kept"
)

// TestFilters runs jq filters in their own process; some of them exceed a
// limit.
func TestFilters(t *testing.T) {
	r := newRunner(t)
	doc := `{"a":"` + strings.Repeat("y", 20_000) + `","n":12345678901234567890}`
	for _, tt := range []struct{ name, doc, filter, want string }{
		{"number", doc, ".n", "12345678901234567890\n"},
		{"error", doc, ".a.b", "jq: "},
		{"long text", doc, `"x"*1000000000|length`, "more than 384 MB"},
		{"long call", doc, `"a"*400000|indices("a"*200000+"b")`, "longer than 1s"},
		{"doubled", doc, strings.Repeat("[.,.]|", 14) + "tojson|length", "jq: it "},
		{"name given twice", `{"n":1,"n":2}`, ".n", "2\n"},
		{"long number", `{"n":` + strings.Repeat("1", 200_000) + `,"m":3}`, ".m", "3\n"},
		{"too deep", strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000), ".", "jq: "},
	} {
		t.Run("code/jq "+tt.name, func(t *testing.T) {
			part, err := r.Filter(t.Context(), []byte(tt.doc), tt.filter, 1000)
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

// TestFiltersInTurn lets one principal start many filters that run into their
// limit. Those beyond its share are refused, and another principal does not wait
// for the rest.
func TestFiltersInTurn(t *testing.T) {
	r := newRunner(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type end struct {
		who string
		err error
	}
	ends := make(chan end)
	read := func(who, filter string) {
		go func() {
			_, err := kept.Read(ctx, []byte(`{"n":1}`), kept.Query{JQ: filter, Principal: who}, 1000, r.Filter)
			ends <- end{who, err}
		}()
	}
	const many, share = 12, 8
	for range many {
		read("a", strings.Repeat("(0,1)|", 40)+"empty")
	}
	for range many - share {
		if e := <-ends; e.err != kept.ErrOverloaded {
			t.Errorf("code/jq share: beyond its share it ends with %v", e.err)
		}
	}
	read("b", ".n")
	before := 0
	e := <-ends
	for ; e.who != "b"; e = <-ends {
		before++
	}
	if e.err != nil || before > 2 {
		t.Errorf("code/jq in turn: the other is answered after %d of %d, with %v", before, share, e.err)
	}
	cancel()
	for range share - before {
		<-ends
	}
}
