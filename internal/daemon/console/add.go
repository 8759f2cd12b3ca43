package console

import (
	"context"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web/add"
	"mcp-all-in-one/internal/web/api"
)

// consoleAdd is the gateway to which the page Add adds servers.
type consoleAdd struct {
	consoleServers
	ctx context.Context // ends with the console
}

// firstStart is how long the first start of a server may take, including the
// download of its packages.
const firstStart = 3 * time.Minute

// Config returns the configuration that the gateway runs with.
func (c *consoleAdd) Config() *config.Config { return c.in.Set.Snapshot().Config }

// Reload reads the config file again.
func (c *consoleAdd) Reload() error {
	_, err := c.in.Reload()
	return err
}

// Start reads the config file again, and waits for one of its servers.
func (c *consoleAdd) Start(ctx context.Context, schema, name string) (add.Started, error) {
	started := add.Started{Schema: schema, Name: name}
	if err := c.Reload(); err != nil {
		return started, err
	}
	u := c.find(schema, name)
	if u == nil {
		return started, api.ErrNotFound
	}
	ctx, cancel := context.WithTimeout(ctx, firstStart)
	defer cancel()
	select {
	case <-u.Settled():
	case <-c.ctx.Done():
	case <-ctx.Done():
	}
	st := u.Status()
	started.State, started.Tools = consoleStates[st.State], st.Tools
	for _, issue := range st.Issues {
		started.Issues = append(started.Issues, i18n.New("%s: %v", "%s：%v", i18n.Reveal(issue.Item), issue.Detail))
	}
	switch st.State {
	case upstream.Ready, upstream.SignIn, upstream.Disabled, upstream.Pending:
		return started, nil
	}
	for _, line := range st.Stderr[max(0, len(st.Stderr)-20):] {
		started.Stderr = append(started.Stderr, i18n.Reveal(line))
	}
	started.State = "disabled"
	return started, i18n.Errorf("%v", "%v", control.WhyNot(st, 0))
}
