package peer

import (
	"context"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
)

// rollPath is where a replica describes itself.
const rollPath = "/peer/v1/member"

// A Directory is where the other replicas are.
type Directory struct {
	members   []string
	found     func() []string
	self      string // our own address
	transport http.RoundTripper
}

// addresses are those of the replicas; a name may stand for several.
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

// names are the addresses of the replicas as they were given, each once.
func (d *Directory) names() []string {
	list := slices.Clone(d.members)
	if d.found != nil {
		list = append(list, d.found()...)
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// resolve finds the addresses that a name stands for, without our own.
func (d *Directory) resolve(ctx context.Context, name string) (list []string, err error) {
	host, port, err := net.SplitHostPort(name)
	if err != nil {
		return nil, err
	}
	hosts := []string{host}
	if net.ParseIP(host) == nil {
		if hosts, err = net.DefaultResolver.LookupHost(ctx, host); err != nil {
			return nil, err
		}
	}
	for _, h := range hosts {
		if address := net.JoinHostPort(h, port); address != d.self {
			list = append(list, address)
		}
	}
	return list, nil
}

// A Reply is what came of asking one address what replica is there.
type Reply struct {
	Name    string // the address as it was given
	Address string // the one that it stands for
	Node    string // the replica; empty when it was not reached
	Status  int    // of its answer; 0 for none
	Text    json.RawMessage
	Date    time.Time // by the clock of the replica, to the second
	Err     error
}

// Roll asks all replicas to describe themselves, for a bounded time. Who is not
// reached is in the list, too; this replica is not.
func (d *Directory) Roll(ctx context.Context) []Reply {
	return d.askAll(ctx, rollPath, nil, maxDescription)
}

// APIPath is before the paths of the console's API.
const APIPath = "/peer/v1/api/"

// Ask asks all replicas for a part of the API of their consoles, in the name of
// a principal, for a bounded time. Each decides what that one may see there.
func (d *Directory) Ask(ctx context.Context, who access.Principal, path string) []Reply {
	return d.askAll(ctx, APIPath+path, http.Header{headerPrincipal: {principalText(who)}, headerHop: {"1"}}, maxPage)
}

const (
	maxDescription = 1 << 20
	maxPage        = 16 << 20
)

// askAll asks all replicas for a path.
func (d *Directory) askAll(ctx context.Context, path string, header http.Header, most int64) []Reply {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	defer cancel()
	var mu sync.Mutex
	var list []Reply
	add := func(r Reply) {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, r)
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
					r := d.ask(ctx, address, path, header, most)
					r.Name, r.Address = name, address
					add(r)
				})
			}
		})
	}
	all.Wait()
	slices.SortFunc(list, func(a, b Reply) int { return strings.Compare(a.Name+" "+a.Address, b.Name+" "+b.Address) })
	return list
}

// ask asks the replica at an address for a path.
func (d *Directory) ask(ctx context.Context, address, path string, header http.Header, most int64) (r Reply) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+path, nil)
	if err != nil {
		return Reply{Err: err}
	}
	maps.Copy(req.Header, header)
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return Reply{Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Reply{Node: resp.Header.Get(headerNode), Status: resp.StatusCode, Err: i18n.Errorf("the replica does not answer this: %s", "该副本没有回答：%s", resp.Status)}
	}
	r.Node, r.Status = resp.Header.Get(headerNode), resp.StatusCode
	r.Date, _ = http.ParseTime(resp.Header.Get("Date")) // zero where it says none
	r.Err = json.NewDecoder(http.MaxBytesReader(nil, resp.Body, most)).Decode(&r.Text)
	return r
}

// Where a replica is told to drain, and to give away what should be elsewhere.
const (
	drainPath     = "/peer/v1/drain"
	rebalancePath = "/peer/v1/rebalance"
)

// Drain tells the replica at an address to give what it has to the others.
func (d *Directory) Drain(ctx context.Context, address string) error {
	resp, err := d.tell(ctx, address, drainPath)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return i18n.Errorf("the replica does not drain: %s", "该副本没有开始排空：%s", resp.Status)
	}
	return nil
}

// Rebalance tells the replica at an address to give the servers to others that
// should be there, and reads what it says about that.
func (d *Directory) Rebalance(ctx context.Context, address string, into any) error {
	resp, err := d.tell(ctx, address, rebalancePath)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return i18n.Errorf("the replica does not rebalance: %s", "该副本没有重新分配：%s", resp.Status)
	}
	return json.NewDecoder(http.MaxBytesReader(nil, resp.Body, maxDescription)).Decode(into)
}

// tell sends a replica an order. Its answer is read within the same time.
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

// An ending is a body whose request ends with it.
type ending struct {
	io.ReadCloser
	end context.CancelFunc
}

func (e *ending) Close() error {
	defer e.end()
	return e.ReadCloser.Close()
}
