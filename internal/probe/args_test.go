package probe

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
)

const toolSchema = `{"type":"object","properties":{
	"query":{"type":"string"},"per_page":{"type":"integer"},"ratio":{"type":"number"},"deep":{"type":"boolean"},
	"sort":{"enum":["asc","desc"]},"any":{},"limit":{"anyOf":[{"type":"integer"},{"type":"null"}]},
	"text_or_number":{"type":["string","number"]},
	"filter":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}},"min":{"type":"integer"}},"additionalProperties":false},
	"open":{"type":"object","additionalProperties":{"type":"integer"}},
	"ref":{"$ref":"#/$defs/count"}},"$defs":{"count":{"type":"integer"}}}`

func TestArguments(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, body := range map[string]string{"text": "from a file", "json": `{"min":3}`} {
		must.Write(t, name, body)
	}
	for _, tt := range []struct {
		words []string
		want  string
		bad   string // the wrong argument
		near  string
	}{
		{words: nil, want: `{}`},
		{words: []string{"query=5", "per_page=5", "ratio=0.5", "deep=true"}, want: `{"deep":true,"per_page":5,"query":"5","ratio":0.5}`},
		{words: []string{"query=a=b"}, want: `{"query":"a=b"}`},
		{words: []string{"query="}, want: `{"query":""}`},
		{words: []string{`filter.tags[0]=a`, `filter.tags[1]=b`, `filter.min=3`}, want: `{"filter":{"min":3,"tags":["a","b"]}}`},
		{words: []string{`filter:={"min":12345678901234567890}`}, want: `{"filter":{"min":12345678901234567890}}`},
		{words: []string{`filter={"min":1}`}, want: `{"filter":{"min":1}}`},
		{words: []string{"query=@text", "filter:=@json"}, want: `{"filter":{"min":3},"query":"from a file"}`},
		{words: []string{"limit=null"}, want: `{"limit":null}`},
		{words: []string{"limit=7"}, want: `{"limit":7}`},
		{words: []string{"text_or_number=7"}, want: `{"text_or_number":7}`},
		{words: []string{"text_or_number=x"}, want: `{"text_or_number":"x"}`},
		{words: []string{"any=7"}, want: `{"any":"7"}`},
		{words: []string{"open.whatever=7"}, want: `{"open":{"whatever":7}}`},
		{words: []string{"ref=7"}, want: `{"ref":7}`},
		{words: []string{`filter:={"min":1}`, "filter.tags[0]=x"}, want: `{"filter":{"min":1,"tags":["x"]}}`},
		{words: []string{"qurey=x"}, bad: "qurey", near: "query"},
		{words: []string{"perpage=5"}, bad: "perpage", near: "per_page"},
		{words: []string{"filter.tag[0]=5"}, bad: "filter.tag[0]", near: "tags"},
		{words: []string{"per_page=many"}, bad: "per_page"},
		{words: []string{"deep=yes"}, bad: "deep"},
		{words: []string{"filter=x"}, bad: "filter"},
		{words: []string{"filter:={"}, bad: "filter"},
		{words: []string{"query=@none"}, bad: "query"},
		{words: []string{"query=x", "query.inner=y"}, bad: "query.inner"},
		{words: []string{"word"}, bad: "word"},
	} {
		p := &ArgumentParser{Schema: []byte(toolSchema)}
		got, err := p.Parse(nil, tt.words)
		if tt.bad == "" {
			if err != nil || string(got) != tt.want {
				t.Errorf("%q: %s, %v, want %s", tt.words, got, err, tt.want)
			}
			continue
		}
		var bad *ArgumentError
		if !errors.As(err, &bad) || bad.Argument != tt.bad || bad.Nearest != tt.near {
			t.Errorf("%q: %v, want a complaint about %q near %q", tt.words, err, tt.bad, tt.near)
		}
	}
}

func TestArgumentsOverBase(t *testing.T) {
	p := &ArgumentParser{Schema: []byte(toolSchema)}
	got, err := p.Parse(json.RawMessage(`{"query":"a","per_page":12345678901234567890}`), []string{"query=b"})
	if err != nil || string(got) != `{"per_page":12345678901234567890,"query":"b"}` {
		t.Errorf("%s, %v", got, err)
	}
	untouched := `{ "z":1, "a":2 }`
	if got, err := p.Parse(json.RawMessage(untouched), nil); err != nil || string(got) != untouched {
		t.Errorf("%s, %v: what nobody changes stays as it is", got, err)
	}
	anything := &ArgumentParser{Schema: []byte(toolSchema), Any: true}
	if got, err := anything.Parse(nil, []string{"qurey=x", "per_page=many"}); err != nil || string(got) != `{"per_page":"many","qurey":"x"}` {
		t.Errorf("unchecked: %s, %v", got, err)
	}
}

func FuzzArguments(f *testing.F) {
	for _, word := range []string{"a=b", "a.b[0]=c", `a:={"b":1}`, "a[9]=x", `a\.b=c`, "a[=", "=", "a..b=c"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.Contains(word, "=@") {
			return // it would read any file of this machine
		}
		p := &ArgumentParser{Any: true}
		got, err := p.Parse(nil, []string{word})
		if err == nil && !json.Valid(got) {
			t.Errorf("%q became %q", word, got)
		}
	})
}
