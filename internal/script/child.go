package script

import (
	"context"
	"encoding/json"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/stdio/lines"
)

// RunChild is the main function of the process of one script. It reads its job
// from standard input, runs it, and writes the result to standard output. It
// returns the exit code.
func RunChild() int {
	if err := work(); err != nil {
		os.Stderr.WriteString("script: " + err.Error() + "\n")
		return 1
	}
	return 0
}

func work() error {
	if err := confine(); err != nil {
		return err
	}
	debug.SetGCPercent(50)
	p := &pipe{in: lines.NewStream(os.Stdin, io.Discard, lines.StreamOptions{MaxLine: maxLine})}
	var e *engine
	var err error
	if !p.ready(time.Now()) { // no job yet, so use the time
		if e, err = newEngine(); err != nil {
			return err
		}
	}
	id, job, err := p.job()
	if err != nil {
		return err
	}
	if e == nil && job.JQ == "" {
		if e, err = newEngine(); err != nil {
			return err
		}
	}
	outcome, err := json.Marshal(p.run(e, job))
	if err != nil {
		return err
	}
	p.write(append(jsonrpc.AppendResponse(nil, id, &jsonrpc.Response{Result: outcome}), '\n'))
	return nil
}

// maxLine is the longest message on the pipe: a value and its envelope.
const maxLine = MaxValue + 1<<20

// maxDepth is the maximum nesting of a message on the pipe.
const maxDepth = 1 << 20

// A pipe is the child's side of the pipe. Only the engine's goroutine reads
// from it, and waits there for its responses. So the process, which does one
// thing at a time, never switches threads.
type pipe struct {
	in *lines.Stream
	mu sync.Mutex // held while writing
}

// write writes messages, each with its line end.
func (p *pipe) write(messages []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	os.Stdout.Write(messages) // if the gateway does not read, it does not wait for us either
}

// ready waits until there is input, or until the given time.
func (p *pipe) ready(until time.Time) bool {
	return p.in.Buffered() || awaitInput(until)
}

// job waits for the only job of the process, and returns the id of its request
// too.
func (p *pipe) job() (id []byte, job *Job, err error) {
	for {
		data, _, err := p.in.Read()
		if err != nil {
			return nil, nil, err
		}
		m, bad := jsonrpc.Scan(data, &jsonrpc.ScanLimits{Depth: maxDepth})
		switch {
		case bad != nil:
			return nil, nil, bad
		case m.Method == MethodRun:
			job = &Job{}
			err = json.Unmarshal(m.Params, job)
			job.Limits = job.Limits.Or(Defaults)
			return m.ID, job, err
		}
		refused := jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found")
		p.write(append(jsonrpc.AppendResponse(nil, m.ID, &jsonrpc.Response{Err: refused}), '\n'))
	}
}

// run runs the job and watches its limits. The first of the two to finish
// determines the outcome.
func (p *pipe) run(e *engine, job *Job) *Outcome {
	if err := bound(job.Limits); err != nil {
		return faulty("InternalError", err.Error())
	}
	l := &journal{pipe: p, head: job.Limits.Log / 2, tail: job.Limits.Log - job.Limits.Log/2}
	m := newMeter(job.Limits)
	ended := make(chan *Outcome, 1)
	go func() {
		if job.JQ != "" {
			ended <- runFilter(context.Background(), job, m)
		} else {
			ended <- e.run(p, job, l, m)
		}
	}()
	var o *Outcome
	select {
	case o = <-ended:
	case limit := <-m.reached:
		// The engine is not stopped, because the process ends after this
		// response.
		o = &Outcome{Fault: &Fault{Name: "Limit", Limit: limit}}
	}
	o.Tail, o.LogBytes = l.rest()
	o.CPU, o.Peak = m.used()
	return o
}

// A journal has the log of a script: the first lines are sent at once, and the
// last of the others are kept.
type journal struct {
	pipe       *pipe
	head, tail int64 // sizes in bytes

	mu    sync.Mutex
	total int64
	last  []byte
}

func (l *journal) add(line string) {
	line += "\n"
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total += int64(len(line))
	if l.total <= l.head {
		params := append(append([]byte(`{"text":`), jsonrpc.Quote(line)...), '}')
		l.pipe.write(append(jsonrpc.AppendNotification(nil, MethodLog, params), '\n'))
		return
	}
	if int64(len(line)) > l.tail {
		line = line[int64(len(line))-l.tail:]
	}
	l.last = append(l.last, line...)
	if int64(len(l.last)) > 2*l.tail {
		l.last = append(l.last[:0], l.last[int64(len(l.last))-l.tail:]...)
	}
}

func (l *journal) rest() (tail string, total int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return string(l.last), l.total
}

// A meter checks the limits of the process while the engine computes.
type meter struct {
	limits  Limits
	base    usage
	busy    atomic.Bool   // the engine computes
	rests   atomic.Int64  // how often the engine has waited
	message atomic.Int64  // size of the largest message so far, if it is large
	asleep  atomic.Bool   // the meter waits for wake
	wake    chan struct{} // the engine computes again
	reached chan string
}

// usage is what the process has used so far.
type usage struct {
	cpu  time.Duration
	peak int64
}

// meterTick is how often the limits are checked.
const meterTick = 5 * time.Millisecond

func newMeter(limits Limits) *meter {
	m := &meter{limits: limits, base: measure(), wake: make(chan struct{}, 1), reached: make(chan string, 1)}
	go m.watch()
	return m
}

// work records that the engine computes from now on; rest records that it
// waits. A script alternates between the two with every call, so both must be
// cheap.
func (m *meter) work() {
	m.busy.Store(true)
	if m.asleep.CompareAndSwap(true, false) {
		m.wake <- struct{}{}
	}
}

func (m *meter) rest() {
	m.busy.Store(false)
	m.rests.Add(1)
}

// received records the size of a large message. Its copies do not count towards the
// memory of the script.
func (m *meter) received(size int64) { m.message.Store(max(size, m.message.Load())) }

func (m *meter) used() (cpu time.Duration, peak int64) {
	u := measure()
	return u.cpu - m.base.cpu, u.peak
}

// short reports whether the script came close to its memory limit.
func (m *meter) short() bool { return measure().peak > m.base.peak+m.limits.Memory/2 }

// yieldAfter is how long a script computes between two calls with the priority
// of other processes. With a lower priority each further call would wait for the
// processor.
const yieldAfter = 50 * time.Millisecond

// watch checks the limits. It sleeps while the script waits, so a script that
// waits for a person costs nothing.
func (m *meter) watch() {
	tick := time.NewTicker(meterTick)
	defer tick.Stop()
	yields, rests, rested := false, int64(0), m.base.cpu
	for {
		if !m.busy.Load() {
			m.asleep.Store(true)
			// The engine may have started in between. Either work or watch
			// resets asleep.
			if !m.busy.Load() || !m.asleep.CompareAndSwap(true, false) {
				tick.Stop()
				<-m.wake
				tick.Reset(meterTick)
			}
		}
		u := measure()
		if n := m.rests.Load(); n != rests {
			rests, rested = n, u.cpu
		}
		switch {
		case u.cpu-m.base.cpu > m.limits.CPU:
			m.reached <- LimitCPU
			return
		case u.peak > m.base.peak+m.limits.Memory+memorySlack+m.message.Load():
			m.reached <- LimitMemory
			return
		case u.cpu-rested > yieldAfter && !yields:
			yields = true
			yield()
		}
		<-tick.C
	}
}

// memorySlack is how much memory the process may use besides that of the
// script and its largest message: for the engine itself.
const memorySlack = 12 << 20
