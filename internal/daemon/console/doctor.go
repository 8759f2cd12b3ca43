package console

import (
	"context"
	"sync"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/doctor"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/tester/lint"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
	"mcp-all-in-one/internal/web/api"
)

// consoleDoctor checks the running servers, like the command doctor.
type consoleDoctor struct {
	in  *instance.Instance
	env *env.Env
}

// Examine checks one server, or the file and all servers in it.
func (c *consoleDoctor) Examine(ctx context.Context, schema, name string, way bool, lang i18n.Lang) ([]web.Finding, error) {
	a, snapshot := c.env.Speaking(lang), c.in.Set.Snapshot()
	findings := []web.Finding{}
	if name == "" {
		findings = append(findings, examineFile(a, snapshot.Config))
		if space := doctor.LookForSpace(a); !space.OK {
			findings = append(findings, web.Finding{What: space.What, Detail: space.Detail, Fix: space.Fix})
		}
	}
	var list []*upstream.Upstream
	for _, view := range snapshot.Schemas {
		for _, u := range view.Upstreams {
			if name == "" || u.Name() == name && (schema == "" || schema == view.Config.Name) {
				list = append(list, u)
			}
		}
	}
	if name != "" && len(list) == 0 {
		return nil, i18n.Errorf("server %q: %w", "服务器 %q：%w", name, api.ErrNotFound)
	}
	servers := make([]web.Finding, len(list))
	var wg sync.WaitGroup
	for i, u := range list {
		wg.Go(func() { servers[i] = examineServer(ctx, a, snapshot.Config.Path, u, way) })
	}
	wg.Wait()
	return append(findings, servers...), nil
}

// examineFile returns one finding for all problems of the file. A server that
// waits for approval is a separate finding.
func examineFile(a *env.Env, cfg *config.Config) web.Finding {
	f := web.Finding{OK: true, What: a.T("config file", "配置文件"), Detail: cfg.Path}
	for _, p := range cfg.Problems {
		if p.Code != env.CodeUnapproved {
			f.OK = f.OK && p.Severity == problem.SeverityWarning
			f.Detail += "\n" + a.ProblemText(p)
		}
	}
	return f
}

func examineServer(ctx context.Context, a *env.Env, file string, u *upstream.Upstream, way bool) web.Finding {
	f, st := doctor.Diagnose(a, file, u), u.Status()
	out := web.Finding{Schema: st.Schema, Name: st.Name, OK: f.OK, What: st.Name, Detail: f.Detail, Fix: f.Fix, Lint: lint.LintFeatures(u.Features(nil))}
	if st.State == upstream.Pending || st.State == upstream.SignIn && !st.KeyRefused {
		out.Fix, out.Command = "", f.Fix
	}
	if url := u.Config().URL; way && url != "" && !u.Absent() {
		out.Way = probe.Trace(ctx, url)
	}
	return out
}
