package traffic

import (
	"testing"
	"time"
)

func TestFilter(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	c := Call{ID: 7, Kind: KindCall, Hop: HopServer, Client: "claude-code", Server: "github", Schema: "default",
		Method: "tools/call", Name: "search_issues", Status: StatusError, Code: -32602, Start: now.Add(-5 * time.Minute),
		Total: 612 * time.Millisecond, ServerTime: 500 * time.Millisecond, ReqSize: 100, ResSize: 200 << 10,
		ReqHead: []byte(`{"query":"Rate limit"}`), Notes: []string{"era: modern to legacy"}}
	for _, tt := range []struct {
		filter string
		want   bool
	}{
		{"", true},
		{"client:claude-code", true},
		{"client:cursor", false},
		{"-client:cursor", true},
		{"client:cursor,claude-*", true},
		{"method:tools/*", true},
		{"method:tools/call dur:>500ms -status:ok", true},
		{"dur:>1s", false},
		{"dur:<1s", true},
		{"dur:612ms", true},
		{"srv:>=500ms", true},
		{"size:>100kb", true},
		{"size:>1mb", false},
		{"req:<=100", true},
		{"tool:github.*", true},
		{"tool:jira.*", false},
		{`text:"rate limit"`, true},
		{`text:"rate limits"`, false},
		{`-text:"rate limit"`, false},
		{"MODERN", true},
		{"search", true},
		{"since:10m", true},
		{"since:1m", false},
		{"code:-32602", true},
		{"status:error,tool_error", true},
		{"bench:no", true},
		{"hop:client", false},
		{"id:7", true},
	} {
		t.Run(tt.filter, func(t *testing.T) {
			f, err := ParseFilter(tt.filter)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(&c, now); got != tt.want {
				t.Errorf("Match = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestFilterErrors(t *testing.T) {
	for in, want := range map[string]string{
		"colour:red":  `filter term "colour:red": unknown field "colour"`,
		"dur:>fast":   `filter term "dur:>fast": "fast" is neither a time such as 500ms nor a size such as 10kb`,
		"server:":     `filter term "server:": a value is missing`,
		"since:never": `filter term "since:never": want a duration such as 10m`,
		"name:[a":     `filter term "name:[a": unclosed bracket in the pattern`,
	} {
		if _, err := ParseFilter(in); err == nil || err.Error() != want {
			t.Errorf("ParseFilter(%q) = %v, want %s", in, err, want)
		}
	}
}

func TestListFindsTextInHeads(t *testing.T) {
	r := New(Options{})
	r.Add(call("a", "one"), []byte(`{"city":"Paris"}`), nil)
	r.Add(call("a", "two"), nil, []byte(`{"city":"Rome"}`))
	f, err := ParseFilter("paris")
	if err != nil {
		t.Fatal(err)
	}
	got, _ := r.List(f, 0, 10)
	if len(got) != 1 || got[0].Name != "one" {
		t.Errorf("List = %+v", got)
	}
}

func FuzzParseFilter(f *testing.F) {
	for _, s := range []string{`client:a -b dur:>1s`, `text:"a\"b"`, `-`, `:`, `size:>1kb`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter, err := ParseFilter(s)
		if (filter == nil) == (err == nil) {
			t.Fatalf("ParseFilter(%q) = %v, %v", s, filter, err)
		}
		if filter != nil {
			filter.Match(&Call{Name: s}, time.Unix(0, 0))
		}
	})
}
