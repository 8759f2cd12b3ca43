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
	o.rows = []Row{
		{says, i18n.Plain(install.Show(m.Description))},
		{i18n.New("author", "作者"), i18n.Plain(install.Show(m.Author.Name))},
		{i18n.New("bundle", "安装包"), i18n.Plain(install.Show(b.Source))},
		{i18n.New("signed", "签名"), signedBy(b.Signature)},
		{i18n.Pair("sha256", "sha256"), i18n.Plain(b.SHA256)},
	}
	return o, nil
}

// signedBy says who signed a bundle, and how far that can be believed.
func signedBy(s *install.Signature) i18n.Text {
	switch {
	case s == nil:
		return i18n.New("no", "无")
	case s.Untrusted == nil:
		return i18n.New("by %s; this machine trusts %s", "由 %s 签名；本机信任 %s", install.Show(s.Subject), install.Show(s.Issuer))
	case s.SelfSigned:
		return i18n.New("by %s, with a certificate of its own making: anybody can write that name into one (sha256 %s)", "由 %s 用自制证书签名：任何人都能写上这个名字（sha256 %s）", install.Show(s.Subject), s.SHA256)
	}
	return i18n.New("by %s, with a certificate that this machine does not trust: %s (sha256 %s)", "由 %s 签名，但本机不信任其证书：%s（sha256 %s）", install.Show(s.Subject), install.Show(s.Untrusted.Error()), s.SHA256)
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
