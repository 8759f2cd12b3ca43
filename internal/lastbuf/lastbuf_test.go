package lastbuf

import (
	"runtime"
	"runtime/debug"
	"testing"
)

func TestLast(t *testing.T) {
	defer debug.SetGCPercent(debug.SetGCPercent(-1))
	var l Last[[1 << 20]byte]
	if l.Take() != nil {
		t.Error("something is there before anything was given")
	}
	first, second := new([1 << 20]byte), new([1 << 20]byte)
	l.Give(first)
	l.Give(second)
	if l.Take() != second {
		t.Error("it is not what was given last")
	}
	if l.Take() != nil {
		t.Error("it was taken twice")
	}
	l.Give(second)
	runtime.KeepAlive(second)
	first, second = nil, nil
	runtime.GC()
	if l.Take() != nil {
		t.Error("it is kept from the collector")
	}
}
