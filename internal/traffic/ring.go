package traffic

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

func newByteRing(size int64) *byteRing {
	size = (size + chunkSize - 1) / chunkSize * chunkSize
	return &byteRing{size: size, chunks: make([][]byte, size/chunkSize)}
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

// get appends what s names to dst; ok is false when it has been overwritten.
func (r *byteRing) get(dst []byte, s span) (out []byte, ok bool) {
	if s.at+s.n > r.end || s.at < r.end-r.size {
		return dst, false
	}
	for at := s.at; at < s.at+s.n; {
		chunk := r.chunks[at/chunkSize%int64(len(r.chunks))][at%chunkSize:]
		chunk = chunk[:min(int64(len(chunk)), s.at+s.n-at)]
		dst = append(dst, chunk...)
		at += int64(len(chunk))
	}
	return dst, true
}

// drop gives all memory back; spans handed out so far read as overwritten.
func (r *byteRing) drop() {
	clear(r.chunks)
	r.end = (r.end/r.size + 2) * r.size
}
