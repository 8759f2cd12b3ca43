package jsonrpc

import "cmp"

// A Kind is the kind of a message.
type Kind uint8

// Kinds of messages.
const (
	KindInvalid Kind = iota
	KindRequest
	KindNotification
	KindResult
	KindError
)

// A Message is one JSON-RPC message. Its spans point into the scanned buffer
// and are nil when the member is absent; params null counts as absent.
type Message struct {
	Kind   Kind
	ID     []byte
	Method string
	Params []byte
	Result []byte
	Err    []byte
}

// ScanLimits limits the contents of one message. A zero field means the
// default.
type ScanLimits struct {
	Depth       int // nesting counted from the root, 1,000
	IDBytes     int // 1,024
	Batch       int // messages in one batch, 50
	MethodBytes int // 256
	Keys        int // members of one object, 100,000
	NumberBytes int // 10,000
}

var defaultLimits = ScanLimits{
	Depth:       1000,
	IDBytes:     1024,
	Batch:       50,
	MethodBytes: 256,
	Keys:        100_000,
	NumberBytes: 10_000,
}

func (l *ScanLimits) orDefaults() ScanLimits {
	if l == nil || *l == (ScanLimits{}) {
		return defaultLimits
	}
	or := func(n, def int) int { return cmp.Or(max(n, 0), def) }
	def := &defaultLimits
	return ScanLimits{
		Depth: or(l.Depth, def.Depth), IDBytes: or(l.IDBytes, def.IDBytes), Batch: or(l.Batch, def.Batch),
		MethodBytes: or(l.MethodBytes, def.MethodBytes), Keys: or(l.Keys, def.Keys), NumberBytes: or(l.NumberBytes, def.NumberBytes),
	}
}

// members are the raw spans of an envelope, nil where absent.
type members struct {
	version, id, method, params, result, err []byte
}

// member returns the field for an envelope key, nil for any other key.
func (m *members) member(key []byte) *[]byte {
	switch string(key) {
	case "jsonrpc":
		return &m.version
	case "id":
		return &m.id
	case "method":
		return &m.method
	case "params":
		return &m.params
	case "result":
		return &m.result
	case "error":
		return &m.err
	}
	return nil
}

// message validates an envelope whose members are known to be JSON.
func (m *members) message(lim *ScanLimits) (Message, *Error) {
	var msg Message
	if m.id != nil {
		switch {
		case !isID(m.id[0]):
			if m.method != nil || m.err == nil || m.id[0] != 'n' {
				msg.Result, msg.Err = m.result, m.err
				return msg, Errorf(CodeInvalidRequest, "id must be a string or a number")
			}
		case len(m.id) > lim.IDBytes:
			return msg, overLimit("idBytes", "id of %d bytes is over the limit of %d", len(m.id), lim.IDBytes)
		}
		msg.ID = m.id
	}
	if m.method == nil {
		return m.answer(msg)
	}
	if !m.isVersion2() {
		return msg, Errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	if m.method[0] != '"' {
		return msg, Errorf(CodeInvalidRequest, "method must be a string")
	}
	if len(m.method)-2 > lim.MethodBytes {
		return msg, Errorf(CodeInvalidRequest, "method of %d bytes is over the limit of %d", len(m.method)-2, lim.MethodBytes)
	}
	if m.result != nil || m.err != nil {
		return msg, Errorf(CodeInvalidRequest, "message has both a method and an answer")
	}
	msg.Method = methodName(m.method)
	msg.Kind = KindRequest
	if m.id == nil {
		msg.Kind = KindNotification
	}
	switch {
	case m.params == nil || m.params[0] == 'n':
	case m.params[0] == '{':
		msg.Params = m.params
	default:
		return msg, Errorf(CodeInvalidParams, "params must be an object")
	}
	return msg, nil
}

// answer validates an envelope without a method.
func (m *members) answer(msg Message) (Message, *Error) {
	msg.Result, msg.Err = m.result, m.err
	switch {
	case !m.isVersion2():
		return msg, Errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	case m.result == nil && m.err == nil:
		return msg, Errorf(CodeInvalidRequest, "message has no method, result or error")
	case m.result != nil && m.err != nil:
		return msg, Errorf(CodeInvalidRequest, "message has both a result and an error")
	case m.id == nil:
		return msg, Errorf(CodeInvalidRequest, "answer has no id")
	case m.result != nil:
		msg.Kind = KindResult
	default:
		msg.Kind = KindError
	}
	return msg, nil
}

func (m *members) isVersion2() bool {
	if string(m.version) == `"2.0"` {
		return true
	}
	return len(m.version) > 5 && m.version[0] == '"' && unquote(m.version) == "2.0"
}

// isID reports whether a value that begins with c can be an id.
func isID(c byte) bool { return c == '"' || c == '-' || isDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }
