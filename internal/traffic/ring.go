package traffic

import "bytes"

const chunkSize = 1 << 18

// byteRing keeps the last bytes that were put into it, up to a fixed size. It
// grows by one chunk at a time, so that an idle gateway uses no memory for it.
type byteRing struct {
	size   int64
	end    int64
	chunks [][]byte
}

// A span is a position and a length in a byteRing; the zero span is empty.
type span struct {
	at int64
	n  int64
}

func newByteRing(size int64) byteRing {
	size = (size + chunkSize - 1) / chunkSize * chunkSize
	return byteRing{size: size, chunks: make([][]byte, size/chunkSize)}
}

// put copies b into the ring. It truncates b to the size of the ring.
func (r *byteRing) put(b []byte) span {
	if int64(len(b)) > r.size {
		b = b[:r.size]
	}
	s := span{at: r.end, n: int64(len(b))}
	for len(b) > 0 {
		i := r.end / chunkSize % int64(len(r.chunks))
		if r.chunks[i] == nil {
			r.chunks[i] = make([]byte, chunkSize)
		}
		n := copy(r.chunks[i][r.end%chunkSize:], b)
		b = b[n:]
		r.end += int64(n)
	}
	return s
}

// has reports whether s has not been overwritten.
func (r *byteRing) has(s span) bool { return s.at+s.n <= r.end && s.at >= r.end-r.size }

// piece returns the part of s in its first chunk.
func (r *byteRing) piece(s span) []byte {
	chunk := r.chunks[s.at/chunkSize%int64(len(r.chunks))][s.at%chunkSize:]
	return chunk[:min(int64(len(chunk)), s.n)]
}

// get appends the bytes of s to dst; ok is false if they have been overwritten.
func (r *byteRing) get(dst []byte, s span) (out []byte, ok bool) {
	if !r.has(s) {
		return dst, false
	}
	for s.n > 0 {
		p := r.piece(s)
		dst = append(dst, p...)
		s.at, s.n = s.at+int64(len(p)), s.n-int64(len(p))
	}
	return dst, true
}

// holds reports whether the ring has b at the given position.
func (r *byteRing) holds(at int64, b []byte) bool {
	s := span{at, int64(len(b))}
	if at < 0 || !r.has(s) {
		return false
	}
	p := r.piece(s)
	return len(p) == len(b) && bytes.Equal(p, b)
}

// drop releases all memory. Existing spans read as overwritten.
func (r *byteRing) drop() {
	clear(r.chunks)
	r.end = (r.end/r.size + 2) * r.size
}
