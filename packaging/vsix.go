package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// vsix packs the extension with the program once per platform, and once without
// the program.
func (r *release) vsix() error {
	dir, err := os.MkdirTemp("", name)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.MkdirAll(filepath.Join(r.out, "vsix"), 0o755); err != nil {
		return err
	}
	pack := filepath.Join(dir, "pack")
	if err := r.run("go", "build", "-o", pack, "./vscode/pack"); err != nil {
		return err
	}
	if err := r.run(pack, "vscode", filepath.Join(r.out, "vsix")); err != nil {
		return err
	}
	for _, t := range targets {
		for _, platform := range t.vsix {
			if err := writeAll(dir, []file{{name: t.program(), mode: 0o755, data: r.binaries[t.String()]}}); err != nil {
				return err
			}
			if err := r.run(pack, "-platform", platform, "-binary", filepath.Join(dir, t.program()), "vscode", filepath.Join(r.out, "vsix")); err != nil {
				return err
			}
		}
	}
	made, err := filepath.Glob(filepath.Join(r.out, "vsix", "*.vsix"))
	if err != nil {
		return err
	}
	for _, path := range made {
		if err := r.note("vsix/" + filepath.Base(path)); err != nil {
			return err
		}
	}
	return nil
}

// run runs a command in the source tree.
func (r *release) run(program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir = r.root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return nil
}
