package watch_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/configtest"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/config/watch"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/mcptest/random"
)

// watched is a watched file, and the configs and errors that were delivered.
type watched struct {
	path    string
	configs chan *config.Config
	errs    chan error
}

func follow(t *testing.T, path string) *watched {
	t.Helper()
	w := &watched{path: path, configs: make(chan *config.Config, 100), errs: make(chan error, 100)}
	o := configtest.Options(t, path, nil)
	cfg, err := config.Load(o)
	if err != nil {
		t.Fatal(err)
	}
	watcher, err := watch.File(cfg, o, func(c *config.Config, err error) {
		if err != nil {
			w.errs <- err
			return
		}
		w.configs <- c
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := watcher.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func content(command string) string {
	return `{"mcpServers": {"s": {"command": "` + command + `"}}}`
}

// expect waits for the version with that command.
func (w *watched) expect(t *testing.T, command string) {
	t.Helper()
	deadline := time.After(10 * time.Second)
	for {
		select {
		case cfg := <-w.configs:
			if cfg.Schemas[0].Servers[0].Command == command {
				return
			}
		case <-deadline:
			t.Fatalf("the version with %q never came", command)
		}
	}
}

// expectError waits for the error of an invalid version.
func (w *watched) expectError(t *testing.T, code string) {
	t.Helper()
	select {
	case err := <-w.errs:
		configtest.ProblemOf(t, err, code)
	case cfg := <-w.configs:
		t.Fatalf("delivered %v", cfg.Schemas[0].Names())
	case <-time.After(10 * time.Second):
		t.Fatal("nothing was said")
	}
}

func TestWatch(t *testing.T) {
	start := func(t *testing.T) *watched {
		dir := t.TempDir()
		return follow(t, configtest.Put(t, filepath.Join(dir, "mcp.json"), content("start")))
	}
	t.Run("fault/F17 written in place", func(t *testing.T) {
		w := start(t)
		configtest.Put(t, w.path, content("next"))
		w.expect(t, "next")
	})
	t.Run("fault/F17 editor renames", func(t *testing.T) {
		w := start(t)
		for i := range 3 { // the watch must survive the replacement of the first inode
			name := fmt.Sprintf("v%d", i)
			tmp := configtest.Put(t, w.path+".new", content(name))
			must.OK(t, os.Rename(w.path, w.path+"~"))
			must.OK(t, os.Rename(tmp, w.path))
			w.expect(t, name)
		}
	})
	t.Run("fault/F17 deleted", func(t *testing.T) {
		w := start(t)
		must.OK(t, os.Remove(w.path))
		w.expectError(t, problem.NotFound)
		configtest.Put(t, w.path, content("back"))
		w.expect(t, "back")
	})
	t.Run("corpus/C01 empty", func(t *testing.T) {
		w := start(t)
		configtest.Put(t, w.path, "")
		w.expectError(t, problem.Empty)
		configtest.Put(t, w.path, content("full"))
		w.expect(t, "full")
	})
	t.Run("corpus/C02 half-written", func(t *testing.T) {
		w := start(t)
		configtest.Put(t, w.path, content("next")[:20])
		w.expectError(t, problem.Syntax)
		configtest.Put(t, w.path, content("start"))
		w.expect(t, "start")
	})
	t.Run("corpus/C23 directory", func(t *testing.T) {
		w := start(t)
		must.OK(t, os.Remove(w.path))
		must.Folder(t, w.path)
		w.expectError(t, problem.NotRegular)
		must.OK(t, os.Remove(w.path))
		configtest.Put(t, w.path, content("again"))
		w.expect(t, "again")
	})
	t.Run("approval", func(t *testing.T) {
		w := start(t)
		o := configtest.Options(t, w.path, nil)
		if _, err := edit.Update(w.path, edit.WriteOptions{Load: o, Pending: true}, func(d *edit.Draft) error { return d.SetServer("", "s", []byte(`{"command": "new"}`)) }); err != nil {
			t.Fatal(err)
		}
		cfg := <-w.configs
		s := cfg.Schemas[0].Servers[0].Waits()
		if s == nil {
			t.Fatal("not pending")
		}
		must.OK(t, cfg.Approvals().Approve(s.ID(), s.ApprovalHash()))
		cfg = must.Receive(t, "the version with the approval", w.configs)
		if cfg.Schemas[0].Servers[0].Waits() != nil {
			t.Error("still pending")
		}
	})
}

func TestWatchLinks(t *testing.T) {
	swap := func(t *testing.T, target, link string) {
		t.Helper()
		tmp := link + ".tmp"
		must.OK(t, os.Symlink(target, tmp))
		must.OK(t, os.Rename(tmp, link))
	}
	t.Run("fault/F17 link to a file", func(t *testing.T) {
		dir := t.TempDir()
		one := configtest.Put(t, filepath.Join(dir, "one", "mcp.json"), content("one"))
		two := configtest.Put(t, filepath.Join(dir, "two", "mcp.json"), content("two"))
		link := filepath.Join(dir, "links", "mcp.json")
		configtest.Put(t, filepath.Join(dir, "links", "x"), "")
		swap(t, one, link)
		w := follow(t, link)
		swap(t, two, link)
		w.expect(t, "two")
		configtest.Put(t, two, content("again"))
		w.expect(t, "again")
	})
	t.Run("fault/F17 mounted volume", func(t *testing.T) {
		dir := t.TempDir()
		configtest.Put(t, filepath.Join(dir, "v1", "mcp.json"), content("one"))
		configtest.Put(t, filepath.Join(dir, "v2", "mcp.json"), content("two"))
		swap(t, "v1", filepath.Join(dir, "..data"))
		swap(t, filepath.Join("..data", "mcp.json"), filepath.Join(dir, "mcp.json"))
		w := follow(t, filepath.Join(dir, "mcp.json"))
		swap(t, "v2", filepath.Join(dir, "..data"))
		w.expect(t, "two")
	})
}

// TestWatchRandomEdits changes a file in many ways. Only complete versions may
// be delivered, and the last one must be.
func TestWatchRandomEdits(t *testing.T) {
	t.Run("fault/T17", func(t *testing.T) {
		w := follow(t, configtest.Put(t, filepath.Join(t.TempDir(), "mcp.json"), content("start")))
		rng := random.New(t)
		valid := map[string]bool{"start": true}
		for i := range 300 {
			name := fmt.Sprintf("v%d", i)
			text := content(name)
			switch rng.IntN(10) {
			case 0:
				configtest.Put(t, w.path, text[:rng.IntN(len(text)-1)])
				continue
			case 1:
				must.OK(t, os.Remove(w.path))
				configtest.Put(t, w.path, text)
			case 2, 3, 4:
				tmp := configtest.Put(t, w.path+".new", text)
				must.OK(t, os.Rename(tmp, w.path))
			default:
				configtest.Put(t, w.path, text)
			}
			valid[name] = true
			if i%100 == 0 {
				w.expect(t, name)
			}
		}
		configtest.Put(t, w.path, content("last"))
		valid["last"] = true
		for {
			select {
			case cfg := <-w.configs:
				command := cfg.Schemas[0].Servers[0].Command
				if !valid[command] {
					t.Fatalf("delivered %q, which was never whole", command)
				}
				if command == "last" {
					return
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the last version never came")
			}
		}
	})
}
