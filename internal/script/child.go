package script

import (
	"context"
	"encoding/json"
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/stdio"
)

// RunChild is the body of the process of one script: it waits for its job on
// standard input, runs it, and answers on standard output. It returns the exit
// code.
func RunChild() int {
	p := &process{ready: make(chan struct{}), engine: make(chan *engine, 1)}
	if err := confine(); err != nil {
		os.Stderr.WriteString("script: " + err.Error() + "\n")
		return 1
	}
	debug.SetGCPercent(50)
	stream := stdio.NewStream(os.Stdin, os.Stdout, stdio.StreamOptions{MaxLine: maxLine})
	p.conn = jsonrpc.NewConn(stream, jsonrpc.ConnOptions{Handler: p, Limits: jsonrpc.ScanLimits{Depth: maxDepth}})
	close(p.ready)
	e, err := newEngine()
	if err != nil {
		os.Stderr.WriteString("script: " + err.Error() + "\n")
		return 1
	}
	p.engine <- e
	<-p.conn.Done()
	return 0
}

// maxLine is the longest message on the pipe: a value with what is around it.
const maxLine = MaxValue + 1<<20

// maxDepth is how deep a message on the pipe may be nested.
const maxDepth = 1 << 20

// A process is the child's side of the pipe.
type process struct {
	conn  *jsonrpc.Conn
	ready chan struct{} // closed once conn is set: the job may be read before
	// engine has the engine once it is ready.
	engine chan *engine
	once   sync.Once
}

// Handle takes the one job of the process.
func (p *process) Handle(ctx context.Context, _ jsonrpc.Peer, req *jsonrpc.Request) (resp *jsonrpc.Response, err error) {
	if req.Method != MethodRun {
		return nil, jsonrpc.Errorf(jsonrpc.CodeMethodNotFound, "Method not found")
	}
	<-p.ready
	err = jsonrpc.Errorf(jsonrpc.CodeInvalidRequest, "this process had its job")
	p.once.Do(func() {
		var job Job
		if bad := json.Unmarshal(req.Params, &job); bad != nil {
			err = jsonrpc.Errorf(jsonrpc.CodeInvalidParams, "%v", bad)
			return
		}
		job.Limits = job.Limits.Or(Defaults)
		outcome := p.run(ctx, &job)
		raw, bad := json.Marshal(outcome)
		if bad != nil {
			err = jsonrpc.Errorf(jsonrpc.CodeInternal, "%v", bad)
			return
		}
		resp, err = &jsonrpc.Response{Result: raw}, nil
	})
	return resp, err
}

func (p *process) HandleNotification(context.Context, jsonrpc.Peer, *jsonrpc.Notification) {}

// run runs the job and watches its limits: the first of the two to end decides.
func (p *process) run(ctx context.Context, job *Job) *Outcome {
	if err := bound(job.Limits); err != nil {
		return faulty("InternalError", err.Error())
	}
	l := &journal{conn: p.conn, head: job.Limits.Log / 2, tail: job.Limits.Log - job.Limits.Log/2}
	m := newMeter(job.Limits)
	ended := make(chan *Outcome, 1)
	go func() {
		if job.JQ != "" {
			ended <- runFilter(ctx, job, m)
		} else {
			ended <- (<-p.engine).run(ctx, p.conn, job, l, m)
		}
	}()
	var o *Outcome
	select {
	case o = <-ended:
	case limit := <-m.reached:
		// The engine is left as it is: the process ends with this answer.
		o = &Outcome{Fault: &Fault{Name: "Limit", Limit: limit}}
	}
	o.Tail, o.LogBytes = l.rest()
	o.CPU, o.Peak = m.used()
	return o
}

// A journal is what a script logs: the first lines are sent at once, of the
// others the last are kept.
type journal struct {
	conn       *jsonrpc.Conn
	head, tail int64 // how much of each

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
		l.conn.Notify(context.Background(), &jsonrpc.Notification{Method: MethodLog, Params: append(append([]byte(`{"text":`), jsonrpc.Quote(line)...), '}')})
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

// A meter watches the limits of the process while the engine computes.
type meter struct {
	limits  Limits
	base    usage
	busy    atomic.Bool   // the engine computes
	asleep  atomic.Bool   // the meter waits for wake
	wake    chan struct{} // the engine computes again
	reached chan string
}

// usage is what the process has used so far.
type usage struct {
	cpu  time.Duration
	peak int64
}

// meterTick is how often the limits are looked at.
const meterTick = 5 * time.Millisecond

func newMeter(limits Limits) *meter {
	m := &meter{limits: limits, base: measure(), wake: make(chan struct{}, 1), reached: make(chan string, 1)}
	go m.watch()
	return m
}

// work says that the engine computes from now on, and rest that it waits. A script
// does both with every call, so they cost next to nothing.
func (m *meter) work() {
	m.busy.Store(true)
	if m.asleep.CompareAndSwap(true, false) {
		m.wake <- struct{}{}
	}
}

func (m *meter) rest() { m.busy.Store(false) }

func (m *meter) used() (cpu time.Duration, peak int64) {
	u := measure()
	return u.cpu - m.base.cpu, u.peak
}

// short says that the script came near the limit of its memory.
func (m *meter) short() bool { return measure().peak > m.base.peak+m.limits.Memory/2 }

// watch looks at the limits. It sleeps while the script waits: a script that waits
// for a person costs nothing.
func (m *meter) watch() {
	tick := time.NewTicker(meterTick)
	defer tick.Stop()
	for {
		if !m.busy.Load() {
			m.asleep.Store(true)
			// The engine may have begun in between; one of the two takes the mark back.
			if !m.busy.Load() || !m.asleep.CompareAndSwap(true, false) {
				tick.Stop()
				<-m.wake
				tick.Reset(meterTick)
			}
		}
		u := measure()
		switch {
		case u.cpu-m.base.cpu > m.limits.CPU:
			m.reached <- LimitCPU
			return
		case u.peak > m.base.peak+m.limits.Memory+memorySlack:
			m.reached <- LimitMemory
			return
		}
		<-tick.C
	}
}

// memorySlack is what the process may take beyond the memory of the script: the
// message that is being read, and the engine itself.
const memorySlack = 12 << 20
