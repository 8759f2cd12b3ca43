package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/cli/target"
	"mcp-all-in-one/internal/cli/use"
	"mcp-all-in-one/internal/clients"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/tester/lint"
	"mcp-all-in-one/internal/tester/suite"
)

func SandboxCommand(a *env.Env) *cobra.Command {
	cmd := &cobra.Command{Use: "sandbox", Short: a.T("find out what a server needs in its sandbox", "了解服务器在沙箱中需要什么"), Args: command.NoArgs(a),
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() }}
	cmd.AddCommand(learnCommand(a))
	return cmd
}

// learnFlags are the flags of sandbox learn.
type learnFlags struct {
	target.Flags
	schema, suite string
	last          time.Duration
	yes           bool
}

func learnCommand(a *env.Env) *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use: "learn NAME", Short: a.T("run a server without a sandbox and propose one from what it used", "不使用沙箱运行服务器，并根据其使用情况提出沙箱配置"), Args: command.ArgCount(a, 1, 1), ValidArgsFunction: command.CompleteServers(a),
		Long: a.T("Runs a server without its sandbox, after you confirm, while you use it: in a shell, with a test file (--suite), or on its own for a while (--for). It records the files that the server opens, the programs that it runs and the hosts that it connects to. Then it shows the sandbox that allows them, and writes it after you confirm. Files that contain keys are listed but never allowed.",
			"询问后不加沙箱地运行服务器，供你使用：在 shell 中、通过测试文件（--suite），或让它自行运行一段时间（--for）。期间记录它打开、运行和连接的内容，然后显示对其沙箱的修改，确认后写入。存有密钥的文件只会列出，从不提议开放。"),
		Example: "  mcp-all-in-one sandbox learn notes\n  mcp-all-in-one sandbox learn notes --suite mcp-tests/notes.yaml\n  mcp-all-in-one sandbox learn notes --for 2m",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := env.FindServer(a, "sandbox learn", f.schema, args[0])
			if err != nil {
				return err
			}
			return learn(cmd.Context(), a, &f, s)
		},
	}
	command.AddSchemaFlag(a, cmd, &f.schema)
	cmd.Flags().StringVar(&f.suite, "suite", "", a.T("run the tests of `FILE` meanwhile", "期间运行测试文件 `FILE`"))
	cmd.Flags().DurationVar(&f.last, "for", 0, a.T("list its tools and let it run for `TIME`", "列出其工具，并让它运行 `TIME`"))
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, a.T("run it and write without asking", "不询问，直接运行并写入"))
	return cmd
}

// learn runs a server without a sandbox, and proposes the sandbox settings that
// it needs.
func learn(ctx context.Context, a *env.Env, f *learnFlags, s *config.Server) error {
	switch {
	case s.Type != config.TypeStdio:
		return env.Fail(env.ExitUsage, env.CodeUsage, "", "%s", a.T(s.Name+" runs elsewhere: only a command that is started here has a sandbox", s.Name+" 在别处运行：只有在本机启动的命令才有沙箱"))
	case sandbox.Supported() != nil:
		return env.Fail(env.ExitFailure, env.CodeLearn, "", "%v", sandbox.Supported())
	}
	if err := a.Usable(s); err != nil {
		return err
	}
	if !f.yes {
		fmt.Fprintf(a.Stderr, a.T("%s will run without a sandbox: it can read, change and send everything that you can.\n", "%s 将不加沙箱地运行：它可以读取、修改和发送你能访问的一切。\n"), s.Name)
		if err := confirm(a, a.T("Run it without a sandbox? [y/N] ", "不使用沙箱运行吗？[y/N] ")); err != nil {
			return err
		}
	}
	wants, err := watch(ctx, a, f, s)
	if err != nil {
		return err
	}
	return propose(ctx, a, f, s, wants)
}

// watch runs the server and uses it, and returns what it accessed.
func watch(ctx context.Context, a *env.Env, f *learnFlags, s *config.Server) (*sandbox.Wants, error) {
	cfg, err := a.Load(false)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "learn-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	notes := filepath.Join(dir, "notes")
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		return nil, err
	}
	m := &target.Target{Label: s.Name, Server: s, Probe: probe.TargetOf(s, os.Environ())}
	m.Probe.Sandbox = &sandbox.Server{ID: s.ID(), Place: s.FolderID(), Rules: s.Sandbox, Cwd: s.Cwd, Learn: notes}
	switch {
	case f.suite != "":
		err = useBySuite(ctx, a, f, m)
	case f.last > 0:
		err = useFor(ctx, a, f, m)
	default:
		err = use.RunShell(ctx, a, &f.Flags, m, nil)
	}
	if err != nil {
		return nil, err
	}
	wants, err := sandbox.Learnt(notes, cfg.Path, secretFiles(a, cfg))
	if err != nil {
		return nil, env.Fail(env.ExitFailure, env.CodeLearn, "", "%s: %v", s.Name, err)
	}
	return wants, nil
}

// secretFiles returns the files with keys that the config file names, and the config
// files of MCP clients.
func secretFiles(a *env.Env, cfg *config.Config) []string {
	list := []string{cfg.Server.TLS.Key, cfg.Server.TLS.ACME.Cache, cfg.Cluster.NATS.Creds, cfg.Access.Keys}
	list = slices.DeleteFunc(list, func(path string) bool { return path == "" })
	for _, name := range cfg.Named {
		if path, ok := strings.CutPrefix(name, "file:"); ok {
			list = append(list, disk.From(filepath.Dir(cfg.Path), disk.ExpandHome(path, a.Home())))
		}
	}
	for _, c := range clients.All() {
		list = append(list, c.Paths(a.Home(), a.Getenv)...)
	}
	return list
}

// useBySuite runs the tests of a file. A failed test is reported, but does not
// stop the learning.
func useBySuite(ctx context.Context, a *env.Env, f *learnFlags, m *target.Target) error {
	file, err := suite.ReadSuite(f.suite)
	if err != nil {
		return env.Fail(env.ExitUsage, env.CodeTestFile, "", "%v", err)
	}
	answers := &suite.TestAnswers{}
	b, err := target.Open(ctx, a, &f.Flags, m, func(o *probe.Options) { o.Answer = answers })
	if err != nil {
		return err
	}
	defer b.End()
	runner := &suite.SuiteRunner{Session: b.Session, Suite: file, Answers: answers, OnResult: func(r suite.TestResult) {
		fmt.Fprintf(a.Stderr, "%s: %s\n", i18n.Seen(r.Name), r.Status)
	}}
	_, err = runner.Run(b.Ctx)
	return target.Failed(a, err, m)
}

// useFor lists the server's features, and lets the server run for a while.
func useFor(ctx context.Context, a *env.Env, f *learnFlags, m *target.Target) error {
	b, err := target.Open(ctx, a, &f.Flags, m, nil)
	if err != nil {
		return err
	}
	defer b.End()
	if _, err := lint.FeaturesOf(b.Ctx, b.Session); err != nil {
		return target.Failed(a, err, m)
	}
	select {
	case <-time.After(f.last):
	case <-b.Gone():
	case <-b.Ctx.Done():
	}
	return nil
}

// learnt is the JSON output of sandbox learn.
type learnt struct {
	Name    string               `json:"name"`
	Changes []lint.FeatureChange `json:"changes"`
	Secrets []string             `json:"secrets,omitempty"`
	Unix    []string             `json:"unix,omitempty"`
	Direct  []string             `json:"direct,omitempty"`
	Others  []string             `json:"others,omitempty"`
	Written bool                 `json:"written"`
}

// propose shows how the sandbox would change, and writes it after confirmation.
func propose(ctx context.Context, a *env.Env, f *learnFlags, s *config.Server, w *sandbox.Wants) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	var was, now []byte
	_, err = edit.Update(cfg.Path, a.WriteOptions(), func(d *edit.Draft) error {
		was = d.Entry(s.Schema, s.Name)
		return env.ErrLookOnly
	})
	if was == nil {
		return err
	}
	if now, err = withWants(was, s, w); err != nil {
		return err
	}
	l := learnt{Name: s.Name, Changes: compared(features(s.Name, was, nil), features(s.Name, now, nil)), Secrets: w.Secrets, Unix: w.Unix, Direct: w.Direct, Others: newHosts(s.Sandbox.Hosts, w.Others)}
	if !a.JSON {
		tellWants(a, &l)
	} else if !f.yes && len(l.Changes) > 0 {
		env.WriteLine(a.Stdout, l)
	}
	if len(l.Changes) == 0 {
		done(a, a.T("its sandbox already allows everything that it used: ", "其沙箱已允许它所用的一切："), s.Name)
		env.ShowJSON(a, l)
		return nil
	}
	if !f.yes {
		if err := confirm(a, a.T("Write this? [y/N] ", "写入吗？[y/N] ")); err != nil {
			return err
		}
	}
	words := *a
	words.JSON = false // one JSON object is enough
	err = editFile(ctx, &words, false, func(d *edit.Draft) error {
		if d.ApprovalHash(s.Schema, s.Name) != s.ApprovalHash() {
			return env.Fail(env.ExitFailure, env.CodeLearn, "", "%s", a.T("the entry of "+s.Name+" changed in the meantime, so nothing was written", s.Name+" 的条目在此期间已改变，没有写入任何内容"))
		}
		return d.SetServer(s.Schema, s.Name, now)
	})
	if l.Written = err == nil; a.JSON && l.Written {
		env.WriteLine(a.Stdout, l)
	}
	return err
}

// tellWants prints what would be written, and what is only reported.
func tellWants(a *env.Env, l *learnt) {
	printChanges(a, l.Changes)
	for _, told := range []struct {
		list   []string
		en, zh string
	}{
		{l.Secrets, "not proposed, because keys or files of other users are there:", "未提议，因为其中有密钥或他人的文件："},
		{l.Unix, `not proposed: unix sockets, which need "unix": true:`, `未提议：unix 套接字，需要 "unix": true：`},
		{l.Others, "also wanted, not proposed, because these are not names of public hosts:", "还想访问，未提议，因为这些不是公网主机的名称："},
		{l.Direct, "reached without the proxy, which a list of hosts refuses:", "未经代理访问，主机列表会拒绝："},
	} {
		if len(told.list) > 0 {
			fmt.Fprintln(a.Stdout, a.T(told.en, told.zh))
		}
		for _, text := range told.list {
			fmt.Fprintln(a.Stdout, "  "+i18n.Seen(text))
		}
	}
}

// withWants returns an entry whose sandbox allows what the server accessed. It
// lists hosts unless the server reached some of them without the proxy.
func withWants(entry []byte, s *config.Server, w *sandbox.Wants) ([]byte, error) {
	box := jsonrpc.AsObject(jsonrpc.Get(entry, "sandbox"))
	if box == nil {
		box = []byte(`{}`)
	}
	set := func(key string, more []string) error {
		var list []string
		if raw := jsonrpc.AsArray(jsonrpc.Get(box, key)); raw != nil {
			if err := json.Unmarshal(raw, &list); err != nil {
				return err
			}
		}
		for _, text := range more {
			if !slices.Contains(list, text) {
				list = append(list, text)
			}
		}
		if len(list) == 0 {
			return nil
		}
		raw, err := json.Marshal(list)
		box = jsonrpc.Set(box, raw, key)
		return err
	}
	if err := set("read", literals(w.Read)); err != nil {
		return nil, err
	}
	if err := set("write", literals(w.Write)); err != nil {
		return nil, err
	}
	hosts := newHosts(s.Sandbox.Hosts, w.Hosts)
	switch {
	case len(w.Direct) > 0:
	case len(hosts) > 0:
		if err := set("hosts", hosts); err != nil {
			return nil, err
		}
	case !s.Sandbox.Hosts.Listed:
		box = jsonrpc.Set(box, []byte(`"none"`), "hosts")
	}
	if w.Listen {
		box = jsonrpc.Set(box, []byte("true"), "listen")
	}
	return jsonrpc.Set(entry, box, "sandbox"), nil
}

// literals escapes paths so that no part is read as a variable.
func literals(paths []string) []string {
	out := make([]string, len(paths))
	for i, path := range paths {
		out[i] = strings.ReplaceAll(path, "${", "$${")
	}
	return out
}

// newHosts returns the hosts that a list does not cover yet.
func newHosts(has config.Hosts, wanted []string) []string {
	return slices.DeleteFunc(slices.Clone(wanted), func(host string) bool { return sandbox.Reaches(has.Names, host) })
}
