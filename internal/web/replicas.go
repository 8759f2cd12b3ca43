package web

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"strconv"
	"strings"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/inbox"
)

// Replicas gives access to the other gateways of a cluster.
type Replicas interface {
	// Self returns the name of this replica.
	Self() string
	// Listed reports whether all other replicas are known, which takes an engine
	// some time after the start.
	Listed() bool
	// Ask sends a request to all other replicas on behalf of a principal, with a
	// time limit; its URL is the path of the API. Each replica decides what the
	// principal may see.
	Ask(r *http.Request, who access.Principal) []Asked
	// AskOne is Ask for the replica with a name. It reports whether there is such
	// a replica.
	AskOne(r *http.Request, who access.Principal, name string) (Asked, bool)
	// Follow reads the event streams at a path of the API of all other replicas
	// until ctx ends, and tells the names of their events, and "lost" when one
	// has ended.
	Follow(ctx context.Context, who access.Principal, path string, tell func(replica, event string))
}

// Asked is the response of another replica.
type Asked struct {
	Replica string
	Status  int             // 0 if its response was not read to the end
	Body    json.RawMessage // whole, as it was sent; not only JSON
	Header  http.Header     // only from AskOne
	Err     error           // also if it refused the request
}

// A Replica is a gateway of a cluster, and whether it could be asked.
type Replica struct {
	Name string `json:"name"`
	Self bool   `json:"self,omitempty"`
	// Differs says that its configuration differs from that of this replica.
	Differs bool   `json:"differs,omitempty"`
	Error   string `json:"error,omitempty"` // why its data is missing
	ErrorZH string `json:"errorZH,omitempty"`
}

// joined merges the data of all replicas. It adds nothing if there is no
// cluster, or if the request comes from another replica.
type joined struct{ others Replicas }

type askedKey struct{}

// logins sends a request about logins to all other replicas, and returns the
// responses of those that accepted it. It reports whether these are all.
func (j *joined) logins(ctx context.Context, method, path string, body []byte) (list [][]byte, all bool) {
	if j.others == nil {
		return nil, true
	}
	all = j.others.Listed()
	for _, a := range j.others.Ask(request(ctx, method, path, body), access.Owner) {
		if a.Err == nil {
			list = append(list, a.Body)
		} else {
			all = false
		}
	}
	return list, all
}

// typedHeader marks a request between replicas that was typed on a command line.
const typedHeader = "Aio-Typed"

// crosses reports whether a route can be used through another replica: what is
// read, and the answer to a question, which waits at one replica.
func crosses(rt *api.Route) bool {
	return rt.Scope != api.ScopeNone && (rt.Method == http.MethodGet || rt.Pattern == inbox.AnswerPattern)
}

// ServePeer serves a request of another replica on behalf of the principal in
// the context. path is escaped. The request is not forwarded to other replicas.
func (h *Handler) ServePeer(w http.ResponseWriter, r *http.Request, path string) {
	ctx := context.WithValue(r.Context(), askedKey{}, true)
	if r.Header.Get(typedHeader) != "" {
		ctx = api.Typed(ctx)
	}
	r = r.WithContext(ctx)
	plain, err := url.PathUnescape(path)
	if err != nil {
		api.Fail(w, r, http.StatusBadRequest, "bad_request", i18n.Why(err))
		return
	}
	r.URL = &url.URL{Path: api.Prefix + plain, RawPath: api.Prefix + path, RawQuery: r.URL.RawQuery}
	h.peers.ServeHTTP(w, r)
}

// peerRouter returns the router for requests of other replicas. more are routes
// for replicas alone.
func peerRouter(routes, more []api.Route) api.Router {
	rt := api.Router{Identify: func(r *http.Request) (access.Principal, bool) {
		who := access.From(r.Context())
		return who, who.ID != ""
	}}
	for i := range routes {
		if crosses(&routes[i]) {
			rt.Routes = append(rt.Routes, routes[i])
		}
	}
	rt.Routes = append(rt.Routes, more...)
	return rt
}

// isAsked reports whether a request comes from another replica.
func isAsked(r *api.Request) bool { return r.Context().Value(askedKey{}) != nil }

// self returns the name of this replica; empty if there is no cluster.
func (j *joined) self() string {
	if j.others == nil {
		return ""
	}
	return j.others.Self()
}

// replicaParam selects the replica of a request; without it the request is for
// this replica.
const (
	replicaParam = "replica"
	allReplicas  = "*"
)

// ask sends a request for all replicas to the other replicas.
func (j *joined) ask(r *api.Request, path string) (list []Asked, all []Replica) {
	if j.others == nil || isAsked(r) {
		return nil, nil
	}
	all = []Replica{{Name: j.others.Self(), Self: true}}
	if r.URL.Query().Get(replicaParam) != allReplicas {
		return nil, all
	}
	for _, a := range j.others.Ask(request(r.Context(), http.MethodGet, path, nil), r.Who) {
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

// request returns a request for other replicas. path is escaped, and has the
// query. It is not parsed: it goes on as the client sent it.
func request(ctx context.Context, method, path string, body []byte) *http.Request {
	escaped, query, _ := strings.Cut(path, "?")
	plain, err := url.PathUnescape(escaped)
	if err != nil {
		plain = escaped // it matches no route
	}
	r := (&http.Request{Method: method, URL: &url.URL{Path: plain, RawPath: escaped, RawQuery: query}, Header: http.Header{}}).WithContext(ctx)
	r.Header.Set(api.ChangeHeader, "1")
	if len(body) > 0 {
		r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		r.ContentLength = int64(len(body))
	}
	return r
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
		if r.URL.Query().Has(replicaParam) { // it is for the client of another replica
			body.Config = ""
		}
		return body
	}
	body.Replicas = all
	body.name(j.others.Self())
	for _, a := range list {
		var other overviewBody
		if !a.into(&other, all) {
			continue
		}
		other.name(a.Replica)
		if i := slices.IndexFunc(all, func(r Replica) bool { return r.Name == a.Replica }); i >= 0 {
			all[i].Differs = other.Config != body.Config
		}
		body.Servers, body.Clients, body.Inbox = append(body.Servers, other.Servers...), append(body.Clients, other.Clients...), append(body.Inbox, other.Inbox...)
		if u := other.Unread; body.Unread == nil && u != nil && u.Error != "" { // a file that one replica cannot read concerns all
			u.Error, u.ErrorZH = a.Replica+": "+u.Error, a.Replica+"："+u.ErrorZH
			body.Unread = u
		}
	}
	body.Config = "" // it is for replicas
	byAsked(body.Inbox)
	return body
}

// name sets the replica of all rows.
func (b *overviewBody) name(replica string) {
	named(b.Servers, replica, serverReplica)
	named(b.Clients, replica, clientReplica)
	named(b.Inbox, replica, questionReplica)
}

// merged adds the rows of all replicas to those of this one, and names their
// replica.
func merged[T any](j *joined, r *api.Request, path string, own []T, field func(*T) *string) []T {
	list, all := j.ask(r, path)
	if all == nil {
		return own
	}
	named(own, j.others.Self(), field)
	for _, a := range list {
		var other []T
		if a.into(&other, all) {
			own = append(own, named(other, a.Replica, field)...)
		}
	}
	return own
}

// named sets the replica of rows.
func named[T any](list []T, replica string, field func(*T) *string) []T {
	for i := range list {
		*field(&list[i]) = replica
	}
	return list
}

func serverReplica(s *Server) *string           { return &s.Replica }
func clientReplica(c *Client) *string           { return &c.Replica }
func questionReplica(q *inbox.Question) *string { return &q.Replica }
func doneReplica(d *inbox.Done) *string         { return &d.Replica }

func (j *joined) servers(r *api.Request, own []Server) []Server {
	return merged(j, r, "servers", own, serverReplica)
}

func (j *joined) clients(r *api.Request, own []Client) []Client {
	return merged(j, r, "clients", own, clientReplica)
}

// inbox merges the open questions of all replicas, oldest first.
func (j *joined) inbox(r *api.Request, own []inbox.Question) []inbox.Question {
	return byAsked(merged(j, r, "inbox", own, questionReplica))
}

func byAsked(list []inbox.Question) []inbox.Question {
	sort.SliceStable(list, func(i, j int) bool { return list[i].Asked.Before(list[j].Asked) })
	return list
}

// done merges the last questions of all replicas that ended, newest first.
func (j *joined) done(r *api.Request, own []inbox.Done) []inbox.Done {
	list := merged(j, r, "inbox/done", own, doneReplica)
	sort.SliceStable(list, func(i, j int) bool { return list[i].Ended.After(list[j].Ended) })
	return list
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

// relayed makes the routes that cross available for another replica, selected by
// name. The others refuse such a name: they would change this replica.
func (j *joined) relayed(routes []api.Route) []api.Route {
	if j.others == nil {
		return routes
	}
	for i := range routes {
		rt := routes[i]
		routes[i].Serve = func(w http.ResponseWriter, r *api.Request) {
			name := r.URL.Query().Get(replicaParam)
			switch {
			case name == "" || name == allReplicas || name == j.others.Self() || isAsked(r):
				rt.Serve(w, r)
			case crosses(&rt) && rt.Pattern != "events":
				j.relay(w, r, name)
			default:
				api.Fail(w, r.Request, http.StatusBadRequest, "replica", i18n.New("this works at replica %s itself only: open its console", "此操作只能在副本 %s 上进行：请打开其控制台", name))
			}
		}
	}
	return routes
}

// relay answers with the response of another replica, which decides what the
// principal may do there.
func (j *joined) relay(w http.ResponseWriter, r *api.Request, name string) {
	body, err := r.Text()
	if err != nil {
		api.FailWith(w, r.Request, err)
		return
	}
	path := strings.TrimPrefix(r.URL.EscapedPath(), api.Prefix)
	req := request(r.Context(), r.Method, path+"?"+r.URL.RawQuery, body)
	req.Header.Set("Accept-Language", r.Header.Get("Accept-Language"))
	if api.IsTyped(r.Context()) {
		req.Header.Set(typedHeader, "1")
	}
	a, known := j.others.AskOne(req, r.Who, name)
	switch {
	case !known:
		api.Fail(w, r.Request, http.StatusNotFound, "not_found", i18n.New("there is no replica %s", "没有副本 %s", name))
	case a.Status == 0:
		api.Fail(w, r.Request, http.StatusBadGateway, "replica", i18n.New("replica %s does not answer: %v", "副本 %s 没有应答：%v", name, a.Err))
	default: // also a refusal
		for _, header := range []string{"Content-Type", "Content-Disposition", "Cache-Control"} {
			if value := a.Header.Get(header); value != "" {
				w.Header().Set(header, value)
			}
		}
		w.WriteHeader(a.Status)
		_, _ = w.Write(a.Body) // fails if the client has disconnected
	}
}
