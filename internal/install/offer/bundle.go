package offer

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/install"
)

// bundlesDir is the folder into which bundles are unpacked.
func bundlesDir() string { return filepath.Join(folders.StateDir(), "bundles") }

// findBundle opens a bundle, a file or an address, and plans how it would run
// on this machine. It does not unpack the bundle.
func findBundle(ctx context.Context, a *env.Env, source, sum string) (*Offer, error) {
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
	return ofBundle(ctx, a, b)
}

// FromFile returns the offer of an uploaded bundle. It closes the file if it
// fails; else Close does.
func FromFile(ctx context.Context, a *env.Env, file *os.File, name string) (*Offer, error) {
	b, err := install.OpenBundle(file, name, "")
	if err != nil {
		return nil, err
	}
	return ofBundle(ctx, a, b)
}

func ofBundle(ctx context.Context, a *env.Env, b *install.Bundle) (*Offer, error) {
	plan, err := b.Plan(thisSystem(ctx, a))
	if err != nil {
		b.Close()
		return nil, err
	}
	m := &b.Manifest
	o := &Offer{Local: install.LocalName(strings.ReplaceAll(m.Name, " ", "-")), bundle: b, Questions: plan.Questions, fill: plan.Fill}
	o.Head = i18n.New("%s %s   a bundle", "%s %s   安装包", install.Show(m.Name), install.Show(m.Release))
	signed := i18n.New("not signed", "没有签名")
	if b.Signed {
		signed = i18n.New("signed (not checked)", "有签名（未验证）")
	}
	o.rows = []Row{
		{says, i18n.Plain(install.Show(m.Description))},
		{i18n.New("author", "作者"), i18n.Plain(install.Show(m.Author.Name))},
		{i18n.New("bundle", "安装包"), i18n.New("%s, %v", "%s，%v", install.Show(b.Source), signed)},
		{i18n.Pair("sha256", "sha256"), i18n.Plain(b.SHA256)},
	}
	return o, nil
}

// thisSystem describes this machine for the plan of a bundle.
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
