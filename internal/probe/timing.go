package probe

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// Timing says where the time of a call went.
//
// Through our own gateway the answer says how much the gateway and the server
// took, and the rest is transport. Directly, over HTTP, transport is what we
// can see of it: resolving, connecting, TLS, writing, one round trip (as long
// as the fastest TCP connect took) and reading a body that is not a stream.
// Over a pipe it is preparing and waking up. The rest is the server's. Asked is
// how long the server waited for an answer of ours.
type Timing struct {
	Total, Gateway, Transport, Server, Asked time.Duration
}

// timing splits the time of a call.
func (r *running) timing(wire []Frame) Timing {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Timing{Total: r.stopped.Sub(r.began), Asked: r.asked}
	rest := max(t.Total-t.Asked, 0)
	if r.measured {
		t.Gateway, t.Server = r.gateway, r.server
		t.Transport = max(rest-t.Gateway-t.Server, 0)
		return t
	}
	t.Transport = r.sending + r.round
	sent, received := edges(wire)
	if r.sending == 0 && !sent.IsZero() {
		t.Transport = max(sent.Sub(r.began), 0)
	}
	if !received.IsZero() {
		t.Transport += max(r.stopped.Sub(received), 0)
	}
	t.Transport = min(t.Transport, rest)
	t.Server = rest - t.Transport
	return t
}

// edges are the times of the first frame sent and of the last received.
func edges(wire []Frame) (sent, received time.Time) {
	for _, f := range wire {
		if f.Sent && sent.IsZero() {
			sent = f.At
		}
		if !f.Sent {
			received = f.At
		}
	}
	return sent, received
}

// serverTiming reads the times that our gateway tells: the members gateway and
// server of the header Server-Timing, in milliseconds.
func serverTiming(h http.Header) (gateway, server time.Duration, ok bool) {
	for _, line := range h.Values("Server-Timing") {
		for metric := range strings.SplitSeq(line, ",") {
			name, rest, _ := strings.Cut(strings.TrimSpace(metric), ";")
			_, value, found := strings.Cut(rest, "dur=")
			ms, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if !found || err != nil {
				continue
			}
			d := time.Duration(ms * float64(time.Millisecond))
			switch name {
			case "gateway":
				gateway, ok = d, true
			case "server":
				server, ok = d, true
			}
		}
	}
	return gateway, server, ok
}

// ownFrames keeps the frames that belong to one call. Over HTTP the stream
// tells; over a pipe what cannot belong to it is left out: requests and
// answers with another id of ours.
func ownFrames(frames []Frame, owner uint64, method string, params []byte) []Frame {
	var ids []string
	var own []Frame
	for _, f := range frames {
		if f.owner != 0 {
			if f.owner == owner {
				own = append(own, f)
			}
			continue
		}
		id, kind := identify(f.Body)
		switch {
		case f.Sent && kind == jsonrpc.KindRequest:
			if got, _ := jsonrpc.GetString(f.Body, "method"); got != method {
				continue
			}
			if len(ids) == 0 && !sameParams(f.Body, params) {
				continue
			}
			ids = append(ids, id)
		case !f.Sent && (kind == jsonrpc.KindResult || kind == jsonrpc.KindError):
			if !contains(ids, id) {
				continue
			}
		}
		own = append(own, f)
	}
	return own
}

func identify(body []byte) (id string, kind jsonrpc.Kind) {
	if !json.Valid(body) {
		return "", jsonrpc.KindInvalid
	}
	msg, err := jsonrpc.ScanAnswer(body, nil)
	if err != nil {
		return "", jsonrpc.KindInvalid
	}
	return string(msg.ID), msg.Kind
}

func sameParams(body, params []byte) bool {
	sent := jsonrpc.Get(body, "params")
	// A frame whose secrets are hidden cannot be compared.
	return len(sent) != len(params) || string(sent) == string(params)
}

func contains(list []string, s string) bool {
	for _, v := range list {
		if v == s {
			return true
		}
	}
	return false
}
