package enginetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcp-all-in-one/internal/cluster"
)

// A Property is a requirement for every Engine.
type Property struct {
	Name  string
	Check func(t *testing.T, e cluster.Engine)
}

// patience is how long a watch or a message may take.
const patience = 30 * time.Second

// Properties are the requirements for every Engine. Each is checked with an
// engine without values in the bucket "test".
var Properties = []Property{
	{"create if absent", createIfAbsent},
	{"compare and swap", compareAndSwap},
	{"delete by revision", deleteByRevision},
	{"value ends by itself", endsByItself},
	{"renewed value stays", renewedStays},
	{"watch shows present ones first", watchPresentFirst},
	{"watch shows an end", watchShowsEnd},
	{"watch ends with its context", watchEnds},
	{"keys of every character", everyCharacter},
	{"one of many writers wins", oneWins},
	{"fault/T50 fifty writers of a document", fiftyWriters},
}

const bucket = "test"

func put(t *testing.T, e cluster.Engine, key, data string, revision uint64, ttl time.Duration) uint64 {
	t.Helper()
	got, err := e.Put(t.Context(), bucket, key, []byte(data), revision, ttl)
	if err != nil || got <= revision {
		t.Fatalf("writing %s over revision %d: %d, %v", key, revision, got, err)
	}
	return got
}

func wantConflict(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, cluster.ErrConflict) {
		t.Errorf("error %v, want a conflict", err)
	}
}

func wantValue(t *testing.T, e cluster.Engine, key, data string, revision uint64) {
	t.Helper()
	v, err := e.Get(t.Context(), bucket, key)
	if err != nil || v.Key != key || string(v.Data) != data || v.Revision != revision {
		t.Errorf("%s is %q at %d, %v, want %q at %d", v.Key, v.Data, v.Revision, err, data, revision)
	}
}

func wantNone(t *testing.T, e cluster.Engine, key string) {
	t.Helper()
	if v, err := e.Get(t.Context(), bucket, key); !errors.Is(err, cluster.ErrNone) {
		t.Errorf("%s is %q, %v, want none", key, v.Data, err)
	}
}

func createIfAbsent(t *testing.T, e cluster.Engine) {
	wantNone(t, e, "a/b")
	first := put(t, e, "a/b", "one", 0, 0)
	wantValue(t, e, "a/b", "one", first)
	_, err := e.Put(t.Context(), bucket, "a/b", []byte("two"), 0, 0)
	wantConflict(t, err)
	wantValue(t, e, "a/b", "one", first)
	wantNone(t, e, "a/c")
}

func compareAndSwap(t *testing.T, e cluster.Engine) {
	first := put(t, e, "a", "one", 0, 0)
	second := put(t, e, "a", "two", first, 0)
	_, err := e.Put(t.Context(), bucket, "a", []byte("late"), first, 0)
	wantConflict(t, err)
	_, err = e.Put(t.Context(), bucket, "never", []byte("was"), second, 0)
	wantConflict(t, err)
	wantValue(t, e, "a", "two", second)
}

func deleteByRevision(t *testing.T, e cluster.Engine) {
	first := put(t, e, "a", "one", 0, 0)
	second := put(t, e, "a", "two", first, 0)
	wantConflict(t, e.Delete(t.Context(), bucket, "a", first))
	wantConflict(t, e.Delete(t.Context(), bucket, "a", 0))
	wantValue(t, e, "a", "two", second)
	if err := e.Delete(t.Context(), bucket, "a", second); err != nil {
		t.Fatal(err)
	}
	wantNone(t, e, "a")
	_, err := e.Put(t.Context(), bucket, "a", []byte("late"), second, 0)
	wantConflict(t, err)
	again := put(t, e, "a", "three", 0, 0)
	if again <= second {
		t.Errorf("revision %d after %d", again, second)
	}
	wantValue(t, e, "a", "three", again)
}

func endsByItself(t *testing.T, e cluster.Engine) {
	seen := watch(t, e, "")
	revision := put(t, e, "a", "short", 0, time.Second)
	put(t, e, "b", "long", 0, 0)
	seen.until(t, "the end of a", func(v cluster.Value) bool { return v.Key == "a" && v.Deleted })
	wantNone(t, e, "a")
	_, err := e.Put(t.Context(), bucket, "a", []byte("late"), revision, 0)
	wantConflict(t, err)
	put(t, e, "a", "again", 0, time.Second)
	if v, err := e.Get(t.Context(), bucket, "b"); err != nil || string(v.Data) != "long" {
		t.Errorf("b is %q, %v", v.Data, err)
	}
}

// renewedStays checks that writing a value again extends its life: it waits
// until another value, written at the same time and not renewed, has expired.
func renewedStays(t *testing.T, e cluster.Engine) {
	seen := watch(t, e, "")
	revision := put(t, e, "renewed", "0", 0, time.Second)
	put(t, e, "left", "alone", 0, time.Second)
	renewed := put(t, e, "renewed", "1", revision, time.Hour)
	seen.until(t, "the end of the other", func(v cluster.Value) bool { return v.Key == "left" && v.Deleted })
	wantValue(t, e, "renewed", "1", renewed)
}

// A sight has the values from a watch that were not checked yet.
type sight struct{ values chan cluster.Value }

func watch(t *testing.T, e cluster.Engine, prefix string) *sight {
	t.Helper()
	s := &sight{make(chan cluster.Value, 100)}
	if err := e.Watch(t.Context(), bucket, prefix, func(v cluster.Value) { s.values <- v }); err != nil {
		t.Fatal(err)
	}
	return s
}

func (s *sight) next(t *testing.T) cluster.Value {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	select {
	case v := <-s.values:
		return v
	case <-ctx.Done():
		t.Fatal("the watch shows nothing more")
		return cluster.Value{}
	}
}

func (s *sight) until(t *testing.T, what string, ok func(cluster.Value) bool) {
	t.Helper()
	for range 100 {
		if ok(s.next(t)) {
			return
		}
	}
	t.Fatalf("the watch does not show %s", what)
}

func (s *sight) wants(t *testing.T, key, data string) {
	t.Helper()
	if v := s.next(t); v.Key != key || string(v.Data) != data || v.Deleted {
		t.Errorf("the watch shows %s %q, deleted %v, want %s %q", v.Key, v.Data, v.Deleted, key, data)
	}
}

func watchPresentFirst(t *testing.T, e cluster.Engine) {
	first := put(t, e, "room/a", "old", 0, 0)
	put(t, e, "other/a", "elsewhere", 0, 0)
	second := put(t, e, "room/a", "new", first, 0)
	third := put(t, e, "room/b", "b", 0, 0)
	gone := put(t, e, "room/gone", "", 0, 0)
	if err := e.Delete(t.Context(), bucket, "room/gone", gone); err != nil {
		t.Fatal(err)
	}
	seen := watch(t, e, "room/")
	seen.wants(t, "room/a", "new")
	seen.wants(t, "room/b", "b")
	seen.wants(t, "", "") // end of the present values
	put(t, e, "room/a", "newer", second, 0)
	seen.wants(t, "room/a", "newer")
	put(t, e, "other/b", "elsewhere", 0, 0)
	if err := e.Delete(t.Context(), bucket, "room/b", third); err != nil {
		t.Fatal(err)
	}
	if v := seen.next(t); v.Key != "room/b" || !v.Deleted {
		t.Errorf("the watch shows %s, deleted %v, want room/b deleted", v.Key, v.Deleted)
	}
}

func watchShowsEnd(t *testing.T, e cluster.Engine) {
	put(t, e, "room/a", "a", 0, time.Second)
	seen := watch(t, e, "room/")
	seen.wants(t, "room/a", "a")
	seen.wants(t, "", "")
	if v := seen.next(t); v.Key != "room/a" || !v.Deleted {
		t.Errorf("the watch shows %s, deleted %v, want the end of room/a", v.Key, v.Deleted)
	}
}

func watchEnds(t *testing.T, e cluster.Engine) {
	ctx, cancel := context.WithCancel(t.Context())
	var ended atomic.Bool
	seen := make(chan cluster.Value, 10)
	err := e.Watch(ctx, bucket, "", func(v cluster.Value) {
		if ended.Load() {
			t.Errorf("shown %s after the end", v.Key)
		}
		seen <- v
	})
	if err != nil {
		t.Fatal(err)
	}
	(&sight{seen}).wants(t, "", "")
	other := watch(t, e, "")
	cancel()
	ended.Store(true)
	put(t, e, "a", "after", 0, 0)
	other.until(t, "a", func(v cluster.Value) bool { return v.Key == "a" })
}

func everyCharacter(t *testing.T, e cluster.Engine) {
	revisions := map[string]uint64{}
	for _, key := range []string{"m/a.b", "m/a/b", "m/a=b", "m/a=2Eb", "m/网关", "m/*", "m/>", "m/a b", "m/A", "m/a"} {
		revisions[key] = put(t, e, key, "of "+key, 0, 0)
	}
	for key, revision := range revisions {
		wantValue(t, e, key, "of "+key, revision)
	}
	seen := watch(t, e, "m/")
	for range len(revisions) {
		v := seen.next(t)
		if revisions[v.Key] != v.Revision {
			t.Errorf("the watch shows %q at %d, want %d", v.Key, v.Revision, revisions[v.Key])
		}
		delete(revisions, v.Key)
	}
	seen.wants(t, "", "")
}

func oneWins(t *testing.T, e cluster.Engine) {
	first := put(t, e, "a", "start", 0, 0)
	var won atomic.Int32
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			_, err := e.Put(t.Context(), bucket, "a", fmt.Append(nil, i), first, 0)
			switch {
			case err == nil:
				won.Add(1)
			case !errors.Is(err, cluster.ErrConflict):
				t.Errorf("writer %d: %v", i, err)
			}
		})
	}
	all.Wait()
	if won.Load() != 1 {
		t.Errorf("%d writers won", won.Load())
	}
}
