package edit

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/problem"
)

// sample is a file with many comments, and the server of each comment.
type sample struct {
	text     string
	names    []string
	comments map[string][]string // by server
	fixed    []string            // comments that belong to no server
}

var someText = rapid.SampledFrom([]string{"x", "a b", "true", "12", "ü 时间", `q"uo'te`, "#no", "a: b", "- x", "${V}", "", "line\nbreak", "/p/a-th", "*", "&a", "{x}", "null", "~", " lead", "trail "})

// drawSample draws a file in one of the common layouts.
func drawSample(t *rapid.T, yaml bool) sample {
	s := sample{comments: map[string][]string{}}
	mark := 0
	note := func(owner, lead string) string {
		mark++
		c := fmt.Sprintf("%s mark%d.", lead, mark)
		if owner == "" {
			s.fixed = append(s.fixed, c)
		} else {
			s.comments[owner] = append(s.comments[owner], c)
		}
		return c
	}
	n := rapid.IntRange(1, 5).Draw(t, "servers")
	var b strings.Builder
	trailing := rapid.Bool().Draw(t, "trailing comma")
	if yaml {
		b.WriteString(note("", "#") + "\n\nmcpServers:\n")
	} else {
		b.WriteString(note("", "//") + "\n\n{\n  \"mcpServers\": {\n")
	}
	for i := range n {
		name := fmt.Sprintf("s%d", i)
		s.names = append(s.names, name)
		arg, env := someText.Draw(t, "arg"), someText.Draw(t, "env")
		if yaml {
			if rapid.Bool().Draw(t, "blank line") {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "  %s: %s\n", name, note(name, "#"))
			fmt.Fprintf(&b, "    command: cmd%d %s\n", i, note(name, "#"))
			if rapid.Bool().Draw(t, "flow") {
				fmt.Fprintf(&b, "    args: [%s]\n    env: {K: %s}\n", document.Quote(arg), document.Quote(env))
			} else {
				fmt.Fprintf(&b, "    args:\n      %s\n      - %s\n    env:\n      K: %s\n", note(name, "#"), document.Quote(arg), document.Quote(env))
			}
			continue
		}
		comma := ","
		if i == n-1 && !trailing {
			comma = ""
		}
		fmt.Fprintf(&b, "    %s\n    \"%s\": {\n      \"command\": \"cmd%d\", %s\n", note(name, "//"), name, i, note(name, "//"))
		fmt.Fprintf(&b, "      \"args\": [%s], \"env\": { \"K\": %s }\n    }%s\n", document.Quote(arg), document.Quote(env), comma)
	}
	if yaml {
		b.WriteString(note("", "#") + "\nlogging:\n  level: debug " + note("", "#") + "\n")
	} else {
		b.WriteString("  },\n  " + note("", "//") + "\n  \"logging\": { \"level\": \"debug\" } " + note("", "//") + "\n}\n" + note("", "//") + "\n")
	}
	s.text = b.String()
	return s
}

// TestRoundTrip edits random files: every comment that belongs to a kept value
// must be kept, and the file must have the requested values.
func TestRoundTrip(t *testing.T) {
	for _, yaml := range []bool{false, true} {
		t.Run(map[bool]string{false: "json", true: "yaml"}[yaml], func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { roundTrip(t, yaml) })
		})
	}
}

func roundTrip(t *rapid.T, yaml bool) {
	s := drawSample(t, yaml)
	format := map[bool]document.Format{false: document.FormatJSON, true: document.FormatYAML}[yaml]
	c := &problem.List{}
	root := document.Parse([]byte(s.text), format, c)
	if root == nil {
		t.Fatalf("the sample does not parse: %v\n%s", c.Err(), s.text)
	}
	d := &Draft{path: "x", format: format, data: []byte(s.text), old: root, root: root}
	expected := append([]string(nil), s.fixed...)
	left := 0
	for _, name := range s.names {
		var err error
		switch rapid.IntRange(0, 4).Draw(t, name) {
		case 0:
			if err := d.RemoveServer("", name); err != nil {
				t.Fatal(err)
			}
			continue
		case 1:
			err = d.EnableServer("", name, false)
		case 2:
			entry := fmt.Sprintf(`{"command": %s, "args": [%s], "env": {"K": "[REDACTED]", "NEW": %s}}`,
				document.Quote("c"+someText.Draw(t, "command")), document.Quote(someText.Draw(t, "arg")), document.Quote(someText.Draw(t, "new")))
			err = d.SetServer("", name, []byte(entry))
			// Comments inside a replaced list are removed with it.
			expected = append(expected, s.comments[name][:2]...)
			left++
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		left++
		expected = append(expected, s.comments[name]...)
	}
	if rapid.Bool().Draw(t, "add") {
		left++
		if err := d.SetServer("", "added", []byte(`{"command": "x", "env": {"A": `+string(document.Quote(someText.Draw(t, "value")))+`}}`)); err != nil {
			t.Fatal(err)
		}
	}
	out, err := d.content()
	if err != nil {
		t.Fatalf("content: %v\n%s", err, s.text)
	}
	for _, comment := range expected {
		if !strings.Contains(string(out), comment) {
			t.Errorf("%q is gone from\n%s\nwhich was\n%s", comment, out, s.text)
		}
	}
	if got := document.Parse(out, format, &problem.List{}); len(got.Get("mcpServers").Members) != left || !got.Equal(d.root) {
		t.Errorf("the file says something else:\n%s", out)
	}
}
