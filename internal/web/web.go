// Package web serves the console: a JSON API, one event stream and the page that
// uses them.
//
// Logins, the inbox, the tester's sessions and test files have their own
// packages below this one; this package connects them. It does not depend on how
// servers are reached or configured: the small interfaces of Options define what
// it needs.
package web

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/seal"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/usage"
	"mcp-all-in-one/internal/web/api"
	"mcp-all-in-one/internal/web/appframe"
	"mcp-all-in-one/internal/web/bench"
	"mcp-all-in-one/internal/web/inbox"
	"mcp-all-in-one/internal/web/login"
	"mcp-all-in-one/internal/web/suites"
	"mcp-all-in-one/internal/web/values"
	"mcp-all-in-one/internal/web/visit"
)

// Options configure the console.
type Options struct {
	Servers  Servers
	Traffic  *traffic.Recorder
	Usage    *usage.Book // nil: usage is not counted
	Bench    bench.Opener
	Inbox    *inbox.Inbox
	Settings Settings
	Catalog  Catalog
	Programs Programs
	Doctor   Doctor
	Suites   suites.Source
	// Values is the page where users enter values for servers; nil if there
	// is none.
	Values http.Handler
	// More holds routes of the API that other packages serve.
	More []api.Route
	// Reload reads the config file again and applies it.
	Reload func() (Reload, error)
	// Unread returns the changes of the config file that the gateway has not
	// read yet; nil if there are none.
	Unread func() *Unread
	// Restart makes the gateway start again, soon.
	Restart func() error
	// Replicas are the other gateways of the cluster; nil without a cluster.
	Replicas Replicas
	// Digest returns the digest of the configuration, which the replicas compare;
	// nil without a cluster.
	Digest func() string
	// LoginBox seals logins, so that all replicas accept them; nil without a
	// cluster.
	LoginBox *seal.Box
	// Clients lists the connected clients.
	Clients func() []Client
	// Named returns the display name of a principal; "" if it is not known.
	Named func(principal string) string
	// Validate checks a value against a JSON Schema. It is the same code that
	// the command line uses.
	Validate func(schema, value json.RawMessage) ([]Problem, error)
	// Bearer identifies the principal of a request with an Authorization
	// header; false rejects the request. A nil Bearer rejects all such
	// requests.
	Bearer func(r *http.Request) (access.Principal, bool)
	// Current returns the present state of a principal that logged in before;
	// false ends the login. A nil Current leaves the principal unchanged.
	Current func(access.Principal) (access.Principal, bool)
	// Body reads bodies of requests; nil bounds only their size.
	Body api.BodyFunc
	// HasRoom returns an error while memory is too short for what stays in
	// memory; nil always has room.
	HasRoom func() error
	// AllowHost accepts a Host header other than the loopback names; nil
	// accepts no other.
	AllowHost func(r *http.Request) bool
	// StateDir is the directory that keeps logins and the tester's history
	// across restarts; "" keeps them in memory.
	StateDir string
	// Endpoint is the URL that clients connect to. It is only displayed.
	Endpoint string
	// Version is displayed in the page.
	Version string
	Log     *slog.Logger
}

// A Handler serves /ui/ and /api/v1/. It may be used concurrently.
type Handler struct {
	Visits  visit.Book
	Logins  *login.Logins
	opt     Options
	page    page
	hub     *hub
	bench   *bench.Benches
	history *histories
	undos   *undos
	suites  *suites.Suites
	drafts  *drafts
	signIns *signIns
	sight   *sight
	joined  *joined
	servers *serverPages
	traffic *trafficPages
	usage   *usagePages
	router  api.Router
	peers   api.Router // for other replicas
	uptime  *uptimes

	ctx    context.Context
	cancel context.CancelCauseFunc
	wg     sync.WaitGroup
}

// New returns a console. ctx bounds everything that outlives a request: open
// tester sessions, running calls and event streams.
func New(ctx context.Context, opt Options) (*Handler, error) {
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	h := &Handler{opt: opt, page: page{embedded()}}
	h.ctx, h.cancel = context.WithCancelCause(ctx)
	var err error
	h.joined = &joined{opt.Replicas}
	h.Logins, err = login.Open(login.Options{StateDir: opt.StateDir, Box: opt.LoginBox, Others: h.joined.logins, Bearer: opt.Bearer, Current: opt.Current, Endpoint: opt.Endpoint, Version: opt.Version, Log: opt.Log, Now: time.Now})
	if err != nil {
		return nil, err
	}
	if h.history, err = openHistories(opt.StateDir); err != nil {
		return nil, err
	}
	h.sight = &sight{opt.Servers, opt.Clients, opt.Traffic}
	h.traffic = &trafficPages{opt.Traffic, h.sight, h.joined}
	h.usage = &usagePages{opt.Usage, opt.Catalog, opt.Named}
	h.hub = &hub{boot: rand.Text()[:8], last: map[string]uint64{}, subs: map[chan struct{}]struct{}{}}
	h.bench = bench.New(h.ctx, bench.Options{
		Open: opt.Bench, Ask: opt.Inbox.Ask, History: h.history.of, Current: h.Logins.Current, Log: opt.Log,
		Publish: func(owner access.Principal, e bench.Event) { h.hub.publish("bench", owner, e) },
	})
	h.signIns = &signIns{changed: func() { h.hub.changed("servers") }, last: map[string]*signIn{}}
	h.undos = &undos{}
	h.servers = &serverPages{opt.Servers, h.sight, h.undos, h.signIns, h.ctx, h.joined}
	h.drafts = &drafts{opt.Traffic, h.history}
	h.suites, err = suites.Open(h.ctx, suites.Options{
		Source: opt.Suites, StateDir: opt.StateDir, Sees: h.sight.sees, LooksInto: h.sight.looksInto, Undo: h.undos.add, Log: opt.Log,
		Publish: func(principal, name string) {
			h.hub.publish("tests", access.Principal{ID: principal}, map[string]string{"suite": name})
		},
	})
	if err != nil {
		return nil, err
	}
	h.router = api.Router{Routes: h.joined.relayed(append(h.table(), opt.More...)), Identify: h.Logins.Identify, Body: opt.Body, HasRoom: opt.HasRoom}
	h.peers = peerRouter(h.router.Routes, h.Logins.PeerRoutes())
	h.opt.Inbox.Watch(func() { h.hub.changed("inbox") })
	h.uptime = newUptimes(time.Now)
	h.opt.Servers.Watch(func() {
		h.uptime.note(h.opt.Servers.List())
		h.hub.changed("servers")
	})
	return h, nil
}

// Close ends the tester's sessions and the event streams, and waits for them.
func (h *Handler) Close() error {
	h.cancel(errClosed)
	h.bench.Close()
	h.suites.Close()
	h.wg.Wait()
	return nil
}

// End ends everything that a principal has open after its credential has
// become invalid: its logins, tester sessions and event streams.
func (h *Handler) End(principal string) {
	if err := h.Logins.Drop(principal); err != nil {
		h.opt.Log.Warn("the end of logins was not saved", "err", err)
	}
	h.bench.CloseOf(principal)
	h.suites.EndOf(principal)
	h.hub.publish(topicEnd, access.Principal{ID: principal}, struct{}{})
}

// ClientsChanged notifies open pages that a client connected or disconnected.
func (h *Handler) ClientsChanged() { h.hub.changed("clients") }

func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	if !isLoopbackHost(r.Host) && (h.opt.AllowHost == nil || !h.opt.AllowHost(r)) {
		api.Fail(w, r, http.StatusForbidden, "host", i18n.New("this host name is not allowed: %s; add it to server.hosts of the config file", "不允许使用这个主机名：%s；请将其加入配置文件的 server.hosts", r.Host))
		return
	}
	if r.Header.Get("Sec-Fetch-Site") == "cross-site" && r.Header.Get("Sec-Fetch-Mode") != "navigate" {
		api.Fail(w, r, http.StatusForbidden, "origin", i18n.New("cross-site requests are refused", "拒绝跨站请求"))
		return
	}
	switch {
	case strings.HasPrefix(r.URL.Path, api.Prefix):
		h.router.ServeHTTP(w, r)
	case r.URL.Path == appframe.Path:
		if err := appframe.Serve(w, r); err != nil {
			api.Fail(w, r, http.StatusBadRequest, "bad_request", i18n.Why(err))
		}
	case h.opt.Values != nil && strings.HasPrefix(r.URL.Path, values.Path):
		r.Body = h.opt.Body.Foreign(w, r, api.MaxBody)
		defer r.Body.Close()
		h.opt.Values.ServeHTTP(w, r)
	case strings.HasPrefix(r.URL.Path, "/ui/"):
		h.page.ServeHTTP(w, r)
	default:
		api.Fail(w, r, http.StatusNotFound, "not_found", i18n.New("nothing is here", "此处没有内容"))
	}
}
