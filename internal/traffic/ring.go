package traffic

import "bytes"

const chunkSize = 1 << 18

// byteRing keeps the last bytes that were put into it, up to a fixed size. It
// grows a chunk at a time, so that an idle gateway pays nothing.
type byteRing struct {
	size   int64
	end    int64
	chunks [][]byte
}

// A span is where something stands in a byteRing; the zero span is nothing.
type span struct {
	at int64
	n  int64
}

func newByteRing(size int64) byteRing {
	size = (size + chunkSize - 1) / chunkSize * chunkSize
	return byteRing{size: size, chunks: make([][]byte, size/chunkSize)}
}

// put copies b; what is larger than the ring is cut.
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

// has says whether s is there still.
func (r *byteRing) has(s span) bool { return s.at+s.n <= r.end && s.at >= r.end-r.size }

// piece is what of s stands in one chunk, from its beginning.
func (r *byteRing) piece(s span) []byte {
	chunk := r.chunks[s.at/chunkSize%int64(len(r.chunks))][s.at%chunkSize:]
	return chunk[:min(int64(len(chunk)), s.n)]
}

// get appends what s names to dst; ok is false when it has been overwritten.
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

// holds says whether b stands at a place.
func (r *byteRing) holds(at int64, b []byte) bool {
	s := span{at, int64(len(b))}
	if at < 0 || !r.has(s) {
		return false
	}
	p := r.piece(s)
	return len(p) == len(b) && bytes.Equal(p, b)
}

// drop gives all memory back; spans handed out so far read as overwritten.
func (r *byteRing) drop() {
	clear(r.chunks)
	r.end = (r.end/r.size + 2) * r.size
}
