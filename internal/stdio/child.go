package stdio

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// stderrWait is how long the end of standard error is awaited after a child
// has ended: a process that still holds it then is not part of its tree.
const stderrWait = 500 * time.Millisecond

// A Command is what to start.
type Command struct {
	// Name is what the child is called in logs.
	Name string
	// Path is the command: a bare name is looked up in the PATH of Env, a
	// relative path in Dir.
	Path string
	// Args are its arguments, without the command itself.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is its working directory; ours when empty.
	Dir string
	// MaxLine is the longest line read from it; DefaultMaxLine when zero.
	MaxLine int64
	// Sandbox says how it is confined; nil when it is not.
	Sandbox *sandbox.Server

	profile *sandbox.Profile // set once it is prepared
}

// A controller reaches the process behind a child.
type controller interface {
	// look finds what a confined child has forked, before its end unties it.
	look(c *Child)
	// terminate asks the child and its process group to end.
	terminate(c *Child)
	// kill ends the child and everything it forked.
	kill(c *Child)
}

// A Child is one process with a stream to its standard input and output.
type Child struct {
	name   string
	grace  grace
	stream *Stream
	tail   Tail
	stdin  *os.File
	stderr *os.File
	ctl    controller

	id       uint64
	pid      int
	confined bool
	looked   chan struct{}
	started  chan struct{} // closed when pid or failure is set
	failure  error

	exitOnce sync.Once
	exited   chan struct{} // closed when exit is set
	exit     ExitStatus
	done     chan struct{}
}

// pipes are the six ends of a child's standard files.
type pipes struct {
	stdin, stdout, stderr *os.File // ours
	child                 [3]*os.File
}

func newPipes() (p pipes, err error) {
	var files []*os.File
	defer func() {
		if err != nil {
			closeAll(files)
		}
	}()
	pipe := func() (r, w *os.File) {
		if err != nil {
			return nil, nil
		}
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w
	}
	p.child[0], p.stdin = pipe()
	p.stdout, p.child[1] = pipe()
	p.stderr, p.child[2] = pipe()
	if err != nil {
		return p, err
	}
	widen(p.stdout)
	return p, nil
}

func closeAll(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
}

func newChild(cmd Command, id uint64, p pipes, g grace) *Child {
	return &Child{
		name:     cmd.Name,
		grace:    g,
		id:       id,
		stdin:    p.stdin,
		stderr:   p.stderr,
		stream:   NewStream(p.stdout, p.stdin, StreamOptions{MaxLine: cmd.MaxLine}),
		confined: cmd.profile != nil,
		looked:   make(chan struct{}, 1),
		started:  make(chan struct{}),
		exited:   make(chan struct{}),
		done:     make(chan struct{}),
	}
}

// Stream carries messages to and from the child. Whoever uses it closes it.
func (c *Child) Stream() *Stream { return c.stream }

// PID is the process id of the child.
func (c *Child) PID() int { return c.pid }

// Stderr is the last that the child wrote to its standard error.
func (c *Child) Stderr() *Tail { return &c.tail }

// Done is closed when the child has ended, what it forked has been killed, and
// its standard error is read to the end.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit is how the child ended. It is valid once Done is closed.
func (c *Child) Exit() ExitStatus {
	<-c.exited
	return c.exit
}

// Stop ends the child: it closes its standard input, then asks its process
// group to terminate, then kills its whole tree, waiting in between. When ctx
// ends it kills at once. Nil means that the child is gone. Stop may be called
// several times.
func (c *Child) Stop(ctx context.Context) error {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if c.confined {
			c.ctl.look(c)
		}
		c.stream.CloseWrite()
	}()
	defer func() { <-closed }()
	if c.wait(ctx, c.grace.stdin) {
		return nil
	}
	c.ctl.terminate(c)
	if c.wait(ctx, c.grace.term) {
		return nil
	}
	c.ctl.kill(c)
	if c.wait(context.WithoutCancel(ctx), c.grace.kill) {
		return nil
	}
	return i18n.Errorf("stopping %q: process %d still runs %v after it was killed", "停止 %q 失败：进程 %d 在被终止 %v 之后仍在运行", c.name, c.pid, c.grace.kill)
}

// Kill ends the child and everything it forked. It does not wait for Done.
func (c *Child) Kill() { c.ctl.kill(c) }

// wait reports whether the child is gone within limit and the life of ctx.
func (c *Child) wait(ctx context.Context, limit time.Duration) bool {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-c.done:
		return true
	case <-timer.C:
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ended notes how the child ended; only the first call counts.
func (c *Child) ended(status ExitStatus) {
	c.exitOnce.Do(func() {
		c.exit = status
		// Pipes of Windows have no deadlines; there the job closes them.
		_ = c.stderr.SetReadDeadline(time.Now().Add(stderrWait))
		close(c.exited)
	})
}

// watch drains standard error for the child's whole life, so that it never
// waits for us, and then closes done.
func (c *Child) watch() {
	_, _ = io.CopyBuffer(struct{ io.Writer }{&c.tail}, struct{ io.Reader }{c.stderr}, make([]byte, firstChunk))
	c.stderr.Close()
	<-c.exited
	c.stdin.Close()
	c.tail.close()
	close(c.done)
}
