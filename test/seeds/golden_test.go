package seeds

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest"
)

var update = flag.Bool("update", false, "rewrite the golden conversations")

// volatile matches what differs between two runs.
var volatile = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)`), "TIME"},
	{regexp.MustCompile(`127\.0\.0\.1:\d+`), "127.0.0.1:PORT"},
}

func stable(line string) string {
	for _, v := range volatile {
		line = v.form.ReplaceAllString(line, v.as)
	}
	return line
}

// converse compares a whole conversation with a golden file: lines that begin
// with > are sent, and the responses must be the lines with < that follow.
// Lines with # are comments.
func converse(t *testing.T, w wire, file string) {
	t.Helper()
	path := filepath.Join("testdata", file)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out, want []string
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "< ") {
			want = append(want, line)
			continue
		}
		out = append(out, line)
		sent, ok := strings.CutPrefix(line, "> ")
		if !ok {
			continue
		}
		if mcptest.ParseMessage(t, sent).ID == nil {
			w.tell(sent)
			continue
		}
		out = append(out, "< "+stable(w.ask(sent).Raw))
	}
	if *update {
		if err := os.WriteFile(path, []byte(strings.Join(out, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	var got []string
	for _, line := range out {
		if strings.HasPrefix(line, "< ") {
			got = append(got, line)
		}
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) {
			t.Errorf("%s: %d answers, want %d", file, len(got), len(want))
			break
		}
		if got[i] != want[i] {
			t.Errorf("%s, answer %d:\n got %s\nwant %s", file, i+1, got[i], want[i])
		}
	}
}
