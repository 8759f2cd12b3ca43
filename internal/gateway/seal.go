package gateway

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/upstream"
)

// sealed is what a requestState of ours says. The client carries it and can
// neither read nor change it.
type sealed struct {
	Park      string `json:"p,omitempty"` // a waiting call
	State     string `json:"s,omitempty"` // a server's own state
	Bare      bool   `json:"b,omitempty"` // the server gave no state
	Principal string `json:"u"`
	Digest    string `json:"d"` // of the method and what it is about
	Expires   int64  `json:"e"`
	Owner     string `json:"o,omitempty"` // the replica that it means something to
}

// sealPrefix tells our handles from a server's.
const sealPrefix = "aio1."

var errSeal = i18n.Errorf("not a valid handle", "句柄无效")

// sealer makes and opens handles. Its keys are those of the cluster; without one
// they live as long as the process, like the calls that handles lead to.
type sealer struct{ *seal.Box }

func newSealer(ring *seal.Ring) sealer {
	if ring == nil {
		ring = seal.Random()
	}
	return sealer{ring.Box(seal.Handle)}
}

func (s sealer) seal(v sealed) string { return sealPrefix + s.Seal(marshal(v)) }

// open reads a handle. ours is false when it is no handle of ours at all.
func (s sealer) open(handle, principal, digest string) (v sealed, ours bool, err error) {
	text, ours := strings.CutPrefix(handle, sealPrefix)
	if !ours {
		return v, false, nil
	}
	plain, opened := s.Open(text)
	if !opened {
		return v, true, errSeal
	}
	if err := json.Unmarshal(plain, &v); err != nil {
		return v, true, errSeal
	}
	if v.Principal != principal || v.Digest != digest || time.Now().Unix() > v.Expires {
		return v, true, errSeal
	}
	return v, true, nil
}

// HandleOwner is the replica that a handle leads to; empty where it is any, or
// where it is no handle of ours.
func HandleOwner(box *seal.Box, handle string) string {
	v := sealed{}
	if text, ours := strings.CutPrefix(handle, sealPrefix); ours {
		if plain, opened := box.Open(text); opened {
			json.Unmarshal(plain, &v) // what we sealed can be read
		}
	}
	return v.Owner
}

// ownerFor is the replica that a retry of req has to reach: this one, unless the
// server keeps the state and every replica reaches that server.
func (s *Session) ownerFor(ctx context.Context, p party, req *jsonrpc.Request) string {
	if s.gw.opt.Owner == "" {
		return ""
	}
	if t, err := s.resolve(ctx, s.request(p, req)); err == nil && t.upstream != nil {
		if _, once := t.upstream.Spot(); once || t.upstream.Config().Type != config.TypeStdio {
			return ""
		}
	}
	return s.gw.opt.Owner
}

// Bound says that a server has a process for this session alone, which nobody
// can start again as it was.
func (s *Session) Bound() bool {
	return slices.ContainsFunc(s.upstreams(), func(u *upstream.Upstream) bool {
		return u.Config().Type == config.TypeStdio && u.Alone(s.caller)
	})
}

// digest is equal for a request and its retry: the method and what it is
// about.
func digest(req *jsonrpc.Request) string {
	h := sha256.New()
	h.Write([]byte(req.Method))
	for _, member := range []string{"name", "uri", "arguments"} {
		h.Write([]byte{0})
		h.Write(jsonrpc.Compact(nil, jsonrpc.Get(req.Params, member)))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

func randomID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}
