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
	var said reason
	if err := finds(ctx, n, r.Header.Get(headerAddress), r.Header.Get(headerBoot)); err != nil {
		said.Why, said.WhyZH = i18n.Why(err).Both()
	}
	writeJSON(w, said)
}

// finds returns an error unless the replica at an address has a boot id.
func finds(ctx context.Context, n *Node, address, boot string) error {
	v, err := n.ask(ctx, address, "")
	if err == nil && v.Boot != boot {
		err = i18n.Errorf("replica %s answers there", "该地址应答的是副本 %s", v.Node)
	}
	return err
}

// Announced returns an error if a replica is not reached at the address that it
// announces, where the others look for its sessions and servers.
func Announced(ctx context.Context, n *Node, o Owner) error {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	defer cancel()
	_, err := n.Others.resolve(ctx, o.Address)
	if err == nil {
		err = finds(ctx, n, o.Address, o.Boot)
	}
	if err != nil {
		return i18n.Errorf("it is not reached at the address that it announces, %s: %w", "无法通过其告知的地址 %s 访问：%w", o.Address, err)
	}
	return nil
}

// isStranger reports whether a connection to the peer port failed because a program
// that is no replica opened it: it speaks no TLS, or has no certificate.
func isStranger(err error) bool {
	return errors.As(err, new(tls.RecordHeaderError)) || err != nil && strings.Contains(err.Error(), "client didn't provide a certificate")
}
