package use

import (
	"cmp"
	"context"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/web"
)

// logsFlags are the flags of logs.
type logsFlags struct {
	watchFlags
	follow bool
}

func LogsCommand(a *env.Env) *cobra.Command {
	var f logsFlags
	cmd := target.NewCommand(a, "logs TARGET", a.T("show the log and the standard error of a server", "显示服务器的日志与标准错误"), &f.Flags,
		func(cmd *cobra.Command, args []string) error { return runLogs(a, cmd, &f, args) })
	cmd.Long = a.T("Prints the last lines that a server wrote to its standard error. For a configured server they come from\nthe running gateway; any other server is started for it. --follow keeps printing new lines until Ctrl-C.",
		"显示服务器写到标准错误的最后几行：已配置的服务器取自正在运行的网关，\n其他服务器会为此启动一次。--follow 持续显示新内容，按 Ctrl-C 结束。")
	cmd.Example = "  mcp-all-in-one logs github\n  mcp-all-in-one logs github -f\n  mcp-all-in-one logs -- npx -y @modelcontextprotocol/server-everything"
	flags := cmd.Flags()
	flags.BoolVarP(&f.follow, "follow", "f", false, a.T("keep printing new lines", "持续显示新日志"))
	flags.IntVarP(&f.count, "count", "n", 0, a.T("show the last `N` lines; with --follow, end after N lines", "显示最后 `N` 行；与 --follow 同用时收到 N 行后结束"))
	flags.DurationVar(&f.total, "for", 0, a.T("follow for `TIME`", "持续显示 `TIME`"))
	f.Shared = true
	return cmd
}

func runLogs(a *env.Env, cmd *cobra.Command, f *logsFlags, args []string) error {
	m, err := target.ParseTarget(a, cmd, &f.Flags, args)
	if err != nil {
		return err
	}
	f.follow = f.follow || f.total > 0
	h := &heard{env: a, most: f.count, full: make(chan struct{})}
	if s := m.Server; s != nil && s.Type == config.TypeStdio {
		if r := m.Gateway(cmd.Context(), a, &f.Flags); r != nil {
			return keptLogs(cmd.Context(), a, f, r, s, h)
		}
	}
	if f.follow {
		sayFollowing(a, m.Label, f.total)
		f.Shared = false // only a separate connection gets the log messages
		f.Level = cmp.Or(f.Level, "debug")
		only := func(method string) bool { return method == mcp.NotificationMessage }
		return stay(a, cmd, &f.watchFlags, args, func(*target.Connection, []string) (func(), error) { return nil, nil }, only)
	}
	return startedLogs(cmd.Context(), a, f, m, h)
}

// startedLogs starts a server and prints what it writes to stderr, also if it
// does not start.
func startedLogs(ctx context.Context, a *env.Env, f *logsFlags, m *target.Target, h *heard) error {
	var mu sync.Mutex
	var lines []string
	b, err := target.Open(ctx, a, &f.Flags, m, func(o *probe.Options) {
		o.OnLine = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}
	})
	if err != nil {
		mu.Lock()
		defer mu.Unlock()
		for _, line := range lines[max(0, len(lines)-h.keep(len(lines))):] {
			h.kept(line)
		}
		return err
	}
	b.End() // standard error is complete once the server has exited
	if m.Server != nil && m.Server.URL != "" || m.Probe.URL != "" || m.Label == "." {
		fmt.Fprintln(a.Stderr, a.T("the standard error of a server over HTTP cannot be read; --follow shows its log messages as they arrive", "无法读取 HTTP 服务器的标准错误；--follow 实时显示其日志消息"))
		return nil
	}
	printLines(a, h, b.Stderr(f.count), m.Label)
	return nil
}

// sayFollowing prints that the command runs until it is interrupted.
func sayFollowing(a *env.Env, what string, total time.Duration) {
	if total > 0 {
		return
	}
	fmt.Fprintf(a.Stderr, a.T("following %s; Ctrl-C ends it\n", "正在持续显示 %s；按 Ctrl-C 结束\n"), what)
}

// printLines prints the last lines of a server's stderr.
func printLines(a *env.Env, h *heard, lines []string, label string) {
	if len(lines) == 0 {
		fmt.Fprintf(a.Stderr, a.T("%s has written nothing to standard error\n", "%s 没有向标准错误写入内容\n"), label)
	}
	for _, line := range lines[max(0, len(lines)-h.keep(len(lines))):] {
		h.kept(line)
	}
}

// keep returns how many of the available lines to print.
func (h *heard) keep(there int) int {
	if h.most > 0 {
		return h.most
	}
	return there
}

// kept prints a line that a gateway has stored. Its time is not known here.
func (h *heard) kept(text string) {
	if h.env.JSON {
		h.print(func() { env.WriteLine(h.env.Stdout, map[string]any{"stderr": text}) })
		return
	}
	h.print(func() { fmt.Fprintln(h.env.Stdout, text) })
}

// keptLogs prints the stored output of a server from a running gateway. With
// --follow it continues with new output.
func keptLogs(ctx context.Context, a *env.Env, f *logsFlags, r *control.Remote, s *config.Server, h *heard) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	if f.total > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.total)
		defer cancel()
	}
	path := "/api/v1/servers/" + url.PathEscape(s.Schema) + "/" + url.PathEscape(s.Name)
	var d web.ServerDetail
	if err := r.Get(ctx, path, &d); err != nil {
		return err
	}
	if !f.follow {
		printLines(a, h, d.Stderr, s.Name)
		return nil
	}
	sayFollowing(a, s.Name, f.total)
	tick := time.NewTicker(instance.PollPause)
	defer tick.Stop()
	for seen := 0; ; {
		if d.StderrLines < seen { // the gateway was restarted
			seen = 0
		}
		for _, line := range d.Stderr[max(0, len(d.Stderr)-(d.StderrLines-seen)):] {
			h.kept(line)
		}
		seen = d.StderrLines
		select {
		case <-tick.C:
		case <-h.full:
			return nil
		case <-ctx.Done():
			return nil
		}
		d = web.ServerDetail{}
		if err := r.Get(ctx, path, &d); err != nil {
			return ended(ctx, err)
		}
	}
}
