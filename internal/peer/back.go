package peer

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// backPath is the URL path for asking a replica whether it reaches the one that
// asks.
const (
	backPath      = "/peer/v1/back"
	headerAddress = "Aio-Address" // the address at which others reach the asking replica
)

// A reason says why something is not so; empty if it is.
type reason struct{ Why, WhyZH string }

// Back asks the replica at an address whether it reaches this one. It returns the
// reason why not; none if it does, or if its release cannot tell.
func Back(ctx context.Context, n *Node, address string) (why, whyZH string) {
	ctx, cancel := context.WithTimeout(ctx, pageWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+backPath, nil)
	if err != nil {
		return i18n.Why(err).Both()
	}
	req.Header[headerBoot], req.Header[headerAddress] = []string{n.self.Boot}, []string{n.self.Address}
	r := n.Others.send(req, maxDescription)
	var said reason
	if r.Err != nil || json.Unmarshal(r.Text, &said) != nil {
		return "", ""
	}
	return said.Why, said.WhyZH
}

// serveBack answers another replica that asks whether this one reaches it.
func serveBack(n *Node, w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), 2*surveyWait)
	defer cancel()
	v, err := n.ask(ctx, r.Header.Get(headerAddress), "")
	if err == nil && v.Boot != r.Header.Get(headerBoot) {
		err = i18n.Errorf("replica %s answers there", "该地址应答的是副本 %s", v.Node)
	}
	var said reason
	if err != nil {
		said.Why, said.WhyZH = i18n.Why(err).Both()
	}
	writeJSON(w, said)
}

// isStranger reports whether a connection to the peer port failed because a program
// that is no replica opened it: it speaks no TLS, or has no certificate.
func isStranger(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || err != nil && strings.Contains(err.Error(), "client didn't provide a certificate")
}
