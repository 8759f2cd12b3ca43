// Package digest hashes named lists of texts so that no two lists collide.
package digest

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
)

// Hash hashes named lists of texts so that no two lists collide.
type Hash struct{ h hash.Hash }

func New() *Hash { return &Hash{sha256.New()} }

func (f *Hash) Add(name string, values ...string) {
	fmt.Fprintf(f.h, "%s %d\n", name, len(values))
	for _, v := range values {
		fmt.Fprintf(f.h, "%d:%s\n", len(v), v)
	}
}

func (f *Hash) Sum() string { return hex.EncodeToString(f.h.Sum(nil)) }
