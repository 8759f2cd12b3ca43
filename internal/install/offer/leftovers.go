package offer

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// A Leftover stays on this machine after its server is removed from the file, such
// as an unpacked bundle or a secret.
type Leftover struct {
	What   i18n.Text
	Delete func() error
}

// Leftovers returns what a server that was removed had for itself, and what nothing
// else in the file uses: its folder in the sandbox, its bundle, and the secrets that add
// names after it.
func Leftovers(a *env.Env, before, after *config.Config, s *config.Server) []Leftover {
	var list []Leftover
	folder := func(path, en, zh string) {
		if _, err := os.Lstat(path); err == nil {
			list = append(list, Leftover{i18n.New(en, zh, path), func() error { return os.RemoveAll(path) }})
		}
	}
	folder(sandbox.Server{ID: s.ID(), Place: s.FolderID()}.Folder(), "its own folder: %s", "它自己的文件夹：%s")
	if sum := s.Origin.SHA256; sum != "" && !slices.ContainsFunc(after.Schemas, func(g *config.Schema) bool {
		return slices.ContainsFunc(g.Servers, func(o *config.Server) bool { return o.Origin.SHA256 == sum })
	}) {
		folder(filepath.Join(bundlesDir(), sum), "its bundle: %s", "它的安装包：%s")
	}
	stored, err := a.Secrets().List()
	if err != nil {
		return list // it is said when secrets are used
	}
	for _, name := range before.Named {
		if secret, ok := strings.CutPrefix(name, "secret:"); ok && strings.HasPrefix(secret, s.Name+".") && slices.Contains(stored, secret) && !slices.Contains(after.Named, name) {
			list = append(list, Leftover{i18n.New("its secret %s", "它的密钥 %s", i18n.Seen(secret)), func() error { return a.Secrets().Delete(secret) }})
		}
	}
	return list
}
