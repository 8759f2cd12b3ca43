package wire

import "bytes"

// readPlain reads the head of a plain answer and returns the length of its
// body. It is 0, and nothing has been taken, where the answer is another one.
func (in *clientBuffer) readPlain(limit int, last *shortHead) (int64, error) {
	head, err := in.takeHead(limit)
	if err != nil {
		return 0, err
	}
	length := max(last.read(head), 0)
	if length == 0 {
		in.at -= len(head)
	}
	return length, nil
}

// eventStream stands for the length of an answer that is one.
const eventStream = -1

// A shortHead is the last one on a connection of those that are read here: most
// differ from it in the length at most.
type shortHead struct {
	raw      []byte
	from, to int // where the digits of the length stand; both are 0 for a stream
}

// read returns the length of a plain answer, eventStream for one in chunks, 0 for
// another one.
func (h *shortHead) read(head []byte) int64 {
	if length := h.again(head); length != 0 {
		return length
	}
	length, at := shortAnswer(head)
	if length != 0 {
		h.raw, h.from, h.to = append(h.raw[:0], head...), at, at
		for at > 0 && isDigit(head[h.to]) {
			h.to++
		}
	}
	return length
}

func (h *shortHead) again(head []byte) int64 {
	if len(h.raw) == 0 || len(head) < h.from || !bytes.Equal(head[:h.from], h.raw[:h.from]) {
		return 0
	}
	to := h.from
	for h.to > 0 && to < len(head) && isDigit(head[to]) {
		to++
	}
	switch {
	case !bytes.Equal(head[to:], h.raw[h.to:]):
		return 0
	case h.to == 0:
		return eventStream
	}
	return plainLength(head[h.from:to])
}

// shortAnswer recognises the head of an answer of 200 on a connection that is
// kept: JSON of a known length, as it is, or an event stream in chunks. What
// parseAnswer would refuse is none. It returns the length and where that stands,
// 0 for another one.
func shortAnswer(head []byte) (length int64, at int) {
	line, fields := cutText(head)
	const ok200 = "HTTP/1.1 200"
	if len(line) < len(ok200) || string(line[:len(ok200)]) != ok200 || len(line) > len(ok200) && line[len(ok200)] != ' ' || !isFieldText(line) {
		return 0, 0
	}
	kind, chunked, trailer := "", false, false
	for {
		begin := len(head) - len(fields)
		if line, fields = cutText(fields); len(line) == 0 {
			break
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
			if kind != "" {
				return 0, 0
			}
			if kind = shortKind(value); kind == "" {
				return 0, 0
			}
		case isFold(name, "connection"):
			if !isFold(value, "keep-alive") {
				return 0, 0
			}
		case isFold(name, "transfer-encoding"):
			if chunked || !isFold(value, "chunked") {
				return 0, 0
			}
			chunked = true
		case isFold(name, "trailer"):
			trailer = true
		case isFold(name, "content-encoding"):
			return 0, 0
		}
	}
	switch {
	case kind == "application/json" && !chunked:
		return length, at
	case kind == "text/event-stream" && chunked && length == 0 && !trailer:
		return eventStream, 0
	}
	return 0, 0
}

// shortKind is the type of an answer that is read here; empty for another one.
func shortKind(value []byte) string {
	value, _, _ = bytes.Cut(value, []byte(";"))
	value = bytes.TrimRight(value, " \t")
	for _, kind := range [...]string{"application/json", "text/event-stream"} {
		if isFold(value, kind) {
			return kind
		}
	}
	return ""
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
