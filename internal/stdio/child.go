package stdio

import (
	"context"
	"io"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
	"mcp-all-in-one/internal/stdio/lines"
)

// stderrWait is how long the end of standard error is awaited after a child has
// exited. A process that still has it open then does not belong to the child's
// tree.
const stderrWait = 500 * time.Millisecond

// A Command describes a child to start.
type Command struct {
	// Name is the name of the child in logs.
	Name string
	// Path is the command: a bare name is looked up in the PATH of Env, a
	// relative path in Dir.
	Path string
	// Args are its arguments, without the command itself.
	Args []string
	// Env is its whole environment.
	Env []string
	// Dir is its working directory; the gateway's if empty.
	Dir string
	// MaxLine is the longest line read from it; lines.DefaultMaxLine if zero.
	MaxLine int64
	// Sandbox confines the child; nil for no confinement.
	Sandbox *sandbox.Server

	profile *sandbox.Profile // set when the sandbox is prepared
}

// A controller controls the process of a child.
type controller interface {
	// look records the processes that a confined child has forked. After the child's
	// end they could no longer be attributed to it.
	look(c *Child)
	// terminate asks the child and its process group to exit.
	terminate(c *Child)
	// kill kills the child and every process that it forked.
	kill(c *Child)
}

// A Child is one process with a stream to its standard input and output.
type Child struct {
	name   string
	grace  grace
	stream *lines.Stream
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

// pipes are both ends of a child's standard files.
type pipes struct {
	stdin, stdout, stderr *os.File // the gateway's ends
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
		stream:   lines.NewStream(p.stdout, p.stdin, lines.StreamOptions{MaxLine: cmd.MaxLine}),
		confined: cmd.profile != nil,
		looked:   make(chan struct{}, 1),
		started:  make(chan struct{}),
		exited:   make(chan struct{}),
		done:     make(chan struct{}),
	}
}

// Stream carries messages to and from the child. The caller must close it.
func (c *Child) Stream() *lines.Stream { return c.stream }

// PID returns the process id of the child.
func (c *Child) PID() int { return c.pid }

// Stderr returns the end of the child's standard error.
func (c *Child) Stderr() *Tail { return &c.tail }

// Done is closed when the child has exited, the processes that it forked have been
// killed, and its standard error has been read to the end.
func (c *Child) Done() <-chan struct{} { return c.done }

// Exit returns how the child exited. It waits for the exit.
func (c *Child) Exit() ExitStatus {
	<-c.exited
	return c.exit
}

// Stop ends the child: it closes its standard input, then asks its process group to
// terminate, then kills its whole process tree, with a wait after each step. If ctx
// ends, it kills at once. It returns nil if the child has exited. Stop may be
// called several times.
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

// Kill kills the child and every process that it forked. It does not wait for Done.
func (c *Child) Kill() { c.ctl.kill(c) }

// wait reports whether the child exits before limit and before ctx ends.
func (c *Child) wait(ctx context.Context, limit time.Duration) bool {
	select {
	case <-c.done:
		return true
	case <-time.After(limit):
	case <-ctx.Done():
	}
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

// ended records how the child exited; only the first call counts.
func (c *Child) ended(status ExitStatus) {
	c.exitOnce.Do(func() {
		c.exit = status
		// Pipes on Windows have no deadlines; there, closing the job closes them.
		_ = c.stderr.SetReadDeadline(time.Now().Add(stderrWait))
		close(c.exited)
	})
}

// watch reads standard error until it ends, so that the child never blocks on it,
// and then closes done.
func (c *Child) watch() {
	_, _ = io.CopyBuffer(struct{ io.Writer }{&c.tail}, struct{ io.Reader }{c.stderr}, make([]byte, 4<<10))
	c.stderr.Close()
	<-c.exited
	c.stdin.Close()
	c.tail.close()
	close(c.done)
}
