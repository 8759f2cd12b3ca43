// Package seal encrypts texts that clients and other parties store for us, so that
// they can neither read nor change them.
//
// All keys derive from one secret, one key for each use, so that gateways with the
// same secret can open each other's texts. A secret can be changed without
// interruption: a Ring may hold several secrets, of which the first seals and all
// open.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// LeastSecret is the minimum length of a secret in bytes.
const LeastSecret = 32

// The uses of keys.
const (
	Session = "session" // ids of sessions
	Handle  = "handle"  // requestState
	Record  = "record"  // data that replicas store where others can write
	Login   = "login"   // cookies of the console
	CA      = "ca"      // the authority of the certificates between replicas
)

// NewSecret returns a new random secret of 256 bits.
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

// NewRing returns the ring of the cluster with that name. Other names give other
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

// Random returns a ring with a new random secret.
func Random() *Ring { return &Ring{"", []string{NewSecret()}} }

// Keys derives a key of 32 bytes for a use from each secret. The key that seals
// comes first.
func (r *Ring) Keys(use string) [][]byte {
	keys := make([][]byte, len(r.secrets))
	for i, secret := range r.secrets {
		key, err := hkdf.Key(sha256.New, []byte(secret), []byte(r.name), "mcp-all-in-one "+use, 32)
		if err != nil {
			panic(fmt.Sprintf("seal: deriving a key: %v", err)) // only if the length is invalid
		}
		keys[i] = key
	}
	return keys
}

// IDs returns an id of each secret, which reveals nothing of it and is in every
// text that it seals. The one that seals comes first.
func (r *Ring) IDs() []string {
	var list []string
	for _, key := range r.Keys(keyID) {
		list = append(list, hex.EncodeToString(key[:idSize]))
	}
	return list
}

// keyID is the use of the keys that ids are made of.
const keyID = "key id"

// idSize is the length of the id that tells which secret sealed a text.
const idSize = 4

// A Box seals and opens texts of one use.
type Box struct{ locks []lock }

type lock struct {
	id   [idSize]byte
	aead cipher.AEAD
}

// Box returns the box for a use.
func (r *Ring) Box(use string) *Box {
	b := &Box{}
	ids := r.Keys(keyID)
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

// Seal encrypts plain and encodes it with characters that are valid in URLs and
// headers.
func (b *Box) Seal(plain []byte) string { return b.SealAs("", plain) }

// SealAs binds the sealed text to a name: it can be opened only with that name.
func (b *Box) SealAs(name string, plain []byte) string {
	l := &b.locks[0]
	head := make([]byte, idSize+l.aead.NonceSize(), idSize+l.aead.NonceSize()+len(plain)+l.aead.Overhead())
	copy(head, l.id[:])
	nonce := head[idSize:]
	rand.Read(nonce)
	return base64.RawURLEncoding.EncodeToString(l.aead.Seal(head, nonce, plain, []byte(name)))
}

// Open returns the plain text. It reports false if the text was not sealed for this
// use by one of the secrets.
func (b *Box) Open(text string) ([]byte, bool) { return b.OpenAs("", text) }

// OpenAs opens a text that SealAs sealed with that name.
func (b *Box) OpenAs(name, text string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(raw) < idSize || strings.ContainsAny(text, "\r\n") { // the decoder would skip line breaks
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

// Current reports whether the secret that seals has sealed the text, and not an
// earlier one that only opens.
func (b *Box) Current(text string) bool {
	head, err := base64.RawURLEncoding.DecodeString(text[:min(len(text), 2*idSize)])
	return err == nil && len(head) >= idSize && [idSize]byte(head) == b.locks[0].id
}
