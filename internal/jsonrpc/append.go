package jsonrpc

import "strconv"

// AppendError appends the error object of e, or e.Raw unchanged if it is set.
func AppendError(dst []byte, e *Error) []byte {
	if e.Raw != nil {
		return append(dst, e.Raw...)
	}
	dst = append(dst, `{"code":`...)
	dst = strconv.AppendInt(dst, e.Code, 10)
	dst = append(dst, `,"message":`...)
	dst = AppendQuoted(dst, e.Message)
	if e.Data != nil {
		dst = append(dst, `,"data":`...)
		dst = append(dst, e.Data...)
	}
	return append(dst, '}')
}

// AppendRequest appends a whole request. id is raw JSON; params may be nil.
func AppendRequest(dst, id []byte, method string, params []byte) []byte {
	dst = append(dst, idFirst...)
	dst = append(dst, id...)
	dst = append(dst, ',')
	return appendCall(dst, method, params)
}

// AppendNotification appends a whole notification; params may be nil.
func AppendNotification(dst []byte, method string, params []byte) []byte {
	return appendCall(append(dst, `{"jsonrpc":"2.0",`...), method, params)
}

func appendCall(dst []byte, method string, params []byte) []byte {
	dst = append(dst, `"method":`...)
	dst = AppendQuoted(dst, method)
	if params != nil {
		dst = append(dst, `,"params":`...)
		dst = append(dst, params...)
	}
	return append(dst, '}')
}

// AppendResponse appends a whole response. A nil id becomes null.
//
// The id is written after the result. A large result of a server is forwarded
// unread; if it smuggles in another id, readers take the last one, which
// is ours.
func AppendResponse(dst, id []byte, r *Response) []byte {
	dst = append(dst, `{"jsonrpc":"2.0",`...)
	if r.Err != nil {
		dst = AppendError(append(dst, `"error":`...), r.Err)
	} else {
		dst = append(dst, `"result":`...)
		dst = append(dst, r.Result...)
	}
	return AppendIDLast(dst, id)
}

// AppendIDLast appends the id and the end of a response, after its result or
// error. A nil id becomes null.
func AppendIDLast(dst, id []byte) []byte {
	dst = append(dst, thenID...)
	if id == nil {
		dst = append(dst, "null"...)
	}
	dst = append(dst, id...)
	return append(dst, '}')
}

// ParseError reads the error member of a response. A malformed error object
// becomes an internal error that carries the original value as its data.
func ParseError(raw []byte) *Error {
	code, err := strconv.ParseInt(string(Get(raw, "code")), 10, 64)
	message, ok := GetString(raw, "message")
	if err == nil && ok {
		return &Error{
			Code:    code,
			Message: message,
			Data:    append([]byte(nil), Get(raw, "data")...),
			Raw:     append([]byte(nil), raw...),
		}
	}
	data := append([]byte(nil), raw...)
	if !Valid(data) {
		data = Quote(string(raw))
	}
	return &Error{Code: CodeInternal, Message: "the server sent a malformed error", Data: data}
}
