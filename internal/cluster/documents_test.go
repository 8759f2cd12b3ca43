package cluster_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"mcp-all-in-one/internal/cluster"
	"mcp-all-in-one/internal/mcptest/must"
	"mcp-all-in-one/internal/record"
	"mcp-all-in-one/internal/seal"
)

// A reader is a replica with a copy of one document.
type reader struct {
	*cluster.Documents
	w     *world
	dir   string
	local record.File
	doc   record.Document
	heard atomic.Int32
}

// reads adds a replica whose files are in dir.
func (w *world) reads(dir string) *reader { return w.readsBy(dir, w.engine) }

func (w *world) readsBy(dir string, engine cluster.Engine) *reader {
	r := &reader{w: w, dir: dir, local: record.File{Path: filepath.Join(dir, "keys.json"), Durable: true}}
	r.Documents = cluster.NewDocuments(cluster.DocumentsOptions{
		Box: w.box, Log: w.log, Serials: filepath.Join(dir, "serials.json"),
		Open: func() (cluster.Engine, error) { return engine, nil },
	})
	r.Put("keys", cluster.One("keys", r.local))
	r.Watch("keys", func() { r.heard.Add(1) })
	r.doc = r.Document("keys", r.local)
	r.Start()
	w.t.Cleanup(r.Close)
	synctest.Wait()
	return r
}

// file returns a directory with a file of keys.
func (w *world) file(text string) string {
	dir := w.t.TempDir()
	if text != "" {
		must.Write(w.t, filepath.Join(dir, "keys.json"), text)
	}
	return dir
}

func (r *reader) wants(want string) {
	r.w.t.Helper()
	if got, err := r.doc.Read(); string(got) != want || err != nil {
		r.w.t.Errorf("the copy is %q, %v, want %q", got, err, want)
	}
}

func (r *reader) add(text string) error {
	return r.doc.Change(func(old []byte) ([]byte, error) { return append(old, text...), nil })
}

func (r *reader) mustAdd(text string) {
	r.w.t.Helper()
	must.OK(r.w.t, r.add(text))
	synctest.Wait()
}

// overwrite replaces the bytes of the record.
func (w *world) overwrite(data []byte) (before []byte) {
	w.t.Helper()
	v, err := w.engine.Get(w.t.Context(), cluster.Records, "keys")
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.engine.Put(w.t.Context(), cluster.Records, "keys", data, v.Revision, 0); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
	return v.Data
}

// sealed returns a record as another replica would write it.
func sealed(box *seal.Box, text string) []byte {
	return []byte(box.SealAs(cluster.Records+"/keys", append([]byte("\x01\x7f\x00\x00\x00\x00\x00\x00\x00\x00"), text...)))
}

var documentTests = map[string]func(t *testing.T, w *world){
	"shared": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("")), w.reads(w.file(""))
		a.mustAdd("one ")
		b.wants("one ")
		b.mustAdd("two ")
		a.wants("one two ")
		if a.heard.Load() != 2 || b.heard.Load() != 2 {
			t.Errorf("%d and %d changes were heard", a.heard.Load(), b.heard.Load())
		}
		a.mustAdd("") // no change
		if a.Count() != 1 || b.heard.Load() != 2 {
			t.Errorf("%d documents, %d changes", a.Count(), b.heard.Load())
		}
	},
	"an edit that fails": func(t *testing.T, w *world) {
		a, no := w.reads(w.file("one")), errors.New("no")
		if err := a.doc.Change(func([]byte) ([]byte, error) { return nil, no }); !errors.Is(err, no) {
			t.Errorf("error %v", err)
		}
		a.wants("one")
	},
	"first start": func(t *testing.T, w *world) {
		first := w.reads(w.file("of the first"))
		second := w.reads(w.file("of the second"))
		first.wants("of the first")
		second.wants("of the first")
		if kept, err := os.ReadFile(second.local.Path + ".before-cluster"); string(kept) != "of the second" {
			t.Errorf("kept %q, %v", kept, err)
		}
		if _, err := os.Stat(first.local.Path + ".before-cluster"); err == nil {
			t.Error("the file of the first was kept aside")
		}
	},
	"removed": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("one")), w.reads(w.file(""))
		if err := a.doc.Change(func([]byte) ([]byte, error) { return nil, nil }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if data, err := b.doc.Read(); data != nil || err != nil {
			t.Errorf("%q, %v", data, err)
		}
	},
	"large": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("")), w.reads(w.file(""))
		large := strings.Repeat("definition ", 100_000)
		a.mustAdd(large)
		b.wants(large)
		if v, err := w.engine.Get(t.Context(), cluster.Records, "keys"); err != nil || len(v.Data) > 100_000 {
			t.Errorf("%d bytes, %v", len(v.Data), err)
		}
	},
	"cut off": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("one ")), w.reads(w.file(""))
		w.pass(time.Minute)
		cut := time.Now()
		w.engine.Away(errors.New("cut"))
		for _, after := range []time.Duration{0, time.Minute} {
			w.pass(after)
			var none *record.NoAgreement
			if err := a.add("two "); !errors.As(err, &none) || none.Since.Before(cut.Add(-4*time.Second)) || none.Since.After(cut) || !strings.Contains(err.Error(), "no_agreement") {
				t.Errorf("after %v: error %v, since %v, cut at %v", after, err, none.Since, cut)
			}
		}
		a.wants("one ")
		for _, about := range []string{"x", "y", "x"} {
			if err := a.doc.Later(about, func(old []byte) ([]byte, error) {
				return append(bytes.ReplaceAll(old, []byte(about), nil), about...), nil
			}); err != nil {
				t.Fatal(err)
			}
		}
		a.wants("one yx")
		b.wants("one ")
		again := w.reads(b.dir) // starts while the engine is away
		again.wants("one ")
		w.engine.Away(nil)
		w.pass(10 * time.Second)
		for _, r := range []*reader{a, b, again} {
			r.wants("one yx")
		}
		b.mustAdd("!")
		a.wants("one yx!")
		if n := strings.Count(w.said.String(), "cannot be changed"); n != 2 { // one by a, one by b
			t.Errorf("%d warnings:\n%s", n, w.said.String())
		}
	},
	"engine without its values": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("one ")), w.reads(w.file(""))
		v, err := w.engine.Get(t.Context(), cluster.Records, "keys")
		if err != nil {
			t.Fatal(err)
		}
		if err := w.engine.Delete(t.Context(), cluster.Records, "keys", v.Revision); err != nil {
			t.Fatal(err)
		}
		w.pass(10 * time.Second)
		b.mustAdd("two")
		a.wants("one two")
	},
	"place that is given later": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("one")), w.reads(w.file(""))
		other := record.File{Path: filepath.Join(b.dir, "other.json")}
		b.Put("keys", cluster.One("keys", other))
		w.pass(10 * time.Second)
		if data, err := other.Read(); string(data) != "one" {
			t.Errorf("%q, %v", data, err)
		}
		a.wants("one")
	},
	"command": func(t *testing.T, w *world) {
		a := w.reads(w.file("one "))
		command := cluster.NewDocuments(cluster.DocumentsOptions{Box: w.box, Log: w.log, Open: func() (cluster.Engine, error) { return w.engine, nil }})
		defer command.Close()
		local := record.File{Path: filepath.Join(t.TempDir(), "keys.json")}
		doc := command.Document("keys", local)
		if err := doc.Change(func(old []byte) ([]byte, error) { return append(old, "two"...), nil }); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		a.wants("one two")
		if data, err := local.Read(); string(data) != "one two" {
			t.Errorf("%q, %v", data, err)
		}
		w.engine.Away(errors.New("cut"))
		var none *record.NoAgreement
		if err := doc.Change(func([]byte) ([]byte, error) { return nil, nil }); !errors.As(err, &none) {
			t.Errorf("error %v", err)
		}
	},
	"secret changed": func(t *testing.T, w *world) {
		old, fresh := seal.NewSecret(), seal.NewSecret()
		use := func(secrets ...string) {
			ring, err := seal.NewRing("team", secrets...)
			if err != nil {
				t.Fatal(err)
			}
			w.box = ring.Box(seal.Record)
		}
		use(old)
		a, b := w.reads(w.file("one ")), w.reads(w.file(""))
		for _, secrets := range [][]string{{old, fresh}, {fresh, old}, {fresh}} {
			use(secrets...)
			a.Close()
			a = w.reads(a.dir)
			w.pass(time.Minute)
			v, err := w.engine.Get(t.Context(), cluster.Records, "keys")
			if err != nil {
				t.Fatal(err)
			}
			w.pass(time.Minute)
			if later, _ := w.engine.Get(t.Context(), cluster.Records, "keys"); later.Revision != v.Revision {
				t.Errorf("with %d secrets the replicas write all the time", len(secrets))
			}
			if len(secrets) == 2 {
				b.mustAdd("b ") // with the secrets that it has had so far
			}
			b.Close()
			b = w.reads(b.dir)
			w.pass(time.Minute)
		}
		b.mustAdd("two")
		for _, r := range []*reader{a, b, w.reads(w.file(""))} {
			r.wants("one b b two")
		}
		if strings.Contains(w.said.String(), "refused") {
			t.Error(w.said.String())
		}
	},
	"lock": func(t *testing.T, w *world) {
		a, b := w.reads(w.file("one ")), w.reads(w.file(""))
		unlock, err := a.Lock(t.Context(), "keys", a.local)
		if err != nil {
			t.Fatal(err)
		}
		short, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := b.Lock(short, "keys", b.local); err == nil {
			t.Fatal("two have the lock")
		}
		a.mustAdd("two")
		unlock()
		if _, err = b.Lock(t.Context(), "keys", b.local); err != nil {
			t.Fatal(err)
		}
		b.wants("one two")
		began := time.Now() // b dies
		if _, err = a.Lock(t.Context(), "keys", a.local); err != nil || time.Since(began) > time.Minute {
			t.Errorf("%v after %v", err, time.Since(began))
		}
	},
}

// refusals are records that must be refused.
var refusals = map[string]func(w *world, a *reader) []byte{
	"forged":    func(*world, *reader) []byte { return []byte("keys of somebody else") },
	"truncated": func(w *world, _ *reader) []byte { return sealed(w.box, "")[:40] },
	"foreign secret": func(*world, *reader) []byte {
		return sealed(seal.Random().Box(seal.Record), "keys of another cluster")
	},
	"other format": func(w *world, _ *reader) []byte {
		return []byte(w.box.SealAs(cluster.Records+"/keys", []byte("\x02\x7f\x00\x00\x00\x00\x00\x00\x00\x00text")))
	},
	"of another name": func(w *world, _ *reader) []byte {
		return []byte(w.box.SealAs(cluster.Records+"/pins", []byte("\x01\x7f\x00\x00\x00\x00\x00\x00\x00\x00text")))
	},
	"replayed": func(w *world, a *reader) []byte {
		v, err := w.engine.Get(w.t.Context(), cluster.Records, "keys")
		if err != nil {
			w.t.Fatal(err)
		}
		w.pass(time.Second)
		a.mustAdd("two ")
		return v.Data
	},
}

func TestDocuments(t *testing.T) {
	for name, test := range documentTests {
		t.Run("cluster/documents/"+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newWorld(t)) })
		})
	}
	for name, make := range refusals {
		t.Run("fault/T51/record "+name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				a, b := w.reads(w.file("one ")), w.reads(w.file(""))
				bad := make(w, a)
				good, _ := a.doc.Read()
				w.overwrite(bad)
				a.wants(string(good))
				b.wants(string(good))
				w.pass(4 * time.Second) // the serials seen so far are saved
				b.Close()
				b = w.reads(b.dir)
				b.wants(string(good))
				if err := b.add("three"); err == nil || !strings.Contains(err.Error(), "first check that cluster.secret") || !strings.Contains(err.Error(), "outdated") {
					t.Errorf("error %v", err)
				}
				if !strings.Contains(w.said.String(), "shared record refused") {
					t.Error("nobody was warned")
				}
				b.wants(string(good))
			})
		})
	}
	t.Run("cluster/documents/sealed", func(t *testing.T) { // the test writes the format that the product reads
		synctest.Test(t, func(t *testing.T) {
			w := newWorld(t)
			a := w.reads(w.file("one"))
			w.overwrite(sealed(w.box, "two"))
			a.wants("two")
		})
	})
}
