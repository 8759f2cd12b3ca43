package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcptest/must"
)

func TestFile(t *testing.T) {
	for _, durable := range []bool{true, false} {
		t.Run(fmt.Sprintf("cluster/record/file/durable=%v", durable), func(t *testing.T) {
			f := File{Path: filepath.Join(t.TempDir(), "sub", "a.json"), Durable: durable}
			if data, err := f.Read(); data != nil || err != nil {
				t.Fatalf("before there is one: %q, %v", data, err)
			}
			var all sync.WaitGroup
			for i := range 50 {
				all.Go(func() {
					if err := f.Change(func(old []byte) ([]byte, error) { return fmt.Appendf(old, "%d\n", i), nil }); err != nil {
						t.Error(err)
					}
				})
			}
			all.Wait()
			data, err := f.Read()
			if err != nil || strings.Count(string(data), "\n") != 50 {
				t.Fatalf("%d lines, %v", strings.Count(string(data), "\n"), err)
			}
			no := errors.New("no")
			if err := f.Change(func([]byte) ([]byte, error) { return []byte("other"), no }); !errors.Is(err, no) {
				t.Errorf("error %v", err)
			}
			if now, _ := f.Read(); string(now) != string(data) {
				t.Error("an edit that failed was written")
			}
			if info, err := os.Stat(f.Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v, %v", info, err)
			}
			must.OK(t, f.Write(nil))
			if now, err := f.Read(); now != nil || err != nil {
				t.Errorf("after its end: %q, %v", now, err)
			}
		})
	}
}

func TestNoAgreement(t *testing.T) {
	err := &NoAgreement{Since: time.Date(2026, 11, 17, 12, 0, 0, 0, time.UTC), Err: errors.New("refused")}
	for lang, want := range map[i18n.Lang]string{
		i18n.English: "no_agreement: the shared store of the replicas (cluster.engine) cannot be reached since 2026-11-17T12:00:00Z: refused; nothing was changed",
		i18n.Chinese: "no_agreement：无法访问各副本的共享存储（cluster.engine）（自 2026-11-17T12:00:00Z 起）：refused；没有作任何更改",
	} {
		if got := err.In(lang); got != want {
			t.Errorf("cluster/record/since: %q, want %q", got, want)
		}
	}
}
