package rate

import (
	"hash/maphash"
	"strconv"
	"sync"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
)

// pause is how long a row must be idle before it is forgotten.
const pause = time.Minute

// A row is a sequence of identical calls with identical answers.
type row struct {
	call, answer uint64
	n            int
	last         time.Time
}

// repeats holds the last row of each principal.
type repeats struct {
	mu      sync.Mutex
	rows    map[string]*row
	sweepAt int
}

var seed = maphash.MakeSeed()

// sumOf returns a hash of a call. Arguments with the same values have the same
// hash, however they are written.
func sumOf(schema, server, tool string, arguments []byte) uint64 {
	var h maphash.Hash
	h.SetSeed(seed)
	for _, s := range []string{schema, server, tool} {
		h.WriteString(strconv.Itoa(len(s)) + ":" + s)
	}
	h.Write(jsonrpc.Canonical(jsonrpc.AsObject(arguments)))
	return h.Sum64()
}

// answerOf returns a hash of the parts of an answer that a model reads; ok is
// false if it is not a final answer, such as a question or a started task.
func answerOf(resp *jsonrpc.Response) (sum uint64, ok bool) {
	var h maphash.Hash
	h.SetSeed(seed)
	if resp.Err != nil {
		h.WriteString(strconv.FormatInt(resp.Err.Code, 10) + resp.Err.Message)
		return h.Sum64(), true
	}
	for name, value := range jsonrpc.Members(resp.Result) {
		switch name {
		case "content", "structuredContent", "isError":
			h.WriteString(name)
			h.Write(value)
			ok = true
		}
	}
	return h.Sum64(), ok
}

// length returns how long the row of a call is, and how long until it is
// forgotten.
func (r *repeats) length(who string, call uint64) (n int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.rows[who]
	if have == nil || have.call != call {
		return 0, 0
	}
	if wait = pause - time.Since(have.last); wait <= 0 {
		return 0, 0
	}
	return have.n, wait
}

// note adds an answer to the row of its call, or begins a new row.
func (r *repeats) note(who string, call, answer uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	have := r.rows[who]
	if have == nil {
		r.sweep(now)
		have = &row{}
		r.rows[who] = have
	}
	if have.call != call || have.answer != answer || now.Sub(have.last) >= pause {
		*have = row{call: call, answer: answer}
	}
	have.n++
	have.last = now
}

func (r *repeats) sweep(now time.Time) {
	if r.rows == nil {
		r.rows = make(map[string]*row)
	}
	if len(r.rows) < max(r.sweepAt, leastSweep) {
		return
	}
	for who, have := range r.rows {
		if now.Sub(have.last) >= pause {
			delete(r.rows, who)
		}
	}
	r.sweepAt = 2 * len(r.rows)
}
