package manage

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
	"strings"

	"github.com/spf13/cobra"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cli/command"
	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lock"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/tester/lint"
	"mcp-all-in-one/internal/upstream"
)

func lockUpgradeCommand(a *env.Env) *cobra.Command {
	var schema, to, file string
	var yes, build bool
	cmd := &cobra.Command{
		Use: "upgrade NAME", Short: a.T("show what a newer version of a locked server changes, and lock it", "显示锁定服务器的新版本有何变化，并锁定新版本"), ValidArgsFunction: command.CompleteServers(a),
		Long: a.T("Finds the newest version of a locked package, or the version that --to names, starts it next to the locked one, and prints the packages, tools and prompts that differ, and the answers to recorded calls that differ. After you confirm, it changes mcp.lock, and also the config file if the entry names a version.",
			"解析锁定软件包的最新版本（或 --to 指定的版本），在锁定版本之外启动它，并打印有差异的软件包、工具与提示词，以及重放已记录的调用后不同的回答。只有确认后才会修改 mcp.lock；若条目写明了版本，也会修改配置文件。"),
		Example: "  mcp-all-in-one lock upgrade notes\n  mcp-all-in-one lock upgrade notes --to 1.4.2\n  mcp-all-in-one lock upgrade notes --replay mcp-tests/notes.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) != 1 {
				return command.UsageError(a, cmd, a.T("name one server", "需要一个服务器"))
			}
			return upgradeLocked(cmd.Context(), a, schema, args[0], to, file, yes, build)
		},
	}
	command.AddSchemaFlag(a, cmd, &schema)
	cmd.Flags().StringVar(&to, "to", "", a.T("lock `VERSION` instead of the newest one", "采用 `VERSION` 而不是最新版本"))
	cmd.Flags().StringVar(&file, "replay", "", a.T("send all requests of a test file or recording `FILE` to both versions, instead of the recorded calls of read-only tools", "向两个版本发送测试文件或录制文件 `FILE` 中的全部请求，而不是已记录的只读工具调用"))
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, a.T("lock it without asking", "不询问，直接锁定"))
	cmd.Flags().BoolVar(&build, "allow-build", false, a.T("accept Python packages that have to be built, which runs their code", "接受需要构建的 Python 软件包（构建会运行其代码）"))
	return cmd
}

// An upgrade lists the changes in a new version of a locked server.
type upgrade struct {
	Name     string               `json:"name"`
	From     string               `json:"from"`
	To       string               `json:"to"`
	Packages []packageChange      `json:"packages"`
	Scripts  []string             `json:"scripts,omitempty"` // new packages with install scripts
	Shown    []lint.FeatureChange `json:"changes"`
	Replay   *replay              `json:"replay,omitempty"`
	Written  bool                 `json:"written"`
}

// A packageChange is a package of the tree whose version or content differs. An
// empty version means that the package is absent.
type packageChange struct {
	Name string `json:"name"`
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

func (c packageChange) in(a *env.Env) string {
	switch {
	case c.From == "":
		return "+ " + c.Name + " " + c.To
	case c.To == "":
		return "- " + c.Name + " " + c.From
	case c.From == c.To:
		return "~ " + c.Name + " " + c.To + a.T(": the same version with other content", "：版本相同而内容不同")
	}
	return "~ " + c.Name + " " + c.From + " -> " + c.To
}

// upgradeLocked shows what another version of a server changes, and locks that
// version after confirmation.
func upgradeLocked(ctx context.Context, a *env.Env, schema, name, to, replayed string, yes, build bool) error {
	cfg, file, err := openLock(a)
	if err != nil {
		return err
	}
	servers, err := toLock(a, cfg, schema, []string{name})
	if err != nil {
		return err
	}
	s, version := servers[0], lock.Newest
	if to != "" {
		if err := lock.CheckVersion(to); err != nil {
			return env.Fail(env.ExitUsage, env.CodeUsage, "--to", "%v", err)
		}
		version = to
	}
	dir, err := os.MkdirTemp("", "lock-upgrade-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	staged, next, err := file.Upgrade(ctx, s, version, dir)
	if err != nil {
		return env.Fail(env.ExitFailure, env.CodeLock, "", "%v", err)
	}
	key := lock.Key(s)
	u := &upgrade{Name: key, From: locked(file.Servers[key]), To: locked(staged.Servers[key]), Packages: []packageChange{}, Shown: []lint.FeatureChange{}}
	if file.Servers[key].Tree == staged.Servers[key].Tree {
		return tell(a, u, a.T("nothing to upgrade: ", "无需升级：")+key+", "+u.To)
	}
	if err := acceptBuild(s, staged.Servers[key], build); err != nil {
		return err
	}
	if u.Replay, err = findReplay(ctx, a, s, replayed); err != nil {
		return err
	}
	if err := u.compare(ctx, a, cfg, file, staged, s, next); err != nil {
		return err
	}
	if !a.JSON {
		u.print(a)
	} else if !yes {
		env.WriteLine(a.Stdout, u)
	}
	if !yes {
		if err := confirm(a, a.T("Lock this version? [y/N] ", "锁定这个版本吗？[y/N] ")); err != nil {
			return err
		}
	}
	_, err = edit.Update(cfg.Path, a.WriteOptions(), func(d *edit.Draft) error {
		if d.ApprovalHash(s.Schema, s.Name) != s.ApprovalHash() { // a person compared another entry
			return env.Fail(env.ExitFailure, env.CodeLock, "", "%v", i18n.Errorf("the entry of %s changed in the meantime, so nothing was written", "%s 的条目在此期间已改变，没有写入任何内容", key))
		}
		if slices.Equal(s.Args, next.Args) {
			return file.Take(key, staged, "")
		}
		if err := setVersion(d, s, staged.Servers[key].Version()); err != nil {
			return err
		}
		return file.Take(key, staged, d.ApprovalHash(s.Schema, s.Name)) // before the config file is written, for a gateway that watches that file
	})
	if err != nil {
		return err
	}
	u.Written = true
	restart := []string{"restart", s.Name}
	if s.Schema != config.DefaultSchema {
		restart = append(restart, "--schema", s.Schema)
	}
	return tell(a, u, a.T("locked: ", "已锁定：")+key+", "+u.To+a.T("; to use it in a running gateway: ", "；让正在运行的网关使用它：")+a.Again("reload")+" && "+a.Again(restart...))
}

// locked returns the locked package with its version.
func locked(e *lock.Entry) string { return e.NPM + e.PyPI }

// compare finds the differences between the packages and the definitions of
// both versions.
func (u *upgrade) compare(ctx context.Context, a *env.Env, cfg *config.Config, file, staged *lock.File, s, next *config.Server) error {
	before, err := file.Pinned(u.Name)
	if err != nil {
		return err
	}
	after, err := staged.Pinned(u.Name)
	if err != nil {
		return err
	}
	for name, p := range after {
		if before[name] != p {
			u.Packages = append(u.Packages, packageChange{name, before[name].Version, p.Version})
		}
	}
	for name, p := range before {
		if _, stays := after[name]; !stays {
			u.Packages = append(u.Packages, packageChange{name, p.Version, ""})
		}
	}
	sort.Slice(u.Packages, func(i, j int) bool { return u.Packages[i].Name < u.Packages[j].Name })
	fresh := staged.Servers[u.Name]
	for _, script := range fresh.Scripts {
		if !slices.Contains(file.Servers[u.Name].Scripts, script) {
			u.Scripts = append(u.Scripts, script)
		}
	}
	var old, now lint.Features
	var said, says string // the instructions of the server
	var failed i18n.Text
	err = asLocked(ctx, a, cfg, file, s, func(locked *instance.Instance, up *upstream.Upstream) error {
		old, said = featuresOf(up), up.Status().Instructions
		stopped := up.Status().State != upstream.Ready
		return asLocked(ctx, a, cfg, staged, next, func(newer *instance.Instance, up *upstream.Upstream) error {
			st := up.Status()
			if st.State != upstream.Ready {
				failed = st.Reason
				return nil
			}
			now, says = featuresOf(up), st.Instructions
			fresh.Tools, fresh.Prompts, fresh.Instructions = shownBy(up)
			if stopped {
				u.Replay.leave(i18n.New("the locked version does not start", "锁定的版本无法启动"))
			}
			return u.Replay.run(ctx, s, side{locked, old}, side{newer, now})
		})
	})
	switch {
	case err != nil:
		return err
	case now == nil:
		return env.Fail(env.ExitFailure, env.CodeLock, "", "%v", i18n.Errorf("%s: %s does not start, so nothing was changed: %v", "%s：%s 无法启动，未作任何修改：%v", u.Name, u.To, failed))
	}
	u.Shown = append(u.Shown, compared(old, now)...)
	if said != says {
		u.Shown = append(u.Shown, lint.DiffText("instructions", said, says))
	}
	return nil
}

// featuresOf returns the tools and prompts of a server.
func featuresOf(up *upstream.Upstream) lint.Features {
	byKey := func(items []catalog.Item) map[string]json.RawMessage {
		all := map[string]json.RawMessage{}
		for _, item := range items {
			all[item.Key] = item.Raw
		}
		return all
	}
	f := up.Features(nil)
	return lint.Features{"tools": byKey(f.Tools), "prompts": byKey(f.Prompts)}
}

// print prints the differences.
func (u *upgrade) print(a *env.Env) {
	fmt.Fprintf(a.Stdout, "%s: %s -> %s\n", u.Name, i18n.Seen(u.From), i18n.Seen(u.To))
	fmt.Fprintf(a.Stdout, a.T("packages that differ: %d\n", "有差异的软件包：%d\n"), len(u.Packages))
	for _, c := range u.Packages {
		fmt.Fprintln(a.Stdout, "  "+i18n.Seen(c.in(a)))
	}
	if len(u.Scripts) > 0 {
		fmt.Fprintf(a.Stdout, a.T("new packages with install scripts, which will not be run: %s\n", "新增的带安装脚本的软件包（脚本不会运行）：%s\n"), i18n.Seen(strings.Join(u.Scripts, ", ")))
	}
	fmt.Fprintf(a.Stdout, a.T("what it shows differs in: %d\n", "提供的内容差异：%d\n"), len(u.Shown))
	printChanges(a, u.Shown)
	u.Replay.print(a)
}

// printChanges prints the differences. A question follows, so nothing is left out.
func printChanges(a *env.Env, changes []lint.FeatureChange) {
	for _, c := range changes {
		fmt.Fprintln(a.Stdout, "  "+strings.ReplaceAll(c.Whole(a.Lang), "\n", "\n  "))
	}
}

// compared returns the items that differ. It includes the full text of new
// items: a model will read it, so the person should read it first.
func compared(old, now lint.Features) []lint.FeatureChange {
	changes := lint.DiffFeatures(old, now)
	for i := range changes {
		if c := &changes[i]; c.Change == "added" {
			c.Tell(now[c.Kind][c.Key])
		}
	}
	return changes
}

// tell prints a change of a version as JSON, or a line about it.
func tell(a *env.Env, change any, line string) error {
	if a.JSON {
		return env.WriteLine(a.Stdout, change)
	}
	done(a, line, "")
	return nil
}

// setVersion writes only the new version into the entry. Variables in the file
// are kept.
func setVersion(d *edit.Draft, s *config.Server, version string) error {
	entry := d.Entry(s.Schema, s.Name)
	var args []string
	if err := json.Unmarshal(jsonrpc.Get(entry, "args"), &args); err != nil {
		return err
	}
	changed := sandbox.ReadPackage(s.Command, s.Args).At(version, args)
	if slices.Equal(changed, args) { // otherwise the lock would run another version than the file names
		return env.Fail(env.ExitFailure, env.CodeLock, "", "%v", i18n.Errorf("the entry of %s names its version by a variable, so nothing was changed: set that to %s, then lock %s",
			"%s 的条目用变量给出版本，未作任何修改：请将变量设为 %s，再执行 lock %s", s.Name, version, s.Name))
	}
	raw, err := json.Marshal(changed)
	if err != nil {
		return err
	}
	return d.SetServer(s.Schema, s.Name, jsonrpc.Set(entry, raw, "args"))
}
