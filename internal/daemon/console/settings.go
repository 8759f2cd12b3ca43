package console

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consoleSettings shows and changes the settings of the file other than
// servers.
type consoleSettings struct{ consoleServers }

// List describes every value that the file may set.
func (c *consoleSettings) List(lang i18n.Lang) []web.Setting {
	settings := []web.Setting{}
	now := c.in.Set.Snapshot().Config
	changed := config.ChangedValues(c.in.Config, now)
	for _, v := range config.Values(now) {
		settings = append(settings, web.Setting{
			Key: v.Key, Value: v.Value, Default: v.Default, Source: v.Source, Restart: v.Restart, Waits: v.Restart && slices.Contains(changed, v.Key),
			Doc: c.env.Speaking(lang).T(v.Doc, v.DocZH), Secret: v.Secret, Choices: v.Choices,
		})
	}
	return settings
}

// Set writes one value.
func (c *consoleSettings) Set(_ context.Context, key string, value json.RawMessage) error {
	return c.edit(func(d *edit.Draft) error { return d.SetValue(key, value) })
}

// File returns the file as JSON, with secrets hidden.
func (c *consoleSettings) File() (web.ConfigFile, error) {
	f := web.ConfigFile{Path: c.in.Config.Path}
	_, err := edit.Update(f.Path, c.env.WriteOptions(), func(d *edit.Draft) error {
		text, err := d.Redacted()
		if err != nil {
			return err
		}
		f.Text, f.Mark = string(bytes.ReplaceAll(text, []byte(edit.Redacted), []byte(api.Kept))), clients.HashOf(text)
		return env.ErrLookOnly
	})
	if errors.Is(err, env.ErrLookOnly) {
		err = nil
	}
	return f, err
}

// Replace writes the whole file.
func (c *consoleSettings) Replace(_ context.Context, text, mark, confirm string) error {
	return c.edit(func(d *edit.Draft) error {
		shown, err := d.Redacted()
		if err != nil {
			return err
		}
		if clients.HashOf(shown) != mark {
			return api.ErrChanged
		}
		if err := d.Replace([]byte(strings.ReplaceAll(text, `"`+api.Kept+`"`, `"`+edit.Redacted+`"`))); err != nil {
			return err
		}
		if run := strings.Join(d.Commands(), "\n"); run != "" && run != confirm {
			return &api.NotConfirmed{Run: run}
		}
		return nil
	})
}
