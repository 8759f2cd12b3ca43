//go:build amd64 || arm64

package sandbox

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/sandbox/launcher"
)

// TestMain also runs the launcher, and the program that attacks.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case launcher.Command:
			for _, name := range os.Args[2:] {
				if n, ok := strings.CutPrefix(name, "abi="); ok {
					launcher.Newest, _ = strconv.Atoi(n)
					continue
				}
				launcher.Omitted[name] = true
			}
			os.Exit(launcher.Exec())
		case "attack":
			if err := attacks[os.Args[2]](os.Args[3:]); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// folderPair returns a folder that a confined program may write, and one with a
// file that it may not read.
func folderPair(t *testing.T) (own, other, secret string) {
	t.Helper()
	dir := must.RealFolder(t)
	own, other = filepath.Join(dir, "own"), filepath.Join(dir, "other")
	secret = filepath.Join(other, "secret")
	for _, d := range []string{own, other} {
		must.OK(t, os.Mkdir(d, 0o755))
	}
	if err := os.WriteFile(secret, []byte("secret"), 0o644); err != nil {
		t.Fatal(err)
	}
	return own, other, secret
}

// run runs a confined program without the named rules. It returns its output and
// whether it exited with 0.
func run(t *testing.T, p Profile, without []string, dir string, argv ...string) (string, bool) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := exe
	if argv[0] != "attack" {
		if path, err = exec.LookPath(argv[0]); err != nil {
			t.Fatal(err)
		}
		argv = argv[1:]
	}
	p.Read = append(systemRead(), append(p.Read, exe)...)
	p.Write = append(systemWrite(), p.Write...)
	return launch(t, p, without, Program{Path: path, Args: argv, Env: []string{"PATH=/usr/bin:/bin", "HOME=" + dir, "GORACE=" + os.Getenv("GORACE")}, Dir: dir})
}

// launch runs a program with a profile. It returns its output and whether it exited
// with 0.
func launch(t *testing.T, profile Profile, without []string, p Program) (string, bool) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	req := Request{Path: []byte(p.Path), Profile: profile}
	for _, a := range append([]string{p.Path}, p.Args...) {
		req.Argv = append(req.Argv, []byte(a))
	}
	for _, entry := range p.Env {
		req.Env = append(req.Env, []byte(entry))
	}
	launcherArgs = append(launcherArgs[:2:2], without...)
	attr := &syscall.ProcAttr{Dir: p.Dir, Files: []uintptr{null.Fd(), w.Fd(), w.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true}}
	pid, wait, err := Launch(req, attr)
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	failure := wait()
	var out strings.Builder
	if _, err := r.WriteTo(&out); err != nil {
		t.Fatal(err)
	}
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		t.Fatal(err)
	}
	if failure != nil {
		t.Fatalf("launcher: %v\n%s", failure, out.String())
	}
	return out.String(), status.ExitStatus() == 0
}

func procAttr(dir string, null *os.File) *syscall.ProcAttr {
	return &syscall.ProcAttr{Dir: dir, Files: []uintptr{null.Fd(), null.Fd(), null.Fd()}, Sys: &syscall.SysProcAttr{Setpgid: true}}
}
