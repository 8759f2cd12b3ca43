package jsonrpc

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"strings"
)

// A keySet holds the keys of all open objects, innermost last. The keys of one
// object are contiguous, because the keys of a nested object are removed before
// the next key of the outer one is read.
type keySet struct {
	keys []keySpan
	// text holds keys that had to be unescaped.
	text []byte
	// table holds one open-addressing hash table per large object, with
	// indices into its keys, plus one.
	table []uint32
}

// A keySpan is the position of a key: in the message or, if the key has
// escapes, in keySet.text; inText is then set in end. Keys with different tags
// differ.
type keySpan struct {
	tag        uint64
	start, end uint32
}

// inText marks the end of a key in keySet.text. Longer messages are refused.
const inText = 1 << 31

// smallObject is how many keys are compared one by one.
const smallObject = 16

var keySeed = maphash.MakeSeed()

func (k *keySet) reset() {
	if cap(k.keys) > keepKeys || cap(k.text) > 16*keepKeys || cap(k.table) > 4*keepKeys {
		*k = keySet{}
		return
	}
	k.keys, k.text, k.table = k.keys[:0], k.text[:0], k.table[:0]
}

// key reads a key and its colon. It returns the position after the colon, or
// -1, and the key unescaped.
func (s *scanner) key(i int) (int, []byte) {
	d := s.data
	if i >= len(d) || d[i] != '"' {
		return s.syntax(i, "expected a key"), nil
	}
	i++
	var key []byte
	var tag uint64
	end, escaped := 0, false
	if i+8 <= len(d) {
		w := binary.LittleEndian.Uint64(d[i:])
		n := bits.TrailingZeros64(stops(w)) >> 3
		if n < 8 && d[i+n] == '"' {
			key, end = d[i:i+n], i+n+1
			tag = w&(1<<(8*n)-1) | uint64(n)<<56
		}
	}
	if end == 0 {
		if end, escaped = s.str(i); end < 0 {
			return -1, nil
		}
		key = d[i : end-1]
		if escaped {
			from := len(s.text)
			s.text = AppendUnescaped(s.text, key)
			key = s.text[from:]
		}
		tag = keyTag(key)
	}
	if s.checkKeys {
		span := keySpan{tag, uint32(i), uint32(end - 1)}
		if escaped {
			span.start, span.end = uint32(len(s.text)-len(key)), uint32(len(s.text))|inText
		}
		s.add(span, key)
	}
	if end = skipSpace(d, end); end >= len(d) || d[end] != ':' {
		return s.syntax(end, "expected a colon"), nil
	}
	return end + 1, key
}

func (s *scanner) keyBytes(k keySpan) []byte {
	if k.end&inText != 0 {
		return s.text[k.start : k.end&^inText]
	}
	return s.data[k.start:k.end]
}

// keyTag returns a tag of the key. Tags of short keys are unique; tags of
// longer keys seldom collide.
func keyTag(key []byte) uint64 {
	n := len(key)
	if n >= 8 {
		head, tail := binary.LittleEndian.Uint64(key), binary.LittleEndian.Uint64(key[n-8:])
		return head ^ bits.RotateLeft64(tail, 29) ^ uint64(n)<<56
	}
	var w uint64
	for i, c := range key {
		w |= uint64(c) << (8 * i)
	}
	return w | uint64(n)<<56
}

// add records a key of the innermost object and complains about a duplicate.
func (s *scanner) add(span keySpan, key []byte) {
	f := &s.frames[len(s.frames)-1]
	switch len(s.frames) {
	case 2: // in params, or in a member that is not forwarded
		s.inner = string(key) == inner[0] || string(key) == inner[1]
		s.odd = s.odd || isVariant(key)
	case 3:
		s.odd = s.odd || s.inner && isVariant(key)
	}
	own := s.keys[f.keys:]
	if len(own) >= s.lim.Keys {
		s.complain(CodeInvalidRequest, "object of more than %d keys", s.lim.Keys)
		s.checkKeys = false
		return
	}
	var twice bool
	if len(own) < smallObject {
		twice = s.addSmall(own, span.tag, key)
	} else {
		twice = s.addLarge(f, own, key)
	}
	if twice {
		s.complain(CodeInvalidRequest, "duplicate key %s", Quote(strings.ToValidUTF8(string(key[:min(len(key), 64)]), "")))
		return
	}
	s.keys = append(s.keys, span)
}

// addSmall compares key with each key of the object.
func (s *scanner) addSmall(own []keySpan, tag uint64, key []byte) bool {
	for i := range own {
		if own[i].tag == tag && bytes.Equal(s.keyBytes(own[i]), key) {
			return true
		}
	}
	return false
}

// addLarge looks up key in the hash table of the object. The hash is seeded, so
// a client cannot choose keys that collide.
func (s *scanner) addLarge(f *frame, own []keySpan, key []byte) bool {
	if size := len(s.table) - int(f.table); 2*len(own) >= size {
		s.rehash(f, own, max(4*smallObject, 2*size))
	}
	table := s.table[f.table:]
	mask := uint64(len(table) - 1)
	h := maphash.Bytes(keySeed, key) & mask
	for ; table[h] != 0; h = (h + 1) & mask {
		if bytes.Equal(s.keyBytes(own[table[h]-1]), key) {
			return true
		}
	}
	table[h] = uint32(len(own) + 1)
	return false
}

// rehash gives the innermost object a table of the given size, a power of
// two. Its table is the last one, so it grows in place.
func (s *scanner) rehash(f *frame, own []keySpan, size int) {
	s.table = s.table[:f.table]
	for range size {
		s.table = append(s.table, 0)
	}
	table := s.table[f.table:]
	mask := uint64(size - 1)
	for n, k := range own {
		h := maphash.Bytes(keySeed, s.keyBytes(k)) & mask
		for table[h] != 0 {
			h = (h + 1) & mask
		}
		table[h] = uint32(n + 1)
	}
}
