package peer

import (
	"context"
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// rollPath is the URL path of a replica's description.
const rollPath = "/peer/v1/member"

// A Directory knows the addresses of the other replicas.
type Directory struct {
	members   []string
	found     func() []string
	self      string // this replica's address
	transport http.RoundTripper
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

// A Reply is the result of asking one address for its description.
type Reply struct {
	Name    string // the address as configured
	Address string // the resolved address
	Text    json.RawMessage
	Date    time.Time // by the replica's clock, to the second
	Err     error
}

// Roll asks all replicas for their descriptions, for a bounded time. The list
// includes replicas that were not reached, but not this one.
func (d *Directory) Roll(ctx context.Context) []Reply {
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
					r := d.describe(ctx, address)
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

// describe asks the replica at an address for its description.
func (d *Directory) describe(ctx context.Context, address string) (r Reply) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+rollPath, nil)
	if err != nil {
		return Reply{Err: err}
	}
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return Reply{Err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return Reply{Err: i18n.Errorf("the replica does not describe itself: %s", "该副本没有说明自身：%s", resp.Status)}
	}
	r.Date, _ = http.ParseTime(resp.Header.Get("Date")) // zero if there is none
	r.Err = json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&r.Text)
	return r
}

// drainPath is the URL path that makes a replica drain.
const drainPath = "/peer/v1/drain"

// Drain tells the replica at an address to hand its sessions and servers to the
// others.
func (d *Directory) Drain(ctx context.Context, address string) error {
	ctx, cancel := context.WithTimeout(ctx, surveyWait)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+drainPath, nil)
	if err != nil {
		return err
	}
	resp, err := d.transport.RoundTrip(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusNoContent {
		return i18n.Errorf("the replica does not drain: %s", "该副本没有开始排空：%s", resp.Status)
	}
	return nil
}
