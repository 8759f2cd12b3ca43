package entry

import (
	"bytes"

	"mcp-all-in-one/internal/traffic"
)

// maxSearched is how much of a failure is searched.
const maxSearched = 64 << 10

// denials are how programs say that the system refused them something.
var denials = [][]byte{[]byte("EACCES"), []byte("EPERM"), []byte("ermission denied"), []byte("peration not permitted")}

// Denied notes that a confined server has failed because the system refused it
// something, which its sandbox may be the reason of. It is true for the first
// time with that server.
func (k *Keeper) Denied(server string, o *traffic.Outcome, body []byte) bool {
	if o.Status != traffic.StatusToolError && o.Status != traffic.StatusError {
		return false
	}
	body = body[:min(len(body), maxSearched)]
	for _, text := range denials {
		if bytes.Contains(body, text) {
			o.Notes = append(o.Notes, traffic.Confined(server))
			_, told := k.denied.LoadOrStore(server, true)
			return !told
		}
	}
	return false
}
