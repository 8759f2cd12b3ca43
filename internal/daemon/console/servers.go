package console

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/httpclient"
	"mcp-all-in-one/internal/oauth"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/pin"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consoleServers shows and changes the servers of a running gateway.
type consoleServers struct {
	in  *instance.Instance
	env *env.Env
}

var consoleStates = map[upstream.State]string{
	upstream.Ready: "up", upstream.Starting: "starting", upstream.Restarting: "starting", upstream.Failed: "down",
	upstream.CrashLooping: "down", upstream.Stopped: "down", upstream.Unconfigured: "down", upstream.Refused: "down", upstream.SignIn: "auth",
	upstream.Disabled: "disabled", upstream.Pending: "pending",
}

// List describes every server.
func (c *consoleServers) List() []web.Server {
	list := []web.Server{}
	for _, s := range c.in.Statuses() {
		list = append(list, describeServer(c.in, s, c.in.Set.Snapshot().Config.StartWait))
	}
	return list
}

// describeServer describes a server that may take startWait to start.
func describeServer(in *instance.Instance, s upstream.Status, startWait time.Duration) web.Server {
	w := web.Server{
		Schema: s.Schema, Name: s.Name, State: consoleStates[s.State], Since: s.Since, Transport: s.Type,
		Protocol: s.Version, PID: s.PID, Tools: s.Tools, Resources: s.Resources + s.Templates, Prompts: s.Prompts, Restarts: s.Restarts, Sandbox: s.Sandbox,
	}
	w.Reason, w.ReasonZH = control.WhyNot(s, startWait).Both()
	switch {
	case s.PerUser:
		w.State = "idle" // the console cannot sign in to it
	case s.KeyRefused:
		w.State = "down" // nor here: the file has to be corrected
	}
	if w.State == "starting" && w.Reason != "" && s.Installer == "" {
		w.State = "down" // it is being retried
	}
	w.Title, _ = jsonrpc.GetString(s.ServerInfo, "name")
	w.Version, _ = jsonrpc.GetString(s.ServerInfo, "version")
	if s.State == upstream.Pending || s.Replaced {
		w.Pending = []string{"new"}
	}
	w.ToolsSeen = func(who access.Principal) int {
		if u := (&consoleServers{in: in}).find(s.Schema, s.Name); u != nil {
			return instance.ToolsSeen(u, who)
		}
		return 0
	}
	for _, c := range s.Changed {
		w.Pending = append(w.Pending, c.Name)
	}
	return w
}

// Detail adds the data of a server's own page.
func (c *consoleServers) Detail(schema, name string) (web.ServerDetail, error) {
	u := c.find(schema, name)
	if u == nil {
		return web.ServerDetail{}, api.ErrNotFound
	}
	s := u.Status()
	d := web.ServerDetail{Server: describeServer(c.in, s, c.in.Set.Snapshot().Config.StartWait), Source: c.in.Config.Path, Stderr: s.Stderr, StderrLines: s.StderrLines, Withheld: s.Withheld}
	if s.Version != "" {
		d.Handshake = fmt.Appendf(nil, `{"protocolVersion":%s,"capabilities":%s,"serverInfo":%s,"instructions":%s}`,
			jsonrpc.Quote(s.Version), orNull(s.Capabilities), orNull(s.ServerInfo), jsonrpc.Quote(s.Instructions))
	}
	d.Entry = c.entry(schema, name)
	for script, of := range u.Config().Scripts {
		if of.File != "" {
			if d.Code == nil {
				d.Code = map[string]string{}
			}
			d.Code[script] = of.Code
		}
	}
	d.Approval = approvalOf(u)
	if u.Config().URL != "" {
		d.Accounts = c.in.Tokens.Statuses(u.Config())
	}
	d.Changes, d.Lookalikes = s.Changed, c.in.Lookalikes(schema, name)
	return d, nil
}

// entry returns the entry of the file with its secrets hidden; null if the file
// has no such server.
func (c *consoleServers) entry(schema, name string) json.RawMessage {
	entry := json.RawMessage("null")
	_, err := edit.Update(c.in.Config.Path, c.env.WriteOptions(), func(d *edit.Draft) error {
		if raw := d.Entry(schema, name); raw != nil {
			if hidden, err := edit.Redact(raw); err == nil {
				entry = bytes.ReplaceAll(hidden, []byte(edit.Redacted), []byte(api.Kept))
			}
		}
		return env.ErrLookOnly
	})
	if err != nil && !errors.Is(err, env.ErrLookOnly) {
		c.in.Log.Warn("reading an entry", "err", err)
	}
	return entry
}

func orNull(raw []byte) []byte {
	if len(raw) == 0 {
		return []byte("null")
	}
	return raw
}

func (c *consoleServers) find(schema, name string) *upstream.Upstream {
	if v := c.in.Set.Snapshot().Schema(schema); v != nil {
		return v.Upstream(name)
	}
	return nil
}

// edit changes the file and applies it.
func (c *consoleServers) edit(change func(*edit.Draft) error) error {
	if _, err := edit.Update(c.in.Config.Path, c.env.WriteOptions(), change); err != nil {
		return err
	}
	_, err := c.in.Reload()
	return err
}

// Save writes one entry, new or changed.
func (c *consoleServers) Save(_ context.Context, schema, name string, entry json.RawMessage) error {
	return c.edit(func(d *edit.Draft) error {
		return d.SetServer(schema, name, bytes.ReplaceAll(entry, []byte(`"`+api.Kept+`"`), []byte(`"`+edit.Redacted+`"`)))
	})
}

// Remove removes an entry; the returned function restores it.
func (c *consoleServers) Remove(_ context.Context, schema, name string) (func(context.Context) error, error) {
	var was []byte
	err := c.edit(func(d *edit.Draft) error {
		if was = d.Entry(schema, name); was == nil {
			return api.ErrNotFound
		}
		return d.RemoveServer(schema, name)
	})
	if err != nil {
		return nil, err
	}
	return func(context.Context) error {
		return c.edit(func(d *edit.Draft) error { return d.ChangeServer(schema, name, was) })
	}, nil
}

// SetEnabled switches a server on or off.
func (c *consoleServers) SetEnabled(_ context.Context, schema, name string, on bool) error {
	return c.edit(func(d *edit.Draft) error { return d.EnableServer(schema, name, on) })
}

// Restart reopens the server's connection.
func (c *consoleServers) Restart(_ context.Context, schema, name string) error {
	u := c.find(schema, name)
	if u == nil {
		return api.ErrNotFound
	}
	u.Restart()
	return nil
}

// Ping asks the server for a sign of life, and reads its certificate meanwhile.
func (c *consoleServers) Ping(ctx context.Context, schema, name string) (web.Pulse, error) {
	u := c.find(schema, name)
	if u == nil {
		return web.Pulse{}, api.ErrNotFound
	}
	var pulse web.Pulse
	var wg sync.WaitGroup
	wg.Go(func() {
		if cert := probe.CertificateOf(ctx, u.Config().URL); cert != nil {
			pulse.Certificate = &web.Certificate{
				Subject: cmp.Or(cert.Subject.CommonName, strings.Join(cert.DNSNames, ", ")), Until: cert.NotAfter,
				Issuer: strings.TrimSpace(strings.Join(cert.Issuer.Organization, ", ") + " " + cert.Issuer.CommonName),
			}
		}
	})
	took, err := upstream.Ping(ctx, u)
	wg.Wait()
	pulse.Took = took
	return pulse, err
}

// SignIn begins a sign-in. It continues in the background until the person
// returns or gives up.
func (c *consoleServers) SignIn(ctx context.Context, schema, name string, watch func(oauth.Step), done func(error)) (string, error) {
	u := c.find(schema, name)
	if u == nil {
		return "", api.ErrNotFound
	}
	shown := make(chan string, 1)
	ended := make(chan error, 1)
	c.in.Background.Go(func() {
		_, err := c.in.Tokens.Login(ctx, u.Config(), oauth.LoginOptions{
			Base: httpclient.NewClientTransport(), Show: func(address string) { shown <- address }, Watch: watch,
		})
		done(err)
		if err != nil {
			c.in.Log.Warn("signing in", "server", name, "err", err)
		} else {
			c.in.SignedIn()
		}
		ended <- err
	})
	select {
	case address := <-shown:
		return address, nil
	case err := <-ended:
		return "", err
	}
}

// approvalOf returns what waits for approval: an entry, or changed definitions;
// nil for nothing.
func approvalOf(u *upstream.Upstream) *web.Approval {
	waits, changed := u.Config().Waits(), u.Status().Changed
	switch {
	case waits != nil:
		entry := waits.Entry()
		for _, taken := range waits.Taken {
			en, zh := taken.Say().Both()
			entry += "\n\n" + en + " / " + zh + "\n  " + strings.Join(taken.Lines, "\n  ")
		}
		return &web.Approval{Entry: entry, Hash: waits.ShownHash()}
	case len(changed) > 0:
		return &web.Approval{Hash: changesHash(changed)}
	}
	return nil
}

// changesHash returns a hash of changed definitions as they are shown.
func changesHash(changed []pin.Change) string {
	h := sha256.New()
	for _, c := range changed {
		fmt.Fprintf(h, "%q %q %q %q\n", c.Kind, c.Name, c.User, c.Fingerprint)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// Approve approves a waiting entry or changed definitions, if shown is still
// their hash.
func (c *consoleServers) Approve(_ context.Context, who access.Principal, schema, name, shown string) error {
	u := c.find(schema, name)
	if u == nil {
		return api.ErrNotFound
	}
	cfg := u.Config()
	if cfg.Waits() == nil {
		changed := u.Status().Changed
		if len(changed) > 0 && changesHash(changed) != shown {
			return api.ErrChanged
		}
		return u.Approve(changed)
	}
	record := c.in.Config.Approvals()
	if !who.MayDecide(record.Asker(cfg.ID(), shown)) {
		return api.ErrOwnRequest
	}
	err := record.Approve(cfg.ID(), shown)
	if err != nil && !errors.Is(err, approval.ErrChanged) {
		return err
	}
	if _, failed := c.in.Reload(); failed != nil {
		return failed
	}
	if err != nil {
		return api.ErrChanged
	}
	return nil
}

// Watch calls changed whenever List would differ.
func (c *consoleServers) Watch(changed func()) { c.in.Watchers.Add(changed) }
