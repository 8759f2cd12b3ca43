package peer

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"

	"mcp-all-in-one/internal/i18n"
)

// rollPath is where a replica describes itself.
const rollPath = "/peer/v1/member"

// A Reply is what came of asking one address what replica is there.
type Reply struct {
	Name    string // the address as it was given
	Address string // the one that it stands for
	Text    json.RawMessage
	Err     error
}

// Roll asks all replicas to describe themselves, for a bounded time. Who is not
// reached is in the list, too; this replica is not.
func (n *Node) Roll(ctx context.Context) []Reply {
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
	for _, name := range n.names() {
		all.Go(func() {
			addresses, err := n.resolve(ctx, name)
			if err != nil {
				add(Reply{Name: name, Address: name, Err: err})
			}
			for _, address := range addresses {
				all.Go(func() {
					text, err := n.describe(ctx, address)
					add(Reply{name, address, text, err})
				})
			}
		})
	}
	all.Wait()
	slices.SortFunc(list, func(a, b Reply) int { return strings.Compare(a.Name+" "+a.Address, b.Name+" "+b.Address) })
	return list
}

// describe asks the replica at an address what it is.
func (n *Node) describe(ctx context.Context, address string) (text json.RawMessage, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+rollPath, nil)
	if err != nil {
		return nil, err
	}
	resp, err := n.transport.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return nil, i18n.Errorf("the replica does not describe itself: %s", "该副本没有说明自身：%s", resp.Status)
	}
	return text, json.NewDecoder(http.MaxBytesReader(nil, resp.Body, 1<<20)).Decode(&text)
}
