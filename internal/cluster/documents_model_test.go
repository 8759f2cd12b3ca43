package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/test/figures"
)

// A linked engine is one replica's connection to the engine. It can be cut,
// also between a write and its response.
type linked struct {
	cluster.Engine
	cut    atomic.Bool // all calls fail
	answer atomic.Bool // writes are made, but their response is lost
}

var errCut = errors.New("cut")

func (l *linked) Get(ctx context.Context, bucket, key string) (cluster.Value, error) {
	if l.cut.Load() {
		return cluster.Value{}, errCut
	}
	return l.Engine.Get(ctx, bucket, key)
}

func (l *linked) Put(ctx context.Context, bucket, key string, data []byte, revision uint64, ttl time.Duration) (uint64, error) {
	if l.cut.Load() {
		return 0, errCut
	}
	got, err := l.Engine.Put(ctx, bucket, key, data, revision, ttl)
	if err == nil && l.answer.Load() {
		return 0, errCut
	}
	return got, err
}

func (l *linked) Watch(ctx context.Context, bucket, prefix string, see func(cluster.Value)) error {
	if l.cut.Load() {
		return errCut
	}
	return l.Engine.Watch(ctx, bucket, prefix, func(v cluster.Value) {
		if !l.cut.Load() {
			see(v)
		}
	})
}

// A modelled replica keeps its files across restarts.
type modelled struct {
	*reader
	link linked
}

func (m *modelled) boot(w *world, dir string) {
	if m.reader != nil {
		m.Close()
	}
	m.reader = w.readsBy(dir, &m.link)
}

// TestDocumentsModel runs schedules of edits, cuts, lost responses, restarts
// and time on three replicas. In the end every edit that succeeded is in all
// copies exactly once, every edit that was refused is in none, and the copies
// are equal.
func TestDocumentsModel(t *testing.T) {
	schedules := 0
	rapid.Check(t, func(rt *rapid.T) {
		schedules++
		steps := rapid.SliceOfN(rapid.IntRange(0, 3*7-1), 1, 40).Draw(rt, "steps")
		failed := ""
		synctest.Test(t, func(t *testing.T) { failed = runSchedule(t, steps) })
		if failed != "" {
			rt.Fatalf("fault/T54: %s", failed)
		}
	})
	figures.Report(t, "T54d", "documents, %d schedules of edits, cuts, lost answers, restarts and time on three replicas: every edit whose writer was told so is in all copies once, every refused one in none", schedules)
}

func TestMain(m *testing.M) { os.Exit(figures.Run(m)) }

// runSchedule returns what went wrong, or "".
func runSchedule(t *testing.T, steps []int) string {
	w := newWorld(t)
	var replicas [3]modelled
	for i := range replicas {
		replicas[i].link.Engine = w.engine
		replicas[i].boot(w, w.file(""))
	}
	const unsure = 2
	told := map[string]int{}
	for n, step := range steps {
		m := &replicas[step%3]
		line := fmt.Sprintf("line %d\n", n)
		var none *record.NoAgreement
		switch step / 3 {
		case 0, 1:
			err := m.add(line)
			switch {
			case err == nil:
				told[line] = 1
			case errors.As(err, &none) && none.Unsure:
				told[line] = unsure
			default:
				told[line] = 0
			}
		case 2:
			m.link.cut.Store(!m.link.cut.Load())
		case 3:
			m.link.answer.Store(!m.link.answer.Load())
		case 4:
			m.boot(w, m.dir)
		case 5:
			w.pass(10 * time.Second)
		case 6:
			synctest.Wait()
		}
	}
	for i := range replicas {
		replicas[i].link.cut.Store(false)
		replicas[i].link.answer.Store(false)
	}
	w.pass(time.Minute)
	first, err := replicas[0].doc.Read()
	if err != nil {
		return err.Error()
	}
	for i := range replicas {
		if got, err := replicas[i].doc.Read(); err != nil || !bytes.Equal(got, first) {
			return fmt.Sprintf("replica %d has %q, replica 0 %q (%v)\n%s", i, got, first, err, w.said.String())
		}
	}
	for line, want := range told {
		if got := bytes.Count(first, []byte(line)); got > 1 || want != unsure && got != want {
			return fmt.Sprintf("%q is there %d times, told %d", line, got, want)
		}
	}
	return ""
}
