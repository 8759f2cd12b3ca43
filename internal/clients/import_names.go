package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/env"
)

// AskName returns a function that asks for another name if the name of a server
// is taken; nil if the user cannot be asked.
func AskName(ctx context.Context, a *env.Env) func(name string) (string, error) {
	if !env.IsTerminal(a.Stdin) || !env.IsTerminal(a.Stderr) {
		return nil
	}
	return func(name string) (string, error) {
		answer, err := a.Ask(ctx, fmt.Sprintf(a.T("another server is called %s; a new name, = to replace that one, or nothing to skip", "已有名为 %s 的服务器；请输入新名称，= 表示替换，留空则跳过"), name))
		if errors.Is(err, io.EOF) {
			return "", nil // end of input
		}
		return strings.TrimSpace(answer), err
	}
}

// nameTaken returns the message that another server has the name.
func nameTaken(a *env.Env, t Translation) string {
	return fmt.Sprintf(a.T("another server is called %s: --rename %s=NEW", "已有名为 %s 的服务器：--rename %s=NEW"), t.Name, t.own)
}

// UnderName returns the new name of a server, if it was renamed.
func UnderName(a *env.Env, d Imported) string {
	if d.As == "" {
		return ""
	}
	return a.T(" as ", "为 ") + d.As
}

// settleName sets the name of a server from the flags. If the name is taken, it
// asks the user.
func (t *Translation) settleName(have entries, f ImportFlags) error {
	if name, ok := f.Rename[t.own]; ok {
		t.Name = name
	}
	for f.Ask != nil && !f.Replace && !t.replace && have.compare(*t) == "conflict" {
		name, err := f.Ask(t.Name)
		switch {
		case err != nil:
			return err
		case name == "":
			return nil
		case name == "=":
			t.replace = true
		default:
			t.Name = name
		}
	}
	return nil
}

// checkRenames returns an error if a server that is to be renamed is not among
// those that were found.
func checkRenames(a *env.Env, rename map[string]string, found []string) error {
	for _, name := range slices.Sorted(maps.Keys(rename)) {
		if !slices.Contains(found, name) {
			return env.Fail(env.ExitUsage, env.CodeUsage, fmt.Sprintf(a.T("rename one of: %s", "请重命名其中之一：%s"), strings.Join(found, ", ")),
				a.T("--rename %s=%s: no server called %s was found", "--rename %s=%s：没有找到名为 %s 的服务器"), name, rename[name], name)
		}
	}
	return nil
}

// refused returns why an entry is not valid in our file; empty if it is.
func refused(a *env.Env, have entries, t Translation) string {
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{t.Name: t.entry}})
	if err == nil {
		_, err = config.Check(have.path, raw, have.load)
	}
	var load *problem.LoadError
	if !errors.As(err, &load) {
		return ""
	}
	var why []string
	for _, p := range load.Problems {
		if p.Severity == problem.SeverityError {
			why = append(why, a.T(p.Message, p.MessageZH))
		}
	}
	return strings.Join(why, a.T("; ", "；"))
}

// clientOfFile returns the client that uses a file of this name, otherwise a
// generic client.
func clientOfFile(file string) *Client {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	file = filepath.ToSlash(file)
	shared := []string{"mcp.json", "settings.json", "config.json", "config.yaml", "config.toml"}
	for _, c := range All() {
		for _, known := range slices.Concat(c.files, c.project) {
			name := path.Base(known)
			if slices.Contains(shared, name) {
				name = path.Join(path.Base(path.Dir(known)), name)
			}
			if strings.HasSuffix(file, "/"+name) {
				return &c
			}
		}
	}
	return anyClient()
}
