//go:build unix

package config_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestCorpusOwner(t *testing.T) {
	t.Run("corpus/C17", func(t *testing.T) {
		path := corpus(t, "C17.json")
		o := configtest.Options(t, path, nil)
		must.OK(t, os.Chmod(path, 0o606))
		_, err := config.Load(o)
		configtest.ProblemOf(t, err, problem.WorldWrite)
		o.Insecure = true
		cfg, err := config.Load(o)
		if err != nil {
			t.Fatalf("with the override: %v", err)
		}
		configtest.Warned(t, cfg, problem.WorldWrite)

		must.OK(t, os.Chmod(path, 0o660))
		o.Insecure = false
		_, err = config.Load(o)
		configtest.ProblemOf(t, err, problem.Owner)
		o.Insecure = true
		if cfg, err = config.Load(o); err != nil {
			t.Fatalf("group-writable, with the override: %v", err)
		}
		configtest.Warned(t, cfg, problem.Owner)
		if len(cfg.Problems) != 1 {
			t.Errorf("problems = %v, want one", cfg.Problems)
		}
		o.Insecure, o.Project = false, true
		if cfg, err = config.Load(o); err != nil {
			t.Fatalf("a project's, which a group may share: %v", err)
		}
		configtest.Warned(t, cfg, problem.Owner)
	})
	t.Run("door/12 a record of approvals that others may write", func(t *testing.T) {
		o := configtest.Options(t, configtest.Write(t, ".mcp.json", `{"mcpServers": {"a": {"command": "x"}}}`), nil)
		o.Project = true
		record := configtest.Put(t, filepath.Join(folders.UserDir(o.Home), "approvals.json"), `{}`)
		must.OK(t, os.Chmod(record, 0o666))
		_, err := config.Load(o)
		configtest.ProblemOf(t, err, problem.Marks)
	})
	t.Run("door/12 of somebody else", func(t *testing.T) {
		path := configtest.Write(t, "a.json", emptyFile)
		o := configtest.Options(t, path, nil)
		if os.Geteuid() != 0 { // only root can change the owner of a file, and root trusts only its own files
			path = "/etc/passwd"
			if info, err := os.Stat(path); err != nil || !disk.WritableByOthers(path, info).Empty() {
				t.Errorf("a file of root: %v", err)
			}
			return
		}
		must.OK(t, os.Chown(path, 1234, -1))
		_, err := config.Load(o)
		if p := configtest.ProblemOf(t, err, problem.Owner); p.Message == "" || p.Hint == "" {
			t.Errorf("got %v", p)
		}
	})
}

func TestCorpusSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	loop := filepath.Join(dir, "loop.json")
	must.OK(t, os.Symlink(loop, loop))
	fifo := filepath.Join(dir, "fifo.json")
	must.OK(t, syscall.Mkfifo(fifo, 0o600))
	for path, code := range map[string]string{
		loop: problem.Unreadable, fifo: problem.NotRegular, "/dev/zero": problem.NotRegular, dir: problem.NotRegular,
	} {
		t.Run("corpus/C18/"+filepath.Base(path), func(t *testing.T) {
			quick(t, func() {
				_, err := config.Load(configtest.Options(t, path, nil))
				configtest.ProblemOf(t, err, code)
			})
		})
	}
}
