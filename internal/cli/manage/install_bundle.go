package manage

import (
	"context"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/install"
)

// bundlesDir is where bundles are unpacked.
func bundlesDir() string { return filepath.Join(config.StateDir(), "bundles") }

// offerBundle opens a bundle and plans how it would run here. Nothing of it is
// unpacked.
func offerBundle(ctx context.Context, a *env.Env, source, sum string) (*offer, error) {
	if !strings.Contains(source, "://") {
		path, err := filepath.Abs(source)
		if err != nil {
			return nil, err
		}
		source = path
	}
	b, err := install.FetchBundle(ctx, source, sum)
	if err != nil {
		return nil, err
	}
	plan, err := b.Plan(thisSystem(ctx, a))
	if err != nil {
		b.Close()
		return nil, err
	}
	m := &b.Manifest
	o := &offer{local: install.LocalName(strings.ReplaceAll(m.Name, " ", "-")), bundle: b, questions: plan.Questions, fill: plan.Fill}
	o.head = install.Show(m.Name) + " " + install.Show(m.Release) + "   " + a.T("a bundle", "安装包")
	signed := a.T("not signed", "没有签名")
	if b.Signed {
		signed = a.T("signed (not checked)", "有签名（未验证）")
	}
	o.rows = [][2]string{
		{a.T("says", "自述"), install.Show(m.Description)},
		{a.T("author", "作者"), install.Show(m.Author.Name)},
		{a.T("bundle", "安装包"), install.Show(source) + ", " + signed},
		{"sha256", b.SHA256},
	}
	return o, nil
}

// thisSystem is the machine that a bundle is to run on.
func thisSystem(ctx context.Context, a *env.Env) *install.System {
	home := a.Home()
	return &install.System{
		OS: runtime.GOOS, Can: inPath, Bundles: bundlesDir(),
		Has: func(program string) string {
			out, err := exec.CommandContext(ctx, program, "--version").Output()
			if err != nil {
				return ""
			}
			return install.Show(strings.TrimSpace(string(out)))
		},
		Folders: map[string]string{
			"HOME": home, "DESKTOP": filepath.Join(home, "Desktop"), "DOCUMENTS": filepath.Join(home, "Documents"), "DOWNLOADS": filepath.Join(home, "Downloads"),
		},
	}
}
