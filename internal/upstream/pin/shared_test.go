package pin

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// A sharer is a replica with pins.
type sharer struct {
	pins    *Store
	Checker *Checker
}

func newSharer(t *testing.T, engine cluster.Engine, box *seal.Box) *sharer {
	dir := t.TempDir()
	d := cluster.NewDocuments(cluster.DocumentsOptions{Box: box, Log: slog.New(slog.DiscardHandler), Open: func() (cluster.Engine, error) { return engine, nil }})
	s := &sharer{pins: Open(dir, d)}
	s.Checker = New(s.pins, "default/shelf", nil)
	name := record.Pins + pinName(s.Checker.id)
	d.Put(record.Pins, cluster.Place{
		Names: func() []string { return []string{name} },
		Copy:  func(string) record.Copy { return record.File{Path: s.pins.file(s.Checker.id)} },
	})
	d.Start()
	t.Cleanup(d.Close)
	synctest.Wait()
	return s
}

// shown returns how many changes are withheld for a tool with the given definition.
func (s *sharer) shown(t *testing.T, definition string) (withheld int) {
	t.Helper()
	items, _, err := s.Checker.check(Tool, []catalog.Item{{Key: "borrow", Raw: fmt.Appendf(nil, `{"name":"borrow","description":%q}`, definition)}}, Hold)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return 1 - len(items)
}

func TestSharedPins(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, box := enginetest.New(), seal.Random().Box(seal.Record)
		a, b, c := newSharer(t, engine, box), newSharer(t, engine, box), newSharer(t, engine, box)
		if a.shown(t, "one")+b.shown(t, "two")+c.shown(t, "three") != 2 || a.shown(t, "one") != 0 {
			t.Error("cluster/shared/pins: what a replica saw first does not count at the others")
		}
		// Each replica then sees another definition. They must not wake each other
		// by it.
		for _, s := range []*sharer{a, b, c} {
			if s.Checker.Outdated(Hold) {
				t.Error("cluster/shared/pins: it is checked again although nothing was approved")
			}
		}
		b.shown(t, "two")
		must.OK(t, a.pins.Approve("default/shelf", a.pins.Changed("default/shelf")))
		synctest.Wait()
		if !b.Checker.Outdated(Hold) || b.shown(t, "two") != 0 || a.shown(t, "one") != 1 {
			t.Error("cluster/shared/pins: an approval does not count at the others")
		}
	})
}
