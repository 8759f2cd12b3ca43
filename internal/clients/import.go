package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
)

// ImportFlags are the flags of import.
type ImportFlags struct {
	Schema                        string
	DryRun, Replace, StoreSecrets bool
	Tree                          bool
	Rename                        map[string]string
	// Unseen is set if there is no user at the terminal. A server from a file
	// that does not belong to a client of this user then waits for approval.
	Unseen bool
	// Ask asks the user for another name if the name of a server is taken; nil
	// if the user cannot be asked.
	Ask func(name string) (string, error)
}

func unreadable(path string, err error) i18n.Text {
	return i18n.New("%s: %v", "无法使用 %s：%v", path, err)
}

// An Imported is the result for one server.
type Imported struct {
	Name    string   `json:"name"`
	As      string   `json:"as,omitempty"` // its name here, if different
	Outcome string   `json:"outcome"`
	Notes   []string `json:"notes,omitempty"`
	Added   bool     `json:"-"` // it was added, or would be
}

// ImportAll writes servers to our file, in one write.
func ImportAll(ctx context.Context, a *env.Env, list []Translation, f ImportFlags) ([]Imported, error) {
	f.Schema = cmp.Or(f.Schema, config.DefaultSchema)
	var found []string
	for _, t := range list {
		found = append(found, t.own)
	}
	if err := checkRenames(a, f.Rename, found); err != nil {
		return nil, err
	}
	have := haveEntries(a, f.Schema)
	var done []Imported
	var adding []Translation
	for _, t := range list {
		d := Imported{Name: t.own, Notes: t.notes}
		add, err := decideImport(a, &t, &d, have, f)
		if err != nil {
			return nil, err
		}
		if add {
			if err := secure(a, &t, &d, f); err != nil {
				return nil, err
			}
			adding = append(adding, t)
			have.named[t.Name] = t.entry
		}
		done = append(done, d)
	}
	if f.DryRun || len(adding) == 0 {
		return done, nil
	}
	file, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return nil, err
	}
	_, err = edit.Update(file.Path, a.WriteOptions(), func(d *edit.Draft) error {
		for _, t := range adding {
			raw, err := json.Marshal(t.entry)
			set := d.SetServer
			if f.Unseen && t.strange {
				set = d.ProposeServer
			}
			if err == nil {
				err = set(f.Schema, t.Name, raw)
			}
			if err != nil {
				return i18n.Errorf("%s: %w", "%s：%w", t.Name, err)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	_, err = control.ReloadRunning(ctx, a, file.Path)
	return done, err
}

// decideImport decides whether a server is written, and under which name.
func decideImport(a *env.Env, t *Translation, d *Imported, have entries, f ImportFlags) (add bool, err error) {
	if t.skip == "" {
		if err := t.settleName(have, f); err != nil {
			return false, err
		}
	}
	why := t.skip
	if why == "" {
		why = refused(a, have, *t)
	}
	switch how := have.compare(*t); {
	case why != "":
		d.Outcome = a.T("skipped: ", "跳过：") + why
	case how == "same":
		d.Outcome = a.T("there already", "已存在")
	case how == "conflict" && !f.Replace && !t.replace:
		d.Outcome = a.T("skipped: ", "跳过：") + nameTaken(a, *t) + a.T(", --replace", "、--replace")
	default:
		d.Outcome, d.Added = a.T("imported", "已导入"), true
		if f.DryRun {
			d.Outcome = a.T("would be imported", "将导入")
		}
		if f.Unseen && t.strange {
			d.Notes = append(d.Notes, a.T("waits for approval: ", "等待批准：")+i18n.Command("mcp-all-in-one", "approve", t.Name))
		}
		if t.Name != t.own {
			d.As = t.Name
		}
	}
	return d.Added, nil
}

// secure moves the secrets of an entry to the secret store, or adds a note that
// they are in plain text.
func secure(a *env.Env, t *Translation, d *Imported, f ImportFlags) error {
	if !f.StoreSecrets {
		if n := t.secrets(nil); n > 0 {
			d.Notes = append(d.Notes, fmt.Sprintf(a.T(
				env.Many(n, "%d secret in plain text; --store-secrets moves it into the secret store", "%d secrets in plain text; --store-secrets moves them into the secret store"),
				"%d 个明文密钥；--store-secrets 可移入密钥库"), n))
		}
		return nil
	}
	stored := a.T("stored: ", "已保存：")
	if f.DryRun {
		stored = a.T("would be stored: ", "将保存：")
	}
	var failed error
	t.secrets(func(name, value string) string {
		if !f.DryRun && failed == nil {
			if _, failed = a.UserDir(); failed == nil {
				failed = a.Secrets().Set(name, value)
			}
		}
		d.Notes = append(d.Notes, stored+"${secret:"+name+"}")
		return "${secret:" + name + "}"
	})
	return failed
}
