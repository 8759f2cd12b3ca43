package memory

import (
	"log/slog"
	"path/filepath"
	"testing"
	"testing/synctest"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/cluster/enginetest"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

func sharedMemory(t *testing.T, engine cluster.Engine, box *seal.Box) *Memory {
	d := cluster.NewDocuments(cluster.DocumentsOptions{Box: box, Log: slog.New(slog.DiscardHandler), Open: func() (cluster.Engine, error) { return engine, nil }})
	memory := OpenShared(filepath.Join(t.TempDir(), "servers.json"), d)
	d.Put(record.Memory, cluster.One(record.Memory, File(memory.path)))
	d.Watch(record.Memory, memory.Reread)
	d.Start()
	t.Cleanup(d.Close)
	synctest.Wait()
	return memory
}

func TestSharedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine, box := enginetest.New(), seal.Random().Box(seal.Record)
		a, b := sharedMemory(t, engine, box), sharedMemory(t, engine, box)
		a.SetAsks("one")
		b.SetOldWay("two", true)
		synctest.Wait()
		for _, s := range []*Memory{a, b} {
			if !s.Asks("one") || !s.OldWay("two") || Open(s.path).Asks("one") != true {
				t.Errorf("cluster/shared/memory: %+v", s.seen)
			}
		}
	})
}
