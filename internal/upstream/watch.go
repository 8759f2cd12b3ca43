package upstream

import (
	"errors"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A watched stream closes ended when there is nothing more to read.
type watched struct {
	jsonrpc.Stream
	ended chan struct{}
	err   error // why it ended; read after ended
}

func newWatched(s jsonrpc.Stream) *watched {
	return &watched{Stream: s, ended: make(chan struct{})}
}

// Unwrap returns the underlying stream.
func (w *watched) Unwrap() jsonrpc.Stream { return w.Stream }

// Read is called by one goroutine, and not again after it failed.
func (w *watched) Read() ([]byte, func(), error) {
	msg, release, err := w.Stream.Read()
	if err != nil {
		w.failed(err)
	}
	return msg, release, err
}

func (w *watched) failed(err error) {
	var frame *jsonrpc.FrameError
	if !errors.As(err, &frame) {
		w.err = err
		close(w.ended)
	}
}

// exitWait is how long a process may take to exit after it closed its output.
const exitWait = time.Second

// watch ends the link as soon as the server's stream ends. It does not wait for open
// questions of the server, because their answers could not be delivered.
func (l *link) watch(conn *jsonrpc.Conn, stream *watched) {
	l.up.background.Go(func() {
		<-stream.ended
		conn.Close()
		err := stream.err
		if l.child != nil {
			err = i18n.Errorf("it closed its standard output", "它关闭了标准输出")
			late := time.NewTimer(exitWait)
			defer late.Stop()
			select {
			case <-l.child.Done():
				err = i18n.Errorf("%v", "%v", l.child.Exit())
			case <-late.C:
			}
		}
		l.finish(leftBy(l, err))
	})
}
