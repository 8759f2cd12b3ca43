package doctor

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/upstream"
)

// examine starts all servers at once for a short time, and prints the state of
// each as soon as it is known.
func examine(ctx context.Context, a *env.Env, cfg *config.Config, only string, show *findingList) error {
	in, err := instance.New(ctx, instance.Options{Config: cfg, Log: slog.New(slog.DiscardHandler), Name: a.Personality.Name})
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
				found <- Diagnose(a, cfg.Path, u)
			})
		}
	}
	if count == 0 && only != "" {
		return noServer(a, cfg, only)
	}
	for range count {
		show.add(<-found)
	}
	return nil
}

// Diagnose returns the state of one server of a config file and its reason.
func Diagnose(a *env.Env, file string, u *upstream.Upstream) finding {
	f := diagnose(a, file, u)
	if hint := oldNode(a, u.Config()); hint != "" {
		f.Detail += "\n" + hint
	}
	return f
}

func diagnose(a *env.Env, file string, u *upstream.Upstream) finding {
	st, cfg := u.Status(), u.Config()
	f := finding{What: st.Name, Detail: string(st.State)}
	switch st.State {
	case upstream.Ready:
		f.OK = true
		f.Detail = fmt.Sprintf(a.T(env.Many(st.Tools, "ready, protocol %s, %d tool", "ready, protocol %s, %d tools"), "就绪，协议 %s，%d 个工具"), st.Version, st.Tools)
		if st.Sandbox != "" {
			f.Detail += a.T(", confined: ", "，已隔离：") + st.Sandbox
		}
		f.Detail = strings.Join(append([]string{f.Detail}, idleSettings(a, u)...), "\n")
		return f
	case upstream.Disabled:
		f.OK, f.Detail = true, a.T("disabled", "已停用")
		return f
	case upstream.Pending:
		f.Detail = a.T("waits for approval", "等待批准")
		f.Fix = a.AgainFor("approve", cfg)
		return f
	case upstream.SignIn:
		f.Detail, f.Fix = st.Reason.In(a.Lang), cmp.Or(FixKey(a, cfg, file), a.AgainFor("auth login", cfg))
		if st.PerUser {
			f.OK, f.Fix = true, ""
		}
		return f
	}
	f.Detail = cmp.Or(control.WhyNot(st, 0).In(a.Lang), control.StateWord(a, string(st.State)))
	_, why := u.State()
	if Searched(why) != "" {
		f.Detail += "\nPATH: " + Searched(why)
	}
	for _, line := range st.Stderr[max(0, len(st.Stderr)-5):] {
		if !strings.Contains(f.Detail, strings.TrimSpace(line)) {
			f.Detail += "\n" + line
		}
	}
	if st.Sandbox != "" {
		f.Detail += "\n" + a.T("it is confined: what its sandbox does not allow fails with EACCES or EPERM", "它在沙箱中运行：沙箱不允许的操作会以 EACCES 或 EPERM 失败")
	}
	if spot, once := u.Spot(); once && spot.Nowhere() {
		f.Fix = a.T("it runs once in the cluster, and no replica has it: look at ", "它在集群中只运行一份，目前没有副本运行它：请查看 ") + "mcp-all-in-one cluster status" +
			a.T("; it needs a ready replica with the labels of its on, and an engine that is reachable", "；需要一个具备其 on 中标签的就绪副本，并且引擎可以访问")
		return f
	}
	f.Fix = fixFor(a, cfg, &st, why)
	return f
}

// whereIs looks for a program in the folders that a shell usually adds to PATH.
func whereIs(a *env.Env, program string) string {
	home := a.Home()
	for _, pattern := range []string{
		".nvm/versions/node/*/bin", ".volta/bin", ".local/bin", ".cargo/bin", ".bun/bin", ".deno/bin", ".asdf/shims", "go/bin",
	} {
		dirs, _ := filepath.Glob(filepath.Join(home, pattern)) // the pattern is valid
		for _, dir := range dirs {
			if info, err := os.Stat(filepath.Join(dir, program)); err == nil && !info.IsDir() {
				return a.T("found at ", "位于 ") + filepath.Join(dir, program) + a.T("; write the whole path as its command", "；请在 command 中写完整路径")
			}
		}
	}
	return a.T("install "+program+", or write the whole path as its command", "请安装 "+program+"，或在 command 中写完整路径")
}
