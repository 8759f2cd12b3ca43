package lines

import "sync"

// blocks are the buffers for small messages once the first block of a batch is
// full.
var blocks = sync.Pool{New: func() any { return new([chunkSize]byte) }}

// A batch is a set of messages that are written together. Small parts are copied
// into blocks; large parts stay in the caller's memory. A full block is not moved
// when more parts come, so a long queue is copied only once.
type batch struct {
	bufs   [][]byte
	small  []byte // the block that small parts are appended to
	cut    int    // small[:cut] is in bufs
	first  []byte // the batch's own block, kept for reuse; it grows as needed
	pooled []*[chunkSize]byte
	size   int
	left   [][]byte // the part of bufs that is not written yet
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

// room makes sure that n more bytes fit into the current block.
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

// closeSmall adds the small parts so far to bufs. They stay in place even if small
// grows into new memory later.
func (b *batch) closeSmall() {
	if b.cut < len(b.small) {
		b.bufs = append(b.bufs, b.small[b.cut:len(b.small):len(b.small)])
		b.cut = len(b.small)
	}
}

// vector returns the buffers to write; the writer removes what it has written.
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
