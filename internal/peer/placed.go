package peer

import (
	"encoding/base64"
	"maps"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/access"
)

const (
	headerEpoch  = "Aio-Epoch"  // in which epoch a server is asked
	headerClient = "Aio-Client" // for which client of the other replica
	placedPrefix = "/peer/v1/s/"
)

// PlacedURL is where another replica has a server of a schema. Transport knows
// which one is meant.
func PlacedURL(schema, server string) string {
	return "https://" + serverName + placedPrefix + url.PathEscape(schema) + "/" + url.PathEscape(server) + "/mcp"
}

// PlacedPath reads the path of PlacedURL.
func PlacedPath(path string) (schema, server string, ok bool) {
	rest, ok := strings.CutPrefix(path, placedPrefix)
	if !ok {
		return "", "", false
	}
	rest, ok = strings.CutSuffix(rest, "/mcp")
	if !ok {
		return "", "", false
	}
	schema, server, ok = strings.Cut(rest, "/")
	if !ok {
		return "", "", false
	}
	var bad [2]error
	schema, bad[0] = url.PathUnescape(schema)
	server, bad[1] = url.PathUnescape(server)
	return schema, server, bad[0] == nil && bad[1] == nil
}

// placedServer is the name of the server that a path leads to.
func placedServer(path string) (string, bool) {
	schema, server, ok := PlacedPath(path)
	return schema + "/" + server, ok
}

// holds says whether a request is for a server that is here.
func holds(n *Node, server string, r *http.Request) bool {
	epoch, err := strconv.ParseUint(r.Header.Get(headerEpoch), 10, 64)
	return err == nil && n.opt.Holds != nil && n.opt.Holds(server, epoch)
}

// An asker is who asks a server of another replica, as headers.
type asker struct{ principal, client []string }

// newAsker is always true.
func newAsker(client string) (asker, bool) {
	who, _, _ := strings.Cut(client, "\x00")
	if who == "" {
		who = access.Anonymous.ID // the gateway itself, such as when it lists
	}
	return asker{
		[]string{principalText(access.Principal{ID: who, Name: who})},
		[]string{base64.RawStdEncoding.EncodeToString([]byte(client))},
	}, true
}

// A Placed carries requests to a server that another replica has.
type Placed struct {
	Node  *Node
	Owner Owner
	Epoch uint64
	// Refused hears that the replica does not have the server, Dead that it has
	// ended. They must return soon.
	Refused, Dead func()
}

// RoundTrip sends one request. Who asks for it is in its context.
func (p *Placed) RoundTrip(r *http.Request) (*http.Response, error) {
	to := *r.URL
	to.Host = p.Owner.Address
	req := r.WithContext(r.Context())
	req.URL, req.Host = &to, p.Owner.Address
	req.Header = maps.Clone(r.Header)
	by, _ := p.Node.askers.find(p.Node.opt.For(r.Context()), newAsker)
	req.Header[headerPrincipal], req.Header[headerClient] = by.principal, by.client
	req.Header[headerHop] = []string{"1"}
	req.Header[headerBoot] = []string{p.Owner.Boot}
	req.Header[headerEpoch] = []string{strconv.FormatUint(p.Epoch, 10)}
	resp, err := p.Node.transport.RoundTrip(req)
	switch {
	case err != nil && isDead(err):
		p.Dead()
	case err == nil && resp.Header.Get(headerNotRun) == notThisRun:
		p.Dead()
	case err == nil && resp.Header.Get(headerNotRun) != "":
		p.Refused()
	}
	return resp, err
}
