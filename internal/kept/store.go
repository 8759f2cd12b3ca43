// Package kept stores results that are too large to show, for the client that got
// them, and reads parts of them.
//
// It holds the store, which is bounded and encrypted with a key that exists only
// in this process, and the ways to read a result: by lines, by a pattern, by jq.
// The origin of a result is an opaque string, by which results can be dropped.
package kept

import (
	"container/list"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Scheme is the prefix of the URI of a kept result.
const Scheme = "result://"

// Form matches the URI of a kept result in a text, with its mark if it has one.
const Form = Scheme + idForm + `(?:~[\w-]+\.[\w-]+)?`

const idForm = `[0-9a-f]{32}`

// Options configures a Store.
type Options struct {
	// Dir is the folder for results that do not fit in memory. It is created when
	// the first one is written.
	Dir string
	// Mark is added to the id in every URI. Get takes URIs without it.
	Mark string
	// Bounds returns how long a result is kept after it was last read, and the
	// maximum size on disk, of which one principal may use a quarter. The values
	// may change.
	Bounds func() (keep time.Duration, disk int64)
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

const (
	inMemory  = 64 << 10 // larger results are on the disk from the beginning
	maxMemory = 8 << 20  // of which one principal may use a quarter
)

// An Owner identifies the owner of a result. For others the result does not
// exist.
type Owner struct {
	Principal, Schema string
	Rights            string // access.Principal.Rights
}

// A Store keeps results. Its methods may be called concurrently.
type Store struct {
	opt  Options
	aead cipher.AEAD

	// Files are read and written in turn, without mu. Each is in memory as a whole.
	// One is written at a time, so what has to make room for it is complete.
	reading, writing *Turns

	ready bool // the folder exists; used in the turn to write

	mu     sync.Mutex
	by     map[string]*entry
	shares map[string]*share // by principal; none is empty
	size   [places]int64     // of all shares
	gone   gone
}

type entry struct {
	id    string
	owner Owner
	size  int64
	block bool
	from  []string
	used  time.Time
	place place
	at    *list.Element // in the share of its owner
	data  []byte        // nil on the disk, once it is written
	open  int           // how many read or write its file
}

// NewStore returns an empty store, and removes what earlier processes left. It
// writes nothing before the first result.
func NewStore(opt Options) *Store {
	if opt.Now == nil {
		opt.Now = time.Now
	}
	key := make([]byte, 32)
	rand.Read(key)
	block, err := aes.NewCipher(key)
	if err != nil {
		panic(fmt.Sprintf("kept: making a cipher: %v", err))
	}
	aead, err := cipher.NewGCM(block)
	if err != nil {
		panic(fmt.Sprintf("kept: making an AEAD: %v", err))
	}
	s := &Store{opt: opt, aead: aead, reading: NewTurns(2, math.MaxInt), writing: NewTurns(1, math.MaxInt), by: make(map[string]*entry), shares: make(map[string]*share)}
	s.clear()
	return s
}

// ErrNotFound means that a result does not exist or belongs to another owner.
var ErrNotFound = i18n.Errorf("no such result: it has expired or belongs to another user; call the tool again", "没有该结果：已过期或不属于当前用户；请重新调用工具")

var errNoRoom = i18n.Errorf("the result is larger than what may be kept", "结果超过可保存的大小")

// A Result is a kept text or content block.
type Result struct {
	Data  []byte
	Block bool
	// From are the servers that it came from; none if unknown.
	From []string
}

// Put stores a result and returns its URI.
func (s *Store) Put(owner Owner, r Result) (string, error) {
	raw := make([]byte, 16)
	rand.Read(raw)
	e := &entry{id: hex.EncodeToString(raw), owner: owner, size: int64(len(r.Data)), block: r.Block, from: r.From}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	if e.size > inMemory || s.inTheWay(memory, maxMemory, e) != nil {
		s.mu.Unlock()
		leave, err := s.writing.Enter(context.Background(), owner.Principal, nil)
		s.mu.Lock()
		if err != nil {
			return "", err
		}
		defer leave()
		s.expire()
	}
	e.used = s.opt.Now()
	if e.size > inMemory {
		e.data = r.Data
		if err := s.toDisk(e); err != nil {
			return "", err
		}
	} else {
		s.toMemory(e, r.Data)
	}
	return Scheme + e.id + s.opt.Mark, nil
}

// toMemory puts a copy of a result into memory. What has to leave memory moves to
// the disk, for which the caller has the turn to write.
func (s *Store) toMemory(e *entry, data []byte) {
	for old := s.inTheWay(memory, maxMemory, e); old != nil; old = s.inTheWay(memory, maxMemory, e) {
		s.take(old)
		if s.toDisk(old) != nil {
			delete(s.by, old.id)
			s.gone.add(old, displaced)
		}
	}
	e.data = append([]byte{}, data...) // not nil
	s.put(e, memory)
	s.by[e.id] = e
}

// toDisk moves the data of a result to the disk. What has to leave the disk is
// dropped. The caller has the turn to write, and mu, which is unlocked while the
// file is written: until then the data is read from memory.
func (s *Store) toDisk(e *entry) error {
	_, size := s.opt.Bounds()
	if disk.takes(e.size) > size/4 {
		return errNoRoom
	}
	for old := s.inTheWay(disk, size, e); old != nil; old = s.inTheWay(disk, size, e) {
		s.drop(old)
		s.gone.add(old, displaced)
	}
	s.put(e, disk)
	s.by[e.id] = e
	err := s.outside(e, func() error { return s.write(e) })
	e.data = nil
	if err != nil && s.by[e.id] == e {
		s.drop(e)
	}
	return err
}

// outside unlocks mu while use reads or writes the file of a result. If the result
// is dropped meanwhile, the last use removes the file.
func (s *Store) outside(e *entry, use func() error) error {
	e.open++
	s.mu.Unlock()
	err := use()
	s.mu.Lock()
	if e.open--; e.open == 0 && s.by[e.id] != e {
		os.Remove(s.file(e))
	}
	return err
}

// write encrypts a result into its file.
func (s *Store) write(e *entry) error {
	if !s.ready {
		if err := os.MkdirAll(s.opt.Dir, 0o700); err != nil {
			return i18n.Errorf("keeping a result: %w", "保存结果失败：%w", err)
		}
		s.ready = true
	}
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	box := s.aead.Seal(nonce, nonce, e.data, []byte(e.id))
	if err := os.WriteFile(s.file(e), box, 0o600); err != nil {
		os.Remove(s.file(e))
		return i18n.Errorf("keeping a result: %w", "保存结果失败：%w", err)
	}
	return nil
}

// clear removes the folders of processes that have ended: their keys are lost, so
// their data is unreadable. Each folder is named after the id of its process.
func (s *Store) clear() {
	all := filepath.Dir(s.opt.Dir)
	list, err := os.ReadDir(all)
	if err != nil {
		return // it does not exist yet
	}
	for _, d := range list {
		pid, err := strconv.Atoi(d.Name())
		if err != nil || filepath.Join(all, d.Name()) != s.opt.Dir && alive(pid) {
			continue
		}
		os.RemoveAll(filepath.Join(all, d.Name()))
	}
}

// alive reports whether a process is running. On Windows it returns true for
// every process that exists.
func alive(pid int) bool {
	p, err := os.FindProcess(pid)
	if err != nil {
		return false
	}
	defer p.Release()
	return runtime.GOOS == "windows" || !errors.Is(p.Signal(syscall.Signal(0)), os.ErrProcessDone)
}

func (s *Store) file(e *entry) string { return filepath.Join(s.opt.Dir, e.id) }

// uriForm also matches ids with a forged mark, which are unknown like any other.
var uriForm = lazy.Regexp(`^` + Scheme + `(` + idForm + `(?:~[\w.-]*)?)$`)

// Get returns a whole result of its owner. One that is on the disk is read in turn.
func (s *Store) Get(ctx context.Context, owner Owner, uri string) (Result, error) {
	m := uriForm().FindStringSubmatch(uri)
	if m == nil {
		return Result{}, &GoneError{i18n.New("%.80q is not a result:// URI of this gateway", "%.80q 不是本网关的 result:// URI", uri)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	e, err := s.find(owner, m[1])
	if err == nil && e.data == nil {
		s.mu.Unlock()
		var leave func()
		leave, err = s.reading.Enter(ctx, owner.Principal, nil)
		s.mu.Lock()
		if err != nil {
			return Result{}, err
		}
		defer leave()
		e, err = s.find(owner, m[1])
	}
	if err != nil {
		return Result{}, err
	}
	data := e.data
	if data == nil {
		err = s.outside(e, func() (err error) {
			data, err = s.read(e)
			return err
		})
	}
	if err == nil {
		return Result{data, e.block, e.from}, nil
	}
	if s.by[e.id] == e {
		s.drop(e)
	}
	return Result{}, s.gone.of(owner, e.id)
}

// find returns the entry of an owner's result, which is now the last that was read.
func (s *Store) find(owner Owner, id string) (*entry, error) {
	s.expire()
	e := s.by[id]
	if e == nil || e.owner != owner {
		return nil, s.gone.of(owner, id)
	}
	s.touch(e, s.opt.Now())
	return e, nil
}

// read decrypts the file of a result.
func (s *Store) read(e *entry) ([]byte, error) {
	box, err := os.ReadFile(s.file(e))
	if err != nil {
		return nil, err
	}
	nonce := s.aead.NonceSize()
	if len(box) < nonce {
		return nil, io.ErrUnexpectedEOF
	}
	return s.aead.Open(box[nonce:nonce], box[:nonce], box[nonce:], []byte(e.id)) // in place: it may be large
}

// drop removes a result, and its file unless that is in use: see outside.
func (s *Store) drop(e *entry) {
	delete(s.by, e.id)
	s.take(e)
	if e.place == disk && e.open == 0 {
		os.Remove(s.file(e))
	}
}

// Forget drops the results that came, or may have come, from a server of a
// schema: those of one principal, or of all principals if owner.Principal is "".
func (s *Store) Forget(owner Owner, from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.by {
		if e.owner.Schema == owner.Schema && (len(e.from) == 0 || slices.Contains(e.from, from)) && (owner.Principal == "" || e.owner.Principal == owner.Principal) {
			s.drop(e)
			s.gone.add(e, signedOut)
		}
	}
}

// Close drops all results, once none is being written.
func (s *Store) Close() {
	if leave, err := s.writing.Enter(context.Background(), "", nil); err == nil {
		defer leave()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.by {
		s.drop(e)
	}
	if s.ready {
		os.RemoveAll(s.opt.Dir) // also what is being read
	}
}
