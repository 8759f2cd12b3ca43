package traffic

// A table assigns a number to each value that entries have in common, and drops
// the value with the last entry that refers to it. Entries therefore have no
// pointers: the garbage collector does not scan them, and writing one needs no
// write barrier. The zero value of K has number 0 and is never dropped.
type table[K comparable, D any] struct {
	numbers map[K]uint32
	rows    []row[K, D]
	free    []uint32
	// lately holds recent numbers by hint. Checking it first saves most entries
	// from hashing several strings.
	lately [256]uint32
}

type row[K comparable, D any] struct {
	key  K
	refs uint32
	// data belongs to the key and is dropped with it.
	data D
}

func newTable[K comparable, D any]() table[K, D] {
	return table[K, D]{numbers: make(map[K]uint32), rows: make([]row[K, D], 1)}
}

// hold adds a reference to a key and returns its number; 0 means that the key
// must be added.
func (t *table[K, D]) hold(k K, hint uint8) uint32 {
	n := t.lately[hint]
	if r := &t.rows[n]; r.refs == 0 || r.key != k {
		n = t.numbers[k]
		t.lately[hint] = n
	}
	t.rows[n].refs++
	return n
}

// share adds a reference to a number.
func (t *table[K, D]) share(n uint32) uint32 {
	t.rows[n].refs++
	return n
}

// add adds a new key with one reference.
func (t *table[K, D]) add(k K, d D) uint32 {
	n := uint32(len(t.rows))
	if last := len(t.free) - 1; last >= 0 {
		n, t.free = t.free[last], t.free[:last]
	} else {
		t.rows = append(t.rows, row[K, D]{})
	}
	t.rows[n] = row[K, D]{k, 1, d}
	t.numbers[k] = n
	return n
}

// release removes a reference. The last one drops the key.
func (t *table[K, D]) release(n uint32) {
	if n == 0 {
		return
	}
	r := &t.rows[n]
	r.refs--
	if r.refs > 0 {
		return
	}
	delete(t.numbers, r.key)
	*r = row[K, D]{}
	t.free = append(t.free, n)
}

// hint returns a cheap hash of a few bytes of s.
func hint(s string) uint8 {
	if len(s) < 4 {
		return uint8(len(s))
	}
	end := s[len(s)-4:]
	return uint8(len(s))*31 + end[0]*7 + end[1]*17 + end[2]*5 + end[3]*3
}
