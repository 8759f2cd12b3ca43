package entry

import (
	"bytes"

	"mcp-all-in-one/internal/traffic"
)

// maxSearched is how many bytes of a failure are searched.
const maxSearched = 64 << 10

// denials are the texts with which programs report that the operating system
// denied them something.
var denials = [][]byte{[]byte("EACCES"), []byte("EPERM"), []byte("ermission denied"), []byte("peration not permitted")}

// Denied checks whether a sandboxed server failed because the operating system
// denied it something; the sandbox may be the reason. It returns true only once
// for each server.
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
