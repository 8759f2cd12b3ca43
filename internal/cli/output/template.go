package output

import (
	"bytes"
	"encoding/json"
	"text/template"

	"mcp-all-in-one/internal/env"
)

// parseTemplate parses a template. The additional function json formats a value
// as JSON.
func parseTemplate(text string) (*template.Template, error) {
	return template.New("--template").Funcs(template.FuncMap{
		"json": func(v any) (string, error) {
			var buf bytes.Buffer
			enc := json.NewEncoder(&buf)
			enc.SetEscapeHTML(false)
			err := enc.Encode(v)
			return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n"))), err
		},
	}).Parse(text)
}

// checkTemplate refuses an invalid template before anything is sent.
func (f *Options) checkTemplate() error {
	if _, err := parseTemplate(f.template); err != nil {
		return badTemplate(err)
	}
	return nil
}

func badTemplate(err error) error {
	return env.Fail(env.ExitUsage, env.CodeUsage, `--template '{{range .content}}{{.text}}{{end}}'`, "%v", err)
}

// printTemplate writes a result with a template, followed by a newline.
func printTemplate(a *env.Env, text string, result json.RawMessage) error {
	t, err := parseTemplate(text)
	if err != nil {
		return badTemplate(err)
	}
	dec := json.NewDecoder(bytes.NewReader(result))
	dec.UseNumber() // keeps 12345678901234567890 exact
	var value any
	if err := dec.Decode(&value); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, value); err != nil {
		return badTemplate(err)
	}
	if !bytes.HasSuffix(out.Bytes(), []byte("\n")) {
		out.WriteByte('\n')
	}
	_, err = a.Stdout.Write(out.Bytes())
	return err
}
