package jsonrpc

import (
	"bytes"
	"hash/maphash"
)

// A keySet holds the keys of all objects that are open, innermost last. Keys
// of one object lie side by side because the keys of what it contains are
// gone by the time its next key comes.
type keySet struct {
	keys []keySpan
	// text holds keys that had to be unescaped.
	text []byte
	// table holds one open-addressing hash table per large object, with
	// indices into its keys, plus one.
	table []uint32
}

// A keySpan is where a key stands: in the message, or in text when escaped.
type keySpan struct {
	start, end uint32
	escaped    bool
}

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
	if i >= len(s.data) || s.data[i] != '"' {
		return s.syntax(i, "expected a key"), nil
	}
	end, escaped := s.str(i + 1)
	if end < 0 {
		return -1, nil
	}
	span := keySpan{start: uint32(i + 1), end: uint32(end - 1), escaped: escaped}
	if escaped {
		span.start = uint32(len(s.text))
		s.text = appendUnescaped(s.text, s.data[i+1:end-1])
		span.end = uint32(len(s.text))
	}
	key := s.keyBytes(span)
	if s.checkKeys {
		s.add(span, key)
	}
	if end = s.space(end); end >= len(s.data) || s.data[end] != ':' {
		return s.syntax(end, "expected :"), nil
	}
	return end + 1, key
}

func (s *scanner) keyBytes(k keySpan) []byte {
	if k.escaped {
		return s.text[k.start:k.end]
	}
	return s.data[k.start:k.end]
}

// add takes a key into the innermost object and complains if it is there.
func (s *scanner) add(span keySpan, key []byte) {
	f := &s.frames[len(s.frames)-1]
	own := s.keys[f.keys:]
	if len(own) >= s.lim.Keys {
		s.complain(CodeInvalidRequest, "object of more than %d keys", s.lim.Keys)
		s.checkKeys = false
		return
	}
	var twice bool
	if len(own) < smallObject {
		twice = s.addSmall(f, own, key)
	} else {
		twice = s.addLarge(f, own, key)
	}
	if twice {
		s.complain(CodeInvalidRequest, "duplicate key %s", Quote(clip(string(key), 64)))
		return
	}
	s.keys = append(s.keys, span)
}

// addSmall looks for key one by one, and only if the filter does not rule
// it out.
func (s *scanner) addSmall(f *frame, own []keySpan, key []byte) bool {
	bit := uint64(1)
	if n := len(key); n > 0 {
		bit = 1 << ((uint(key[0])*7 + uint(key[n-1])*31 + uint(key[n/2])*5 + uint(n)) & 63)
	}
	if f.seen&bit == 0 {
		f.seen |= bit
		return false
	}
	for _, k := range own {
		if bytes.Equal(s.keyBytes(k), key) {
			return true
		}
	}
	return false
}

// addLarge looks for key in the hash table of the object. The hash is seeded:
// nobody outside can choose keys that collide.
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
