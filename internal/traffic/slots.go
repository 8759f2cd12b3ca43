package traffic

// slotBlock is how many slots are made at a time.
const slotBlock = 128

// slots have a place for each of the last numbers. They are made a block at a
// time: a gateway that nobody uses pays nothing for what it could remember, nor
// for the garbage that the collector allows beside it.
type slots[T any] struct {
	size   uint64
	blocks [][]T
}

func newSlots[T any](size int) slots[T] {
	return slots[T]{size: uint64(size), blocks: make([][]T, (size+slotBlock-1)/slotBlock)}
}

// at is the place of a number.
func (s *slots[T]) at(number uint64) *T {
	i := number % s.size
	block := &s.blocks[i/slotBlock]
	if *block == nil {
		*block = make([]T, min(slotBlock, s.size-i/slotBlock*slotBlock))
	}
	return &(*block)[i%slotBlock]
}
