package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"text/template"
)

// Templates write what text/template writes.
func TestTemplates(t *testing.T) {
	var value any
	dec := json.NewDecoder(strings.NewReader(`{"a":{"b":"text","list":[1,2,3],"none":[],"n":12345678901234567890,"zero":0,"t":true,"f":false,"null":null},"items":[{"x":"1"},{"x":"2"}],"s":"<&>"}`))
	dec.UseNumber()
	if err := dec.Decode(&value); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{
		"", "plain", "{{.a.b}}", "{{ .a.b -}}  x", "{{.a.n}}", "{{.a.absent}}", "{{.a.null}}", "{{.a.t}} {{.a.f}}", "{{/* nothing */}}x",
		"{{range .items}}{{.x}},{{end}}", "{{range $i, $item := .items}}{{$i}}={{$item.x}} {{end}}", "{{range $item := .items}}{{$item.x}}{{$.s}}{{end}}",
		"{{range .a.none}}x{{else}}empty{{end}}", "{{range .items}}{{if eq .x \"2\"}}{{break}}{{end}}{{.x}}{{end}}", "{{range .items}}{{if eq .x \"1\"}}{{continue}}{{end}}{{.x}}{{end}}",
		"{{range $key, $value := .a}}{{$key}} {{end}}", "{{if .a.b}}yes{{else}}no{{end}}", "{{if .a.none}}yes{{else if .a.t}}else{{end}}", "{{with .a}}{{.b}}{{end}}", "{{with .a.none}}x{{else}}y{{end}}",
		"{{$x := .a.b}}{{$x}}{{$x = \"new\"}}{{$x}}", "{{len .items}} {{len .s}} {{len .a}}", "{{index .items 1}}", "{{(index .items 1).x}}", "{{index .a \"b\"}}", "{{.s | printf \"%q %s\" \"x\"}}",
		"{{and .a.t .a.b}} {{and .a.f .a.b}} {{or .a.f .a.b}} {{not .a.f}}", "{{eq .s \"<&>\"}} {{eq .a.b \"x\" \"text\"}} {{ne .s \"x\"}} {{lt .s \"z\"}} {{ge .s \"z\"}}",
		"{{print .a.b 1}} {{println .s}}", "{{printf \"%5d|%x|%.2f\" 42 255 1.5}}", "{{json .items}} {{json .s}} {{.a.b | json}}", "{{(.a).b}}", "{{1}} {{1.5}} {{true}} {{'a'}} {{\"x\"}}",
		"{{len .a.n.x}}", "{{.s.x}}", "{{index .items 7}}", "{{range .s}}{{end}}", "{{index .s}}{{index 1 2}}", "{{.a.b 1}}", "{{len 1}}", "{{lt .a .s}}", "{{template \"x\"}}", "{{not}}", "{{and}}",
		"{{.a", "{{nothing .}}", "{{end}}", "{{break}}", "{{$y}}",
	} {
		var want bytes.Buffer
		whole, bad := template.New("--template").Funcs(template.FuncMap{"json": func(v any) (any, error) { return asJSON([]any{v}) }}).Parse(text)
		if bad == nil {
			bad = whole.Execute(&want, value)
		}
		tree, err := parseTemplate(text)
		var got []byte
		if err == nil {
			got, err = execute(tree, value)
		}
		if (err == nil) != (bad == nil) || err == nil && string(got) != want.String() {
			t.Errorf("cli/template %s: %q, %v\nwant %q, %v", text, got, err, want.String(), bad)
		}
	}
	// Numbers are compared as numbers.
	for text, want := range map[string]string{"{{eq (index .a.list 1) 2}} {{lt (index .a.list 1) 10}} {{if .a.zero}}yes{{else}}no{{end}} {{printf \"%02d\" (index .a.list 0)}}": "true true no 01"} {
		tree, err := parseTemplate(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := execute(tree, value); err != nil || string(got) != want {
			t.Errorf("cli/template %s: %q, %v", text, got, err)
		}
	}
}
