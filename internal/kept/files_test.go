package kept

import (
	"bytes"
	"context"
	"crypto/cipher"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"mcp-all-in-one/internal/mcptest/must"
)

// aDoor is an AEAD that stops before it encrypts or decrypts a result, if that
// begins with a given text, until the test lets it go on or has ended.
type aDoor struct {
	cipher.AEAD
	test          context.Context
	text          []byte
	seals         bool // stops what is encrypted, otherwise what is decrypted
	came, through chan struct{}
}

// newDoor puts a door into a store.
func newDoor(t *testing.T, s *Store, text string, seals bool) *aDoor {
	d := &aDoor{s.aead, t.Context(), []byte(text), seals, make(chan struct{}), make(chan struct{})}
	s.aead = d
	return d
}

func (d *aDoor) stop(text []byte) {
	if bytes.HasPrefix(text, d.text) {
		select {
		case d.came <- struct{}{}:
		case <-d.test.Done():
		}
		select {
		case <-d.through:
		case <-d.test.Done():
		}
	}
}

func (d *aDoor) Seal(dst, nonce, text, id []byte) []byte {
	if d.seals {
		d.stop(text)
	}
	return d.AEAD.Seal(dst, nonce, text, id)
}

func (d *aDoor) Open(dst, nonce, box, id []byte) ([]byte, error) {
	text, err := d.AEAD.Open(dst, nonce, box, id)
	if !d.seals {
		d.stop(text)
	}
	return text, err
}

// ends waits for the end of what must succeed.
func ends(t *testing.T, what string, c <-chan error) {
	t.Helper()
	if err := must.Receive(t, what, c); err != nil {
		t.Error(err)
	}
}

// put keeps a result and returns its handle.
func put(t *testing.T, s *Store, who Owner, data []byte) string {
	t.Helper()
	uri, err := s.Put(who, Result{Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return uri
}

// leavesNoFolder checks that the folder of a closed store is gone.
func leavesNoFolder(t *testing.T, s *Store) {
	t.Helper()
	if _, err := os.Stat(s.opt.Dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("code/kept closed: the folder is there: %v", err)
	}
}

// largeOf returns a result that is kept on the disk.
func largeOf(who string) []byte { return bytes.Repeat([]byte(who+" "), inMemory) }

// TestFilesOutsideLock stops one client while its result is encrypted or decrypted.
// Others go on.
func TestFilesOutsideLock(t *testing.T) {
	for _, seals := range []bool{true, false} {
		t.Run(fmt.Sprintf("code/kept files outside the lock/write=%v", seals), func(t *testing.T) {
			s, _ := newStore(t, nil)
			bobs := put(t, s, bob, largeOf("bob"))
			var anns string
			if !seals {
				anns = put(t, s, ann, largeOf("ann"))
			}
			door := newDoor(t, s, "ann", seals)
			ended := make(chan error, 1)
			go func() {
				var err error
				if seals {
					_, err = s.Put(ann, Result{Data: largeOf("ann")})
				} else {
					_, err = s.Get(t.Context(), ann, anns)
				}
				ended <- err
			}()
			must.Receive(t, "the client is at the door", door.came)
			others := make(chan error, 1)
			go func() {
				_, err := s.Put(bob, Result{Data: []byte("small")})
				got, e := s.Get(t.Context(), bob, bobs)
				if !bytes.Equal(got.Data, largeOf("bob")) {
					e = fmt.Errorf("%d bytes came back, and %w", len(got.Data), e)
				}
				others <- errors.Join(err, e)
			}()
			ends(t, "another client puts a result and reads one", others)
			close(door.through)
			ends(t, "the client goes on", ended)
		})
	}
}

// TestDroppedMeanwhile drops a result while it is written or read. Its size is
// given back, and no file is left.
func TestDroppedMeanwhile(t *testing.T) {
	for name, drop := range map[string]func(*Store, *time.Time){
		"forgotten": func(s *Store, _ *time.Time) { s.Forget(ann, "") },
		"expired": func(s *Store, now *time.Time) {
			s.mu.Lock()
			defer s.mu.Unlock()
			*now = now.Add(2 * time.Hour)
			s.expire()
		},
	} {
		for _, seals := range []bool{true, false} {
			t.Run(fmt.Sprintf("code/kept dropped meanwhile/%s write=%v", name, seals), func(t *testing.T) {
				s, now := newStore(t, nil)
				data := largeOf("ann")
				var uri string
				if !seals {
					uri = put(t, s, ann, data)
				}
				door := newDoor(t, s, "ann", seals)
				ended := make(chan error, 1)
				go func() {
					var err error
					if seals {
						uri, err = s.Put(ann, Result{Data: data})
					} else if got, e := s.Get(t.Context(), ann, uri); !bytes.Equal(got.Data, data) {
						err = fmt.Errorf("what it was reading is gone: %w", e)
					}
					ended <- err
				}()
				must.Receive(t, "the client is at the door", door.came)
				s.mu.Lock()
				if n := s.has(ann.Principal, disk); n != disk.takes(int64(len(data))) {
					t.Errorf("%d bytes are reserved", n)
				}
				s.mu.Unlock()
				drop(s, now)
				close(door.through)
				ends(t, "the client goes on", ended)
				var gone *GoneError
				if _, err := s.Get(t.Context(), ann, uri); !errors.As(err, &gone) {
					t.Errorf("then it is %v", err)
				}
				if files, err := os.ReadDir(s.opt.Dir); len(files) > 0 || s.size[disk] > 0 || len(s.shares) > 0 || len(s.by) > 0 {
					t.Errorf("%d files, %d bytes, %d shares and %d entries are left, %v", len(files), s.size[disk], len(s.shares), len(s.by), err)
				}
			})
		}
	}
}

// TestCloseWaitsForWriting closes a store while a result is written.
func TestCloseWaitsForWriting(t *testing.T) {
	s, _ := newStore(t, nil)
	door := newDoor(t, s, "ann", true)
	ended, closed := make(chan error, 1), make(chan struct{})
	go func() {
		_, err := s.Put(ann, Result{Data: largeOf("ann")})
		ended <- err
	}()
	must.Receive(t, "the client is at the door", door.came)
	go func() {
		s.Close()
		close(closed)
	}()
	close(door.through)
	must.Receive(t, "the store is closed", closed)
	ends(t, "the result is written", ended)
	leavesNoFolder(t, s)
}

// TestClosedWhileRead closes a store while a result is read.
func TestClosedWhileRead(t *testing.T) {
	s, _ := newStore(t, nil)
	uri := put(t, s, ann, largeOf("ann"))
	door := newDoor(t, s, "ann", false)
	ended := make(chan error, 1)
	go func() {
		_, err := s.Get(t.Context(), ann, uri)
		ended <- err
	}()
	must.Receive(t, "the client is at the door", door.came)
	s.Close()
	close(door.through)
	ends(t, "the client goes on", ended)
	leavesNoFolder(t, s)
}

// TestWritingFails checks that nothing is reserved for a result that could not be
// written, and that one which had to leave memory then is gone.
func TestWritingFails(t *testing.T) {
	s, _ := newStore(t, nil)
	file := s.opt.Dir + ".file"
	must.Folder(t, s.opt.Dir)
	must.Write(t, file, "")
	s.opt.Dir = file
	if _, err := s.Put(ann, Result{Data: largeOf("ann")}); err == nil {
		t.Error("code/kept fails: a result was kept in a file's place")
	}
	first, err := s.Put(ann, Result{Data: []byte("small")})
	for range maxMemory / 4 / inMemory {
		if _, e := s.Put(ann, Result{Data: bytes.Repeat([]byte("x"), inMemory)}); e != nil {
			err = e
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	var moved *GoneError
	if _, err := s.Get(t.Context(), ann, first); !errors.As(err, &moved) {
		t.Errorf("code/kept fails: what could not be moved is %v", err)
	}
	if s.size[disk] > 0 || s.size[memory] > maxMemory/4 || len(s.by) != maxMemory/4/inMemory {
		t.Errorf("code/kept fails: it has %d bytes on the disk, %d in memory, and %d entries", s.size[disk], s.size[memory], len(s.by))
	}
}

// TestReadsInTurn lets one client read a large result many times at once. One at a
// time is in memory, and another client does not wait for them.
func TestReadsInTurn(t *testing.T) {
	s, _ := newStore(t, nil)
	anns, bobs := put(t, s, ann, largeOf("ann")), put(t, s, bob, largeOf("bob"))
	door := newDoor(t, s, "ann", false)
	const many = 50
	ended := make(chan error, many)
	for range many {
		go func() {
			_, err := s.Get(t.Context(), ann, anns)
			ended <- err
		}()
	}
	must.Receive(t, "a read is at the door", door.came)
	other := make(chan error, 1)
	go func() {
		_, err := s.Get(t.Context(), bob, bobs)
		other <- err
	}()
	ends(t, "another client reads", other)
	for i := range many {
		select {
		case <-door.came:
			t.Fatal("code/kept reads in turn: another read of the client is in memory")
		case door.through <- struct{}{}:
		}
		ends(t, "a read ends", ended)
		if i < many-1 {
			must.Receive(t, "the next read is at the door", door.came)
		}
	}
}

// TestBoundsHold lets several clients put and read results at once. At no time do
// they have more than their shares, and the files at the end are those of the
// results that are kept.
func TestBoundsHold(t *testing.T) {
	s, _ := newStore(t, nil)
	var all sync.WaitGroup
	for i := range 6 {
		all.Go(func() {
			owner := Owner{Principal: fmt.Sprint("key:", i/2), Schema: "default"}
			for n := range 200 {
				uri, err := s.Put(owner, Result{Data: make([]byte, inMemory*(n%7)/3)})
				if err != nil {
					t.Error(err)
				}
				if _, err := s.Get(t.Context(), owner, uri); err != nil && !errors.Is(err, ErrNotFound) {
					t.Error(err)
				}
				if n%100 == 99 {
					s.Forget(owner, "")
				}
				s.mu.Lock()
				if s.size[memory] > maxMemory || s.size[disk] > maxDisk || s.has(owner.Principal, memory) > maxMemory/4 || s.has(owner.Principal, disk) > maxDisk/4 {
					t.Errorf("code/kept bounds: all have %d, %s has %d and %d", s.size, owner.Principal, s.has(owner.Principal, memory), s.has(owner.Principal, disk))
				}
				s.mu.Unlock()
			}
			if _, err := s.Put(owner, Result{Data: largeOf("last")}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	files, err := os.ReadDir(s.opt.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var size int64
	for _, f := range files {
		if e := s.by[f.Name()]; e != nil && e.place == disk && e.data == nil {
			size += disk.takes(e.size)
		} else {
			t.Errorf("code/kept bounds: the file %s is left", f.Name())
		}
	}
	if size != s.size[disk] || size == 0 {
		t.Errorf("code/kept bounds: the files have %d bytes, and %d are counted", size, s.size[disk])
	}
}
