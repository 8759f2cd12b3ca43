package wire

// A Turn is what a loop does between two waits. Whoever works in it may keep
// something there that ends with it.
type Turn struct {
	Work interface{ End() bool }
	loop *loop // nil elsewhere
}

func (t *Turn) end() {
	if t.Work != nil {
		t.Work.End()
	}
}
