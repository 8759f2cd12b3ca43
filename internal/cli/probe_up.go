package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/upstream"
)

// serverUp says why a server of a running gateway cannot be asked: the lists
// of one that is down are empty, which would pass for a server that has
// nothing. One that is starting is waited for, as long as a list would.
func (b *bout) serverUp() error {
	end := time.NewTimer(b.aim.cfg.StartWait)
	defer end.Stop()
	tick := time.NewTicker(helloPause)
	defer tick.Stop()
	for {
		page, err := b.status()
		if err != nil {
			return err
		}
		rows := page.Schemas[b.aim.schema].Servers
		i := slices.IndexFunc(rows, func(s statusMCPServer) bool { return s.Name == b.aim.server.Name })
		if i < 0 {
			return nil // the gateway itself says that it has no such server
		}
		if rows[i].ToolCount > 0 || !slices.Contains(silentStates, rows[i].Status) {
			return nil
		}
		if rows[i].Status == upstream.SignIn {
			return needsSignIn(b.app, b.aim.server)
		}
		if rows[i].Status != upstream.Starting || rows[i].Error != "" {
			return b.unavailable(b.app.t(rows[i].Error, rows[i].ErrorZH))
		}
		select {
		case <-tick.C:
		case <-end.C:
			return b.unavailable(b.app.t("it is still starting", "仍在启动"))
		case <-b.ctx.Done():
			return b.ctx.Err()
		}
	}
}

// wholeList fetches a list; where a gateway says that servers are starting which
// will add to it, for as long as most of them take.
func (b *bout) wholeList(k catalog.Kind) (*probe.Listing, error) {
	end := time.NewTimer(startPatience)
	defer end.Stop()
	tick := time.NewTicker(helloPause)
	defer tick.Stop()
	for {
		l, err := b.List(b.ctx, k)
		if err != nil || !l.Starting || b.status != nil { // a gateway of ours has its own limit
			return l, err
		}
		select {
		case <-tick.C:
		case <-end.C:
			fmt.Fprintln(b.app.Stderr, b.app.t("not all is listed: servers of this gateway are still starting", "未全部列出：网关的部分服务仍在启动"))
			return l, nil
		case <-b.ctx.Done():
			return nil, b.ctx.Err()
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
func (b *bout) sayUnread() error {
	page, err := b.status()
	if err != nil || page.Unread == nil || b.aim.via != nil { // of a broken file it was said already
		return err
	}
	a, s := b.app, b.aim.server
	if s != nil && slices.Contains(page.Unread.Added, s.ID()) {
		return &exitError{code: exitUnreachable, id: codeUnreachable, hint: a.again("reload"),
			err:     i18n.Errorf("server %s is not in the running gateway: %s", "正在运行的网关中没有服务 %s：%s", s.Name, unreadText(a, page.Unread)),
			details: []detail{{a.t("target", "目标"), b.aim.label}}}
	}
	warnUnread(a, &page)
	return nil
}

func (b *bout) unavailable(reason string) error {
	a, name := b.app, b.aim.server.Name
	return &exitError{code: exitUnreachable, id: codeUnreachable, hint: a.again("doctor", name),
		err:     i18n.Errorf("server %s is not available: %s", "服务 %s 不可用：%s", name, reason),
		details: []detail{{a.t("target", "目标"), b.aim.label}}}
}

// needsSignIn says that a server waits for a person, and how to sign in to it.
func needsSignIn(a *app, s *config.Server) error {
	return &exitError{code: exitAuth, id: codeAuth, hint: a.againFor("auth login", s),
		err: errors.New(a.t("server "+s.Name+" needs a sign-in", "服务 "+s.Name+" 需要登录"))}
}

// sayMissing names on stderr the servers that a merged list is without.
func (b *bout) sayMissing() error {
	if b.aim.like != nil || !b.aim.merged {
		return nil
	}
	page, err := b.status()
	if err != nil {
		return err
	}
	a := b.app
	for _, s := range page.Schemas[b.aim.schema].Servers {
		switch s.Status {
		case upstream.Ready, upstream.Disabled:
			continue
		}
		why := a.t(s.Error, s.ErrorZH)
		if why == "" && s.Status == upstream.Starting {
			why = a.t("it is still starting", "仍在启动")
		}
		fmt.Fprintf(a.Stderr, a.t("not in the list: %s: %s\n", "未列出：%s：%s\n"), s.Name, cmp.Or(why, stateWord(a, string(s.Status))))
	}
	return nil
}
