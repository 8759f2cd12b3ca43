package traffic

// A table gives a number to each value that entries have in common, and forgets
// the value with the last entry that has it. Entries so have no pointers: the
// collector does not look at them, and writing one costs no barrier. The zero
// value of K is number 0 and is never forgotten.
type table[K comparable, D any] struct {
	numbers map[K]uint32
	rows    []row[K, D]
	free    []uint32
	// lately has numbers by a hint of theirs: looking here first spares most
	// entries the hashes of several texts.
	lately [256]uint32
}

type row[K comparable, D any] struct {
	key  K
	refs uint32
	// data is what is known about the key as long as it is.
	data D
}

func newTable[K comparable, D any]() table[K, D] {
	return table[K, D]{numbers: make(map[K]uint32), rows: make([]row[K, D], 1)}
}

// hold counts one more entry with a key; 0 says that the key must be added.
func (t *table[K, D]) hold(k K, hint uint8) uint32 {
	n := t.lately[hint]
	if r := &t.rows[n]; r.refs == 0 || r.key != k {
		n = t.numbers[k]
		t.lately[hint] = n
	}
	t.rows[n].refs++
	return n
}

// share counts one more entry with the number of another.
func (t *table[K, D]) share(n uint32) uint32 {
	t.rows[n].refs++
	return n
}

// add keeps a key that was not there, for one entry.
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

// release forgets a key with its last entry.
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

// hint is a number that differs for most texts: that of a few of their bytes.
func hint(s string) uint8 {
	if len(s) < 4 {
		return uint8(len(s))
	}
	end := s[len(s)-4:]
	return uint8(len(s))*31 + end[0]*7 + end[1]*17 + end[2]*5 + end[3]*3
}
