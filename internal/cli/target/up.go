package target

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/upstream"
)

// serverUp says why a server of a running gateway cannot be asked: the lists
// of one that is down are empty, which would pass for a server that has
// nothing. One that is starting is waited for, as long as a list would.
func (b *Connection) serverUp() error {
	end := time.NewTimer(b.To.cfg.StartWait)
	defer end.Stop()
	tick := time.NewTicker(instance.PollPause)
	defer tick.Stop()
	for {
		page, err := b.status()
		if err != nil {
			return err
		}
		rows := page.Schemas[b.To.schema].Servers
		i := slices.IndexFunc(rows, func(s control.StatusMCPServer) bool { return s.Name == b.To.Server.Name })
		if i < 0 {
			return nil // the gateway itself says that it has no such server
		}
		if rows[i].ToolCount > 0 || !slices.Contains(silentStates, rows[i].Status) {
			return nil
		}
		if rows[i].Status == upstream.SignIn {
			return needsSignIn(b.Env, b.To.Server)
		}
		if rows[i].Status != upstream.Starting || rows[i].Error != "" {
			return b.unavailable(b.Env.T(rows[i].Error, rows[i].ErrorZH))
		}
		select {
		case <-tick.C:
		case <-end.C:
			return b.unavailable(b.Env.T("it is still starting", "仍在启动"))
		case <-b.Ctx.Done():
			return b.Ctx.Err()
		}
	}
}

// WholeList fetches a list; where a gateway says that servers are starting which
// will add to it, for as long as most of them take.
func (b *Connection) WholeList(k catalog.Kind) (*probe.Listing, error) {
	end := time.NewTimer(startPatience)
	defer end.Stop()
	tick := time.NewTicker(instance.PollPause)
	defer tick.Stop()
	for {
		l, err := b.List(b.Ctx, k)
		if err != nil || !l.Starting || b.status != nil { // a gateway of ours has its own limit
			return l, err
		}
		select {
		case <-tick.C:
		case <-end.C:
			fmt.Fprintln(b.Env.Stderr, b.Env.T("not all is listed: servers of this gateway are still starting", "未全部列出：网关的部分服务仍在启动"))
			return l, nil
		case <-b.Ctx.Done():
			return nil, b.Ctx.Err()
		}
	}
}

// startPatience is how long a list waits for servers behind a gateway that has
// waited for them already.
const startPatience = 10 * time.Second

// silentStates are those in which a server that never answered shows nothing.
var silentStates = []upstream.State{upstream.Starting, upstream.Failed, upstream.CrashLooping, upstream.Stopped, upstream.Unconfigured, upstream.SignIn}

// sayUnread warns that the running gateway has not read what its file says now,
// and refuses a server that only the file has.
func (b *Connection) sayUnread() error {
	page, err := b.status()
	if err != nil || page.Unread == nil || b.To.via != nil { // of a broken file it was said already
		return err
	}
	a, s := b.Env, b.To.Server
	if s != nil && slices.Contains(page.Unread.Added, s.ID()) {
		return &env.ExitError{Code: env.ExitUnreachable, ID: env.CodeUnreachable, Hint: a.Again("reload"),
			Err:     i18n.Errorf("server %s is not in the running gateway: %s", "正在运行的网关中没有服务 %s：%s", s.Name, control.UnreadText(a, page.Unread)),
			Details: []env.Detail{{Label: a.T("target", "目标"), Text: b.To.Label}}}
	}
	control.WarnUnread(a, &page)
	return nil
}

func (b *Connection) unavailable(reason string) error {
	a, name := b.Env, b.To.Server.Name
	return &env.ExitError{Code: env.ExitUnreachable, ID: env.CodeUnreachable, Hint: a.Again("doctor", name),
		Err:     i18n.Errorf("server %s is not available: %s", "服务 %s 不可用：%s", name, reason),
		Details: []env.Detail{{Label: a.T("target", "目标"), Text: b.To.Label}}}
}

// needsSignIn says that a server waits for a person, and how to sign in to it.
func needsSignIn(a *env.Env, s *config.Server) error {
	return &env.ExitError{Code: env.ExitAuth, ID: env.CodeAuth, Hint: a.AgainFor("auth login", s),
		Err: errors.New(a.T("server "+s.Name+" needs a sign-in", "服务 "+s.Name+" 需要登录"))}
}

// SayMissing names on stderr the servers that a merged list is without.
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
