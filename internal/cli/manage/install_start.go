package manage

import (
	"context"
	"fmt"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/control"
	"mcp-all-in-one/internal/daemon/instance"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install/offer"
	"mcp-all-in-one/internal/upstream"
)

// firstStart is how long the first start of a server may take, including the
// download of its packages.
const firstStart = 3 * time.Minute

// carryOut writes the entry, starts the server once, and prints its features. A
// server that does not start stays in the file, switched off; an update that
// does not start is reverted.
func carryOut(ctx context.Context, a *env.Env, r *offer.Ready) error {
	found, err := config.Discover(a.LoadOptions(true))
	if err != nil {
		return err
	}
	res, started := r.CarryOut(a, found.Path, func(res *edit.WriteResult) error {
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("written: ", "已写入："), res.Path)
		return startOnce(ctx, a, r)
	})
	if res == nil {
		return started
	}
	if _, err := control.ReloadRunning(ctx, a, found.Path); err != nil {
		return err
	}
	if a.JSON && started == nil && !r.Updates() {
		env.WriteLine(a.Stdout, map[string]any{"path": res.Path, "name": r.Local, "changed": res.Changed})
	}
	return started
}

// startOnce starts one server of the file for a moment, and pins its tools.
func startOnce(ctx context.Context, a *env.Env, r *offer.Ready) error {
	cfg, err := a.Load(false)
	if err != nil {
		return err
	}
	return alone(ctx, a, instance.Options{Config: cfg}, cfg.Schema(r.Schema).Server(r.Local), func(_ *instance.Instance, u *upstream.Upstream) error {
		return sayStarted(a, u, r.Updates())
	})
}

// sayStarted prints the features of a server, and which of them contain
// instructions to the model.
func sayStarted(a *env.Env, u *upstream.Upstream, updated bool) error {
	st := u.Status()
	switch st.State {
	case upstream.Ready:
		fmt.Fprintf(a.Stderr, a.T(env.Many(st.Tools, "started: %s, %d tool\n", "started: %s, %d tools\n"), "已启动：%s，%d 个工具\n"), st.Name, st.Tools)
	case upstream.SignIn:
		if st.KeyRefused {
			fmt.Fprintf(a.Stderr, a.T("its key is refused: correct %[2]s of %[1]s\n", "密钥被拒绝：请更正 %s 的 %s\n"), st.Name, u.Config().Credential())
			break
		}
		fmt.Fprintf(a.Stderr, "%s%s\n", a.T("sign in with: ", "请登录："), a.AgainFor("auth login", u.Config()))
	case upstream.Disabled, upstream.Pending:
	default:
		why := control.WhyNot(st, 0)
		e := env.ExitError{Code: env.ExitUnreachable, ID: env.CodeNotStarted, Hint: a.Again("enable", st.Name),
			Err: i18n.Errorf("%s was installed and switched off, because it did not start: %v", "%s 已安装但已停用，因为它没有启动：%v", st.Name, why)}
		if updated {
			e.Err, e.Hint = i18n.Errorf("%s was not changed, because the new version did not start: %v", "%s 保持原样，因为新版本没有启动：%v", st.Name, why), ""
		}
		for _, line := range st.Stderr[max(0, len(st.Stderr)-5):] {
			e.Details = append(e.Details, env.Detail{Label: "stderr", Text: i18n.Reveal(line)})
		}
		return &e
	}
	for _, issue := range st.Issues {
		fmt.Fprintf(a.Stderr, "  ! %s: %s\n", i18n.Reveal(issue.Item), issue.Detail.In(a.Lang))
	}
	return nil
}
