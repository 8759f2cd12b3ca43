package wire

import "bytes"

// readPlain reads the head of a plain answer and returns the length of its
// body. It is 0, and nothing has been taken, where the answer is another one.
func (in *clientBuffer) readPlain(limit int, last *plainHead) (int64, error) {
	head, err := in.takeHead(limit)
	if err != nil {
		return 0, err
	}
	length := last.read(head)
	if length == 0 {
		in.at -= len(head)
	}
	return length, nil
}

// wholePlain returns the length of a plain answer of which all is here, and takes
// its head; 0, and nothing has been taken, for another one.
func (in *clientBuffer) wholePlain(last *plainHead) int64 {
	n := headEnd(in.buf)
	if n < 4 {
		return 0
	}
	length := last.read(in.buf[:n])
	if length == 0 || int64(len(in.buf)-n) != length {
		return 0
	}
	in.at = n
	return length
}

// A plainHead is the last one of its kind on a connection: most differ from it
// in the length at most.
type plainHead struct {
	raw      []byte
	from, to int // where the digits of the length stand
}

// read returns the length of a plain answer, 0 for another one.
func (h *plainHead) read(head []byte) int64 {
	if length := h.again(head); length > 0 {
		return length
	}
	length, at := plainAnswer(head)
	if length > 0 {
		h.raw, h.from, h.to = append(h.raw[:0], head...), at, at
		for isDigit(head[h.to]) {
			h.to++
		}
	}
	return length
}

func (h *plainHead) again(head []byte) int64 {
	if h.to == 0 || len(head) < h.from || !bytes.Equal(head[:h.from], h.raw[:h.from]) {
		return 0
	}
	to := h.from
	for to < len(head) && isDigit(head[to]) {
		to++
	}
	if !bytes.Equal(head[to:], h.raw[h.to:]) {
		return 0
	}
	return plainLength(head[h.from:to])
}

// plainAnswer recognises the head of an answer of 200 that is JSON of a known
// length, as it is, on a connection that is kept. What parseAnswer would refuse
// is none. It returns the length and where that stands, 0 for another one.
func plainAnswer(head []byte) (length int64, at int) {
	line, fields := cutText(head)
	const ok200 = "HTTP/1.1 200"
	if len(line) < len(ok200) || string(line[:len(ok200)]) != ok200 || len(line) > len(ok200) && line[len(ok200)] != ' ' || !isFieldText(line) {
		return 0, 0
	}
	json := false
	for {
		begin := len(head) - len(fields)
		if line, fields = cutText(fields); len(line) == 0 {
			if !json {
				return 0, 0
			}
			return length, at
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		if !found || !isToken(name) || !isFieldText(value) {
			return 0, 0
		}
		switch {
		case isFold(name, "content-length"):
			if length != 0 {
				return 0, 0
			}
			if length = plainLength(value); length == 0 {
				return 0, 0
			}
			at = begin + bytes.LastIndex(line, value)
		case isFold(name, "content-type"):
			kind, _, _ := bytes.Cut(value, []byte(";"))
			if json || !isFold(bytes.TrimRight(kind, " \t"), "application/json") {
				return 0, 0
			}
			json = true
		case isFold(name, "connection"):
			if !isFold(value, "keep-alive") {
				return 0, 0
			}
		case isFold(name, "transfer-encoding"), isFold(name, "content-encoding"):
			return 0, 0
		}
	}
}

// plainLength reads a length, 0 for what is none or of unlikely size.
func plainLength(digits []byte) (n int64) {
	if len(digits) == 0 || len(digits) > 15 {
		return 0
	}
	for _, c := range digits {
		if !isDigit(c) {
			return 0
		}
		n = 10*n + int64(c-'0')
	}
	return n
}

// isFold says that b is a text of lower-case letters and dashes in any case.
func isFold(b []byte, lower string) bool {
	if len(b) != len(lower) {
		return false
	}
	for i, c := range b {
		if c != lower[i] && (c|0x20 != lower[i] || !isLetter(c)) {
			return false
		}
	}
	return true
}
