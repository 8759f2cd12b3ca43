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
	// Exe is the program that runs RunHelper; our own if empty.
	Exe string
	// Args are its arguments; "__helper" if nil.
	Args []string
	// Log logs the start and end of helpers; nil discards it.
	Log *slog.Logger
	// MaxStarting is how many children may be starting at once; 8 if zero.
	MaxStarting int
	// Refused is called with a host that a confined child was refused. It must not
	// block. It may be nil.
	Refused func(server, host string)
	// StdinGrace is how long Stop waits after closing standard input (5 s),
	// TermGrace after asking to terminate (2 s), KillGrace after killing (5 s).
	StdinGrace, TermGrace, KillGrace time.Duration
}

// grace is how long each step of Stop may take.
type grace struct{ stdin, term, kill time.Duration }

// A Launcher starts children through one helper process. When the gateway exits,
// for whatever reason, the helper kills all children and every process that they
// forked. If the helper itself is killed, the gateway kills the processes that it
// leaves, and the next Start starts a new helper. The methods of a Launcher may be
// called concurrently.
type Launcher struct {
	opt      LauncherOptions
	grace    grace
	starting chan struct{}
	lastID   atomic.Uint64
	children sync.WaitGroup
	platform platform
	proxy    sandbox.Proxy // lets confined children connect to hosts by name

	mu     sync.Mutex
	closed bool
}

var errLauncherClosed = i18n.Errorf("starting a server: the launcher is closed", "启动服务器失败：启动器已关闭")

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

// Start starts a child. If the command cannot be started, it returns a *StartError.
// ctx bounds only the start, not the life of the child.
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

// spawnConfined prepares the sandbox of a child and starts the child in it.
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

// run runs a confined program to its end and returns its output.
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

// adopt creates the Child of a command that is about to start, and begins to read
// its standard error. The caller must call ended.
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

// Close kills all children and every process that they forked, and waits for their
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
