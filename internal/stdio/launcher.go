package stdio

import (
	"context"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// LauncherOptions are the settings of a Launcher; the zero value is usable.
type LauncherOptions struct {
	// Exe is the program that runs RunHelper; ourselves when empty.
	Exe string
	// Args are its arguments; "__helper" when nil.
	Args []string
	// Log hears of helpers that start and die; nil discards it.
	Log *slog.Logger
	// MaxStarting is how many children may be starting at once; 8 when zero.
	MaxStarting int
	// Refused hears of hosts that the lists of confined children lack; nil if
	// nobody does. It must not block.
	Refused func(server, host string)
	// StdinGrace is how long Stop waits after closing standard input (5 s),
	// TermGrace after asking to terminate (2 s), KillGrace after killing (5 s).
	StdinGrace, TermGrace, KillGrace time.Duration
}

// grace is how long each step of Stop may take.
type grace struct{ stdin, term, kill time.Duration }

// A Launcher starts children through one helper process, which kills them all
// with everything they forked when we end, however we end. Should the helper
// itself be killed, we kill what it leaves; the next Start makes a new helper.
// Its methods may be called concurrently.
type Launcher struct {
	opt      LauncherOptions
	grace    grace
	starting chan struct{}
	lastID   atomic.Uint64
	children sync.WaitGroup
	platform platform
	proxy    sandbox.Proxy // how confined children reach hosts by name

	mu     sync.Mutex
	closed bool
}

var errLauncherClosed = i18n.Errorf("starting a server: the launcher is closed", "启动服务失败：启动器已关闭")

// NewLauncher makes a Launcher. The helper starts with the first child.
func NewLauncher(opt LauncherOptions) *Launcher {
	if opt.Args == nil {
		opt.Args = []string{"__helper"}
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	return &Launcher{
		opt:      opt,
		proxy:    sandbox.Proxy{Log: opt.Log, Refused: opt.Refused},
		starting: make(chan struct{}, positive(opt.MaxStarting, 8)),
		grace: grace{
			stdin: positive(opt.StdinGrace, 5*time.Second),
			term:  positive(opt.TermGrace, 2*time.Second),
			kill:  positive(opt.KillGrace, 5*time.Second),
		},
	}
}

func positive[T int | time.Duration](value, otherwise T) T {
	if value > 0 {
		return value
	}
	return otherwise
}

// Start starts a child. A command that cannot be started gives a *StartError.
// The child outlives ctx; ctx only bounds the start.
func (l *Launcher) Start(ctx context.Context, cmd Command) (*Child, error) {
	if cmd.Dir == "" {
		dir, err := os.Getwd()
		if err != nil {
			return nil, startError(cmd, err, "working directory: %v", "工作目录：%v", err)
		}
		cmd.Dir = dir
	}
	path, err := resolve(cmd)
	if err != nil {
		return nil, err
	}
	select {
	case l.starting <- struct{}{}:
		defer func() { <-l.starting }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if cmd.Sandbox != nil {
		return l.spawnConfined(ctx, cmd, path)
	}
	return l.spawn(ctx, cmd, path)
}

// spawnConfined prepares what confines a child, and starts it.
func (l *Launcher) spawnConfined(ctx context.Context, cmd Command, path string) (*Child, error) {
	p := sandbox.Program{Path: path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir}
	p, profile, release, err := sandbox.Confine(ctx, &l.proxy, *cmd.Sandbox, p, l.run)
	if err != nil {
		return nil, startError(cmd, err, "%v", "%v", err)
	}
	c, err := l.spawn(ctx, confined(cmd.Name, p, profile, cmd.MaxLine), p.Path)
	if err != nil {
		release()
		return nil, err
	}
	l.children.Go(func() {
		<-c.done
		release()
	})
	return c, nil
}

func confined(name string, p sandbox.Program, profile sandbox.Profile, maxLine int64) Command {
	return Command{Name: name, Path: p.Path, Args: p.Args, Env: p.Env, Dir: p.Dir, MaxLine: maxLine, profile: &profile}
}

// run runs a confined program to its end and returns what it printed.
func (l *Launcher) run(ctx context.Context, p sandbox.Program, profile sandbox.Profile) ([]byte, error) {
	c, err := l.spawn(ctx, confined(p.Path, p, profile, 0), p.Path)
	if err != nil {
		return nil, err
	}
	defer context.AfterFunc(ctx, c.Kill)()
	c.stream.CloseWrite()
	var out []byte
	for {
		line, free, err := c.stream.Read()
		if err != nil {
			break
		}
		out = append(append(out, line...), '\n')
		if free != nil {
			free()
		}
	}
	<-c.done
	c.stream.Close()
	if status := c.Exit(); status.Code != 0 {
		return nil, i18n.Errorf("%v: %s", "%v：%s", status, strings.Join(c.Stderr().Lines(5), " / "))
	}
	return out, nil
}

// adopt makes the child of a command that is about to start and begins to
// drain its standard error. Whoever adopts must call ended.
func (l *Launcher) adopt(cmd Command, p pipes) (*Child, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil, errLauncherClosed
	}
	c := newChild(cmd, l.lastID.Add(1), p, l.grace)
	l.children.Go(c.watch)
	return c, nil
}

func (l *Launcher) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
}

// Close kills all children with everything they forked and waits for their
// end. Later starts fail.
func (l *Launcher) Close() error {
	l.mu.Lock()
	l.closed = true
	l.mu.Unlock()
	l.shutdown()
	l.children.Wait()
	l.proxy.Close()
	return nil
}
