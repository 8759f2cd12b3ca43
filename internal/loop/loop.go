// Package loop waits for pipes and connections in place of the runtime, where the
// system can: a few goroutines wait for all of them, and work off what needs no
// waiting as it comes. A goroutine can wait for each of them as well.
//
// The runtime waits for files by itself, but to be woken by it costs a message of a
// hundred bytes a third of its way through a gateway.
package loop

// BufferSize is that of the memory that a loop lends to those it tells.
const BufferSize = 4 << 10

// A Listener is told that something has come.
type Listener interface {
	// Ready must not wait. last says that nothing comes behind what is there.
	Ready(l *Loop, last bool)
}

// A Turn is what a loop does between two waits. Whoever works in it may keep
// something there that ends with it.
type Turn struct {
	Work interface{ End() bool }
	// Loop is whose turn it is.
	Loop *Loop
}

func (t *Turn) end() {
	if t.Work != nil {
		t.Work.End()
	}
}
