package web

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"sort"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// Replicas gives access to the other gateways of a cluster.
type Replicas interface {
	// Self returns the name of this replica.
	Self() string
	// Ask requests a path of the API from all other replicas on behalf of a
	// principal, with a time limit. Each replica decides what the principal may
	// see.
	Ask(ctx context.Context, who access.Principal, path string) []Asked
	// AskOne is Ask for the replica with a name. It reports whether there is one.
	AskOne(ctx context.Context, who access.Principal, name, path string) (Asked, bool)
}

// Asked is the response of another replica.
type Asked struct {
	Replica string
	Status  int             // 0 if it was not reached
	Body    json.RawMessage // as it was sent; not only JSON
	Header  http.Header     // only from AskOne
	Err     error
}

// A Replica is a gateway of a cluster, and whether it could be asked.
type Replica struct {
	Name    string `json:"name"`
	Self    bool   `json:"self,omitempty"`
	Error   string `json:"error,omitempty"` // why its data is missing
	ErrorZH string `json:"errorZH,omitempty"`
}

// joined merges the data of all replicas. It adds nothing if there is no
// cluster, or if the request comes from another replica.
type joined struct{ others Replicas }

type askedKey struct{}

// ServePeer serves a request of another replica on behalf of the principal in
// the context. path is escaped. Only GET is allowed, and the request is not
// forwarded to other replicas.
func (h *Handler) ServePeer(w http.ResponseWriter, r *http.Request, path string) {
	if r.Method != http.MethodGet {
		api.Fail(w, r, http.StatusMethodNotAllowed, "method", i18n.New("use %s", "请使用 %s", http.MethodGet))
		return
	}
	r = r.WithContext(context.WithValue(r.Context(), askedKey{}, true))
	plain, err := url.PathUnescape(path)
	if err != nil {
		api.Fail(w, r, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	}
	r.URL = &url.URL{Path: api.Prefix + plain, RawPath: api.Prefix + path, RawQuery: r.URL.RawQuery}
	(&api.Router{Routes: h.router.Routes, Identify: func(r *http.Request) (access.Principal, bool) {
		who := access.From(r.Context())
		return who, who.ID != ""
	}}).ServeHTTP(w, r)
}

// replicaParam selects the replica of a request; without it the request is for
// this replica.
const (
	replicaParam = "replica"
	allReplicas  = "*"
)

// ask sends a request for all replicas to the other replicas.
func (j *joined) ask(r *api.Request, path string) (list []Asked, all []Replica) {
	if j.others == nil || r.Context().Value(askedKey{}) != nil {
		return nil, nil
	}
	all = []Replica{{Name: j.others.Self(), Self: true}}
	if r.URL.Query().Get(replicaParam) != allReplicas {
		return nil, all
	}
	for _, a := range j.others.Ask(r.Context(), r.Who, path) {
		one := Replica{Name: a.Replica}
		if a.Err != nil {
			one.Error, one.ErrorZH = i18n.Why(a.Err).Both()
		} else {
			list = append(list, a)
		}
		all = append(all, one)
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return list, all
}

// into decodes a response. If that fails, the error is recorded for the replica
// and its data is not shown.
func (a *Asked) into(v any, all []Replica) bool {
	err := json.Unmarshal(a.Body, v)
	if err == nil {
		return true
	}
	for i := range all {
		if all[i].Name == a.Replica {
			all[i].Error, all[i].ErrorZH = i18n.Why(err).Both()
		}
	}
	return false
}

func (j *joined) overview(r *api.Request, body overviewBody) overviewBody {
	list, all := j.ask(r, "overview")
	if all == nil {
		return body
	}
	body.Replicas = all
	named(body.Servers, body.Clients, j.others.Self())
	for _, a := range list {
		var other struct {
			Servers []Server `json:"servers"`
			Clients []Client `json:"clients"`
			Unread  *Unread  `json:"unread"`
		}
		if !a.into(&other, all) {
			continue
		}
		named(other.Servers, other.Clients, a.Replica)
		body.Servers, body.Clients = append(body.Servers, other.Servers...), append(body.Clients, other.Clients...)
		if u := other.Unread; body.Unread == nil && u != nil && u.Error != "" { // a file that one replica cannot read concerns all
			u.Error, u.ErrorZH = a.Replica+": "+u.Error, a.Replica+"："+u.ErrorZH
			body.Unread = u
		}
	}
	return body
}

func (j *joined) servers(r *api.Request, own []Server) []Server {
	list, all := j.ask(r, "servers")
	if all == nil {
		return own
	}
	named(own, nil, j.others.Self())
	for _, a := range list {
		var other []Server
		if a.into(&other, all) {
			named(other, nil, a.Replica)
			own = append(own, other...)
		}
	}
	return own
}

func (j *joined) clients(r *api.Request, own []Client) []Client {
	list, all := j.ask(r, "clients")
	if all == nil {
		return own
	}
	named(nil, own, j.others.Self())
	for _, a := range list {
		var other []Client
		if a.into(&other, all) {
			named(nil, other, a.Replica)
			own = append(own, other...)
		}
	}
	return own
}

// named sets the replica of servers and clients.
func named(servers []Server, clients []Client, replica string) {
	for i := range servers {
		servers[i].Replica = replica
	}
	for i := range clients {
		clients[i].Replica = replica
	}
}

// before returns the id that a list ends before: a number, or one per replica,
// as NAME:NUMBER,NAME:NUMBER.
func (j *joined) before(r *api.Request) uint64 {
	text := r.URL.Query().Get("before")
	if j.others != nil && strings.Contains(text, ":") {
		for one := range strings.SplitSeq(text, ",") {
			if at := strings.LastIndexByte(one, ':'); at >= 0 && one[:at] == j.others.Self() {
				n, _ := strconv.ParseUint(one[at+1:], 10, 62) // on error 0: from the newest on
				return n
			}
		}
		return 0
	}
	return uint64(r.Number("before", 0, 1<<62))
}

// traffic merges the newest entries of all replicas by time.
func (j *joined) traffic(r *api.Request, body trafficBody, limit int) trafficBody {
	list, all := j.ask(r, "traffic?"+r.URL.RawQuery)
	if all == nil {
		return body
	}
	body.Replicas, body.Before = all, map[string]uint64{}
	for i := range body.Calls {
		body.Calls[i].Replica = j.others.Self()
	}
	for _, a := range list {
		var other trafficBody
		if !a.into(&other, all) {
			continue
		}
		for i := range other.Calls {
			other.Calls[i].Replica = a.Replica
		}
		body.Calls, body.More = append(body.Calls, other.Calls...), body.More || other.More
	}
	sort.SliceStable(body.Calls, func(i, j int) bool { return body.Calls[i].Start.After(body.Calls[j].Start) })
	if len(body.Calls) > limit {
		body.Calls, body.More = body.Calls[:limit], true
	}
	for one := range strings.SplitSeq(r.URL.Query().Get("before"), ",") {
		if at := strings.LastIndexByte(one, ':'); at >= 0 {
			body.Before[one[:at]], _ = strconv.ParseUint(one[at+1:], 10, 62)
		}
	}
	for _, c := range body.Calls { // newest first: the last entry of each replica is its oldest
		body.Before[c.Replica] = c.ID
	}
	return body
}

// relayed makes every GET route available for another replica, selected by
// name.
func (j *joined) relayed(routes []api.Route) []api.Route {
	if j.others == nil {
		return routes
	}
	for i := range routes {
		rt := &routes[i]
		if rt.Method != http.MethodGet || rt.Scope == api.ScopeNone || rt.Pattern == "events" {
			continue
		}
		own := rt.Serve
		rt.Serve = func(w http.ResponseWriter, r *api.Request) {
			name := r.URL.Query().Get(replicaParam)
			if name == "" || name == allReplicas || name == j.others.Self() || r.Context().Value(askedKey{}) != nil {
				own(w, r)
				return
			}
			j.relay(w, r, name)
		}
	}
	return routes
}

// relay answers with the response of another replica.
func (j *joined) relay(w http.ResponseWriter, r *api.Request, name string) {
	path := strings.TrimPrefix(r.URL.EscapedPath(), api.Prefix)
	a, known := j.others.AskOne(r.Context(), r.Who, name, path+"?"+r.URL.RawQuery)
	switch {
	case !known:
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("there is no replica %s", "没有副本 %s", name))
	case a.Err == nil:
		for _, header := range []string{"Content-Type", "Content-Disposition", "Cache-Control"} {
			if value := a.Header.Get(header); value != "" {
				w.Header().Set(header, value)
			}
		}
		_, _ = w.Write(a.Body) // fails if the client has disconnected
	case a.Status != 0 && a.Status != http.StatusOK:
		api.Fail(w, r.Request, a.Status, "replica", i18n.Why(a.Err))
	default:
		api.Fail(w, r.Request, http.StatusBadGateway, "replica", i18n.New("replica %s does not answer: %v", "副本 %s 没有应答：%v", name, a.Err))
	}
}
