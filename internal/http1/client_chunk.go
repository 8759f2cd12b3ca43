package http1

import (
	"bytes"
	"io"
)

const (
	maxChunkLine    = 1 << 10
	maxTrailerLines = 64
	maxExcess       = 16 << 10
)

// readChunks fills p with the data of chunks. It waits only for the first chunk.
func (b *clientBody) readChunks(p []byte) (n int, err error) {
	for {
		if b.left == 0 {
			if n > 0 && !b.chunkArrived() {
				return n, nil
			}
			if b.left, err = b.nextChunk(); err != nil {
				return n, cutOff(err)
			}
			if b.left == 0 {
				return n, b.endOfChunks()
			}
		}
		if n == len(p) {
			return n, nil
		}
		m, err := b.in.read(p[n:min(int64(len(p)), int64(n)+b.left)], false)
		n += m
		b.left -= int64(m)
		b.behind = true
		if err != nil {
			return n, cutOff(err)
		}
		if len(b.in.unread()) == 0 {
			return n, nil
		}
	}
}

// chunkArrived reports whether the next chunk can be read without waiting for its
// size line, or for the end of the trailer if it is the last chunk.
func (b *clientBody) chunkArrived() bool {
	next := bytes.TrimPrefix(b.in.unread(), []byte("\r\n"))
	if len(next) > 0 && next[0] == '0' {
		return bytes.Contains(next, []byte("\r\n\r\n"))
	}
	return bytes.IndexByte(next, '\n') >= 0
}

// nextChunk reads the line end of the last chunk and the size of the next one.
func (b *clientBody) nextChunk() (int64, error) {
	if b.behind {
		line, err := b.in.line()
		if err != nil {
			return 0, err
		}
		if len(line) > 0 {
			return 0, malformedError("a chunk longer than its size")
		}
		b.behind = false
	}
	line, err := b.in.line()
	if err != nil {
		return 0, err
	}
	digits, _, _ := bytes.Cut(bytes.TrimRight(line, " \t"), []byte(";")) // chunk extensions are ignored
	size, err := parseChunkSize(digits)
	// The rule of net/http: 16 bytes for each chunk, and twice its size.
	b.excess = max(0, b.excess+int64(len(line))+2-16-2*min(size, maxExcess))
	if err == nil && b.excess > maxExcess {
		err = malformedError("too much chunk overhead")
	}
	return size, err
}

func parseChunkSize(digits []byte) (int64, error) {
	if len(digits) == 0 || len(digits) > 15 {
		return 0, malformedError("chunk size")
	}
	var n int64
	for _, c := range digits {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, malformedError("chunk size")
		}
		n = n<<4 | int64(c)
	}
	return n, nil
}

// endOfChunks reads and drops the trailer.
func (b *clientBody) endOfChunks() error {
	for range maxTrailerLines {
		line, err := b.in.line()
		if err != nil {
			return cutOff(err)
		}
		if len(line) == 0 {
			return io.EOF
		}
		name, value, ok := bytes.Cut(line, []byte(":"))
		if !ok || !isToken(name) || !isFieldText(value) {
			return malformedError("trailer")
		}
	}
	return malformedError("trailer of too many lines")
}

// line returns one line of the chunked coding without its CRLF; any other line end
// is an error. The line is valid until the next read.
func (in *clientBuffer) line() ([]byte, error) {
	for {
		unread := in.unread()
		if i := bytes.IndexByte(unread, '\n'); i >= 0 {
			in.at += i + 1
			line, ok := bytes.CutSuffix(unread[:i], []byte("\r"))
			if !ok || bytes.IndexByte(line, '\r') >= 0 || len(line) > maxChunkLine {
				return nil, malformedError("line of a chunk")
			}
			return line, nil
		}
		if len(unread) > maxChunkLine+1 {
			return nil, malformedError("line of a chunk")
		}
		if err := in.fill(); err != nil {
			return nil, err
		}
	}
}
