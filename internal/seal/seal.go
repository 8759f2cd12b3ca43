// Package seal makes texts that others carry for us and can neither read nor
// change.
//
// All keys derive from one secret, a key for each use, so that gateways with the
// same secret open what any of them has sealed. A secret is changed without a
// gap: a Ring may hold several, of which the first seals and all open.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// LeastSecret is how many bytes a secret has at least.
const LeastSecret = 32

// The uses of keys.
const (
	Session = "session" // ids of sessions
	Handle  = "handle"  // requestState
	Record  = "record"  // what replicas keep where others can write
	CA      = "ca"      // the authority of the certificates between replicas
)

// NewSecret makes a secret of 256 bits.
func NewSecret() string {
	raw := make([]byte, LeastSecret)
	rand.Read(raw)
	return base64.RawURLEncoding.EncodeToString(raw)
}

// A Ring holds the secrets of a cluster.
type Ring struct {
	name    string
	secrets []string
}

// NewRing makes the ring of a cluster of that name. Another name makes other
// keys.
func NewRing(name string, secrets ...string) (*Ring, error) {
	if len(secrets) == 0 {
		return nil, i18n.Errorf("there is no secret", "没有密钥")
	}
	for _, s := range secrets {
		if len(s) < LeastSecret {
			return nil, i18n.Errorf("a secret is shorter than %d bytes: make one with mcp-all-in-one cluster secret new", "密钥少于 %d 字节：可用 mcp-all-in-one cluster secret new 生成", LeastSecret)
		}
	}
	return &Ring{name, secrets}, nil
}

// Random is a ring that nobody else has.
func Random() *Ring { return &Ring{"", []string{NewSecret()}} }

// Keys derives 32 bytes for a use from each secret, the one that seals first.
func (r *Ring) Keys(use string) [][]byte {
	keys := make([][]byte, len(r.secrets))
	for i, secret := range r.secrets {
		key, err := hkdf.Key(sha256.New, []byte(secret), []byte(r.name), "mcp-all-in-one "+use, 32)
		if err != nil {
			panic(fmt.Sprintf("seal: deriving a key: %v", err)) // only for a length that there is not
		}
		keys[i] = key
	}
	return keys
}

// idSize is the length of the id that says by which secret something was
// sealed.
const idSize = 4

// A Box seals and opens texts of one use.
type Box struct{ locks []lock }

type lock struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// Box makes the box of a use.
func (r *Ring) Box(use string) *Box {
	b := &Box{}
	ids := r.Keys("key id")
	for i, key := range r.Keys(use) {
		block, err := aes.NewCipher(key)
		if err != nil {
			panic(fmt.Sprintf("seal: making a cipher: %v", err))
		}
		aead, err := cipher.NewGCM(block)
		if err != nil {
			panic(fmt.Sprintf("seal: making an AEAD: %v", err))
		}
		b.locks = append(b.locks, lock{[idSize]byte(ids[i]), aead})
	}
	return b
}

// Seal returns plain as a text of the characters that URLs and headers take.
func (b *Box) Seal(plain []byte) string { return b.SealAs("", plain) }

// SealAs binds a name to what is sealed: it opens under that name alone.
func (b *Box) SealAs(name string, plain []byte) string {
	l := &b.locks[0]
	head := make([]byte, idSize+l.aead.NonceSize(), idSize+l.aead.NonceSize()+len(plain)+l.aead.Overhead())
	copy(head, l.id[:])
	nonce := head[idSize:]
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(l.aead.Seal(head, nonce, plain, []byte(name)))
}

// Open returns what was sealed; false for everything that was not sealed by one
// of the secrets for this use.
func (b *Box) Open(text string) ([]byte, bool) { return b.OpenAs("", text) }

// OpenAs opens what SealAs sealed under that name.
func (b *Box) OpenAs(name, text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < idSize || strings.ContainsAny(text, "\r\n") { // which a decoder skips
		return nil, false
	}
	for _, l := range b.locks {
		size := idSize + l.aead.NonceSize()
		if [idSize]byte(raw) != l.id || len(raw) < size {
			continue
		}
		if plain, err := l.aead.Open(nil, raw[idSize:size], raw[size:], []byte(name)); err == nil {
			return plain, true
		}
	}
	return nil, false
}
