// Package service makes the gateway a service of its user: a user unit of
// systemd, an agent of launchd, a user service of Windows. It starts when the
// user logs in, is restarted when it fails, and logs where the system keeps
// logs.
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

	"mcp-all-in-one/internal/i18n"
)

// Name is the name of the service; Label is launchd's.
const (
	Name  = "mcp-all-in-one"
	Label = "local." + Name
	// mark is in every file that we write: a file without it is not ours.
	mark = "mcp-all-in-one service install"
	// stopSeconds is how long the service may take to end: longer than
	// limits.drain.
	stopSeconds = 45
)

// A Spec is what the service runs.
type Spec struct {
	Program string   // an absolute path
	Args    []string // of the program
	Path    string   // the PATH that servers are looked for in
	Home    string   // the user's folder
}

// A Status is how the service is.
type Status struct {
	Installed bool   `json:"installed"`
	Running   bool   `json:"running"`
	PID       int    `json:"pid,omitempty"`
	State     string `json:"state"`          // in the words of the system
	File      string `json:"file,omitempty"` // that describes it
	Logs      string `json:"logs"`           // the place, or the command that shows them
}

// A Manager looks after the service on one system.
type Manager interface {
	// Describe is the file that Install writes; empty where there is none.
	Describe(Spec) string
	Install(context.Context, Spec) error
	Uninstall(context.Context) error
	Status(context.Context) (Status, error)
	// Logs writes the last lines; follow goes on until ctx ends.
	Logs(ctx context.Context, out io.Writer, lines int, follow bool) error
}

// ErrNotInstalled says that there is no service of ours.
var ErrNotInstalled = i18n.Errorf("the service is not installed", "服务尚未安装")

// Program is the path to start the program by for years: where the user's PATH
// leads to this very file, that place, which stays when a package manager
// replaces the file behind it.
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

// run runs a program of the system, and returns what it wrote.
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
		return nil // the user has seen enough
	}
	if err != nil {
		return i18n.Errorf("%s: %w", "%s：%w", program, err)
	}
	return nil
}

// write makes the file of a service. One of somebody else stays as it is.
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
	temp := path + ".new"
	if err := os.WriteFile(temp, []byte(content), 0o644); err != nil {
		return err
	}
	return os.Rename(temp, path)
}

// remove takes the file of a service away, when it is ours.
func remove(path string) error {
	content, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotInstalled
	case err != nil:
		return err
	case !strings.Contains(string(content), mark):
		return i18n.Errorf("%s was not written by this program: remove it yourself", "%s 不是由本程序写入的：请自行删除", path)
	}
	return os.Remove(path)
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
