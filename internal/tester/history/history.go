// Package history stores the requests of a user with their answers.
package history

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// A Run is one request of the tester and its outcome.
type Run struct {
	ID     string `json:"id"`
	Bench  string `json:"bench,omitempty"`
	Target string `json:"target"`
	// From is the target in structured form; nil if unknown.
	From   *RunTarget      `json:"from,omitempty"`
	Method string          `json:"method"`
	Name   string          `json:"name,omitempty"`
	Params json.RawMessage `json:"params,omitempty"`
	Start  time.Time       `json:"start"`
	// Status is running, ok, tool_error, error, failed, cancelled or timeout.
	Status     string          `json:"status"`
	Message    string          `json:"message,omitempty"`
	MessageZH  string          `json:"messageZH,omitempty"`
	Error      json.RawMessage `json:"error,omitempty"`
	Total      time.Duration   `json:"total"`
	Gateway    time.Duration   `json:"gateway,omitempty"`
	Transport  time.Duration   `json:"transport,omitempty"`
	ServerTime time.Duration   `json:"serverTime,omitempty"`
	ReqSize    int64           `json:"reqSize"`
	ResSize    int64           `json:"resSize"`
	TrafficID  uint64          `json:"trafficId,omitempty"`
	// Kept reports that the result is still available.
	Kept bool `json:"kept"`
	// Quiet marks requests of the page itself, such as completions: they are
	// not listed in the history.
	Quiet bool `json:"quiet,omitempty"`
	// Chaos is the fault that the user injected.
	Chaos string `json:"chaos,omitempty"`
}

// A RunTarget identifies the target of a run, without secrets.
type RunTarget struct {
	// Server is a configured server of Schema. If Server, Command and URL are
	// empty, the target is the whole Schema.
	Server   string   `json:"server,omitempty"`
	Schema   string   `json:"schema,omitempty"`
	Command  []string `json:"command,omitempty"`
	URL      string   `json:"url,omitempty"`
	Protocol string   `json:"protocol,omitempty"`
}

// A WireFrame is one message of a run on the wire, with secrets redacted.
type WireFrame struct {
	Sent bool `json:"sent"`
	// At is the time since the beginning of the call.
	At     time.Duration     `json:"at"`
	Status int               `json:"status,omitempty"`
	Header map[string]string `json:"header,omitempty"`
	Body   string            `json:"body"`
}

// Answered sets the outcome of a request that was answered; redact replaces the
// secrets of its target.
func (k *KeptRun) Answered(x *probe.Exchange, redact func([]byte) []byte) {
	t := x.Timing
	k.Total, k.Gateway, k.Transport, k.ServerTime, k.TrafficID = cmp.Or(t.Total, k.Total), t.Gateway, t.Transport, t.Server, x.Record
	k.Status, k.Kept, k.Result, k.ResSize = "ok", true, redact(x.Result), int64(len(x.Result))
	switch {
	case x.Err != nil:
		k.Status, k.Kept, k.Result, k.Error = "error", false, nil, redact(jsonrpc.AppendError(nil, x.Err))
		k.Message, _ = jsonrpc.GetString(k.Error, "message")
		k.ResSize = int64(len(k.Error))
	case x.IsToolError():
		k.Status = "tool_error"
	}
}

// A KeptRun is a run with its result; Wire is kept in memory only.
type KeptRun struct {
	Run
	Result json.RawMessage `json:"result,omitempty"`
	Wire   []WireFrame     `json:"-"`
}

// size returns the size of all texts of the run.
func (k *KeptRun) size() int64 {
	n := int64(len(k.Result) + len(k.Params) + len(k.Error) + len(k.Message) + len(k.MessageZH))
	n += int64(len(k.ID) + len(k.Bench) + len(k.Target) + len(k.Method) + len(k.Name) + len(k.Status) + len(k.Chaos))
	if f := k.From; f != nil {
		n += int64(len(f.Server) + len(f.Schema) + len(f.URL) + len(f.Protocol))
		for _, word := range f.Command {
			n += int64(len(word)) + 16 // the string itself
		}
	}
	for _, f := range k.Wire {
		n += int64(len(f.Body))
	}
	return n
}

// Limits of a history.
const (
	MaxRuns        = 500
	maxRunBytes    = 64 << 20 // runs in memory
	maxSavedResult = 64 << 10 // largest result that is written to the file, and largest parameters that are imported
)

// A History stores the last runs, newest last, in memory and in a file that the
// console and the command line share. Its methods may be called concurrently,
// and by several processes.
type History struct {
	mu    sync.Mutex
	runs  []*KeptRun
	bytes int64
	file  historyFile
}

// OpenHistory returns the history in a file; an empty path keeps it in memory
// only.
func OpenHistory(path string) *History { return &History{file: historyFile{path: path}} }

// Add records a run, or the end of a running one. The run is shown and
// exported, so the caller must have replaced the secrets in it.
func (h *History) Add(k KeptRun) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.put(&k)
	if k.Status == "running" || k.Quiet {
		return nil
	}
	return h.file.add(&k)
}

func (h *History) put(k *KeptRun) {
	if i := slices.IndexFunc(h.runs, func(o *KeptRun) bool { return o.ID == k.ID }); i >= 0 {
		old := h.runs[i]
		if k.Result == nil && k.Wire == nil && k.Status == old.Status {
			return // read from the file, which holds less of the run
		}
		if k.Wire == nil {
			k.Wire = old.Wire
		}
		h.bytes -= old.size()
		h.runs[i] = k
	} else {
		h.runs = append(h.runs, k)
	}
	h.bytes += k.size()
	for _, old := range h.runs {
		if h.bytes <= maxRunBytes {
			break
		}
		if old == k {
			continue
		}
		h.bytes -= old.size()
		old.Result, old.Wire, old.Kept = nil, nil, false
		h.bytes += old.size()
	}
	for len(h.runs) > MaxRuns || h.bytes > maxRunBytes && len(h.runs) > 1 {
		h.bytes -= h.runs[0].size()
		h.runs = slices.Delete(h.runs, 0, 1)
	}
}

// Of returns all runs of an open session, newest first, including quiet ones.
func (h *History) Of(bench string) []Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []Run{}
	for _, run := range slices.Backward(h.runs) {
		if run.Bench == bench {
			out = append(out, run.Run)
		}
	}
	return out
}

// List returns runs, newest first; empty strings match everything.
func (h *History) List(target, method, name string, limit int) ([]Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.refresh()
	out := []Run{}
	for i := len(h.runs) - 1; i >= 0 && len(out) < limit; i-- {
		k := h.runs[i]
		if !k.Quiet && (target == "" || k.Target == target) && (method == "" || k.Method == method) && (name == "" || k.Name == name) {
			out = append(out, k.Run)
		}
	}
	return out, err
}

// Get returns the run whose id has the given prefix; false unless it is unique.
func (h *History) Get(id string) (KeptRun, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	// If the file cannot be read, the run may still be in memory.
	_ = h.refresh()
	var found *KeptRun
	for _, k := range h.runs {
		if k.ID == id {
			return *k, true
		}
		if id != "" && strings.HasPrefix(k.ID, id) {
			if found != nil {
				return KeptRun{}, false
			}
			found = k
		}
	}
	if found == nil {
		return KeptRun{}, false
	}
	return *found, true
}

// Export returns all runs, oldest first.
func (h *History) Export() ([]KeptRun, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.refresh()
	out := []KeptRun{}
	for _, k := range h.runs {
		if !k.Quiet && k.Status != "running" {
			out = append(out, *k)
		}
	}
	return out, err
}

// Import adds exported runs, without large parameters.
func (h *History) Import(runs []KeptRun) error {
	for i := range runs {
		if runs[i].ID == "" || runs[i].Method == "" || runs[i].Status == "" || runs[i].Status == "running" {
			return errNotHistory
		}
	}
	for i := range runs {
		if len(runs[i].Params) > maxSavedResult {
			runs[i].Params = nil
		}
		if err := h.Add(runs[i]); err != nil {
			return err
		}
	}
	return nil
}

// Clear deletes all runs.
func (h *History) Clear() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs, h.bytes = nil, 0
	return h.file.clear()
}
