// Package watch reports the end of a stream of messages.
package watch

import (
	"errors"

	"mcp-all-in-one/internal/jsonrpc"
)

// A Stream closes Ended when there is nothing more to read.
type Stream struct {
	jsonrpc.Stream
	Ended chan struct{}
	Err   error // why it ended; read after Ended
}

// New returns a Stream that reads from s.
func New(s jsonrpc.Stream) *Stream { return &Stream{Stream: s, Ended: make(chan struct{})} }

// Unwrap returns the underlying stream.
func (w *Stream) Unwrap() jsonrpc.Stream { return w.Stream }

// Read is called by one goroutine, and not again after it failed.
func (w *Stream) Read() ([]byte, func(), error) {
	msg, release, err := w.Stream.Read()
	if err == nil {
		return msg, release, nil
	}
	if _, goesOn := errors.AsType[*jsonrpc.FrameError](err); !goesOn {
		w.Err = err
		close(w.Ended)
	}
	return msg, release, err
}
