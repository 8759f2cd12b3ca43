package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"sync"

	"mcp-all-in-one/internal/rate"
)

// spentPath is the URL path for the calls that a replica admitted.
const spentPath = "/peer/v1/spent"

// Spent tells all other replicas which calls this one admitted.
func (d *Directory) Spent(list []rate.Spent) { d.tellAll(spentPath, list) }

// heldPath is the URL path for how many sessions each principal has at a replica.
const heldPath = "/peer/v1/held"

// Held tells all other replicas how many sessions each principal has at this one.
func (d *Directory) Held(of map[string]int) { d.tellAll(heldPath, rate.Held{From: d.self, Of: of}) }

// tellAll posts a value as JSON to all other replicas, for a bounded time. Those that
// are not reached miss it.
func (d *Directory) tellAll(path string, v any) {
	ctx, cancel := context.WithTimeout(context.Background(), surveyWait)
	defer cancel()
	d.tellEach(ctx, d.addresses(ctx, ""), path, v)
}

// tellEach posts a value as JSON to the replicas at some addresses, until ctx ends, and
// returns those that missed it. One that refuses it has not: it would refuse it again.
func (d *Directory) tellEach(ctx context.Context, addresses []string, path string, v any) (missed []string) {
	body, err := json.Marshal(v)
	if err != nil {
		d.log.Error("other replicas not told", "path", path, "err", err)
		return nil
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	for _, address := range addresses {
		all.Go(func() {
			if err := d.post(ctx, address, path, body); err != nil {
				d.log.Debug("another replica not told", "address", address, "path", path, "err", err)
				mu.Lock()
				defer mu.Unlock()
				missed = append(missed, address)
			}
		})
	}
	all.Wait()
	return missed
}

// post sends a JSON text to a replica. The error says that it has not answered.
func (d *Directory) post(ctx context.Context, address, path string, body []byte) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+address+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if r := d.send(req, maxDescription); r.Status == 0 {
		return r.Err
	}
	return nil
}

// told reads what another replica tells, and answers it.
func told[V any](w http.ResponseWriter, r *http.Request) (v V, ok bool) {
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxPage)).Decode(&v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return v, false
	}
	w.WriteHeader(http.StatusNoContent)
	return v, true
}
