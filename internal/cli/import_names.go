package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
)

// askName asks for the name of a server whose name is taken; nil when nobody
// can be asked.
func askName(ctx context.Context, a *app) func(name string) (string, error) {
	if !isTerminal(a.Stdin) || !isTerminal(a.Stderr) {
		return nil
	}
	return func(name string) (string, error) {
		answer, err := a.ask(ctx, fmt.Sprintf(a.t("another server is called %s; a new name, = to replace that one, or nothing to skip", "已有名为 %s 的服务；请输入新名称，= 表示替换，留空则跳过"), name))
		if errors.Is(err, io.EOF) {
			return "", nil // nobody answers any more
		}
		return strings.TrimSpace(answer), err
	}
}

// nameTaken says that another server has the name.
func nameTaken(a *app, t translation) string {
	return fmt.Sprintf(a.t("another server is called %s: --rename %s=NEW", "已有名为 %s 的服务：--rename %s=NEW"), t.name, t.own)
}

// underName says the name that a server got here, when that is another.
func underName(a *app, d imported) string {
	if d.As == "" {
		return ""
	}
	return a.t(" as ", "为 ") + d.As
}

// settleName gives a server the name that the flags say, or that a person says
// when another has its own.
func (t *translation) settleName(have entries, f importFlags) error {
	if name, ok := f.rename[t.own]; ok {
		t.name = name
	}
	for f.ask != nil && !f.replace && !t.replace && have.compare(*t) == "conflict" {
		name, err := f.ask(t.name)
		switch {
		case err != nil:
			return err
		case name == "":
			return nil
		case name == "=":
			t.replace = true
		default:
			t.name = name
		}
	}
	return nil
}

// refused says why our file could not have an entry; empty when it can.
func refused(a *app, have entries, t translation) string {
	raw, err := json.Marshal(map[string]any{"mcpServers": map[string]any{t.name: t.entry}})
	if err == nil {
		_, err = config.Check(have.path, raw, have.load)
	}
	var load *config.LoadError
	if !errors.As(err, &load) {
		return ""
	}
	var why []string
	for _, p := range load.Problems {
		if p.Severity == config.SeverityError {
			why = append(why, a.t(p.Message, p.MessageZH))
		}
	}
	return strings.Join(why, a.t("; ", "；"))
}

// clientOfFile is the client whose file this is by its name, else any.
func clientOfFile(file string) *client {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	file = filepath.ToSlash(file)
	shared := []string{"mcp.json", "settings.json", "config.json", "config.yaml", "config.toml"}
	for _, c := range clients() {
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
