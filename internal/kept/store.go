// Package kept stores results that are too large to show, for the client that got
// them, and reads parts of them.
//
// It holds the store, which is bounded and encrypted with a key that exists only
// in this process, and the ways to read a result: by lines, by a pattern, by jq.
// The origin of a result is an opaque string, by which results can be dropped.
package kept

import (
	"container/list"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
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

	mu     sync.Mutex
	ready  bool
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
	from  string
	used  time.Time
	place place
	at    *list.Element // in the share of its owner
	data  []byte        // nil on the disk
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
	s := &Store{opt: opt, aead: aead, by: make(map[string]*entry), shares: make(map[string]*share)}
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
	// From is the server that sent it; empty if unknown.
	From string
}

// Put stores a result and returns its URI.
func (s *Store) Put(owner Owner, r Result) (string, error) {
	data, raw := r.Data, make([]byte, 16)
	rand.Read(raw)
	e := &entry{id: hex.EncodeToString(raw), owner: owner, size: int64(len(data)), block: r.Block, from: r.From}
	s.mu.Lock()
	defer s.mu.Unlock()
	e.used = s.opt.Now()
	s.expire()
	var err error
	if e.size <= inMemory {
		s.toMemory(e, data)
	} else {
		err = s.toDisk(e, data)
	}
	if err != nil {
		return "", err
	}
	s.by[e.id] = e
	return Scheme + e.id + s.opt.Mark, nil
}

// toMemory puts a copy of a result into memory. What has to leave memory moves to
// the disk.
func (s *Store) toMemory(e *entry, data []byte) {
	s.makeRoom(memory, maxMemory, e, func(old *entry) {
		data := old.data
		s.take(old)
		if s.toDisk(old, data) == nil {
			old.data = nil
			return
		}
		delete(s.by, old.id)
		s.gone.add(old, displaced)
	})
	e.data = append([]byte(nil), data...)
	s.put(e, memory)
}

// toDisk puts a result on the disk. What has to leave the disk is dropped.
func (s *Store) toDisk(e *entry, data []byte) error {
	_, size := s.opt.Bounds()
	if disk.takes(e.size) > size/4 {
		return errNoRoom
	}
	s.makeRoom(disk, size, e, func(old *entry) {
		s.drop(old)
		s.gone.add(old, displaced)
	})
	if err := s.write(e, data); err != nil {
		return err
	}
	s.put(e, disk)
	return nil
}

// write encrypts a result into its file.
func (s *Store) write(e *entry, data []byte) error {
	if !s.ready {
		if err := os.MkdirAll(s.opt.Dir, 0o700); err != nil {
			return i18n.Errorf("keeping a result: %w", "保存结果失败：%w", err)
		}
		s.ready = true
	}
	nonce := make([]byte, s.aead.NonceSize())
	rand.Read(nonce)
	box := s.aead.Seal(nonce, nonce, data, []byte(e.id))
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

// Get returns a whole result of its owner.
func (s *Store) Get(owner Owner, uri string) (Result, error) {
	m := uriForm().FindStringSubmatch(uri)
	if m == nil {
		return Result{}, &GoneError{i18n.New("%.80q is not a result:// URI of this gateway", "%.80q 不是本网关的 result:// URI", uri)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expire()
	e := s.by[m[1]]
	if e == nil || e.owner != owner {
		return Result{}, s.gone.of(owner, m[1])
	}
	s.touch(e, s.opt.Now())
	if e.place == memory {
		return Result{e.data, e.block, e.from}, nil
	}
	box, err := os.ReadFile(s.file(e))
	if err != nil || len(box) < s.aead.NonceSize() {
		s.drop(e)
		return Result{}, ErrNotFound
	}
	data, err := s.aead.Open(nil, box[:s.aead.NonceSize()], box[s.aead.NonceSize():], []byte(e.id))
	if err != nil {
		s.drop(e)
		return Result{}, ErrNotFound
	}
	return Result{data, e.block, e.from}, nil
}

func (s *Store) drop(e *entry) {
	delete(s.by, e.id)
	s.take(e)
	if e.place == disk {
		os.Remove(s.file(e))
	}
}

// Forget drops the results that came, or may have come, from a server of a
// schema: those of one principal, or of all principals if owner.Principal is "".
func (s *Store) Forget(owner Owner, from string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.by {
		if e.owner.Schema == owner.Schema && (e.from == from || e.from == "") && (owner.Principal == "" || e.owner.Principal == owner.Principal) {
			s.drop(e)
			s.gone.add(e, signedOut)
		}
	}
}

// Close drops all results.
func (s *Store) Close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.by {
		s.drop(e)
	}
	if s.ready {
		os.Remove(s.opt.Dir)
	}
}
