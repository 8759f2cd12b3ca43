package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/doctor"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/stdio"
	"mcp-all-in-one/internal/upstream"
)

// serverUp waits for a server of a running gateway that is starting, and
// returns an error if the server is not available. Without it, the empty lists
// of a server that is down would look like a server without features.
func (b *Connection) serverUp() error {
	began, said := time.Now(), time.Duration(0)
	tick := time.NewTicker(instance.PollPause)
	defer tick.Stop()
	for {
		row, err := b.row()
		switch {
		case err != nil || row == nil: // the gateway itself reports an unknown server
			return err
		case row.ToolCount > 0 || !slices.Contains(silentStates, row.Status):
			return nil
		case row.Status == upstream.SignIn && len(b.To.Server.PerUser) > 0: // it may work for this user
			return nil
		case row.Status == upstream.SignIn:
			return b.To.needsSignIn(b.Env)
		case row.Status != upstream.Starting || row.StartingFor == "":
			return b.unavailable(b.Env.T(row.Error, row.ErrorZH))
		}
		waited := time.Since(began)
		if waited >= said+notePause(said) {
			b.sayWaiting(row.Installer, row.StartingFor)
			said = waited
		}
		if waited >= b.Flags.patience(row, b.To.cfg.StartWait) {
			return b.stillStarting(row)
		}
		select {
		case <-tick.C:
		case <-b.Ctx.Done():
			return b.Ctx.Err()
		}
	}
}

// row returns the state of the server; nil if the gateway has no server of that
// name.
func (b *Connection) row() (*control.StatusMCPServer, error) {
	page, err := b.status()
	if err != nil {
		return nil, err
	}
	rows := page.Schemas[b.To.schema].Servers
	i := slices.IndexFunc(rows, func(s control.StatusMCPServer) bool { return s.Name == b.To.Server.Name })
	if i < 0 {
		return nil, nil
	}
	return &rows[i], nil
}

// patience returns how long to wait for a server that is starting: up to the
// limit of the command if it may be downloading, otherwise as long as for a
// response.
func (f *Flags) patience(row *control.StatusMCPServer, startWait time.Duration) time.Duration {
	if row.Installer != "" {
		return f.limit
	}
	return max(f.idle, startWait)
}

const (
	// firstNote is when the user first gets a note that the command is waiting.
	firstNote = 2 * time.Second
	laterNote = 15 * time.Second
)

// notePause returns the time between the last note and the next.
func notePause(said time.Duration) time.Duration {
	if said == 0 {
		return firstNote
	}
	return laterNote
}

// sayWaiting prints to stderr which server the command waits for, and where to
// find its output.
func (b *Connection) sayWaiting(installer, waited string) {
	a := b.Env
	fmt.Fprintf(a.Stderr, a.T("waiting for %s: %s", "正在等待 %s：%s"), b.To.Label, starting(installer, waited).In(a.Lang))
	if b.status != nil {
		fmt.Fprintf(a.Stderr, a.T("; %s shows what it prints", "；%s 显示其输出"), a.AgainFor("logs", b.To.Server))
	}
	fmt.Fprintln(a.Stderr)
}

// noteStart prints notes to stderr while a command that we started is slow to
// start, until stop is called.
func (b *Connection) noteStart() (stop func()) {
	if b.To.Probe.Command == "" {
		return func() {}
	}
	began := time.Now()
	return meanwhile(b.Ctx, func() {
		installer := ""
		if stdio.Fetches(b.To.Probe.Command) {
			installer = filepath.Base(b.To.Probe.Command)
		}
		b.sayWaiting(installer, time.Since(began).Round(time.Second).String())
	})
}

// meanwhile calls note from time to time while the user waits, until stop is
// called.
func meanwhile(ctx context.Context, note func()) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		pause := time.NewTimer(firstNote)
		defer pause.Stop()
		for {
			select {
			case <-pause.C:
				note()
				pause.Reset(laterNote)
			case <-ctx.Done():
				return
			}
		}
	}()
	return func() { cancel(); <-done }
}

// starting returns the text that a server is still starting.
func starting(installer, waited string) i18n.Text {
	if installer != "" {
		return control.Installing(installer, waited)
	}
	return i18n.New("it is starting, for %s so far", "它正在启动，已用 %s", waited)
}

// stillStarting returns the error for a server that takes longer than we wait.
func (b *Connection) stillStarting(row *control.StatusMCPServer) error {
	a := b.Env
	e := b.unavailable(fmt.Sprintf(a.T("it is still starting, for %s so far", "它仍在启动，已用 %s"), row.StartingFor))
	e.Hint = fmt.Sprintf(a.T("%s shows what it prints; --timeout TIME waits longer", "%s 显示其输出；--timeout TIME 可等待更久"), a.AgainFor("logs", b.To.Server))
	return e
}

// WholeList fetches a list. If a gateway reports that servers are still
// starting, WholeList repeats the request until the list is complete or
// startPatience is over.
func (b *Connection) WholeList(k catalog.Kind) (*probe.Listing, error) {
	end := time.NewTimer(startPatience)
	defer end.Stop()
	tick := time.NewTicker(instance.PollPause)
	defer tick.Stop()
	for {
		l, err := b.List(b.Ctx, k)
		if err != nil || !l.Starting || b.status != nil { // our own gateway has its own limit
			return l, err
		}
		select {
		case <-tick.C:
		case <-end.C:
			fmt.Fprintln(b.Env.Stderr, b.Env.T("not all is listed: servers of this gateway are still starting", "未全部列出：网关的部分服务器仍在启动"))
			return l, nil
		case <-b.Ctx.Done():
			return nil, b.Ctx.Err()
		}
	}
}

// startPatience is how long a list waits for servers behind a gateway that has
// already waited for them.
const startPatience = 10 * time.Second

// silentStates are the states in which a server that never answered shows no
// features.
var silentStates = []upstream.State{upstream.Starting, upstream.Failed, upstream.CrashLooping, upstream.Stopped, upstream.Unconfigured, upstream.SignIn, upstream.Refused}

// sayUnread warns that the running gateway has not read the current config
// file, and returns an error for a server that only the file has.
func (b *Connection) sayUnread() error {
	page, err := b.status()
	if err != nil || page.Unread == nil || b.To.via != nil { // a broken file was already reported
		return err
	}
	if s := b.To.Server; s != nil {
		return control.SayUnread(b.Env, &page, s.ID(), b.To.Label)
	}
	control.WarnUnread(b.Env, &page)
	return nil
}

func (b *Connection) unavailable(reason string) *env.ExitError {
	a, name := b.Env, b.To.Server.Name
	return &env.ExitError{Code: env.ExitUnreachable, ID: env.CodeUnreachable, Hint: a.Again("doctor", name),
		Err:     i18n.Errorf("server %s is not available: %s", "服务器 %s 不可用：%s", name, reason),
		Details: []env.Detail{{Label: a.T("target", "目标"), Text: b.To.Label}}}
}

// needsSignIn returns the error that a server needs a sign-in, with the command
// for it, or that it refuses the key of its entry.
func (m *Target) needsSignIn(a *env.Env) error {
	s := m.Server
	if fix := m.fixKey(a); fix != "" {
		return &env.ExitError{Code: env.ExitAuth, ID: env.CodeAuth, Hint: fix, Err: errors.New(a.T("server "+s.Name+" refuses its key", "服务器 "+s.Name+" 拒绝了密钥"))}
	}
	return &env.ExitError{Code: env.ExitAuth, ID: env.CodeAuth, Hint: a.AgainFor("auth login", s),
		Err: errors.New(a.T("server "+s.Name+" needs a sign-in", "服务器 "+s.Name+" 需要登录"))}
}

// fixKey returns what to do if the server refuses the key of its entry; empty if
// the entry has none.
func (m *Target) fixKey(a *env.Env) string {
	if m.Server == nil || m.cfg == nil || m.cfg.Schema(m.schema) == nil {
		return ""
	}
	return doctor.FixKey(a, m.cfg.Schema(m.schema).Server(m.Server.Name), m.cfg.Path)
}

// SayMissing prints to stderr the servers that are missing from a merged list.
func (b *Connection) SayMissing() error {
	if b.To.like != nil || !b.To.merged {
		return nil
	}
	page, err := b.status()
	if err != nil {
		return err
	}
	a := b.Env
	for _, s := range page.Schemas[b.To.schema].Servers {
		switch s.Status {
		case upstream.Ready, upstream.Disabled:
			continue
		}
		why := a.T(s.Error, s.ErrorZH)
		if why == "" && s.Status == upstream.Starting {
			why = a.T("it is still starting", "仍在启动")
		}
		fmt.Fprintf(a.Stderr, a.T("not in the list: %s: %s\n", "未列出：%s：%s\n"), s.Name, cmp.Or(why, control.StateWord(a, string(s.Status))))
	}
	return nil
}
