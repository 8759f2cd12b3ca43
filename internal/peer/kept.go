package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/kept"
	"mcp-all-in-one/internal/mcp"
)

// keptPath is the URL path for a result that a replica has kept.
const keptPath = "/peer/v1/kept"

// Headers of a kept result.
const (
	headerBlock = "Aio-Block" // it is a content block
	headerFrom  = "Aio-From"  // a server that it came from, once for each
)

// A keptQuery asks for a kept result of a principal in a schema.
type keptQuery struct{ Principal, Rights, Schema, URI string }

// FetchKept returns a result that another replica has kept for an owner. replica
// names the other replica, in the form used in handles.
func FetchKept(ctx context.Context, n *Node, replica string, owner kept.Owner, uri string) (kept.Result, error) {
	to, ok := parseOwner(replica)
	if !ok {
		return kept.Result{}, kept.ErrNotFound
	}
	body, err := json.Marshal(keptQuery{owner.Principal, owner.Rights, owner.Schema, uri})
	if err != nil {
		return kept.Result{}, err
	}
	for try := 1; ; try++ {
		r, err := fetchKept(ctx, n, to, body)
		switch {
		case errors.Is(err, errClosed) && try < keptTries: // other idle connections may be closed too
			continue
		case err != nil && ended(ctx, n, err, to):
			err = kept.OwnerGone(to.Node)
		case errors.Is(err, kept.ErrOverloaded):
			err = mcp.Failure(mcp.Overloaded, "", err.Error())
		case err != nil && !errors.Is(err, kept.ErrNotFound):
			err = mcp.Failure(mcp.UpstreamUnavailable, "", fmt.Sprintf("replica %s, which has the result, cannot be reached: try again, or call the tool again: %v", to.Node, err))
		}
		return r, err
	}
}

// fetchKept asks a replica once.
func fetchKept(ctx context.Context, n *Node, to Owner, query []byte) (r kept.Result, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+Reach(n, to)+keptPath, bytes.NewReader(query))
	if err != nil {
		return r, err
	}
	req.Header.Set(headerBoot, to.Boot)
	began := time.Now()
	resp, err := n.transport.RoundTrip(req)
	if err != nil {
		return r, err
	}
	defer resp.Body.Close()
	switch {
	case resp.Header.Get(headerNotRun) != "":
		return r, kept.OwnerGone(to.Node)
	case resp.StatusCode == http.StatusGone:
		var why reason
		if err := json.NewDecoder(io.LimitReader(resp.Body, maxDescription)).Decode(&why); err != nil {
			return r, err
		}
		return r, kept.Gone(why.Why, why.WhyZH)
	case resp.StatusCode == http.StatusTooManyRequests:
		return r, kept.ErrOverloaded
	case resp.StatusCode != http.StatusOK:
		return r, kept.ErrNotFound
	}
	if r.Data, err = io.ReadAll(resp.Body); err != nil {
		return kept.Result{}, err
	}
	n.Counted.forwarded(to.Node, time.Since(began))
	r.Block, r.From = resp.Header.Get(headerBlock) != "", resp.Header.Values(headerFrom)
	return r, nil
}

// maxServed is how many reads of one principal by other replicas run or wait.
const maxServed = 64

// serving lets four kept results be sent at a time, because each is loaded whole.
var serving = kept.NewTurns(4, maxServed)

// serveKept answers another replica that asks for a kept result.
func serveKept(n *Node, w http.ResponseWriter, r *http.Request) {
	var q keptQuery
	switch err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxDescription)).Decode(&q); {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case r.Header.Get(headerBoot) != n.self.Boot:
		notRun(w, notThisRun)
		return
	}
	leave, err := serving.Enter(r.Context(), q.Principal, nil)
	if err != nil { // it has too many reads, or the caller has disconnected
		w.WriteHeader(http.StatusTooManyRequests)
		return
	}
	defer leave()
	result, err := n.opt.Kept(r.Context(), kept.Owner{Principal: q.Principal, Schema: q.Schema, Rights: q.Rights}, q.URI)
	if gone := new(kept.GoneError); errors.As(err, &gone) {
		en, zh := i18n.Why(gone).Both()
		w.WriteHeader(http.StatusGone)
		writeJSON(w, reason{en, zh})
		return
	}
	if err != nil {
		http.NotFound(w, r)
		return
	}
	if result.Block {
		w.Header().Set(headerBlock, "1")
	}
	w.Header()[headerFrom] = result.From
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Write(result.Data) // an error means that the caller has disconnected
}
