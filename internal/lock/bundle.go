package lock

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/i18n"
)

// bundleDir returns the folder into which add has unpacked the bundle of a server.
func bundleDir(s *config.Server) string {
	return filepath.Join(folders.StateDir(), "bundles", s.Origin.SHA256)
}

// runsBundle reports whether a server runs what was unpacked from its bundle.
func runsBundle(s *config.Server) bool {
	return s.Origin.SHA256 != "" && slices.ContainsFunc(append([]string{s.Command}, s.Args...), func(word string) bool {
		return strings.Contains(word, bundleDir(s))
	})
}

// bundleHash returns the hash of all files of a server's bundle. Files that have not
// changed since the last time are not read again.
func bundleHash(s *config.Server) (string, error) {
	installing.Lock()
	defer installing.Unlock()
	dir := bundleDir(s)
	k := prefixes[dir]
	if k == nil {
		k = &known{}
		prefixes[dir] = k
	}
	files, err := k.hashes(dir)
	if err != nil {
		return "", err
	}
	h := sha256.New()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%q %s\n", name, files[name])
	}
	return "sha256-" + hex.EncodeToString(h.Sum(nil)), nil
}

func checkBundle(s *config.Server, e *Entry) error {
	if !runsBundle(s) || s.Origin.SHA256 != e.Bundle {
		return i18n.Errorf("%s: it no longer runs the bundle with the SHA-256 %s: not started; mcp-all-in-one lock %[1]s locks what it runs now", "%s：不再运行 SHA-256 为 %s 的安装包：未启动；mcp-all-in-one lock %[1]s 可锁定它现在运行的内容", s.Name, e.Bundle)
	}
	now, err := bundleHash(s)
	if err != nil {
		return err
	}
	if now != e.Tree {
		return i18n.Errorf("%s: the files of its bundle in %s have the hash %s, mcp.lock says %s: not started; remove that folder and add the bundle again",
			"%s：其安装包在 %s 中的文件的哈希为 %s，mcp.lock 中为 %s：未启动；请删除该文件夹并重新添加安装包", s.Name, bundleDir(s), now, e.Tree)
	}
	return nil
}
