package instance

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/gateway"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// An Arrival is a client that has just connected.
type Arrival struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// waitingDir returns the directory in which commands that wait for a client
// create a file each. A gateway on stdio has no listener, so it writes to those
// files.
func waitingDir() string { return filepath.Join(folders.StateDir(), "waiting") }

// A Greeter is the handler of a stdio session. It tells the waiting commands
// that a client has connected.
type Greeter struct {
	*gateway.Session
	told atomic.Bool
}

// Handle passes a request on. It reports the client of the first answered
// request that names one: initialize, or any request of the modern era.
func (g *Greeter) Handle(ctx context.Context, from jsonrpc.Peer, req *jsonrpc.Request) (*jsonrpc.Response, error) {
	var who Arrival
	if !g.told.Load() {
		who = clientOf(req.Params)
	}
	resp, err := g.Session.Handle(ctx, from, req)
	if who.Name != "" && err == nil && resp.Err == nil && g.told.CompareAndSwap(false, true) {
		tellArrival(who)
	}
	return resp, err
}

// clientOf returns the client that a request names, in either era.
func clientOf(params []byte) Arrival {
	info := jsonrpc.Get(params, "clientInfo")
	if info == nil {
		info = jsonrpc.Get(jsonrpc.Get(params, "_meta"), mcp.MetaClientInfo)
	}
	var h Arrival
	h.Name, _ = jsonrpc.GetString(info, "name")
	h.Version, _ = jsonrpc.GetString(info, "version")
	return h
}

// tellArrival writes the client into every waiting file. Files that cannot be
// written are ignored.
func tellArrival(h Arrival) {
	files, _ := filepath.Glob(filepath.Join(waitingDir(), "*.wait")) // the pattern is valid
	raw, err := json.Marshal(h)
	if err != nil {
		return
	}
	for _, path := range files {
		f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			continue
		}
		f.Write(append(raw, '\n'))
		f.Close()
	}
}

// AwaitArrival waits until a client connects to one of our gateways on stdio;
// it returns false if ctx ends first. It calls begin when no client can be
// missed any more.
func AwaitArrival(ctx context.Context, begin func() error) (Arrival, bool, error) {
	if err := os.MkdirAll(waitingDir(), 0o700); err != nil {
		return Arrival{}, false, err
	}
	f, err := os.CreateTemp(waitingDir(), "*.wait")
	if err != nil {
		return Arrival{}, false, err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if err := begin(); err != nil {
		return Arrival{}, false, err
	}
	return Poll(ctx, func() (h Arrival, ok bool) {
		data, err := os.ReadFile(f.Name())
		line, _, whole := bytes.Cut(data, []byte("\n"))
		return h, err == nil && whole && json.Unmarshal(line, &h) == nil
	})
}

// PollPause is the interval of Poll.
const PollPause = 100 * time.Millisecond

// Poll calls look until it returns true or ctx ends.
func Poll(ctx context.Context, look func() (Arrival, bool)) (Arrival, bool, error) {
	tick := time.NewTicker(PollPause)
	defer tick.Stop()
	for {
		if h, ok := look(); ok {
			return h, true, nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return Arrival{}, false, nil
		}
	}
}
