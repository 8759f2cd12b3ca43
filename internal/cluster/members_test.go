package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/seal"
)

// A world is several replicas with one engine, in a synctest bubble.
type world struct {
	t      *testing.T
	engine *enginetest.Memory
	box    *seal.Box
	log    *slog.Logger
	said   bytes.Buffer
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, engine: enginetest.New(), box: seal.Random().Box(seal.Record)}
	w.log = slog.New(slog.NewTextHandler(&w.said, nil))
	return w
}

// join adds a replica. crash ends it without removing its record.
func (w *world) join(node, boot string, draining *atomic.Bool) (m *cluster.Members, crash func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	started := time.Now()
	m = cluster.Join(ctx, cluster.Options{
		Box: w.box, Log: w.log,
		Self: func() cluster.Member {
			one := cluster.Member{Node: node, Boot: boot, Address: node + ":1", State: cluster.Ready, Started: started}
			if draining != nil && draining.Load() {
				one.State = cluster.Draining
			}
			return one
		},
		Open: func() (cluster.Engine, func(), error) { return w.engine, func() {}, nil },
	})
	w.t.Cleanup(func() { cancel(); m.Close() })
	return m, cancel
}

// two adds the replicas a and b, and waits until each has found the other. crash ends b.
func (w *world) two() (a *cluster.Members, crash func()) {
	a, _ = w.join("a", "1", nil)
	_, crash = w.join("b", "2", nil)
	w.pass(time.Second)
	return a, crash
}

// get returns a record.
func (w *world) get(key string) cluster.Value {
	w.t.Helper()
	v, err := w.engine.Get(w.t.Context(), cluster.Live, key)
	if err != nil {
		w.t.Fatal(err)
	}
	return v
}

// put writes a record over the one of a revision.
func (w *world) put(key string, data []byte, revision uint64) {
	w.t.Helper()
	if _, err := w.engine.Put(w.t.Context(), cluster.Live, key, data, revision, 0); err != nil {
		w.t.Fatal(err)
	}
}

// pass lets time pass, and waits until all goroutines block.
func (w *world) pass(d time.Duration) {
	time.Sleep(d) // in bubble time
	synctest.Wait()
}

func (w *world) wants(m *cluster.Members, want string) {
	w.t.Helper()
	var got []string
	for _, one := range m.List() {
		got = append(got, fmt.Sprint(one.Node, " ", one.Boot, " ", one.State))
	}
	if strings.Join(got, ", ") != want {
		w.t.Errorf("members are %q, want %q", got, want)
	}
}

func (w *world) away(m *cluster.Members, want bool) (since time.Time) {
	w.t.Helper()
	away, since, why := m.Agreement()
	if away != want || away && why == nil {
		w.t.Errorf("away: %v, because of %v, want %v", away, why, want)
	}
	return since
}

var memberTests = map[string]func(t *testing.T, w *world){
	"found": func(_ *testing.T, w *world) {
		a, _ := w.join("a", "1", nil)
		b, _ := w.join("b", "2", nil)
		w.pass(time.Second)
		w.wants(a, "a 1 ready, b 2 ready")
		w.wants(b, "a 1 ready, b 2 ready")
		w.away(a, false)
		w.pass(time.Hour)
		w.wants(a, "a 1 ready, b 2 ready")
	},
	"drains and leaves": func(_ *testing.T, w *world) {
		var draining atomic.Bool
		a, _ := w.join("a", "1", nil)
		b, _ := w.join("b", "2", &draining)
		w.pass(time.Second)
		draining.Store(true)
		b.Changed()
		synctest.Wait()
		w.wants(a, "a 1 ready, b 2 draining")
		b.Close()
		synctest.Wait()
		w.wants(a, "a 1 ready")
	},
	"dies": func(_ *testing.T, w *world) {
		a, crash := w.two()
		crash()
		w.pass(11 * time.Second)
		w.wants(a, "a 1 ready, b 2 ready")
		w.pass(5 * time.Second)
		w.wants(a, "a 1 ready")
	},
	"lives, and is said to be dead": func(t *testing.T, w *world) {
		a, _ := w.two()
		changed := a.Changes()
		for range 3 {
			if err := a.Bury(t.Context(), "b", "2"); err != nil {
				t.Error(err)
			}
			if fate, _ := a.Fate("b", "2"); fate != cluster.Lives {
				t.Errorf("fate %d", fate)
			}
		}
		<-changed
		w.wants(a, "a 1 ready, b 2 ready")
	},
	"is dead, and said to be": func(t *testing.T, w *world) {
		a, crash := w.two()
		crash()
		began := time.Now()
		if err := a.Bury(t.Context(), "b", "2"); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		w.wants(a, "a 1 ready")
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("it took %v", took)
		}
	},
	"is not found": func(t *testing.T, w *world) {
		a, crash := w.two()
		began := time.Now()
		if cluster.Ended(t.Context(), a, "b", "2") || time.Since(began) > 2*time.Second {
			t.Errorf("it lives; that took %v", time.Since(began))
		}
		w.wants(a, "a 1 ready, b 2 ready")
		w.engine.Away(errors.New("cut off"))
		w.pass(5 * time.Second)
		if began = time.Now(); cluster.Ended(t.Context(), a, "b", "2") || time.Since(began) > 0 {
			t.Errorf("nothing is known while the engine is away; that took %v", time.Since(began))
		}
		w.engine.Away(nil)
		w.pass(5 * time.Second)
		crash()
		began = time.Now()
		var all sync.WaitGroup
		for range 3 {
			all.Go(func() {
				if !cluster.Ended(t.Context(), a, "b", "2") || time.Since(began) > 4*time.Second {
					t.Errorf("it has ended; that took %v", time.Since(began))
				}
			})
		}
		all.Wait()
		w.wants(a, "a 1 ready")
	},
	"starts anew": func(_ *testing.T, w *world) {
		a, crash := w.two()
		crash()
		w.pass(time.Second)
		w.join("b", "3", nil)
		w.pass(time.Second)
		w.wants(a, "a 1 ready, b 3 ready")
	},
	"engine away": func(t *testing.T, w *world) {
		a, crash := w.two()
		began := time.Now()
		w.engine.Away(errors.New("cut off"))
		w.pass(time.Minute)
		w.wants(a, "a 1 ready, b 2 ready")
		if since := w.away(a, true); since.After(began) || began.Sub(since) > 3*time.Second {
			t.Errorf("away since %v, and it began at %v", since, began)
		}
		if n := strings.Count(w.said.String(), "cluster engine unreachable"); n != 2 {
			t.Errorf("%d warnings of two replicas:\n%s", n, w.said.String())
		}
		crash()
		w.engine.Away(nil)
		w.pass(20 * time.Second)
		w.wants(a, "a 1 ready")
		if since := w.away(a, false); since.Before(began) {
			t.Errorf("there since %v, before it was away", since)
		}
	},
	"engine away from the start": func(t *testing.T, w *world) {
		w.engine.Away(errors.New("not yet"))
		began := time.Now()
		a, _ := w.join("a", "1", nil)
		w.pass(time.Minute)
		if since := w.away(a, true); !since.Equal(began) {
			t.Errorf("away since %v, started at %v", since, began)
		}
		w.wants(a, "")
		w.engine.Away(nil)
		w.pass(4 * time.Second)
		w.wants(a, "a 1 ready")
		w.away(a, false)
	},
	"watch falls silent": func(_ *testing.T, w *world) {
		a, _ := w.join("a", "1", nil)
		w.pass(time.Second)
		w.engine.Away(errors.New("for a moment"))
		w.engine.Away(nil) // this ends the watch, but no write fails
		w.join("b", "2", nil)
		w.pass(20 * time.Second)
		w.wants(a, "a 1 ready, b 2 ready")
		w.away(a, false)
	},
	"same name": func(t *testing.T, w *world) {
		older, _ := w.join("a", "1", nil)
		w.pass(time.Second)
		younger, _ := w.join("a", "2", nil)
		w.pass(10 * time.Second)
		w.wants(younger, "a 2 ready")
		if _, _, why := older.Agreement(); why == nil || !strings.Contains(why.Error(), "cluster.node") {
			t.Errorf("the older one is told %v", why)
		}
	},
	"same name, and leaves": func(_ *testing.T, w *world) {
		older, _ := w.join("a", "1", nil)
		other, _ := w.join("b", "2", nil)
		w.pass(time.Second)
		younger, _ := w.join("a", "3", nil)
		w.pass(10 * time.Second)
		w.wants(other, "a 3 ready, b 2 ready")
		younger.Close()
		w.pass(10 * time.Second)
		for _, m := range []*cluster.Members{older, other} {
			w.wants(m, "a 1 ready, b 2 ready")
			w.away(m, false)
		}
	},
	"replaced, and replayed": func(t *testing.T, w *world) {
		a, crash := w.two()
		old := w.get("member/b")
		crash()
		w.pass(time.Second)
		w.join("b", "3", nil)
		w.pass(time.Second)
		now := w.get("member/b")
		w.put("member/b", old.Data, now.Revision)
		synctest.Wait()
		w.wants(a, "a 1 ready, b 3 ready")
	},
	"forged": func(t *testing.T, w *world) {
		a, _ := w.two()
		old := w.get("member/b")
		for key, data := range map[string][]byte{
			"member/c": old.Data, "member/d": []byte(seal.Random().Box(seal.Record).SealAs("member/d", []byte(`{"node":"d"}`))), "member/e": []byte(`{"node":"e"}`),
		} {
			w.put(key, data, 0)
		}
		w.pass(10 * time.Second)
		w.wants(a, "a 1 ready, b 2 ready")
		if n := cluster.Unopened(a); n != 3 {
			t.Errorf("%d records could not be opened", n)
		}
		d := w.get("member/d")
		if err := w.engine.Delete(t.Context(), cluster.Live, "member/d", d.Revision); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := cluster.Unopened(a); n != 2 {
			t.Errorf("%d records could not be opened after one was deleted", n)
		}
		if n := strings.Count(w.said.String(), "refused"); n != 6 { // by each replica once
			t.Errorf("fault/T51: %d warnings\n%s", n, w.said.String())
		}
	},
	"replayed": func(t *testing.T, w *world) {
		var draining atomic.Bool
		a, _ := w.join("a", "1", nil)
		_, crash := w.join("b", "2", &draining)
		w.pass(time.Second)
		old := w.get("member/b")
		draining.Store(true)
		w.pass(4 * time.Second)
		w.wants(a, "a 1 ready, b 2 draining")
		crash()
		now := w.get("member/b")
		w.put("member/b", old.Data, now.Revision)
		w.pass(time.Second)
		w.wants(a, "a 1 ready, b 2 draining")
	},
}

func TestMembers(t *testing.T) {
	for name, check := range memberTests {
		t.Run("cluster/members/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { check(t, newWorld(t)) })
		})
	}
}
