package output

import (
	"bytes"
	"encoding/json"
	"text/template/parse"

	"mcp-all-in-one/internal/env"
)

// parseTemplate parses a Go template.
func parseTemplate(text string) (*parse.Tree, error) {
	known := map[string]any{}
	for name := range functions {
		known[name] = true
	}
	trees, err := parse.Parse("--template", text, "", "", known)
	if err != nil {
		return nil, err
	}
	return trees["--template"], nil
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
	out, err := execute(t, value)
	if err != nil {
		return badTemplate(err)
	}
	if !bytes.HasSuffix(out, []byte("\n")) {
		out = append(out, '\n')
	}
	_, err = a.Stdout.Write(out)
	return err
}
