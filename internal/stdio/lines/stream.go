// Package lines frames messages as lines over pipes and other byte streams. It does
// not interpret messages; a line is bytes.
package lines

import (
	"io"
	"os"
	"sync"
	"time"
)

const (
	// DefaultMaxLine is the longest line that is read if no limit is set.
	DefaultMaxLine = 16 << 20

	// maxPending is how many bytes may be queued before Write blocks.
	maxPending = 8 << 20
	// largePart is the size from which a part is written from the caller's memory
	// instead of being copied into a block.
	largePart = 32 << 10
	// chunkSize is the size of one read; a Linux pipe of default size holds no more.
	chunkSize = 64 << 10
	// longRead is how much of a line is read at once if the last line was long:
	// writer and reader of a pipe wait for each other with every read. The data is
	// still in the cache when it is searched for the line end.
	longRead = 4 * chunkSize
	// firstChunk is the read size of a stream that has not been busy yet.
	firstChunk = 4 << 10
	// headSize is how much of a skipped line is kept to find its id in.
	headSize = 4 << 10
)

// flushWait is how long Close waits for queued messages to be written.
const flushWait = time.Second

// StreamOptions are the settings of a Stream; the zero value is usable.
type StreamOptions struct {
	// MaxLine is the longest message in bytes; DefaultMaxLine if zero.
	MaxLine int64
	// Closer is closed by Close, once, and must make a pending Read return. If it is
	// nil, the reader and the writer are closed if they are io.Closers.
	Closer io.Closer
	// Delimiter ends each message; a newline if zero. It must be a byte that compact
	// JSON does not contain: a control character.
	Delimiter byte
}

// A Stream frames messages as lines. It implements jsonrpc.Stream.
type Stream struct {
	in  lineReader
	out writeQueue

	closer    io.Closer
	closeOnce sync.Once
	closeErr  error
	closed    chan struct{}
}

// NewStream returns a Stream that reads from r and writes to w.
func NewStream(r io.Reader, w io.Writer, opt StreamOptions) *Stream {
	if opt.MaxLine <= 0 {
		opt.MaxLine = DefaultMaxLine
	}
	if opt.Delimiter == 0 {
		opt.Delimiter = '\n'
	}
	if opt.Closer == nil {
		opt.Closer = bothEnds{r, w}
	}
	s := &Stream{closer: opt.Closer, closed: make(chan struct{})}
	s.in = lineReader{r: r, delim: opt.Delimiter, limit: opt.MaxLine}
	s.out.init(w, opt.Delimiter)
	return s
}

// Read returns the next message without its line end. It skips blank lines; the
// last line needs no newline. For a line over the limit it returns a
// *jsonrpc.FrameError; the next call continues after that line.
func (s *Stream) Read() (msg []byte, release func(), err error) {
	select {
	case <-s.closed:
		return nil, nil, os.ErrClosed
	default:
		return s.in.next()
	}
}

// Buffered reports whether data is buffered that Read has not returned. Only the
// goroutine that calls Read may call it.
func (s *Stream) Buffered() bool { return s.in.end > s.in.start }

// Write sends the concatenation of parts as one line. Small messages that are
// written at the same time share one system call, so a small Write may return while
// its bytes are still queued; it blocks if the queue is full. After a write has
// failed, every later Write fails.
//
// A raw line break inside the message would split it. Parts with a line break are
// compacted; if JSON does not allow the line break at that place, nothing is
// written and an error is returned.
func (s *Stream) Write(parts ...[]byte) error {
	return s.out.write(parts)
}

// CloseWrite waits a moment for queued messages, then closes the writer if it is an
// io.Closer. Reading continues.
func (s *Stream) CloseWrite() error {
	s.out.finish(flushWait)
	c, ok := s.out.w.(io.Closer)
	if !ok {
		return nil
	}
	return c.Close()
}

// Close waits a moment for queued messages, then closes both directions.
func (s *Stream) Close() error {
	s.closeOnce.Do(func() {
		s.out.finish(flushWait)
		close(s.closed)
		s.closeErr = s.closer.Close()
		s.out.wait()
	})
	return s.closeErr
}

// bothEnds closes a reader and a writer if they are io.Closers.
type bothEnds struct {
	r io.Reader
	w io.Writer
}

func (b bothEnds) Close() error {
	var err error
	if c, ok := b.w.(io.Closer); ok {
		err = c.Close()
	}
	if any(b.r) == any(b.w) {
		return err
	}
	if c, ok := b.r.(io.Closer); ok {
		if rerr := c.Close(); err == nil {
			err = rerr
		}
	}
	return err
}
