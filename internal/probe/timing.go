package probe

import (
	"encoding/json"
	"slices"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// Timing is how the time of a call is divided. Transport is measured by a
// jsonrpc.Trip; Asked is how long the server waited for our answers; the rest
// is the server's. For a gateway in this process, its record gives the times of
// the gateway and the server.
type Timing struct {
	Total, Gateway, Transport, Server, Asked time.Duration
}

// timing computes the Timing of a call.
func (r *running) timing() Timing {
	r.mu.Lock()
	defer r.mu.Unlock()
	t := Timing{Total: r.stopped.Sub(r.began), Asked: r.asked}
	rest := max(t.Total-t.Asked, 0)
	if r.measured {
		t.Gateway, t.Server = r.gateway, r.server
		t.Transport = max(rest-t.Gateway-t.Server, 0)
		return t
	}
	t.Transport = min(r.trip.Carried(), rest)
	t.Server = rest - t.Transport
	return t
}

// ownFrames returns the frames that belong to one call. Over HTTP the stream
// identifies the call. Over a pipe, frames of other calls are removed: requests
// and answers with another id of ours.
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
		id, kind := Identify(f.Body)
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
			if !slices.Contains(ids, id) {
				continue
			}
		}
		own = append(own, f)
	}
	return own
}

func Identify(body []byte) (id string, kind jsonrpc.Kind) {
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
	// A frame with hidden secrets cannot be compared.
	return len(sent) != len(params) || string(sent) == string(params)
}
