package peer

import (
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
	body, err := json.Marshal(v)
	if err != nil {
		d.log.Error("other replicas not told", "path", path, "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), surveyWait)
	defer cancel()
	var all sync.WaitGroup
	for _, address := range d.addresses(ctx, "") {
		all.Go(func() {
			resp, err := d.tell(ctx, address, path, body)
			if err != nil {
				d.log.Debug("another replica not told", "address", address, "path", path, "err", err)
				return
			}
			resp.Body.Close()
		})
	}
	all.Wait()
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
