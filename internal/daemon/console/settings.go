package console

import (
	"context"
	"encoding/json"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web"
)

// consoleSettings shows and changes the settings of the file other than
// servers.
type consoleSettings struct {
	in  *instance.Instance
	env *env.Env
}

// List describes every value that the file may set.
func (c *consoleSettings) List(lang i18n.Lang) []web.Setting {
	settings := []web.Setting{}
	for _, v := range config.Values(c.in.Set.Snapshot().Config) {
		settings = append(settings, web.Setting{
			Key: v.Key, Value: v.Value, Default: v.Default, Source: v.Source, Restart: v.Restart,
			Doc: c.env.Speaking(lang).T(v.Doc, v.DocZH), Secret: v.Secret, Choices: v.Choices,
		})
	}
	return settings
}

// Set writes one value.
func (c *consoleSettings) Set(_ context.Context, key string, value json.RawMessage) error {
	_, err := edit.Update(c.in.Config.Path, c.env.WriteOptions(), func(d *edit.Draft) error {
		return d.SetValue(key, value)
	})
	if err != nil {
		return err
	}
	_, err = c.in.Reload()
	return err
}
