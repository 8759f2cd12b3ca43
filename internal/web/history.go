package web

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

const (
	maxRuns        = 500
	maxRunBytes    = 64 << 20 // results and wires in memory
	maxSavedResult = 64 << 10 // a result that is written to the file
)

// history keeps the tester's last runs, newest last, in memory and, when there
// is a directory, in a file of JSON lines.
type history struct {
	mu    sync.Mutex
	runs  []*keptRun
	bytes int64
	file  *os.File
}

type keptRun struct {
	Run
	Result json.RawMessage `json:"result,omitempty"`
	wire   []Frame
}

func (k *keptRun) size() int64 {
	n := int64(len(k.Result))
	for _, f := range k.wire {
		n += int64(len(f.Body))
	}
	return n
}

func openHistory(dir string) (*history, error) {
	h := &history{}
	if dir == "" {
		return h, nil
	}
	name := filepath.Join(dir, "runs.jsonl")
	if err := h.load(name); err != nil {
		return nil, fmt.Errorf("reading the history: %w", err)
	}
	if err := h.rewrite(name); err != nil {
		return nil, fmt.Errorf("writing the history: %w", err)
	}
	return h, nil
}

func (h *history) load(name string) error {
	f, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		var k keptRun
		// A line that was cut by a crash is left out.
		if json.Unmarshal(lines.Bytes(), &k) == nil && k.ID != "" {
			h.putLocked(&k)
		}
	}
	return lines.Err()
}

// rewrite leaves in the file what is in memory, and opens it for appending.
func (h *history) rewrite(name string) error {
	var data []byte
	for _, k := range h.runs {
		data = append(appendLine(data, k), '\n')
	}
	if err := writeFile(name, data); err != nil {
		return err
	}
	var err error
	h.file, err = os.OpenFile(name, os.O_APPEND|os.O_WRONLY, 0o600)
	return err
}

func appendLine(dst []byte, k *keptRun) []byte {
	saved := *k
	if len(saved.Result) > maxSavedResult {
		saved.Result, saved.Kept = nil, false
	}
	line, err := json.Marshal(&saved)
	if err != nil {
		panic(err) // raw JSON that was scanned before
	}
	return append(dst, line...)
}

// add records a run, or how a running one ended.
func (h *history) add(r *Run, result json.RawMessage, wire []Frame) {
	h.mu.Lock()
	defer h.mu.Unlock()
	k := &keptRun{Run: *r, Result: result, wire: wire}
	h.putLocked(k)
	if h.file != nil && r.Status != "running" && !r.Quiet {
		// A full disk must not break a test; the run is in memory.
		_, _ = h.file.Write(append(appendLine(nil, k), '\n'))
	}
}

func (h *history) putLocked(k *keptRun) {
	if i := slices.IndexFunc(h.runs, func(o *keptRun) bool { return o.ID == k.ID }); i >= 0 {
		h.bytes -= h.runs[i].size()
		h.runs[i] = k
	} else {
		h.runs = append(h.runs, k)
	}
	h.bytes += k.size()
	for _, old := range h.runs {
		if h.bytes <= maxRunBytes || old == k {
			break
		}
		h.bytes -= old.size()
		old.Result, old.wire, old.Kept = nil, nil, false
	}
	if len(h.runs) > maxRuns {
		h.bytes -= h.runs[0].size()
		h.runs = slices.Delete(h.runs, 0, 1)
	}
}

// list returns runs, newest first; empty strings match everything.
func (h *history) list(target, method, name string, limit int) []Run {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []Run{}
	for i := len(h.runs) - 1; i >= 0 && len(out) < limit; i-- {
		k := h.runs[i]
		if !k.Quiet && (target == "" || k.Target == target) && (method == "" || k.Method == method) && (name == "" || k.Name == name) {
			out = append(out, k.Run)
		}
	}
	return out
}

func (h *history) get(id string) (keptRun, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range h.runs {
		if k.ID == id {
			return *k, true
		}
	}
	return keptRun{}, false
}

func (h *history) export() []keptRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []keptRun{}
	for _, k := range h.runs {
		if !k.Quiet {
			out = append(out, *k)
		}
	}
	return out
}

func (h *history) clear() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.runs, h.bytes = nil, 0
	if h.file == nil {
		return nil
	}
	return h.file.Truncate(0)
}

func (h *history) close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.file == nil {
		return nil
	}
	f := h.file
	h.file = nil
	return f.Close()
}
