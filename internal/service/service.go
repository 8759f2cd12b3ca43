// Package service installs the gateway as a service of the user: a systemd user
// unit, a launchd agent, or a Windows user service. The service starts when the
// user logs in, is restarted when it fails, and writes to the system's usual
// log.
package service

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// Name is the name of the service; Label is its name in launchd.
const (
	Name  = "mcp-all-in-one"
	Label = "local." + Name
	// mark is in every file that we write. A file without it is not ours.
	mark = "mcp-all-in-one service install"
	// stopSeconds is the time that the service may take to end. It is longer
	// than limits.drain.
	stopSeconds = 45
)

// A Spec is the command that the service runs.
type Spec struct {
	Program string   // absolute path
	Args    []string // arguments of the program
	Path    string   // the PATH for finding servers
}

// A Status is the state of the service.
type Status struct {
	Installed bool   `json:"installed"`
	Running   bool   `json:"running"`
	PID       int    `json:"pid,omitempty"`
	State     string `json:"state"`          // as the system names it
	File      string `json:"file,omitempty"` // the file that describes the service
	Logs      string `json:"logs"`           // path of the log, or the command that prints it
}

// A Manager manages the service on one system.
type Manager interface {
	// Describe returns the file that Install writes; empty if there is none.
	Describe(Spec) string
	Install(context.Context, Spec) error
	Uninstall(context.Context) error
	Status(context.Context) (Status, error)
	// Logs writes the last lines. With follow it continues until ctx is done.
	Logs(ctx context.Context, out io.Writer, lines int, follow bool) error
}

// ErrNotInstalled means that our service is not installed.
var ErrNotInstalled = i18n.Errorf("the service is not installed", "服务尚未安装")

// Program returns a path of this program that stays valid for years. If the
// user's PATH leads to this file, it is the path found there, which remains
// when a package manager replaces the file behind it.
func Program(name string) (string, error) {
	exe, err := os.Executable()
	if err != nil {
		return "", err
	}
	found, err := exec.LookPath(filepath.Base(name))
	if err != nil {
		return exe, nil
	}
	if found, err = filepath.Abs(found); err != nil {
		return exe, nil
	}
	one, err1 := os.Stat(found)
	other, err2 := os.Stat(exe)
	if err1 == nil && err2 == nil && os.SameFile(one, other) {
		return found, nil
	}
	return exe, nil
}

// run runs a program of the system and returns its output.
func run(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), i18n.Errorf("%s: %w: %s", "%s：%w：%s", program+" "+strings.Join(args, " "), err, strings.TrimSpace(string(out)))
	}
	return string(out), nil
}

// show runs a program of the system whose output is for the user.
func show(ctx context.Context, out io.Writer, program string, args ...string) error {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	err := cmd.Run()
	if ctx.Err() != nil {
		return nil // the user interrupted it
	}
	if err != nil {
		return i18n.Errorf("%s: %w", "%s：%w", program, err)
	}
	return nil
}

// write writes the file of a service. It refuses to overwrite a file that is
// not ours.
func write(path, content string) error {
	old, err := os.ReadFile(path)
	if err == nil && !strings.Contains(string(old), mark) {
		return i18n.Errorf("%s was not written by this program: move it away, then install again", "%s 不是由本程序写入的：请先移走它，再重新安装", path)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return disk.Replace(disk.OS{}, path, []byte(content), 0o644)
}

// ours returns nil if the file of a service is ours, so that the service may be
// stopped and removed.
func ours(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotInstalled
	case err != nil:
		return err
	case !strings.Contains(string(content), mark):
		return i18n.Errorf("%s was not written by this program: remove it yourself", "%s 不是由本程序写入的：请自行删除", path)
	}
	return nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
