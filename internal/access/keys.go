package access

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/record"
)

// keyPrefix marks the keys of this gateway, so that the gateway can tell them
// from other tokens and scanners can find leaked ones.
const keyPrefix = "aio_"

var (
	// ErrNoKey means that the key does not exist.
	ErrNoKey = i18n.Errorf("no such key", "没有这个 API 密钥")
	// ErrKeyExists means that there is a valid key of the same name.
	ErrKeyExists = i18n.Errorf("a valid key has this name", "已有同名的有效 API 密钥")
)

// A Key describes a key. It has the hash, never the key itself.
type Key struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Hash is the SHA-256 of the key, in hexadecimal.
	Hash string `json:"hash"`
	Grant
	Created time.Time  `json:"created"`
	Expires *time.Time `json:"expires,omitempty"`
	Revoked *time.Time `json:"revoked,omitempty"`
}

// Valid reports whether the key is neither revoked nor expired at the given time.
func (k *Key) Valid(now time.Time) bool {
	return k.Revoked == nil && (k.Expires == nil || now.Before(*k.Expires))
}

func (k *Key) principal() Principal {
	p := Principal{ID: keyIDPrefix + k.ID, Name: k.Name, Grant: k.Grant}
	if k.Expires != nil {
		p.Expires = *k.Expires
	}
	return p
}

// Keys holds the keys in one file, which other processes may change at any time.
// An unreadable file has no valid keys.
type Keys struct {
	path string
	doc  record.Document // the document to write; the file is a copy of it

	looked atomic.Pointer[time.Time] // when the file was last checked

	mu     sync.Mutex
	list   []Key
	byHash map[string][]*Key // index of list
	stamp  fileStamp
	err    error
	live   map[string]*Grant // the keys that were valid at the last check, by id
	subs   map[*func(string)]struct{}
}

// OpenKeys reads the keys in a file, which need not exist yet. If docs is not
// nil, the file is this replica's copy of the shared document.
func OpenKeys(path string, docs record.Documents) (*Keys, error) {
	k := &Keys{path: path, doc: record.On(docs, record.Keys, KeyFile(path)), live: map[string]*Grant{}, subs: map[*func(string)]struct{}{}}
	return k, k.Read()
}

// KeyFile returns the file of keys at a path.
func KeyFile(path string) record.File { return record.File{Path: path, Durable: true} }

// Create creates a key and returns it in plain text, which is not stored. Valid
// keys have different names, so that a name identifies the key to revoke.
func (k *Keys) Create(name string, grant Grant, expires *time.Time) (plain string, key Key, err error) {
	if name == "" || i18n.Seen(name) != name {
		return "", Key{}, i18n.Errorf("%q is not a valid key name: it is empty or has invisible characters", "%q 不是有效的密钥名：为空或含有不可见字符", name)
	}
	var random [32]byte
	rand.Read(random[:])
	plain = keyPrefix + base64.RawURLEncoding.EncodeToString(random[:])
	key = Key{
		ID: rand.Text()[:12], Name: name, Hash: hashKey(plain), Grant: grant,
		Created: time.Now().UTC().Truncate(time.Second), Expires: expires,
	}
	err = k.change(func(list []Key) ([]Key, error) {
		if slices.ContainsFunc(list, func(other Key) bool { return other.Name == name && other.Valid(key.Created) }) {
			return nil, i18n.Errorf("%w: %q", "%w：%q", ErrKeyExists, name)
		}
		return append(list, key), nil
	})
	return plain, key, err
}

// Revoke revokes the key with this id, or the only key with this name that is not
// revoked yet.
func (k *Keys) Revoke(idOrName string) (Key, error) {
	var revoked Key
	err := k.change(func(list []Key) ([]Key, error) {
		i, err := findKey(list, idOrName)
		if err != nil {
			return nil, err
		}
		if list[i].Revoked == nil {
			now := time.Now().UTC().Truncate(time.Second)
			list[i].Revoked = &now
		}
		revoked = list[i]
		return list, nil
	})
	return revoked, err
}

func findKey(list []Key, idOrName string) (int, error) {
	if i := slices.IndexFunc(list, func(key Key) bool { return key.ID == idOrName }); i >= 0 {
		return i, nil
	}
	found := -1
	for i := range list {
		if list[i].Name != idOrName || list[i].Revoked != nil {
			continue
		}
		if found >= 0 {
			return 0, i18n.Errorf("several keys are named %q: use the id", "有多个 API 密钥名为 %q：请使用 ID", idOrName)
		}
		found = i
	}
	if found < 0 {
		return 0, i18n.Errorf("%w: %q", "%w：%q", ErrNoKey, idOrName)
	}
	return found, nil
}

// List returns all keys, including revoked ones, in the order of their creation.
func (k *Keys) List() ([]Key, error) {
	k.refresh(true)
	k.mu.Lock()
	defer k.mu.Unlock()
	return slices.Clone(k.list), k.err
}

// find returns the principal of a key in plain text; ok is false if the key is
// unknown or not valid any more.
func (k *Keys) find(plain string) (p Principal, ok bool) {
	k.refresh(false)
	presented := hashKey(plain)
	if p, ok = k.valid(presented); !ok {
		k.refresh(true) // it may have just been created
		p, ok = k.valid(presented)
	}
	return p, ok
}

// valid returns the principal of the valid key with a hash.
func (k *Keys) valid(presented string) (p Principal, ok bool) {
	now := time.Now()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, key := range k.byHash[presented] {
		if sameHash(key.Hash, presented) && key.Valid(now) {
			p, ok = key.principal(), true
		}
	}
	return p, ok
}

// hashKey returns the hash that is stored for a key.
func hashKey(plain string) string {
	hash := sha256.Sum256([]byte(plain))
	return hex.EncodeToString(hash[:])
}

// sameHash compares two hashes in constant time. All secrets are compared here.
func sameHash(a, b string) bool {
	return subtle.ConstantTimeCompare([]byte(a), []byte(b)) == 1
}
