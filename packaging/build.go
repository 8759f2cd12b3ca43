package main

import (
	"bytes"
	"context"
	"fmt"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/spf13/cobra/doc"

	"mcp-all-in-one/internal/cli"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/upgrade"
)

// build compiles the program for every platform.
func (r *release) build() error {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	for _, t := range targets {
		path := filepath.Join(dir, t.String())
		cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", r.linkFlags(), "-o", path, ".")
		cmd.Dir = r.root
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+t.goos, "GOARCH="+t.goarch, "GOARM=7", "GOAMD64=v1", "GOFLAGS=")
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building for %s: %w\n%s", t, err, out)
		}
		if r.binaries[t.String()], err = os.ReadFile(path); err != nil {
			return err
		}
		log.Printf("%s, %.1f MB", t, float64(len(r.binaries[t.String()]))/1e6)
	}
	return nil
}

// linkFlags compile the URL of the releases and the public key into the
// program.
func (r *release) linkFlags() string {
	in := reflect.TypeFor[upgrade.Release]().PkgPath()
	return fmt.Sprintf("%s -X %s.source=%s/releases -X %s.key=%s", r.flags, in, home, in, r.key)
}

// pages generates the completions of all shells and the manual pages.
func (r *release) pages() error {
	for shell, path := range map[string]string{"bash": name + ".bash", "zsh": "_" + name, "fish": name + ".fish", "powershell": name + ".ps1"} {
		var out bytes.Buffer
		if code := cli.Run(context.Background(), env.Env{Args: []string{name, "completion", shell}, Stdout: &out, Stderr: os.Stderr,
			Getenv: func(string) (string, bool) { return "", false }}); code != 0 {
			return fmt.Errorf("completion %s ended with %d", shell, code)
		}
		r.extras = append(r.extras, file{name: "completions/" + path, mode: 0o644, data: out.Bytes()})
	}
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	header := &doc.GenManHeader{Title: strings.ToUpper(name), Section: "1", Date: &r.at, Source: name + " " + version}
	if err := doc.GenManTree(cli.Root(), header, dir); err != nil {
		return err
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range list {
		page, err := readFile("man/"+e.Name(), filepath.Join(dir, e.Name()))
		if err != nil {
			return err
		}
		r.extras = append(r.extras, page)
	}
	return nil
}

// documents reads the files that every package contains.
func (r *release) documents() error {
	for as, path := range map[string]string{"README.md": "README.md", "LICENSE": "LICENSE"} {
		f, err := readFile(as, filepath.Join(r.root, path))
		if err != nil {
			return err
		}
		r.common = append(r.common, f)
	}
	notices, err := r.notices()
	if err != nil {
		return err
	}
	r.common = append(r.common, file{name: "THIRD_PARTY_NOTICES", mode: 0o644, data: notices})
	return r.put("THIRD_PARTY_NOTICES", notices)
}

// archives makes archives with the program and its pages.
func (r *release) archives() error {
	for _, t := range targets {
		files := append([]file{{name: t.program(), mode: 0o755, data: r.binaries[t.String()]}}, r.common...)
		files = under(name+"-"+version, append(files, r.extras...))
		pack := tarGzOf
		if t.goos == "windows" {
			pack = zipOf
		}
		data, err := pack(files, r.at)
		if err != nil {
			return err
		}
		if err := r.put(t.archive(), data); err != nil {
			return err
		}
	}
	return nil
}
