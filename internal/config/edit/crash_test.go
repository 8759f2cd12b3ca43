package edit

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/disk"
)

// faultyDisk is the real disk for a number of steps; then every step calls
// fault.
type faultyDisk struct {
	disk.OS
	steps int
	fault func() error
}

func (d *faultyDisk) step() error {
	d.steps--
	if d.steps < 0 {
		return d.fault()
	}
	return nil
}

func (d *faultyDisk) CreateTemp(dir, pattern string) (disk.File, error) {
	if err := d.step(); err != nil {
		return nil, err
	}
	f, err := d.OS.CreateTemp(dir, pattern)
	return &faultyFile{f, d}, err
}

func (d *faultyDisk) Rename(from, to string) error {
	if err := d.step(); err != nil {
		return err
	}
	return d.OS.Rename(from, to)
}

func (d *faultyDisk) SyncDir(dir string) error {
	if err := d.step(); err != nil {
		return err
	}
	return d.OS.SyncDir(dir)
}

type faultyFile struct {
	disk.File
	d *faultyDisk
}

// Write writes half of the data before the fault, as a full disk does.
func (f *faultyFile) Write(p []byte) (int, error) {
	if f.d.steps <= 0 {
		n, _ := f.File.Write(p[:len(p)/2])
		return n, errors.Join(f.d.step(), errors.New("short write"))
	}
	f.d.steps--
	return f.File.Write(p)
}

func (f *faultyFile) Chmod(m fs.FileMode) error { return errors.Join(f.d.step(), f.File.Chmod(m)) }
func (f *faultyFile) Sync() error               { return errors.Join(f.d.step(), f.File.Sync()) }
func (f *faultyFile) Close() error              { return errors.Join(f.File.Close(), f.d.step()) }

const (
	crashOld = `{"mcpServers": {"old": {"command": "x"}}}`
	crashEnv = "CONFIG_TEST_CRASH"
)

// crashWrite is the write under test.
func crashWrite(path, home string, d disk.Disk) error {
	o := WriteOptions{Load: config.LoadOptions{Home: home, WorkDir: home, System: home}, disk: d}
	_, err := Update(path, o, func(d *Draft) error { return d.SetServer("", "new", []byte(`{"command": "y"}`)) })
	return err
}

// TestMain lets the test binary act as a process that crashes: it writes a file
// and kills itself at the step in the environment variable.
func TestMain(m *testing.M) {
	if spec, ok := os.LookupEnv(crashEnv); ok {
		steps, path, _ := strings.Cut(spec, ":")
		n, err := strconv.Atoi(steps)
		if err != nil {
			panic(err)
		}
		d := &faultyDisk{steps: n, fault: func() error {
			self, err := os.FindProcess(os.Getpid())
			if err == nil {
				err = self.Kill()
			}
			if err != nil {
				panic(err)
			}
			select {} // until the kill arrives
		}}
		if err := crashWrite(path, filepath.Dir(path), d); err != nil {
			panic(err)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// expectOldOrNew checks that the file is complete after a fault, and that the
// next write succeeds and cleans up.
func expectOldOrNew(t *testing.T, path string) (isNew bool) {
	t.Helper()
	cfg, err := config.Load(configtest.Options(t, path, nil))
	if err != nil {
		t.Fatalf("after the fault: %v", err)
	}
	s := cfg.Schemas[0]
	isNew = s.Server("new") != nil
	if s.Server("old") == nil || len(s.Servers) != map[bool]int{false: 1, true: 2}[isNew] {
		t.Fatalf("servers = %v", s.Names())
	}
	for _, b := range disk.Backups(path) {
		if data, err := os.ReadFile(b); err != nil || string(data) != crashOld {
			t.Errorf("backup %s = %q, %v", b, data, err)
		}
	}
	if err := crashWrite(path, filepath.Dir(path), disk.OS{}); err != nil {
		t.Fatalf("the next write: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	return isNew
}

func TestWriteSurvivesKillAtEachStep(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	sawOld, sawNew := false, false
	for step := range 50 {
		path := configtest.Write(t, "mcp.json", crashOld)
		cmd := exec.CommandContext(t.Context(), exe)
		cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d:%s", crashEnv, step, path))
		out, err := cmd.CombinedOutput()
		done := err == nil
		t.Run(fmt.Sprintf("fault/T18/kill %d", step), func(t *testing.T) {
			if !done && cmd.ProcessState.ExitCode() > 0 {
				t.Fatalf("the child failed instead of dying: %s", out)
			}
			isNew := expectOldOrNew(t, path)
			sawOld, sawNew = sawOld || !isNew, sawNew || isNew
		})
		if done {
			break
		}
	}
	if !sawOld || !sawNew {
		t.Errorf("the steps do not reach across the write: old %v, new %v", sawOld, sawNew)
	}
}

func TestWriteSurvivesErrorAtEachStep(t *testing.T) {
	fault := errors.New("input/output error")
	for step := range 50 {
		path := configtest.Write(t, "mcp.json", crashOld)
		d := &faultyDisk{steps: step, fault: func() error { return fault }}
		err := crashWrite(path, filepath.Dir(path), d)
		t.Run(fmt.Sprintf("fault/F18/error %d", step), func(t *testing.T) {
			if d.steps < 0 && !errors.Is(err, fault) {
				t.Errorf("the error was swallowed: %v", err)
			}
			if left, _ := filepath.Glob(filepath.Join(filepath.Dir(path), ".*.tmp")); len(left) > 0 {
				t.Errorf("left behind: %v", left)
			}
			isNew := expectOldOrNew(t, path)
			if isNew && len(disk.Backups(path)) == 0 {
				t.Error("the file changed without a backup")
			}
		})
		if err == nil {
			return
		}
	}
	t.Error("no write ever succeeded")
}
