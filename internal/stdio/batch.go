package stdio

import "sync"

// blocks are what small messages are copied into once more than one block of
// them waits.
var blocks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A batch is messages to be written together: small parts copied one behind
// the other, large ones where they stand. Blocks are not moved when more
// comes, so a long queue is copied once.
type batch struct {
	bufs   [][]byte
	small  []byte // the block that small parts are appended to
	cut    int    // small[:cut] is in bufs
	first  []byte // a block of our own, kept; it grows as needed
	pooled []*[chunkSize]byte
	size   int
	left   [][]byte // of bufs, not written yet
}

func (b *batch) add(parts [][]byte, delim byte) {
	for _, p := range parts {
		b.size += len(p)
		if len(p) >= largePart {
			b.closeSmall()
			b.bufs = append(b.bufs, p)
			continue
		}
		b.room(len(p))
		b.small = append(b.small, p...)
	}
	b.room(1)
	b.small = append(b.small, delim)
	b.size++
}

// room makes sure that n more bytes do not make small larger than a block.
func (b *batch) room(n int) {
	if len(b.small)+n <= chunkSize {
		return
	}
	b.closeSmall()
	if len(b.pooled) == 0 {
		b.first = b.small
	}
	block := blocks.Get().(*[chunkSize]byte)
	b.pooled = append(b.pooled, block)
	b.small, b.cut = block[:0], 0
}

// closeSmall puts the small parts so far into bufs. They stay where they are
// when small is moved later on.
func (b *batch) closeSmall() {
	if b.cut < len(b.small) {
		b.bufs = append(b.bufs, b.small[b.cut:len(b.small):len(b.small)])
		b.cut = len(b.small)
	}
}

// vector is what is left to be written; the writer drops what it has written.
func (b *batch) vector() *[][]byte {
	b.closeSmall()
	b.left = b.bufs
	return &b.left
}

// reset empties the batch for its next use.
func (b *batch) reset() {
	first := b.first
	if len(b.pooled) == 0 {
		first = b.small
	}
	for _, block := range b.pooled {
		blocks.Put(block)
	}
	clear(b.pooled)
	clear(b.bufs)
	*b = batch{bufs: b.bufs[:0], small: first[:0], pooled: b.pooled[:0]}
}
