package wire

import "bytes"

// readPlain reads the head of a plain answer and returns the length of its
// body. It is 0, and nothing has been taken, where the answer is another one.
func (in *clientBuffer) readPlain(limit int) (int64, error) {
	head, err := in.takeHead(limit)
	if err != nil {
		return 0, err
	}
	length, ok := plainAnswer(head)
	if !ok {
		in.at -= len(head)
		return 0, nil
	}
	return length, nil
}

// plainAnswer recognises the head of an answer of 200 that is JSON of a known
// length, as it is, on a connection that is kept. What parseAnswer would refuse
// is none.
func plainAnswer(head []byte) (length int64, ok bool) {
	line, fields := cutText(head)
	const ok200 = "HTTP/1.1 200"
	if len(line) < len(ok200) || string(line[:len(ok200)]) != ok200 || len(line) > len(ok200) && line[len(ok200)] != ' ' || !isFieldText(line) {
		return 0, false
	}
	json := false
	for {
		if line, fields = cutText(fields); len(line) == 0 {
			return length, json && length > 0
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		value = bytes.Trim(value, " \t")
		if !found || !isToken(name) || !isFieldText(value) {
			return 0, false
		}
		switch {
		case isFold(name, "content-length"):
			if length != 0 {
				return 0, false
			}
			if length = plainLength(value); length <= 0 {
				return 0, false
			}
		case isFold(name, "content-type"):
			kind, _, _ := bytes.Cut(value, []byte(";"))
			if json || !isFold(bytes.TrimRight(kind, " \t"), "application/json") {
				return 0, false
			}
			json = true
		case isFold(name, "connection"):
			if !isFold(value, "keep-alive") {
				return 0, false
			}
		case isFold(name, "transfer-encoding"), isFold(name, "content-encoding"):
			return 0, false
		}
	}
}

// plainLength reads a length, -1 for what is none or of unlikely size.
func plainLength(digits []byte) (n int64) {
	if len(digits) == 0 || len(digits) > 15 {
		return -1
	}
	for _, c := range digits {
		if !isDigit(c) {
			return -1
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
