package main

import (
	"embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
)

// linuxFiles contains the units and scripts of the packages for Linux.
//
//go:embed linux/*
var linuxFiles embed.FS

// linuxPackages makes deb, rpm and apk with nfpm.
func (r *release) linuxPackages() error {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	files, err := r.linuxTree()
	if err != nil {
		return err
	}
	if err := writeAll(dir, files); err != nil {
		return err
	}
	for _, f := range files { // apk takes the times of its scripts from the files
		if err := os.Chtimes(filepath.Join(dir, filepath.FromSlash(f.name)), r.at, r.at); err != nil {
			return err
		}
	}
	for _, t := range targets {
		if t.linux == "" {
			continue
		}
		if err := writeAll(dir, []file{{name: "usr/bin/" + name, mode: 0o755, data: r.binaries[t.String()]}}); err != nil {
			return err
		}
		config, err := yaml.Marshal(r.nfpm(dir, t, files))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, "nfpm.yaml"), config, 0o644); err != nil {
			return err
		}
		for _, format := range []string{"deb", "rpm", "apk"} {
			as := fmt.Sprintf("linux/%s-%s-%s.%s", name, version, t.String(), format)
			if err := r.packWith(dir, format, as); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *release) packWith(dir, format, as string) error {
	path := filepath.Join(r.out, as)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	cmd := exec.Command(filepath.Join(r.tools, "bin", "nfpm"), "package", "-f", filepath.Join(dir, "nfpm.yaml"), "-p", format, "-t", path)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", as, err, out)
	}
	return r.note(as)
}

// linuxTree returns the files that a package installs beside the binary.
func (r *release) linuxTree() ([]file, error) {
	places := map[string]string{
		"completions/" + name + ".bash": "usr/share/bash-completion/completions/" + name,
		"completions/_" + name:          "usr/share/zsh/vendor-completions/_" + name,
		"completions/" + name + ".fish": "usr/share/fish/vendor_completions.d/" + name + ".fish",
	}
	var files []file
	for _, f := range r.extras {
		switch place, ok := places[f.name]; {
		case ok:
			files = append(files, file{name: place, mode: 0o644, data: f.data})
		case strings.HasPrefix(f.name, "man/"):
			data, err := gzipOf(f.data)
			if err != nil {
				return nil, err
			}
			files = append(files, file{name: "usr/share/man/man1/" + strings.TrimPrefix(f.name, "man/") + ".gz", mode: 0o644, data: data})
		}
	}
	for _, f := range r.common {
		files = append(files, file{name: "usr/share/doc/" + name + "/" + strings.Replace(f.name, "LICENSE", "copyright", 1), mode: 0o644, data: f.data})
	}
	for src, dst := range map[string]string{
		"system.service": "usr/lib/systemd/system/" + name + ".service",
		"user.service":   "usr/lib/systemd/user/" + name + ".service",
		"config.json":    "etc/" + name + "/config.json",
		"postinstall.sh": "scripts/postinstall.sh", "preremove.sh": "scripts/preremove.sh", "postremove.sh": "scripts/postremove.sh",
	} {
		data, err := linuxFiles.ReadFile("linux/" + src)
		if err != nil {
			return nil, err
		}
		files = append(files, file{name: dst, mode: 0o644, data: data})
	}
	return inOrder(files), nil
}

// nfpm returns the nfpm configuration of a package.
func (r *release) nfpm(dir string, t target, files []file) map[string]any {
	at := r.at.Format(time.RFC3339)
	contents := []map[string]any{{"src": filepath.Join(dir, "usr/bin", name), "dst": "/usr/bin/" + name, "file_info": map[string]any{"mode": 0o755, "mtime": at}}}
	for _, n := range oldNames {
		contents = append(contents, map[string]any{"src": name, "dst": "/usr/bin/" + n, "type": "symlink", "file_info": map[string]any{"mtime": at}})
	}
	for _, f := range files {
		if strings.HasPrefix(f.name, "scripts/") {
			continue
		}
		c := map[string]any{"src": filepath.Join(dir, f.name), "dst": "/" + f.name, "file_info": map[string]any{"mode": 0o644, "mtime": at}}
		if strings.HasPrefix(f.name, "etc/") {
			c["type"] = "config|noreplace"
			c["file_info"] = map[string]any{"mode": 0o600, "mtime": at}
		}
		contents = append(contents, c)
	}
	script := func(s string) string { return filepath.Join(dir, "scripts", s+".sh") }
	return map[string]any{
		"name": name, "arch": t.linux, "platform": "linux", "version": version, "release": "1", "section": "net", "priority": "optional",
		"maintainer": author + " <" + mail + ">", "description": summary + "\n" + about, "vendor": author, "homepage": home, "license": licence,
		"mtime": at, "contents": contents,
		"scripts": map[string]string{"postinstall": script("postinstall"), "preremove": script("preremove"), "postremove": script("postremove")},
		"rpm":     map[string]any{"buildhost": "localhost"},
	}
}
