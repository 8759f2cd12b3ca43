package jsonrpc

import (
	"bytes"
	"encoding/json"
)

// peekUnread is the size above which PeekAnswer leaves the middle of an
// answer unread.
const peekUnread = 32 << 10

const (
	idFirst     = `{"jsonrpc":"2.0","id":`
	thenResult  = `,"result":`
	resultFirst = `{"result":`
	resultMid   = `{"jsonrpc":"2.0","result":`
	thenVersion = `,"jsonrpc":"2.0"`
	thenID      = `,"id":`
)

// PeekAnswer recognises the exact envelope of an answer to one of our calls,
// which have numeric ids, with an object as its result:
//
//	{"jsonrpc":"2.0","id":7,"result":{...}}
//	{"jsonrpc":"2.0","result":{...},"id":7}
//	{"result":{...},"jsonrpc":"2.0","id":7}
//
// A result of up to 32 KiB must be valid JSON; of a larger answer
// only head and tail are read. ScanAnswer reads all other forms.
//
// The capacity of result extends to the end of the capacity of data.
func PeekAnswer(data []byte) (id uint64, result []byte, ok bool) {
	for len(data) > 0 && (data[len(data)-1] == '\r' || data[len(data)-1] == ' ') {
		data = data[:len(data)-1]
	}
	if len(data) < len(idFirst) || data[len(data)-1] != '}' {
		return 0, nil, false
	}
	data = data[:len(data)-1]
	if string(data[:len(idFirst)]) == idFirst {
		end := digits(data, len(idFirst))
		rest, found := bytes.CutPrefix(data[end:], []byte(thenResult))
		if !found {
			return 0, nil, false
		}
		id, ok = decimal(data[len(idFirst):end])
		result = rest
	} else {
		id, result, ok = peekIDLast(data)
	}
	if !ok || len(result) < 2 || result[0] != '{' || result[len(result)-1] != '}' {
		return 0, nil, false
	}
	if len(data) <= peekUnread && !wellFormed(result, defaultLimits.Depth-1) {
		return 0, nil, false
	}
	return id, result, true
}

// peekIDLast reads an answer that ends with its id. data excludes the last
// brace.
func peekIDLast(data []byte) (id uint64, result []byte, ok bool) {
	start := len(data)
	for start > 0 && isDigit(data[start-1]) {
		start--
	}
	if id, ok = decimal(data[start:]); !ok {
		return 0, nil, false
	}
	if data, ok = bytes.CutSuffix(data[:start], []byte(thenID)); !ok {
		return 0, nil, false
	}
	if result, ok = bytes.CutPrefix(data, []byte(resultMid)); ok {
		return id, result, true
	}
	if data, ok = bytes.CutPrefix(data, []byte(resultFirst)); !ok {
		return 0, nil, false
	}
	result, ok = bytes.CutSuffix(data, []byte(thenVersion))
	return id, result, ok
}

// decimal parses a number in the form of our ids: digits only, no leading zero.
func decimal(text []byte) (n uint64, ok bool) {
	if len(text) == 0 || len(text) > 19 || text[0] == '0' && len(text) > 1 {
		return 0, false
	}
	for _, c := range text {
		if !isDigit(c) {
			return 0, false
		}
		n = n*10 + uint64(c-'0')
	}
	return n, true
}

// OwnNumber parses a number of ours, an id or a progress token, that a peer has
// sent back. Peers whose JSON library has no integers write 7.0, others write
// "7", and the official SDKs accept both.
func OwnNumber(raw []byte) (n uint64, ok bool) {
	if len(raw) > 1 && raw[0] == '"' {
		return decimal(raw[1 : len(raw)-1])
	}
	return decimal(bytes.TrimSuffix(raw, []byte(".0")))
}

// HeadID finds the id in the head of a truncated message, and reports whether
// the message was an answer.
func HeadID(head []byte) (id []byte, answer bool) {
	w := walker{data: head}
	if !w.open() {
		return nil, false
	}
	for more := true; more; {
		w.nameEnd = -1
		more = w.next()
		if w.nameEnd < 0 {
			break
		}
		switch string(w.key()) {
		case "id":
			// A number at the very end may be truncated.
			if more && w.end < len(head) && isID(head[w.value]) {
				id = w.raw()
			}
		case "result", "error":
			answer = true
		}
	}
	return id, answer
}

// wellFormed reports whether a result is JSON of at most depth levels. Only the
// grammar is checked: invalid UTF-8, lone surrogates and long numbers have always
// been accepted.
func wellFormed(result []byte, depth int) bool {
	return valid(result, depth) || json.Valid(result) && shapeEnd(result, 0, depth) == len(result)
}
