package upstream_test

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcpserver"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/upstream"
	"mcp-all-in-one/internal/upstream/project"
)

// where returns the configuration of a server that reports its working directory,
// with one process per project.
func where(t *testing.T, change func(*config.Server)) *config.Server {
	s := fake(t, "a", "-role", "where", "-era", "legacy")
	s.Share = "project"
	if change != nil {
		change(s)
	}
	return s
}

func uri(folder string) string {
	if folder = filepath.ToSlash(folder); runtime.GOOS == "windows" {
		folder = "/" + folder
	}
	return "file://" + folder
}

// on returns the project of a client with these roots.
func on(folders ...string) *project.Project {
	var list []string
	for _, f := range folders {
		list = append(list, fmt.Sprintf(`{"uri":%q}`, uri(f)))
	}
	return project.Of([]byte(`{"roots":[` + strings.Join(list, ",") + `]}`))
}

// client returns a session of a principal that works on a project.
func client(t *testing.T, id, principal string, p *project.Project) *upstream.Caller {
	c := &upstream.Caller{Session: id, Principal: principal, Version: mcp.LatestLegacy, Offer: mcp.Offer{Roots: true}}
	c.Move(p)
	t.Cleanup(c.Close)
	return c
}

// at returns which process a client reaches, and the folder of that process.
func (w *world) at(c *upstream.Caller) (pid, dir string) {
	w.t.Helper()
	text, err := w.ask(c, newReplier("unasked"), "a", "where", `{}`)
	if err != nil {
		w.t.Fatal(err)
	}
	pid, dir, _ = strings.Cut(text, " ")
	return pid, dir
}

func TestProjects(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for _, era := range []string{"legacy", "modern", "dual"} {
		t.Run("a process for each folder, "+era, func(t *testing.T) {
			w := newWorld(t, worldOptions{}, where(t, func(s *config.Server) { s.Args[3] = era }))
			w.state("a", upstream.Ready)
			x, y := must.RealFolder(t), must.RealFolder(t)
			one, other := client(t, "1", "p", on(x)), client(t, "2", "p", on(y))
			first, dir := w.at(one)
			if dir != x {
				t.Errorf("started in %s, not in %s", dir, x)
			}
			if pid, dir := w.at(other); pid == first || dir != y {
				t.Errorf("the client of another folder: process %s in %s", pid, dir)
			}
			if pid, _ := w.at(client(t, "3", "p", on(x))); pid != first {
				t.Errorf("the next client of the folder has process %s, not %s", pid, first)
			}
			request := &upstream.Caller{Principal: "p", Era: mcp.Modern, Version: mcp.LatestModern, Offer: mcp.Offer{Roots: true}}
			request.Move(on(x))
			if pid, _ := w.at(request); pid != first {
				t.Errorf("a modern client of the folder has process %s, not %s", pid, first)
			}
			if pid, _ := w.at(request.WithoutSession()); pid != first {
				t.Errorf("another caller for the same client has process %s, not %s", pid, first)
			}
			if pid, _ := w.at(client(t, "4", "q", on(x))); pid == first {
				t.Error("another principal shares the process")
			}
			ordinary, dir := w.at(client(t, "5", "p", nil))
			if s := w.up("a").Status(); fmt.Sprint(s.PID) != ordinary || dir != here {
				t.Errorf("a client of no project: process %s in %s, not %d in %s", ordinary, dir, s.PID, here)
			}
			one.Move(on(y))
			if pid, dir := w.at(one); pid == first || dir != y {
				t.Errorf("after the move: process %s in %s", pid, dir)
			}
			if s := w.up("a").Status(); s.Connections != 4 {
				t.Errorf("%d connections", s.Connections)
			}
		})
	}
	t.Run("the ordinary folder", func(t *testing.T) {
		x, named := must.RealFolder(t), must.RealFolder(t)
		file := must.Write(t, filepath.Join(x, "file"), "")
		unvouched := on(x)
		unvouched.Folder = ""
		for name, tt := range map[string]struct {
			cwd  string
			p    *project.Project
			want string
		}{
			"the entry names one": {named, on(x), named},
			"it is not there":     {"", on(filepath.Join(x, "none")), here},
			"it is a file":        {"", on(file), here},
			"nobody vouches":      {"", unvouched, here},
		} {
			w := newWorld(t, worldOptions{}, where(t, func(s *config.Server) { s.Cwd = tt.cwd }))
			w.state("a", upstream.Ready)
			pid, dir := w.at(client(t, "1", "p", tt.p))
			if dir != tt.want {
				t.Errorf("%s: started in %s, not in %s", name, dir, tt.want)
			}
			if other, _ := w.at(client(t, "2", "p", on(must.RealFolder(t)))); other == pid {
				t.Errorf("%s: another project shares the process", name)
			}
		}
	})
	t.Run("who may not choose the folder never meets who may", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, where(t, nil))
		w.state("a", upstream.Ready)
		x := must.RealFolder(t)
		unvouched := on(x)
		unvouched.Folder = ""
		first, _ := w.at(client(t, "1", "p", on(x)))
		if pid, dir := w.at(client(t, "2", "p", unvouched)); pid == first || dir != here {
			t.Errorf("process %s in %s", pid, dir)
		}
	})
	t.Run("a folder chooses no program", func(t *testing.T) {
		command := mcptest.Build(t)
		if relative, err := filepath.Rel(here, command); err == nil { // there is no relative path to another drive
			command = "." + string(filepath.Separator) + relative
		}
		w := newWorld(t, worldOptions{}, where(t, func(s *config.Server) { s.Command = command }))
		w.state("a", upstream.Ready)
		x := must.RealFolder(t)
		if _, dir := w.at(client(t, "1", "p", on(x))); dir != x {
			t.Errorf("started in %s", dir)
		}
	})
	t.Run("the roots are those of the project", func(t *testing.T) {
		w := newWorld(t, worldOptions{}, where(t, nil))
		w.state("a", upstream.Ready)
		x, y := must.RealFolder(t), must.RealFolder(t)
		for _, p := range []*project.Project{on(x), on(x, y), on(y)} {
			c := client(t, fmt.Sprint(p.ID()), "p", p)
			text, err := w.ask(c, newReplier("unasked"), "a", "show_roots", `{}`)
			for _, root := range []string{x, y} {
				if asked := strings.Contains(p.ID(), root); strings.Contains(text, uri(root)) != asked {
					t.Errorf("%s: %q, %v", p.ID(), text, err)
				}
			}
		}
	})
	t.Run("over HTTP", func(t *testing.T) {
		server := mcptest.WhereServer()
		server.Versions = mcpserver.LegacyVersions
		entry := serveHTTP(t, "a", server)
		entry.Share = "project"
		w := newWorld(t, worldOptions{}, entry)
		w.state("a", upstream.Ready)
		x, y := must.RealFolder(t), must.RealFolder(t)
		for i, p := range []*project.Project{on(x), on(y), on(x), nil} {
			w.at(client(t, fmt.Sprint(i), "p", p))
		}
		if n := server.Sessions(); n != 3 {
			t.Errorf("%d sessions for two projects and the ordinary connection", n)
		}
	})
}

// The connection of a project lasts as long as its sessions, and poolIdle longer.
func TestProjectEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entry := remote("a", "http://toy.example/mcp")
		entry.Share = "project"
		w := newWorld(t, worldOptions{transport: toWire(newToy())}, entry)
		w.wait = 10 * time.Minute // simulated
		w.state("a", upstream.Ready)
		connections := func() int { return w.up("a").Status().Connections }
		a, b := session("1", mcp.Offer{Roots: true}), session("2", mcp.Offer{Roots: true})
		a.Move(on("/x"))
		b.Move(on("/x"))
		w.echoAs(a, "a")
		w.echoAs(b, "a")
		pass(time.Hour)
		if n := connections(); n != 2 {
			t.Errorf("%d connections with two idle sessions in one project", n)
		}
		a.Close()
		b.Move(on("/y"))
		w.echoAs(b, "a")
		pass(6 * time.Minute)
		if n := connections(); n != 2 {
			t.Errorf("%d connections after all have left the first project", n)
		}
		b.Close()
		pass(6 * time.Minute)
		if n := connections(); n != 1 {
			t.Errorf("%d connections after the last session", n)
		}
	})
}

// One principal has a limited number of projects, and does not affect those of
// other principals.
func TestProjectsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entry := remote("a", "http://toy.example/mcp")
		entry.Share = "project"
		w := newWorld(t, worldOptions{transport: toWire(newToy())}, entry)
		w.state("a", upstream.Ready)
		var all []*upstream.Caller
		open := func(principal string) error {
			c := session(fmt.Sprint(principal, len(all)), mcp.Offer{Roots: true})
			c.Principal = principal
			c.Move(on(fmt.Sprint("/x", len(all))))
			all = append(all, c)
			_, err := w.ask(c, nil, "a", "echo", `{"message":"hi"}`)
			return err
		}
		for i := range 16 {
			if err := open("key:eve"); err != nil {
				t.Fatalf("project %d: %v", i, err)
			}
		}
		if err := open("key:eve"); err == nil || !strings.Contains(err.Error(), "too many projects") {
			t.Errorf("one more: %v", err)
		}
		if err := open("key:bob"); err != nil {
			t.Errorf("another principal: %v", err)
		}
		all[0].Close()
		if err := open("key:eve"); err != nil {
			t.Errorf("after one has ended: %v", err)
		}
		for _, c := range all {
			c.Close()
		}
	})
}
