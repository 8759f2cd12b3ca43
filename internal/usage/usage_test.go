package usage

import (
	"bytes"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/traffic"
)

var noon = time.Date(2026, 11, 17, 12, 0, 0, 0, time.Local)

func all(*Key) bool { return true }

// open starts a book at a fixed time, and closes it at the end of the test.
func open(t *testing.T, dir string, log *bytes.Buffer) *Book {
	t.Helper()
	if log == nil {
		log = &bytes.Buffer{}
	}
	b := Open(Options{Dir: dir, Log: slog.New(slog.NewTextHandler(log, nil)), Now: func() time.Time { return noon }})
	b.Use(true, 30)
	t.Cleanup(b.Close)
	return b
}

func tool(principal, client, name string) Key {
	return Key{Principal: principal, Client: client, Door: traffic.DoorSession, Schema: "default", Server: "mail", Kind: Tool, Name: name}
}

// usage/report
func TestReport(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	for range 98 {
		b.Count(tool("key:a", "Claude", "send"), traffic.StatusOK, noon, 10*time.Millisecond, 40, 400)
	}
	b.Count(tool("key:a", "Claude", "send"), traffic.StatusError, noon, 2*time.Second, 40, 0)
	b.Count(tool("key:b", "Cursor", "send"), traffic.StatusToolError, noon, 2*time.Second, 0, 0)
	b.Count(tool("key:b", "Cursor", "read"), traffic.StatusOK, noon.AddDate(0, 0, -3), time.Millisecond, 4, 4)
	b.Count(Key{Principal: "key:b", Client: "Cursor", Kind: List}, traffic.StatusOK, noon, time.Millisecond, 0, 4000)
	b.Count(tool("key:b", "Cursor", "old"), traffic.StatusOK, noon.AddDate(0, 0, -8), time.Millisecond, 4, 4)

	r := b.Report(Query{Days: 7, By: ByTool, Sees: all})
	if len(r.Days) != 7 || r.Days[6].Day != "2026-11-17" || r.Days[0].Day != "2026-11-11" || r.Since != "2026-11-09" || !r.On {
		t.Fatalf("days %+v since %s on %v", r.Days, r.Since, r.On)
	}
	if got := r.Days[6]; got.OK != 98 || got.Errors != 1 || got.ToolErrors != 1 || got.Definitions != 1000 || got.Tokens != 1000+(99*40+98*400)/4 {
		t.Errorf("today %+v", got)
	}
	if len(r.Rows) != 2 || r.Rows[0].Name != "send" || r.Rows[0].Calls() != 100 || r.Rows[0].Last != "2026-11-17" || r.Rows[1].Last != "2026-11-14" {
		t.Fatalf("rows %+v", r.Rows)
	}
	if p50, p95 := r.Rows[0].P50, r.Total.P95; p50 < 8*time.Millisecond || p50 > 16*time.Millisecond || p95 > time.Second {
		t.Errorf("p50 %v p95 %v", p50, p95)
	}
	for name, want := range map[string]bool{"read": false, "old": true, strings.Repeat("n", maxName): true, strings.Repeat("n", maxName+1): false, "a\tb": false} {
		if r.Unused("default", "mail", name) != want {
			t.Errorf("whether nobody called %q: %v", name, !want)
		}
	}
	client, key := "Cursor", "key:b"
	if r := b.Report(Query{Days: 7, By: ByClient, Principal: &key, Sees: all}); len(r.Rows) != 1 || r.Rows[0].Client != client || r.Rows[0].Calls() != 2 || r.Rows[0].Definitions != 1000 {
		t.Errorf("of a key %+v", r.Rows)
	}
	if r := b.Report(Query{Days: 7, By: ByKey, Sees: func(k *Key) bool { return k.Principal == "key:a" }}); len(r.Rows) != 1 || r.Total.Calls() != 99 || r.Total.Definitions != 0 {
		t.Errorf("what key:a sees: %+v", r)
	}
}

// usage/shared: several gateways that write to one folder lose no counts.
func TestShared(t *testing.T) {
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 4 {
		b := open(t, dir, nil)
		all.Go(func() {
			for range 20 {
				b.Count(tool(fmt.Sprint("key:", i), "Claude", "send"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
				b.flush()
			}
		})
	}
	all.Wait()
	r := Read(dir, noon, Query{Days: 1, By: ByKey, Sees: func(*Key) bool { return true }})
	if r.Total.OK != 80 || len(r.Rows) != 4 {
		t.Fatalf("%+v", r)
	}
	if info, err := os.Stat(filepath.Join(dir, "2026-11-17.tsv")); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// usage/torn: an unreadable file is renamed and logged.
func TestTorn(t *testing.T) {
	dir, log := t.TempDir(), &bytes.Buffer{}
	path := filepath.Join(dir, "2026-11-17.tsv")
	whole := string(format([]line{{tool("a", "b", "c"), Sum{Calls: 1, First: 3, Took: []uint32{1, 23}}}}))
	for _, text := range []string{"", whole[:20], whole[:len(whole)-1], whole[:len(whole)-len(last)-4], "\x00\x00\x00", strings.Replace(whole, "\t1\t", "\tmany\t", 1), strings.Replace(whole, "23", "-23", 1), whole + whole} {
		must.Write(t, path, text)
		b := open(t, dir, log)
		if r := b.Report(Query{Days: 1, By: ByTool, Sees: all}); r.Total.Calls() != 0 || !slices.Equal(r.Unreadable, []string{"2026-11-17"}) {
			t.Errorf("%q: %+v", text, r)
		}
		b.Count(tool("a", "b", "c"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
		if r := b.Report(Query{Days: 1, By: ByTool, Sees: all}); r.Total.Calls() != 1 || len(r.Unreadable) > 0 {
			t.Errorf("%q: %+v", text, r)
		}
		if kept, err := os.ReadFile(filepath.Join(dir, aside)); err != nil || string(kept) != text {
			t.Errorf("%q was kept as %q, %v", text, kept, err)
		}
		if !strings.Contains(log.String(), "set aside") {
			t.Errorf("%q: nothing was said: %s", text, log)
		}
		log.Reset()
	}
	// Counts that make no sense do not stop the book.
	must.Write(t, path, format([]line{{tool("a", "b", "c"), Sum{Calls: 1, First: -5, Took: []uint32{1, 2}}}, {tool("a", "b", "d"), Sum{First: 99, Took: []uint32{7}}}}))
	Read(dir, noon, Query{Days: 1, By: ByTool, Sees: all})
}

// usage/bounded: the size of a day is limited, whatever the names are.
func TestBounded(t *testing.T) {
	dir := t.TempDir()
	b := open(t, dir, nil)
	long := strings.Repeat("界", 200)
	const calls = 20_000
	for i := range calls {
		b.Count(Key{Principal: fmt.Sprint("token:", i, long), Client: fmt.Sprint(i, long), Kind: Tool, Server: fmt.Sprint("s", i%700), Name: fmt.Sprint(i, long[:i%300])}, traffic.StatusOK, noon, time.Duration(i)*time.Millisecond, 1, 1)
	}
	for i := range 100 {
		b.Count(tool("key:a", fmt.Sprint("client ", i), "send"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
	}
	r := b.Report(Query{Days: 1, By: ByTool, Sees: all})
	if r.Total.Calls() != calls+100 {
		t.Errorf("%d calls were counted", r.Total.Calls())
	}
	rows, err := read(filepath.Join(dir, "2026-11-17.tsv"))
	if err != nil || len(rows) > maxRows+2*spareRows+1 {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	info, err := os.Stat(filepath.Join(dir, "2026-11-17.tsv"))
	if err != nil || info.Size() > 3<<20 {
		t.Errorf("%v, %v", info.Size(), err)
	}
	t.Logf("%d rows, %d bytes", len(rows), info.Size())
}

// usage/format: rows read back unchanged, whatever the names are.
func TestFormat(t *testing.T) {
	d := newDay()
	for _, name := range []string{"", "send", "a\tb", "a\nb", last + " 1", "发送", "\xff\xfe", "# rows 7\n", Other} {
		k := tool(name, name, name)
		d.at(k).add(&Sum{Calls: 2, Errors: 1, Sent: 1 << 40, Got: 3, First: 4, Took: []uint32{1, 0, 1}})
	}
	want := sorted(d)
	got, err := parse(string(format(want)))
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}

// usage/clients: one principal cannot fill a day with client names.
func TestClients(t *testing.T) {
	b := open(t, t.TempDir(), nil)
	for i := range 1000 {
		b.Count(tool("key:a", fmt.Sprint("client ", i), "send"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
	}
	r := b.Report(Query{Days: 1, By: ByClient, Sees: all})
	if len(r.Rows) != maxClients+1 || r.Rows[0].Client != Other || r.Rows[0].Calls() != 1000-maxClients {
		t.Errorf("%d rows, the first %+v", len(r.Rows), r.Rows[0])
	}
}

// usage/retention, usage/off
func TestRetention(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"2026-10-18.tsv", "2026-10-19.tsv", "2026-11-16.tsv", "notes.tsv", "2026-11-16.txt"} {
		must.Write(t, filepath.Join(dir, name), format(nil))
	}
	b := open(t, dir, nil)
	b.Use(false, 30)
	b.Count(tool("key:a", "Claude", "send"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
	if r := b.Report(Query{Days: 1, By: ByTool, Sees: all}); r.On || r.Total.Calls() != 0 {
		t.Errorf("switched off, and %+v", r)
	}
	var left []string
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		left = append(left, e.Name())
	}
	if got := strings.Join(left, " "); got != "2026-10-19.tsv 2026-11-16.tsv 2026-11-16.txt notes.tsv" {
		t.Errorf("left are %s", got)
	}
}

// usage/disk: counts that cannot be written stay in memory and are written later.
func TestDiskRefuses(t *testing.T) {
	dir, log := filepath.Join(t.TempDir(), "usage"), &bytes.Buffer{}
	if err := os.WriteFile(dir, nil, 0o600); err != nil { // a file where the folder should be
		t.Fatal(err)
	}
	b := open(t, dir, log)
	for range 3 {
		b.Count(tool("key:a", "Claude", "send"), traffic.StatusOK, noon, time.Millisecond, 1, 1)
		b.flush()
	}
	if n := strings.Count(log.String(), "cannot be written"); n != 1 {
		t.Errorf("said %d times: %s", n, log)
	}
	must.OK(t, os.Remove(dir))
	if r := (*Book)(nil).Report(Query{Days: 1, By: ByTool, Sees: all}); len(r.Unreadable) > 0 {
		t.Errorf("of no book: %+v", r)
	}
	if r := b.Report(Query{Days: 1, By: ByTool, Sees: all}); r.Total.Calls() != 3 {
		t.Errorf("%+v", r)
	}
}

func BenchmarkCount(b *testing.B) {
	book := Open(Options{Dir: b.TempDir(), Log: slog.New(slog.DiscardHandler)})
	defer book.Close()
	book.Use(true, 30)
	k := tool("key:abcdefghijkl", "claude-code", "create_pull_request")
	b.ReportAllocs()
	for b.Loop() {
		book.Count(k, traffic.StatusOK, noon, 12*time.Millisecond, 180, 2000)
	}
}

// BenchmarkReport sums up a month of 1,000 calls an hour: 900 rows a day.
func BenchmarkReport(b *testing.B) {
	dir := b.TempDir()
	book := Open(Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return noon }})
	defer book.Close()
	book.Use(true, 30)
	for i := range 720_000 {
		k := tool(fmt.Sprint("key:k", rand.IntN(5)), []string{"Claude", "Cursor", "VS Code"}[rand.IntN(3)], fmt.Sprint("tool_", rand.IntN(60)))
		book.Count(k, traffic.StatusOK, noon.AddDate(0, 0, -i%30), time.Duration(rand.ExpFloat64()*40)*time.Millisecond, 180, 2000)
	}
	book.flush()
	var size int64
	for _, name := range names(dir) {
		info, err := os.Stat(filepath.Join(dir, name+ext))
		if err != nil {
			b.Fatal(err)
		}
		size += info.Size()
	}
	b.Logf("%d bytes of %d days", size, len(names(dir)))
	b.Run("report", func(b *testing.B) {
		for b.Loop() {
			Read(dir, noon, Query{Days: 30, By: ByTool, Sees: all})
		}
	})
	b.Run("flush", func(b *testing.B) {
		for b.Loop() {
			book.Count(tool("key:k1", "Claude", "tool_1"), traffic.StatusOK, noon, time.Millisecond, 180, 2000)
			book.flush()
		}
	})
}
