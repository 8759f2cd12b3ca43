package sse

import "strconv"

// KeepAlive is a comment, which readers of text/event-stream skip.
var KeepAlive = []byte(":\n\n")

// retryMillis is how long a client waits before it reconnects.
const retryMillis = "1000"

// AppendEvent renders one message. streamID is "" for a stream that cannot be
// resumed. data is JSON without raw line breaks.
func AppendEvent(dst []byte, streamID string, seq uint64, data []byte) []byte {
	dst = append(dst, "event: message\n"...)
	if streamID != "" {
		dst = append(dst, "id: "...)
		dst = append(dst, streamID...)
		dst = append(dst, '-')
		dst = strconv.AppendUint(dst, seq, 10)
		dst = append(dst, '\n')
	}
	dst = append(dst, "data: "...)
	dst = append(dst, data...)
	return append(dst, "\n\n"...)
}

// AppendPriming renders the event with an id and empty data that begins a stream
// since 2025-11-25.
func AppendPriming(dst []byte, streamID string) []byte {
	dst = append(dst, "id: "...)
	dst = append(dst, streamID...)
	return append(dst, "-0\nretry: "+retryMillis+"\ndata: \n\n"...)
}

// AppendEndpoint renders the first event of legacy HTTP+SSE.
func AppendEndpoint(dst []byte, url string) []byte {
	dst = append(dst, "event: endpoint\ndata: "...)
	dst = append(dst, url...)
	return append(dst, "\n\n"...)
}

// OneLine replaces the raw line breaks of a JSON message in place. In JSON they can
// only be white space.
func OneLine(msg []byte) []byte {
	for i, c := range msg {
		if c == '\n' || c == '\r' {
			msg[i] = ' '
		}
	}
	return msg
}
