package probe

import (
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// Timing says where the time of a call went. Transport is what a jsonrpc.Trip
// measures; Asked is how long the server waited for an answer of ours; the rest
// is the server's. Through a gateway in this process, its own record says how
// much the gateway and the server took.
type Timing struct {
	Total, Gateway, Transport, Server, Asked time.Duration
}

// timing splits the time of a call.
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
			if !contains(ids, id) {
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
