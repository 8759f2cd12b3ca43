package manage

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/definition"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/upstream"
)

func LockCommand(a *env.Env) *cobra.Command {
	var schema string
	var yes, build bool
	cmd := &cobra.Command{
		Use: "lock [NAME...]", Short: a.T("lock the servers to the exact packages that they run", "将各服务器锁定到确切的软件包"), ValidArgsFunction: command.CompleteServers(a),
		Long: a.T("Writes mcp.lock next to the config file. It has the packages that npx and uvx would run, all their dependencies, and the tools of the servers. `http --locked` and `stdio --locked` start only what it has.",
			"在配置文件旁写入 mcp.lock：npx 与 uvx 将运行的软件包及其全部依赖，以及各服务器提供的工具。`http --locked` 与 `stdio --locked` 只启动这些内容。"),
		Example: "  mcp-all-in-one lock\n  mcp-all-in-one lock notes\n  mcp-all-in-one lock verify\n  mcp-all-in-one lock upgrade notes",
		RunE: func(cmd *cobra.Command, args []string) error {
			return lockServers(cmd.Context(), a, schema, args, yes, build)
		},
	}
	command.AddSchemaFlag(a, cmd, &schema)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, a.T("accept packages with install scripts, which are not run", "接受带安装脚本的软件包（脚本不会运行）"))
	cmd.Flags().BoolVar(&build, "allow-build", false, a.T("accept Python packages that have to be built, which runs their code", "接受需要构建的 Python 软件包（构建会运行其代码）"))
	cmd.AddCommand(lockVerifyCommand(a), lockUpgradeCommand(a))
	return cmd
}

// lockServers locks the named servers, or all enabled servers.
func lockServers(ctx context.Context, a *env.Env, schema string, names []string, yes, build bool) error {
	cfg, file, err := openLock(a)
	if err != nil {
		return err
	}
	servers, err := toLock(a, cfg, schema, names)
	if err != nil {
		return err
	}
	for _, s := range servers {
		if err := lockServer(ctx, a, cfg, file, s, yes, build); err != nil {
			return err
		}
	}
	if len(servers) == 0 {
		noneToLock(a, cfg)
	}
	env.ShowJSON(a, map[string]any{"path": file.Path(), "servers": file.Servers})
	return nil
}

// openLock reads the config file and its lock.
func openLock(a *env.Env) (*config.Config, *lock.File, error) {
	cfg, err := a.Load(false)
	if err != nil {
		return nil, nil, err
	}
	file, err := lock.Open(cfg.Path)
	return cfg, file, err
}

// noneToLock says that the config file has no server that could be locked.
func noneToLock(a *env.Env, cfg *config.Config) {
	done(a, a.T("no enabled server to lock in ", "没有可锁定的已启用服务器："), cfg.Path)
}

// lockServer locks one server. It changes nothing before the person has
// accepted what needs acceptance.
func lockServer(ctx context.Context, a *env.Env, cfg *config.Config, file *lock.File, s *config.Server, yes, build bool) error {
	dir, err := os.MkdirTemp("", "lock-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if s.Type != config.TypeScripts {
		done(a, a.T("resolving all packages of ", "正在解析全部软件包："), s.Name)
	}
	staged, err := lock.Stage(ctx, s, "", dir)
	if err != nil {
		return env.Fail(env.ExitFailure, env.CodeLock, "", "%s: %v", s.Name, err)
	}
	key := lock.Key(s)
	e := staged.Servers[key]
	if err := acceptBuild(s, e, build); err != nil {
		return err
	}
	if len(e.Scripts) > 0 && !yes {
		fmt.Fprintf(a.Stderr, a.T("%s: these packages have install scripts, which will not be run: %s\n", "%s：以下软件包带有安装脚本，脚本不会运行：%s\n"), s.Name, strings.Join(e.Scripts, ", "))
		if err := confirm(a, a.T("Lock it anyway? [y/N] ", "仍要锁定吗？[y/N] ")); err != nil {
			return err
		}
	}
	if err := file.Take(key, staged, ""); err != nil { // its definitions are read from the locked version
		return err
	}
	if err := asLocked(ctx, a, cfg, nil, s, func(_ *instance.Instance, u *upstream.Upstream) error { takeDefinitions(a, u, e); return nil }); err != nil {
		return err
	}
	if err := file.Put(key, e); err != nil {
		return err
	}
	done(a, a.T("locked: ", "已锁定："), s.Name+a.T(", ", "、")+lockNote(a, s, e))
	return nil
}

// acceptBuild refuses packages that have to be built, unless accepted is set.
func acceptBuild(s *config.Server, e *lock.Entry, accepted bool) error {
	if len(e.Build) == 0 || accepted {
		return nil
	}
	return env.Fail(env.ExitFailure, env.CodeLock, "--allow-build", "%s: %v", s.Name, i18n.Errorf("these packages have to be built, which runs their code: %s; --allow-build accepts that",
		"以下软件包需要构建，构建会运行其代码：%s；--allow-build 表示接受", strings.Join(e.Build, ", ")))
}

// lockNote says what is locked of a server.
func lockNote(a *env.Env, s *config.Server, e *lock.Entry) string {
	what := strings.TrimSpace(e.Level + " " + e.NPM + e.PyPI + e.Image + e.Bundle)
	switch {
	case e.Level == lock.LevelImage || e.Level == lock.LevelBundle:
		return what + a.T(", ", "、") + lockedTools(a, e)
	case e.Level == lock.LevelFile && sandbox.IsEngine(s.Command):
		return what + a.T(" (what runs in the container is not covered: name the image by its digest, IMAGE@sha256:...), ", "（不含容器中运行的内容：请按摘要指明镜像，即 IMAGE@sha256:...）、") + lockedTools(a, e)
	case e.Level == lock.LevelTree:
		return what + fmt.Sprintf(a.T(env.Many(e.Packages, ", %d package, ", ", %d packages, "), "、%d 个软件包、"), e.Packages) + lockedTools(a, e)
	case e.Level == lock.LevelFile:
		return what + a.T(" (what it loads is not covered), ", "（不含它所加载的内容）、") + lockedTools(a, e)
	}
	return lockedTools(a, e)
}

func lockedTools(a *env.Env, e *lock.Entry) string {
	return fmt.Sprintf(a.T(env.Many(len(e.Tools), "%d tool", "%d tools"), "%d 个工具"), len(e.Tools))
}

func toLock(a *env.Env, cfg *config.Config, schema string, names []string) ([]*config.Server, error) {
	var list []*config.Server
	if len(names) == 0 {
		for _, sc := range cfg.Schemas {
			for _, s := range sc.Servers {
				if s.Runnable() {
					list = append(list, s)
				}
			}
		}
		return list, nil
	}
	for _, name := range names {
		s, err := env.FindServer(a, "lock", schema, name)
		if err != nil {
			return nil, err
		}
		list = append(list, cfg.Schema(s.Schema).Server(s.Name))
	}
	return list, nil
}

// asLocked starts one server in its locked version, calls look, and stops it.
// It uses file as the lock, or the lock next to the config file if file is nil.
func asLocked(ctx context.Context, a *env.Env, cfg *config.Config, file *lock.File, s *config.Server, look func(*instance.Instance, *upstream.Upstream) error) error {
	locked := *cfg
	locked.Locked = true
	return alone(ctx, a, instance.Options{Config: &locked, Compare: true, Lock: file}, s, look)
}

// alone starts one server of a configuration, calls look when it has answered or
// failed, and stops it.
func alone(ctx context.Context, a *env.Env, opt instance.Options, s *config.Server, look func(*instance.Instance, *upstream.Upstream) error) error {
	cfg, schema := *opt.Config, *opt.Config.Schema(s.Schema)
	schema.Servers, cfg.Schemas = []*config.Server{s}, []*config.Schema{&schema}
	opt.Config, opt.Log, opt.Name = &cfg, slog.New(slog.DiscardHandler), a.Personality.Name
	in, err := instance.New(ctx, opt)
	if err != nil {
		return err
	}
	defer in.End(ctx)
	wait, cancel := context.WithTimeout(ctx, firstStart)
	defer cancel()
	for _, view := range in.Set.Snapshot().Schemas {
		for _, u := range view.Upstreams {
			select {
			case <-u.Settled():
			case <-wait.Done():
			}
			if err := look(in, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// takeDefinitions stores the definitions of a server in e. A server that did not
// start is locked without definitions, with a message.
func takeDefinitions(a *env.Env, u *upstream.Upstream, e *lock.Entry) {
	if st := u.Status(); st.State != upstream.Ready {
		fmt.Fprintf(a.Stderr, a.T("%s did not start, so it is locked without its tools: %s\n", "%s 没有启动，因此锁定中不含其工具：%s\n"), st.Name, st.Reason.In(a.Lang))
		return
	}
	e.Tools, e.Prompts, e.Instructions = shownBy(u)
}

// shownBy returns the fingerprints of a server's definitions.
func shownBy(u *upstream.Upstream) (tools, prompts map[string]string, instructions string) {
	features := u.Features(nil)
	if text := u.Status().Instructions; text != "" {
		instructions = definition.Fingerprint(jsonrpc.Quote(text))
	}
	return fingerprints(features.Tools), fingerprints(features.Prompts), instructions
}

func fingerprints(items []catalog.Item) map[string]string {
	all := make(map[string]string, len(items))
	for _, item := range items {
		all[item.Key] = definition.Fingerprint(item.Raw)
	}
	return all
}
