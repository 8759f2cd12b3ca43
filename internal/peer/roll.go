package peer

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sort"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcphttp/sse"
)

// rollPath is the URL path of a replica's description.
const rollPath = "/peer/v1/member"

// A Directory knows the addresses of the other replicas.
type Directory struct {
	members   []string
	found     func() []string
	node      string // this replica's name
	self      string // this replica's address
	transport http.RoundTripper
	streams   http.RoundTripper // for streams
	log       *slog.Logger
}

// addresses returns the addresses of the other replicas; a name may resolve to
// several.
func (d *Directory) addresses(ctx context.Context, also string) []string {
	var list []string
	for _, name := range append(d.names(), also) {
		found, err := d.resolve(ctx, name)
		if err != nil {
			continue
		}
		for _, address := range found {
			if !slices.Contains(list, address) {
				list = append(list, address)
			}
		}
	}
	return list
}

// names returns the configured and found addresses, each once.
func (d *Directory) names() []string {
	list := slices.Clone(d.members)
	if d.found != nil {
		list = append(list, d.found()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// resolve returns the addresses of a name, without our own.
func (d *Directory) resolve(ctx context.Context, name string) (list []string, err error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	hosts := []string{host}
	if !isCarried(name) && net.ParseIP(host) == nil {
		if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return nil, i18n.Errorf("the name %s does not resolve here: set cluster.advertise of that replica to an address that the others reach: %w",
				"此处无法解析名称 %s：请将该副本的 cluster.advertise 设为其他副本可达的地址：%w", host, err)
		}
	}
	for _, h := range hosts {
		if address := net.JoinHostPort(h, port); address != d.self {
			list = append(list, address)
		}
	}
	return list, nil
}

// A Reply is the result of asking one address for its description.
type Reply struct {
	Name    string          // the address as configured
	Address string          // the resolved address
	Node    string          // name of the replica, only from Ask; empty if it was not reached
	Status  int             // HTTP status of the response; 0 if it was not read to its end
	Text    json.RawMessage // the body, whole; not only JSON
	Header  http.Header
	Date    time.Time // by the replica's clock, to the second
	Err     error
}

// Roll asks all replicas for their descriptions, for a bounded time. The list
// includes replicas that were not reached, but not this one.
func (d *Directory) Roll(ctx context.Context) []Reply {
	return d.getAll(ctx, surveyWait, rollPath, maxDescription)
}

// APIPath is the prefix of the paths of the console's API.
const APIPath = "/peer/v1/api/"

// Ask sends a request on behalf of a principal to all replicas, for a bounded time.
// Its URL is the path of the console's API. Each replica decides what the principal
// may see there.
func (d *Directory) Ask(r *http.Request, who access.Principal) []Reply {
	return d.askAll(r.Context(), surveyWait, func(ctx context.Context, address string) Reply { return d.askAPI(ctx, r, who, address) })
}

// AskOne is Ask for the replica at one address, whose answer may take longer.
func (d *Directory) AskOne(r *http.Request, who access.Principal, address string) Reply {
	ctx, cancel := context.WithTimeout(r.Context(), pageWait)
	defer cancel()
	return d.askAPI(ctx, r, who, address)
}

// askAPI sends a copy of a request to a replica.
func (d *Directory) askAPI(ctx context.Context, r *http.Request, who access.Principal, address string) Reply {
	r = r.Clone(ctx)
	r.URL = &url.URL{Scheme: "https", Host: address, Path: APIPath + r.URL.Path, RawPath: APIPath + r.URL.EscapedPath(), RawQuery: r.URL.RawQuery}
	r.Host = address
	if r.GetBody != nil {
		r.Body, _ = r.GetBody() // of a text in memory
	}
	maps.Copy(r.Header, onBehalf(who))
	return d.send(r, maxPage)
}

// followEvery is how often Follow looks for replicas whose stream is not open.
const followEvery = time.Second

// Lost is what Follow tells when a stream has ended.
const Lost = "lost"

// Follow reads an event stream of the console's API from all other replicas, on
// behalf of a principal, until ctx ends. It tells the name of the replica and of
// each event, one at a time. A stream that ends is opened again.
func (d *Directory) Follow(ctx context.Context, who access.Principal, path string, tell func(node, event string)) {
	f := &following{told: tell, nodes: map[string]bool{d.node: true}, at: map[string]string{}}
	var all sync.WaitGroup
	defer all.Wait()
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for {
		for _, address := range d.addresses(ctx, "") {
			if f.enter(address) {
				all.Go(func() { d.follow(ctx, address, APIPath+path, onBehalf(who), f) })
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// following are the streams of a Follow. A name may lead to this replica, or to one
// whose stream is open at another address.
type following struct {
	mu    sync.Mutex
	told  func(node, event string)
	nodes map[string]bool   // replicas whose stream is open, and this one
	at    map[string]string // replicas by address; empty until one has answered there
}

// enter reports whether an address has to be asked.
func (f *following) enter(address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, known := f.at[address]; known {
		return false
	}
	f.at[address] = ""
	return true
}

// begin reports whether the stream of a replica, which answered at an address, is to
// be read.
func (f *following) begin(node, address string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at[address] = node
	if f.nodes[node] {
		return false
	}
	f.nodes[node] = true
	return true
}

func (f *following) tell(node, event string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.told(node, event)
}

// end forgets a replica whose stream has ended, and all its addresses.
func (f *following) end(node string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.nodes, node)
	maps.DeleteFunc(f.at, func(_, there string) bool { return there == node })
}

// failed forgets an address where no stream began.
func (f *following) failed(address string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.at, address)
}

// follow reads the event stream of one replica until it ends.
func (d *Directory) follow(ctx context.Context, address, path string, header http.Header, f *following) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		f.failed(address)
		return
	}
	maps.Copy(req.Header, header)
	resp, err := d.streams.RoundTrip(req)
	if err != nil {
		f.failed(address)
		d.log.Debug("events of another replica", "address", address, "err", err)
		return
	}
	defer resp.Body.Close()
	node := resp.Header.Get(headerNode)
	if resp.StatusCode != http.StatusOK {
		f.failed(address)
		d.log.Debug("events of another replica", "address", address, "status", resp.Status)
		return
	}
	if !f.begin(node, address) {
		return
	}
	defer f.end(node)
	for events := sse.NewEventReader(resp.Body, maxPage); ; {
		e, err := events.Next()
		if err == nil {
			f.tell(node, e.Name)
		} else if !errors.As(err, new(*jsonrpc.FrameError)) { // too long
			break
		}
	}
	if ctx.Err() == nil {
		f.tell(node, Lost)
	}
}

func onBehalf(who access.Principal) http.Header {
	return http.Header{headerPrincipal: {principalText(who)}, headerHop: {"1"}}
}

// pageWait bounds how long one replica is asked; its answer may be long.
const pageWait = 5 * time.Second

const (
	maxDescription = 1 << 20
	maxPage        = 16 << 20
)

// getAll requests a path from all replicas, for a bounded time.
func (d *Directory) getAll(ctx context.Context, wait time.Duration, path string, most int64) []Reply {
	return d.askAll(ctx, wait, func(ctx context.Context, address string) Reply {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
		if err != nil {
			return Reply{Err: err}
		}
		return d.send(req, most)
	})
}

// askAll asks all replicas, for a bounded time. An address that several names lead to
// is asked once.
func (d *Directory) askAll(ctx context.Context, wait time.Duration, ask func(ctx context.Context, address string) Reply) []Reply {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var mu sync.Mutex
	var list []Reply
	add := func(r Reply) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, r)
	}
	asked := map[string]func() Reply{}
	once := func(address string) func() Reply {
		mu.Lock()
		defer mu.Unlock()
		if asked[address] == nil {
			asked[address] = sync.OnceValue(func() Reply { return ask(ctx, address) })
		}
		return asked[address]
	}
	var all sync.WaitGroup
	for _, name := range d.names() {
		all.Go(func() {
			addresses, err := d.resolve(ctx, name)
			if err != nil {
				add(Reply{Name: name, Address: name, Err: err})
			}
			for _, address := range addresses {
				all.Go(func() {
					r := once(address)()
					r.Name, r.Address = name, address
					add(r)
				})
			}
		})
	}
	all.Wait()
	sort.Slice(list, func(i, j int) bool { return list[i].Name+" "+list[i].Address < list[j].Name+" "+list[j].Address })
	return list
}

// send sends a request and reads the response. A connection that the replica has
// closed before it read the request is tried again.
func (d *Directory) send(req *http.Request, most int64) (r Reply) {
	resp, err := d.transport.RoundTrip(req)
	for try := 1; errors.Is(err, errClosed) && try < keptTries; try++ {
		if req.GetBody != nil {
			req.Body, _ = req.GetBody() // of a text in memory
		}
		resp, err = d.transport.RoundTrip(req)
	}
	if err != nil {
		return Reply{Err: err}
	}
	defer resp.Body.Close()
	r.Node, r.Header = resp.Header.Get(headerNode), resp.Header
	r.Date, _ = http.ParseTime(resp.Header.Get("Date")) // zero if there is none
	text, err := io.ReadAll(http.MaxBytesReader(nil, resp.Body, most))
	if errors.As(err, new(*http.MaxBytesError)) {
		err = i18n.Errorf("its answer is larger than %d MB: ask that replica itself", "其回答超过 %d MB：请直接访问该副本", most>>20)
	}
	if err != nil {
		r.Err = err
		return r
	}
	if r.Text, r.Status = text, resp.StatusCode; resp.StatusCode/100 != 2 {
		r.Err = i18n.Errorf("the replica refused the request: %s", "该副本拒绝了请求：%s", resp.Status)
	}
	return r
}

// Paths that make a replica drain, or hand over the servers that belong elsewhere.
const (
	drainPath     = "/peer/v1/drain"
	rebalancePath = "/peer/v1/rebalance"
)

// Drain tells the replica at an address to hand its sessions and servers to the
// others.
func (d *Directory) Drain(ctx context.Context, address string) error {
	resp, err := d.tell(ctx, address, drainPath)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode == http.StatusConflict {
		return i18n.Errorf("servers cannot be moved while that replica does not reach the engine", "该副本无法访问引擎，暂时不能移动其服务器")
	}
	if resp.StatusCode != http.StatusNoContent {
		return i18n.Errorf("the replica refused to drain: %s", "该副本拒绝移交：%s", resp.Status)
	}
	return nil
}

// Rebalance tells the replica at an address to hand over the servers that belong on
// other replicas, and decodes its response into into.
func (d *Directory) Rebalance(ctx context.Context, address string, into any) error {
	resp, err := d.tell(ctx, address, rebalancePath)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return i18n.Errorf("the replica refused to rebalance: %s", "该副本拒绝重新分配：%s", resp.Status)
	}
	return json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxDescription)).Decode(into)
}

// tell sends an order to a replica. The timeout includes reading the response.
func (d *Directory) tell(ctx context.Context, address, path string) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, nil)
	if err != nil {
		cancel()
		return nil, err
	}
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		cancel()
		return nil, err
	}
	resp.Body = &ending{resp.Body, cancel}
	return resp, nil
}

// ending is a response body; closing it ends the context of its request.
type ending struct {
	io.ReadCloser
	end context.CancelFunc
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
