package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/web"
)

func DoctorCommand(a *Env) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [SERVER]",
		Short: a.T("look for what is wrong, and say what to do", "检查问题并给出修正建议"),
		Long: a.T("Looks at the config file and its servers, and says what is wrong and what to do: asked of\nthe running gateway, or found out by starting all servers at once for a moment. The exit\ncode is 4 when a server is down.",
			"检查配置文件及其中的服务，说明问题与修正方法：询问正在运行的网关；没有网关时同时\n短暂启动所有服务。有服务不可用时退出码为 4。"),
		Args: ArgCount(a, 0, 1), ValidArgsFunction: CompleteServers(a),
		RunE: func(cmd *cobra.Command, args []string) error {
			return Examine(cmd.Context(), a, strings.Join(args, ""))
		},
	}
}

// A finding is one thing that was looked at.
type finding struct {
	OK     bool   `json:"ok"`
	What   string `json:"what"`
	Detail string `json:"detail,omitempty"`
	Fix    string `json:"fix,omitempty"`
}

func Examine(ctx context.Context, a *Env, only string) error {
	cfg, err := a.LoadToAsk()
	if r := Stale(ctx, a, err); r != nil {
		return doctorStale(ctx, a, r, err)
	}
	if err != nil {
		return err
	}
	show := findings(a)
	show.add(lookForFile(a, cfg))
	for _, p := range cfg.Problems {
		if only == "" || !aboutAnother(cfg, p, only) {
			show.add(finding{OK: p.Severity == config.SeverityWarning, What: a.ProblemText(p)})
		}
	}
	if r := Running(ctx, a, cfg.Path); r != nil {
		err = askDoctor(ctx, a, r, only, show)
	} else {
		err = examine(ctx, a, cfg, only, show)
	}
	if err != nil {
		return err
	}
	return show.end(ExitUnreachable)
}

// A findingList shows each finding as it is found; as JSON all of them at the end.
type findingList struct {
	app *Env
	all []finding
	bad bool
}

func findings(a *Env) *findingList { return &findingList{app: a, all: []finding{}} }

func (l *findingList) add(f finding) {
	l.all, l.bad = append(l.all, f), l.bad || !f.OK
	if !l.app.JSON {
		printFinding(l.app, f)
	}
}

// end is the exit code, that of what is bad.
func (l *findingList) end(code int) error {
	if l.app.JSON {
		WriteLine(l.app.Stdout, l.all)
	}
	if l.bad {
		return Silent(code)
	}
	return nil
}

// askDoctor lets the running gateway look at its own servers: others would say
// nothing about those that clients use.
func askDoctor(ctx context.Context, a *Env, r *Remote, only string, show *findingList) error {
	var page StatusPage
	if err := r.Get(ctx, "/status", &page); err != nil {
		return err
	}
	gateway := finding{OK: page.Unread == nil, What: a.T("running gateway", "正在运行的网关"), Detail: r.URL}
	if page.Unread != nil {
		gateway.Detail, gateway.Fix = strings.TrimSpace(r.URL+"  "+UnreadText(a, page.Unread)), a.Again("reload")
	}
	show.add(gateway)
	var servers []web.Finding
	if err := r.Get(ctx, "/api/v1/doctor", &servers); err != nil {
		return err
	}
	known := false
	for _, f := range servers {
		if f.Name == "" || only != "" && f.Name != only {
			continue
		}
		known = true
		label := ServerLabel(a, &page, f.Schema, f.Name)
		show.add(finding{OK: f.OK, What: label, Detail: f.Detail, Fix: cmp.Or(f.Command, f.Fix)})
	}
	if !known && only != "" {
		show.add(noServer(a, only))
	}
	return nil
}

func noServer(a *Env, name string) finding {
	return finding{What: name, Detail: a.T("no such server", "没有这个服务"), Fix: "mcp-all-in-one list"}
}

// lookForFile says where the config file is, or where its first server will
// put it.
func lookForFile(a *Env, cfg *config.Config) finding {
	f := finding{OK: true, What: a.T("config file", "配置文件"), Detail: cfg.Path}
	if _, err := os.Stat(cfg.Path); errors.Is(err, fs.ErrNotExist) {
		f.Detail = a.T("there is none yet: ", "尚未创建：") + cfg.Path
		f.Fix = a.T("mcp-all-in-one add NAME -- COMMAND, or take over what your clients have: mcp-all-in-one import",
			"mcp-all-in-one add NAME -- COMMAND，或导入各客户端已有的服务：mcp-all-in-one import")
	}
	return f
}

// doctorStale looks at a file that cannot be read, and at the gateway that
// still runs with what it said before.
func doctorStale(ctx context.Context, a *Env, r *Remote, broken error) error {
	show := findings(a)
	var load *config.LoadError
	if errors.As(broken, &load) {
		for _, p := range load.Problems {
			show.add(finding{What: a.ProblemText(p)})
		}
	}
	var page StatusPage
	if err := r.Get(ctx, "/status", &page); err != nil {
		return err
	}
	show.add(finding{OK: true, What: a.T("running gateway", "正在运行的网关"), Detail: strings.TrimSpace(r.URL + "  " + StaleNote(a, r)),
		Fix: fmt.Sprintf(a.T("correct the file (%s checks it); %s makes the gateway read it", "请修正文件（用 %s 检查）；再用 %s 使网关重新读取"), a.Again("config", "validate"), a.Again("reload"))})
	for _, schema := range SortedKeys(page.Schemas) {
		for _, s := range page.Schemas[schema].Servers {
			ok := s.Status == upstream.Ready || s.Status == upstream.Disabled
			show.add(finding{OK: ok, What: ServerLabel(a, &page, schema, s.Name), Detail: strings.TrimSpace(StateWord(a, string(s.Status)) + "  " + a.T(s.Error, s.ErrorZH))})
		}
	}
	show.bad = true
	return show.end(ExitUsage)
}

// aboutAnother says whether a problem is one of another server than the one
// that is asked about.
func aboutAnother(cfg *config.Config, p config.Problem, only string) bool {
	for _, schema := range cfg.Schemas {
		for _, name := range schema.Names() {
			if name != only && strings.Contains(p.Path+".", "mcpServers."+name+".") {
				return true
			}
		}
	}
	return false
}

func printFinding(a *Env, f finding) {
	mark := "✓"
	if !f.OK {
		mark = "✗"
	}
	fmt.Fprintf(a.Stdout, "%s %s\n", mark, strings.TrimSpace(f.What+"  "+strings.ReplaceAll(f.Detail, "\n", "\n    ")))
	if f.Fix != "" {
		fmt.Fprintf(a.Stdout, "    %s  %s\n", a.T("fix", "修正"), f.Fix)
	}
}

// examine starts the servers for a moment, all at once, and shows each as soon as
// it is known how it is.
func examine(ctx context.Context, a *Env, cfg *config.Config, only string, show *findingList) error {
	in, err := New(ctx, Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Name: a.Personality.Name})
	if err != nil {
		return err
	}
	defer in.End(ctx)
	wait, cancel := context.WithTimeout(ctx, cfg.StartWait)
	defer cancel()
	found, count := make(chan finding), 0
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			if only != "" && only != u.Name() {
				continue
			}
			count++
			in.Background.Go(func() {
				select {
				case <-u.Settled():
				case <-wait.Done():
				}
				found <- Diagnose(a, u)
			})
		}
	}
	if count == 0 && only != "" {
		show.add(noServer(a, only))
	}
	for range count {
		show.add(<-found)
	}
	return nil
}

// Diagnose says how one server is, and why.
func Diagnose(a *Env, u *upstream.Upstream) finding {
	st, cfg := u.Status(), u.Config()
	f := finding{What: st.Name, Detail: string(st.State)}
	switch st.State {
	case upstream.Ready:
		f.OK = true
		f.Detail = fmt.Sprintf(a.T("ready, protocol %s, %d tools", "就绪，协议 %s，%d 个工具"), st.Version, st.Tools)
		return f
	case upstream.Disabled:
		f.OK, f.Detail = true, a.T("disabled", "已停用")
		return f
	case upstream.Pending:
		f.Detail = a.T("waits for approval", "等待批准")
		f.Fix = a.AgainFor("approve", cfg)
		return f
	case upstream.SignIn:
		f.Detail, f.Fix = st.Reason.In(a.Lang), a.AgainFor("auth login", cfg)
		return f
	}
	f.Detail = cmp.Or(WhyNot(st, 0).In(a.Lang), StateWord(a, string(st.State)))
	_, why := u.State()
	if Searched(why) != "" {
		f.Detail += "\nPATH: " + Searched(why)
	}
	for _, line := range st.Stderr[max(0, len(st.Stderr)-5):] {
		if !strings.Contains(f.Detail, strings.TrimSpace(line)) {
			f.Detail += "\n" + line
		}
	}
	f.Fix = fixFor(a, cfg, &st, why)
	return f
}

// whereIs looks for a program in the places that a shell adds to PATH.
func whereIs(a *Env, program string) string {
	home := a.Home()
	for _, pattern := range []string{
		".nvm/versions/node/*/bin", ".volta/bin", ".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".asdf/shims", "go/bin",
	} {
		dirs, _ := filepath.Glob(filepath.Join(home, pattern)) // the pattern is ours
		for _, dir := range dirs {
			if info, err := os.Stat(filepath.Join(dir, program)); err == nil && !info.IsDir() {
				return a.T("found at ", "位于 ") + filepath.Join(dir, program) + a.T("; write the whole path as its command", "；请在 command 中写完整路径")
			}
		}
	}
	return a.T("install "+program+", or write the whole path as its command", "请安装 "+program+"，或在 command 中写完整路径")
}
