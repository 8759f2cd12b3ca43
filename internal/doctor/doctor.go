// Package doctor finds out why a server does not work, and suggests a fix.
package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/certs"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/spelling"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

// A finding is the result of one check.
type finding struct {
	OK     bool   `json:"ok"`
	Warn   bool   `json:"warning,omitempty"` // of the config file, which can be used
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

func ofFile(a *env.Env, p problem.Problem) finding {
	warns := p.Severity == problem.SeverityWarning
	return finding{OK: warns, Warn: warns, What: a.ProblemText(p)}
}

func Examine(ctx context.Context, a *env.Env, only string) error {
	cfg, err := a.LoadToAsk()
	if r := control.Stale(ctx, a, err); r != nil {
		return doctorStale(ctx, a, r, err)
	}
	if err != nil {
		return err
	}
	show := findings(a)
	show.add(lookForFile(a, cfg))
	if space := LookForSpace(a); !space.OK {
		show.add(space)
	}
	for _, p := range cfg.Problems {
		// A server that is off is a separate finding.
		if p.Severity != problem.SeverityDisabled && (only == "" || !aboutAnother(cfg, p, only)) {
			show.add(ofFile(a, p))
		}
	}
	if _, err := certs.ForHost(cfg, cfg.Server.Host, slog.New(slog.DiscardHandler)); err != nil && only == "" {
		show.add(finding{What: a.T("listening", "监听"), Detail: a.Lang.Of(err)})
	}
	if r := control.Running(ctx, a, cfg.Path); r != nil {
		if err = askDoctor(ctx, a, r, cfg, only, show); err == nil && only == "" && cfg.Cluster.Secret != "" {
			// With only a secret in the file it is a replica if --join was given.
			if asked := askCluster(ctx, a, r, show); cfg.Cluster.Enabled() {
				err = asked
			}
		}
	} else {
		err = examine(ctx, a, cfg, only, show)
	}
	if err != nil {
		return err
	}
	return show.end(env.ExitUnreachable)
}

// A findingList prints each finding immediately, or with --json all of them at
// the end.
type findingList struct {
	env *env.Env
	all []finding
	bad bool
}

func findings(a *env.Env) *findingList { return &findingList{env: a, all: []finding{}} }

func (l *findingList) add(f finding) {
	l.all, l.bad = append(l.all, f), l.bad || !f.OK
	if !l.env.JSON {
		printFinding(l.env, f)
	}
}

// end prints the JSON output and returns an error with the exit code if there was a
// bad finding.
func (l *findingList) end(code int) error {
	env.ShowJSON(l.env, l.all)
	if l.bad {
		return env.Silent(code)
	}
	return nil
}

// askDoctor lets the running gateway check its own servers, because other
// processes of the same servers would say nothing about those that clients use.
func askDoctor(ctx context.Context, a *env.Env, r *control.Remote, cfg *config.Config, only string, show *findingList) error {
	var page control.StatusPage
	if err := r.Get(ctx, "/status", &page); err != nil {
		return err
	}
	gateway := finding{OK: page.Unread == nil, What: a.T("running gateway", "正在运行的网关"), Detail: r.URL}
	if page.Unread != nil {
		gateway.Detail, gateway.Fix = strings.TrimSpace(r.URL+"  "+control.UnreadText(a, page.Unread)), a.Again("reload")
	}
	show.add(gateway)
	var servers []web.Finding
	if err := r.Get(ctx, "/api/v1/doctor?way=no", &servers); err != nil {
		return err
	}
	known := false
	for _, f := range servers {
		if f.Name == "" || only != "" && f.Name != only {
			continue
		}
		known = true
		label := control.ServerLabel(a, &page, f.Schema, f.Name)
		show.add(finding{OK: f.OK, What: label, Detail: f.Detail, Fix: cmp.Or(f.Command, f.Fix)})
	}
	if !known && only != "" {
		return noServer(a, cfg, only)
	}
	return nil
}

func noServer(a *env.Env, cfg *config.Config, name string) error {
	var names []string
	for _, s := range cfg.Schemas {
		names = append(names, s.Names()...)
	}
	hint := a.T("see what there is: ", "查看现有服务器：") + a.Again("list")
	if near := spelling.Nearest(name, names); near != "" {
		hint = a.T("did you mean: ", "是否要用：") + a.Again("doctor", near)
	}
	return env.Fail(env.ExitUsage, env.CodeNoServer, hint, "%s", a.T("no server "+name+" in "+cfg.Path, cfg.Path+" 中没有服务器 "+name))
}

// lookForFile returns a finding with the path of the config file, or the path
// where adding the first server will create it.
func lookForFile(a *env.Env, cfg *config.Config) finding {
	f := finding{OK: true, What: a.T("config file", "配置文件"), Detail: cfg.Path}
	if _, err := os.Stat(cfg.Path); errors.Is(err, fs.ErrNotExist) {
		f.Detail = a.T("there is none yet: ", "尚未创建：") + cfg.Path
		f.Fix = a.T("mcp-all-in-one add NAME -- COMMAND, or take over what your clients have: mcp-all-in-one import",
			"mcp-all-in-one add NAME -- COMMAND，或导入各客户端已有的服务器：mcp-all-in-one import")
	}
	return f
}

// doctorStale checks a config file that cannot be read, and the gateway that
// still runs with its earlier content.
func doctorStale(ctx context.Context, a *env.Env, r *control.Remote, broken error) error {
	show := findings(a)
	if load, ok := errors.AsType[*problem.LoadError](broken); ok {
		for _, p := range load.Problems {
			show.add(ofFile(a, p))
		}
	}
	var page control.StatusPage
	if err := r.Get(ctx, "/status", &page); err != nil {
		return err
	}
	show.add(finding{OK: true, What: a.T("running gateway", "正在运行的网关"), Detail: strings.TrimSpace(r.URL + "  " + control.StaleNote(a, r)),
		Fix: fmt.Sprintf(a.T("correct the file (%s checks it); %s makes the gateway read it", "请修正文件（用 %s 检查）；再用 %s 使网关重新读取"), a.Again("config", "validate"), a.Again("reload"))})
	for _, schema := range env.SortedKeys(page.Schemas) {
		for _, s := range page.Schemas[schema].Servers {
			ok := s.Status == upstream.Ready || s.Status == upstream.Disabled
			show.add(finding{OK: ok, What: control.ServerLabel(a, &page, schema, s.Name), Detail: strings.TrimSpace(control.StateWord(a, string(s.Status)) + "  " + a.T(s.Error, s.ErrorZH))})
		}
	}
	show.bad = true
	return show.end(env.ExitUsage)
}

// aboutAnother reports whether a problem concerns another server than the
// requested one.
func aboutAnother(cfg *config.Config, p problem.Problem, only string) bool {
	for _, schema := range cfg.Schemas {
		for _, name := range schema.Names() {
			if name != only && strings.Contains(p.Path+".", "mcpServers."+name+".") {
				return true
			}
		}
	}
	return false
}

func printFinding(a *env.Env, f finding) {
	mark := "✓"
	switch {
	case !f.OK:
		mark = "✗"
	case f.Warn:
		mark = "!"
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", mark, strings.TrimSpace(f.What+"  "+strings.ReplaceAll(f.Detail, "\n", "\n    ")))
	if f.Fix != "" {
		fmt.Fprintf(a.Stdout, "    %s  %s\n", a.T("fix", "修正"), f.Fix)
	}
}
