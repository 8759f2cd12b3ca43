package enginetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// fiftyWriters lets fifty writers on five replicas add one line each to a
// document. Every line must be there exactly once unless its writer got an
// error.
func fiftyWriters(t *testing.T, e cluster.Engine) {
	box := seal.Random().Box(seal.Record)
	var all sync.WaitGroup
	var mu sync.Mutex
	told := map[string]bool{} // whether the write succeeded, by line
	var copies []record.File
	for range 5 {
		local := record.File{Path: filepath.Join(t.TempDir(), "copy")}
		copies = append(copies, local)
		d := cluster.NewDocuments(cluster.DocumentsOptions{
			Box: box, Log: slog.New(slog.DiscardHandler), Open: func() (cluster.Engine, error) { return e, nil },
		})
		d.Put("shared", cluster.One("shared", local))
		d.Start()
		t.Cleanup(d.Close)
		<-d.Read()
		doc := d.Document("shared", local)
		for range 10 {
			all.Go(func() {
				mu.Lock()
				line := fmt.Sprintf("line %d\n", len(told))
				told[line] = false
				mu.Unlock()
				err := doc.Change(func(old []byte) ([]byte, error) { return append(old, line...), nil })
				if err != nil && !errors.Is(err, record.ErrChanged) {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				told[line] = err == nil
			})
		}
	}
	all.Wait()
	v, err := e.Get(t.Context(), cluster.Records, "shared")
	if err != nil || bytes.Contains(v.Data, []byte("line")) {
		t.Fatalf("the record is not sealed, or absent: %v", err)
	}
	checkCopies(t, copies, told)
}

// checkCopies waits until all copies are equal, and compares them with the
// results that the writers got.
func checkCopies(t *testing.T, copies []record.File, told map[string]bool) {
	t.Helper()
	want := 0
	for _, written := range told {
		if written {
			want++
		}
	}
	for i, local := range copies {
		data := awaitText(t, local, func(data []byte) bool { return bytes.Count(data, []byte("\n")) >= want })
		for line, written := range told {
			if n := bytes.Count(data, []byte(line)); n != 0 && !written || n != 1 && written {
				t.Errorf("copy %d has %q %d times, written: %v", i, line, n, written)
			}
		}
	}
	if want < 5 {
		t.Errorf("%d writers of %d came through", want, len(told))
	}
	t.Logf("%d writers of %d came through", want, len(told))
}

// awaitText reads a copy until ok accepts it.
func awaitText(t *testing.T, local record.File, ok func([]byte) bool) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		data, err := local.Read()
		if err != nil {
			t.Fatal(err)
		}
		if ok(data) {
			return data
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("the copy stays %q", data)
		}
	}
}
