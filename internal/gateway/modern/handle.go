package modern

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/seal"
)

// A Handle is the content of the gateway's requestState. The client sends it
// back and can neither read nor change it.
type Handle struct {
	Call      string `json:"p,omitempty"` // a waiting call
	State     string `json:"s,omitempty"` // a server's own state
	Bare      bool   `json:"b,omitempty"` // the server gave no state
	Principal string `json:"u,omitempty"`
	Digest    string `json:"d,omitempty"` // of the method and its target
	Expires   int64  `json:"e,omitempty"`
	Owner     string `json:"o,omitempty"` // the replica that holds the call
}

// sealPrefix distinguishes the gateway's handles from those of servers.
const sealPrefix = "aio1."

var errSeal = i18n.Errorf("not a valid handle", "句柄无效")

// A Sealer encrypts and decrypts handles. It uses the keys of the cluster;
// without a cluster the keys live as long as the process, like the calls.
type Sealer struct{ box *seal.Box }

// NewSealer returns a Sealer with the keys of a ring. If the ring is nil, the
// keys are made for this process.
func NewSealer(ring *seal.Ring) Sealer {
	if ring == nil {
		ring = seal.Random()
	}
	return Sealer{ring.Box(seal.Handle)}
}

// Seal writes a handle for the client.
func (s Sealer) Seal(h Handle) string {
	raw, err := json.Marshal(h)
	if err != nil {
		panic(fmt.Sprintf("modern: encoding a handle: %v", err))
	}
	return sealPrefix + s.box.Seal(raw)
}

// Open reads a handle. ours is false if the gateway did not make it.
func (s Sealer) Open(handle, principal, digest string) (h Handle, ours bool, err error) {
	text, ours := strings.CutPrefix(handle, sealPrefix)
	if !ours {
		return h, false, nil
	}
	plain, opened := s.box.Open(text)
	if !opened {
		return h, true, errSeal
	}
	if err := json.Unmarshal(plain, &h); err != nil {
		return h, true, errSeal
	}
	if h.Principal != principal || h.Digest != digest || time.Now().Unix() > h.Expires {
		return h, true, errSeal
	}
	return h, true, nil
}

// Owner returns the replica that a handle leads to; empty means any. ours is
// false if the gateway did not make the handle.
func (s Sealer) Owner(handle string) (owner string, ours bool) {
	return HandleOwner(s.box, handle), strings.HasPrefix(handle, sealPrefix)
}

// markBegins separates an id from the mark of its replica.
const markBegins = "~" + sealPrefix

// Mark returns the suffix of the ids of all tasks and kept results of a replica,
// so that other replicas know where to send requests. It is empty without a
// cluster.
func (s Sealer) Mark(owner string) string {
	if owner == "" {
		return ""
	}
	return "~" + s.Seal(Handle{Owner: owner})
}

// Unmark returns an id without its mark, and the replica that the mark names. If
// there is no mark that the cluster made, it returns the id as it is.
func (s Sealer) Unmark(id string) (bare, owner string) {
	if i := strings.LastIndex(id, markBegins); i >= 0 {
		if owner = HandleOwner(s.box, id); owner != "" {
			return id[:i], owner
		}
	}
	return id, ""
}

// HandleOwner returns the replica that a handle or a marked id leads to. It is
// empty if any replica will do, or if the gateway did not make the handle.
func HandleOwner(box *seal.Box, handle string) string {
	h := Handle{}
	if i := strings.LastIndex(handle, markBegins); i >= 0 {
		handle = handle[i+1:]
	}
	if text, ours := strings.CutPrefix(handle, sealPrefix); ours {
		if plain, opened := box.Open(text); opened {
			json.Unmarshal(plain, &h) // what we sealed can be read
		}
	}
	return h.Owner
}

// Restore returns the request that a handle stands for.
func (h Handle) Restore(req *jsonrpc.Request) *jsonrpc.Request {
	params := req.Params
	if h.Bare {
		params = jsonrpc.Set(params, nil, "requestState")
		params = jsonrpc.Set(params, nil, "inputResponses")
	} else {
		params = jsonrpc.Set(params, jsonrpc.Quote(h.State), "requestState")
	}
	return &jsonrpc.Request{Method: req.Method, Params: params}
}

// Digest returns a hash of the method and target of a request. It is equal for
// a request and its retry.
func Digest(req *jsonrpc.Request) string {
	h := sha256.New()
	h.Write([]byte(req.Method))
	for _, member := range []string{"name", "uri", "arguments"} {
		h.Write([]byte{0})
		h.Write(jsonrpc.Compact(nil, jsonrpc.Get(req.Params, member)))
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// RandomID returns an unguessable id.
func RandomID() string {
	b := make([]byte, 16)
	rand.Read(b)
	return hex.EncodeToString(b)
}
