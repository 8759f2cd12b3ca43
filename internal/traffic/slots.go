package traffic

// slotBlock is how many slots are allocated at a time.
const slotBlock = 128

// slots is a ring with a place for each of the last numbers. It is allocated in
// blocks, so that an idle gateway needs no memory for it, nor for the garbage
// that the collector allows in proportion.
type slots[T any] struct {
	size   uint64
	blocks [][]T
}

func newSlots[T any](size int) slots[T] {
	return slots[T]{size: uint64(size), blocks: make([][]T, (size+slotBlock-1)/slotBlock)}
}

// at returns the place of a number.
func (s *slots[T]) at(number uint64) *T {
	i := number % s.size
	block := &s.blocks[i/slotBlock]
	if *block == nil {
		*block = make([]T, min(slotBlock, s.size-i/slotBlock*slotBlock))
	}
	return &(*block)[i%slotBlock]
}
