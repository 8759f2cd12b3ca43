package lines

import (
	"bytes"
	"errors"
	"io"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// A lineReader splits a byte stream into lines. Short lines are copied out of one
// chunk; a long line is read directly into the buffer in which it is returned.
type lineReader struct {
	r     io.Reader
	delim byte
	limit int64

	chunk      []byte
	start, end int   // unread bytes of chunk
	scanned    int   // chunk[start:scanned] has no delimiter
	hint       int   // expected size of the next long line
	err        error // why the stream ended; returned after the last line
}

func (r *lineReader) next() ([]byte, func(), error) {
	for {
		if line, next := r.found(); next > 0 {
			r.start, r.scanned = next, next
			if int64(len(line)) > r.limit {
				return nil, nil, r.tooLong(line, int64(len(line)))
			}
			if blank(line) {
				continue
			}
			msg, release := lend(line)
			return msg, release, nil
		}
		if r.err != nil {
			return r.last(r.chunk[r.start:r.end])
		}
		if r.end-r.start >= chunkSize {
			msg, release, err := r.long()
			if msg == nil && err == nil {
				continue
			}
			return msg, release, err
		}
		r.fill()
	}
}

// found returns the next line of the chunk and the position after it; zero if the
// chunk has no complete line.
func (r *lineReader) found() (line []byte, next int) {
	i := bytes.IndexByte(r.chunk[r.scanned:r.end], r.delim)
	if i < 0 {
		r.scanned = r.end
		return nil, 0
	}
	return r.trim(r.chunk[r.start : r.scanned+i]), r.scanned + i + 1
}

// fill reads more data into the chunk.
func (r *lineReader) fill() {
	room := r.room()
	r.end += r.read(room)
}

// room returns the free part of the chunk. It moves and grows the chunk as needed.
func (r *lineReader) room() []byte {
	if len(r.chunk) > chunkSize { // keep enlarged it, and that data is consumed
		unread := r.chunk[r.start:r.end]
		r.chunk = make([]byte, chunkSize)
		r.start, r.end = 0, copy(r.chunk, unread)
		r.scanned = r.end
	}
	if r.start > 0 {
		r.end = copy(r.chunk, r.chunk[r.start:r.end])
		r.start, r.scanned = 0, r.end
	}
	if r.end == len(r.chunk) {
		size := min(max(4*len(r.chunk), firstChunk), chunkSize)
		r.chunk = append(make([]byte, 0, size), r.chunk[:r.end]...)[:size]
	}
	return r.chunk[r.end:]
}

// read reads at least one byte or sets r.err.
func (r *lineReader) read(p []byte) int {
	for range 100 {
		n, err := r.r.Read(p)
		if err != nil {
			r.err = err
			return n
		}
		if n > 0 {
			return n
		}
	}
	r.err = io.ErrNoProgress
	return 0
}

// last handles an incomplete line at the end of the stream. At EOF it is a message;
// after an error it is lost.
func (r *lineReader) last(rest []byte) ([]byte, func(), error) {
	line := r.trim(rest)
	r.start, r.end, r.scanned = 0, 0, 0
	switch {
	case !errors.Is(r.err, io.EOF):
		return nil, nil, r.err
	case int64(len(line)) > r.limit:
		return nil, nil, r.tooLong(line, int64(len(line)))
	case blank(line):
		return nil, nil, r.err
	}
	msg, release := lend(line)
	return msg, release, nil
}

// long reads the rest of a line that fills the chunk, directly into the buffer in
// which it is returned. It returns neither a message nor an error if the line is
// blank.
func (r *lineReader) long() ([]byte, func(), error) {
	l := borrow(max(2*chunkSize, r.end-r.start+chunkSize, r.hint))
	size := copy(l.buf, r.chunk[r.start:r.end])
	r.start, r.end, r.scanned = 0, 0, 0
	for {
		// The byte after the limit may be a carriage return.
		if int64(size) > r.limit+1 {
			defer l.giveBack()
			return nil, nil, r.skip(l.buf[:size])
		}
		l = r.grow(l, size)
		room := l.buf[size:min(len(l.buf), max(size+chunkSize, min(r.hint, size+longRead)))]
		n := r.read(room)
		if i := bytes.IndexByte(room[:n], r.delim); i >= 0 {
			r.keep(room[i+1 : n])
			return r.whole(l, size+i)
		}
		size += n
		if errors.Is(r.err, io.EOF) {
			return r.whole(l, size)
		}
		if r.err != nil {
			l.giveBack()
			return nil, nil, r.err
		}
	}
}

// keep stores the bytes that were read after a long line. They are further lines,
// if this one is much shorter than the last.
func (r *lineReader) keep(rest []byte) {
	if len(rest) > len(r.chunk) {
		r.chunk = make([]byte, len(rest))
	}
	r.end = copy(r.chunk, rest)
}

// grow makes room for one more read after the first size bytes. Each buffer is four
// times the last one, so that the buffers given up are small in comparison; none is
// much larger than the longest line. Memory that is never written costs nothing.
func (r *lineReader) grow(l *lease, size int) *lease {
	if len(l.buf)-size >= chunkSize/2 {
		return l
	}
	larger := borrow(int(min(4*int64(len(l.buf)), max(r.limit, int64(size))+chunkSize)))
	copy(larger.buf, l.buf[:size])
	l.giveBack()
	return larger
}

// whole completes a long line and remembers its size. A server that has sent a
// megabyte usually does so again; then the first buffer is large enough.
func (r *lineReader) whole(l *lease, size int) ([]byte, func(), error) {
	line := r.trim(l.buf[:size])
	if int64(len(line)) > r.limit {
		defer l.giveBack()
		return nil, nil, r.tooLong(line, int64(len(line)))
	}
	r.hint = max(r.hint/2, min(size+chunkSize, 4<<20))
	if blank(line) {
		l.giveBack()
		return nil, nil, nil
	}
	return line, l.give, nil
}

// skip skips the rest of a line that is too long and keeps only its head.
func (r *lineReader) skip(line []byte) error {
	size := int64(len(line))
	head := bytes.Clone(line[:min(len(line), headSize)])
	for r.err == nil {
		n := r.read(r.chunk)
		i := bytes.IndexByte(r.chunk[:n], r.delim)
		if i >= 0 {
			r.start, r.scanned, r.end = i+1, i+1, n
			return r.tooLong(head, size+int64(i))
		}
		size += int64(n)
	}
	return r.tooLong(head, size)
}

func (r *lineReader) tooLong(line []byte, size int64) error {
	return &jsonrpc.FrameError{
		Size:   size,
		Head:   bytes.Clone(line[:min(len(line), headSize)]),
		Reason: i18n.New("line longer than %d bytes", "一行超过 %d 字节", r.limit),
	}
}

func (r *lineReader) trim(line []byte) []byte {
	if r.delim == '\n' {
		line = bytes.TrimSuffix(line, []byte{'\r'})
	}
	return line
}

// blank reports whether line has only white space.
func blank(line []byte) bool {
	for _, c := range line {
		switch c {
		case ' ', '\t', '\r', '\n':
		default:
			return false
		}
	}
	return true
}
