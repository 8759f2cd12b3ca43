//go:build unix

package stdio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/sandbox"
)

// helperSocket is the file descriptor of the socket in the helper.
const helperSocket = 3

// helperWait is how long the helper may take to kill all children and exit. After
// that it is killed itself.
const helperWait = 10 * time.Second

// lookWait is how long stopping a child waits until the helper has recorded the
// processes that the child started.
const lookWait = time.Second

var errHelperDied = i18n.Errorf("the helper process died, and all servers that it had started were stopped", "辅助进程意外结束，由它启动的所有服务器均已停止")

// platform holds the current helper.
type platform struct {
	mu      sync.Mutex // held while a helper is started
	current *helperClient
}

// A helperClient is the gateway's end of one helper process.
type helperClient struct {
	cmd  *exec.Cmd
	link *link

	mu       sync.Mutex
	children map[uint64]*Child
	dead     chan struct{} // closed when the helper has exited and its children are settled
}

// spawn starts cmd through the helper. If the helper is dead, the command was not
// started, so spawn tries once more with a new helper.
func (l *Launcher) spawn(ctx context.Context, cmd Command, path string) (*Child, error) {
	c, err := l.spawnOnce(ctx, cmd, path)
	if errors.Is(err, errHelperDied) && ctx.Err() == nil {
		c, err = l.spawnOnce(ctx, cmd, path)
	}
	return c, err
}

func (l *Launcher) spawnOnce(ctx context.Context, cmd Command, path string) (*Child, error) {
	h, err := l.helper()
	if err != nil {
		return nil, err
	}
	p, err := newPipes()
	if err != nil {
		return nil, startError(cmd, err, "making its pipes: %v", "创建管道失败：%v", err)
	}
	defer closeAll(p.child[:])
	c, err := l.adopt(cmd, p)
	if err != nil {
		closeAll([]*os.File{p.stdin, p.stdout, p.stderr})
		return nil, err
	}
	c.ctl = h
	if err := h.start(ctx, c, cmd, path, p.child[:]); err != nil {
		c.ended(ExitStatus{Code: -1, Err: err})
		c.stream.Close()
		return nil, err
	}
	return c, nil
}

// helper returns the running helper. It starts one if there is none.
func (l *Launcher) helper() (*helperClient, error) {
	p := &l.platform
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current != nil {
		select {
		case <-p.current.dead:
		default:
			return p.current, nil
		}
	}
	if l.isClosed() {
		return nil, errLauncherClosed
	}
	h, err := startHelper(l.opt)
	if err != nil {
		return nil, i18n.Errorf("starting the helper process: %w", "启动辅助进程失败：%w", err)
	}
	p.current = h
	l.opt.Log.Debug("helper started", "pid", h.cmd.Process.Pid)
	l.children.Go(func() {
		err := h.listen()
		h.bury()
		l.opt.Log.Debug("helper ended", "pid", h.cmd.Process.Pid, "err", err)
	})
	return h, nil
}

func startHelper(opt LauncherOptions) (*helperClient, error) {
	exe := opt.Exe
	if exe == "" {
		var err error
		if exe, err = ownExecutable(); err != nil {
			return nil, err
		}
	}
	ours, theirs, err := socketPair()
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	cmd := exec.Command(exe, opt.Args...)
	if name, err := os.Executable(); err == nil && opt.Exe == "" {
		cmd.Args[0] = name
	}
	// The helper needs none of our secrets. Of our files it needs only standard
	// error, in case it panics.
	cmd.Env = []string{"GOMAXPROCS=1", "GOGC=20"}
	// A coverage build complains without GOCOVERDIR. A race build takes a second to
	// exit unless GORACE says otherwise.
	for _, name := range []string{"GOCOVERDIR", "GORACE"} {
		if value := os.Getenv(name); value != "" {
			cmd.Env = append(cmd.Env, name+"="+value)
		}
	}
	cmd.Dir = "/"
	cmd.Stderr = os.Stderr
	cmd.ExtraFiles = []*os.File{theirs}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := keepFiles(); err != nil {
		ours.Close()
		return nil, i18n.Errorf("closing the gateway's open files to its servers: %w", "阻止服务器继承网关打开的文件失败：%w", err)
	}
	if err := startReaped(cmd, opt.Log); err != nil {
		ours.Close()
		return nil, err
	}
	h := &helperClient{cmd: cmd, children: make(map[uint64]*Child), dead: make(chan struct{})}
	if h.link, err = newLink(ours); err != nil {
		_ = cmd.Process.Kill()
		_ = waitReaped(cmd)
		return nil, err
	}
	return h, nil
}

// ownExecutable returns a path to the running program. On Linux that is not its
// file name, because an upgrade may have replaced the file.
func ownExecutable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// start makes the helper start a child and waits until it runs.
func (h *helperClient) start(ctx context.Context, c *Child, cmd Command, path string, files []*os.File) error {
	h.mu.Lock()
	if h.children == nil {
		h.mu.Unlock()
		return h.died(ctx)
	}
	h.children[c.id] = c
	h.mu.Unlock()

	argv := append([]string{cmd.Path}, cmd.Args...)
	err := h.link.send(order{
		Op: opStart, ID: c.id, Path: []byte(path), Dir: []byte(cmd.Dir),
		Argv: toBytes(argv), Env: toBytes(cmd.Env), Profile: cmd.profile,
	}, files...)
	if err != nil {
		h.forget(c)
		if errors.Is(err, unix.EPIPE) || errors.Is(err, unix.ECONNRESET) || errors.Is(err, net.ErrClosed) {
			return h.died(ctx)
		}
		return startError(cmd, err, "telling the helper: %v", "通知辅助进程失败：%v", err)
	}
	select {
	case <-c.started:
		return explain(cmd, path, c.failure)
	case <-h.dead:
		return errHelperDied
	case <-ctx.Done():
		// The helper executes orders in sequence: it starts the child, then kills it.
		h.kill(c)
		return context.Cause(ctx)
	}
}

// died waits until the next helper can be started, and returns errHelperDied.
func (h *helperClient) died(ctx context.Context) error {
	select {
	case <-h.dead:
		return errHelperDied
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func toBytes(list []string) [][]byte {
	out := make([][]byte, len(list))
	for i, s := range list {
		out[i] = []byte(s)
	}
	return out
}

// listen handles the helper's reports until the helper exits.
func (h *helperClient) listen() error {
	for {
		var r report
		if _, err := h.link.recv(&r); err != nil {
			return err
		}
		h.mu.Lock()
		c := h.children[r.ID]
		h.mu.Unlock()
		if c == nil {
			continue
		}
		switch r.Kind {
		case kindStarted:
			c.pid = r.PID
			close(c.started)
		case kindFailed:
			h.forget(c)
			c.failure = errors.New(r.Error)
			if r.Errno != 0 {
				c.failure = syscall.Errno(r.Errno)
			}
			if r.Stage != "" && r.Stage != sandbox.StageExec {
				c.failure = &sandbox.SetupError{Stage: r.Stage, Err: c.failure}
			}
			close(c.started)
		case kindLooked:
			select {
			case c.looked <- struct{}{}:
			default: // the caller of look has stopped waiting
			}
		case kindExit:
			h.forget(c)
			c.ended(exitStatus(r))
		}
	}
}

func exitStatus(r report) ExitStatus {
	if r.Signal != 0 {
		name := unix.SignalName(syscall.Signal(r.Signal))
		if name == "" {
			name = fmt.Sprintf("signal %d", r.Signal)
		}
		return ExitStatus{Code: -1, Signal: name}
	}
	return ExitStatus{Code: r.Code}
}

// bury waits for the end of the helper process. If the helper did not exit normally,
// bury kills the processes that it left behind.
func (h *helperClient) bury() {
	h.link.conn.Close()
	timer := time.AfterFunc(helperWait, func() { _ = h.cmd.Process.Kill() })
	err := waitReaped(h.cmd)
	timer.Stop()
	h.mu.Lock()
	left := h.children
	h.children = nil
	h.mu.Unlock()
	for _, c := range left {
		if c.pid > 0 {
			_ = unix.Kill(-c.pid, unix.SIGKILL)
		}
	}
	if err != nil {
		killStrays()
	}
	for _, c := range left {
		c.ended(ExitStatus{Code: -1, Err: errHelperDied})
	}
	close(h.dead)
}

func (h *helperClient) forget(c *Child) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.children, c.id)
}

// look makes the helper record every process that a child has forked, while they
// can still be attributed to it.
func (h *helperClient) look(c *Child) {
	if h.link.send(order{Op: opLook, ID: c.id}) != nil {
		return
	}
	select {
	case <-c.looked:
	case <-c.done:
	case <-h.dead:
	case <-time.After(lookWait):
	}
}

func (h *helperClient) terminate(c *Child) {
	_ = h.link.send(order{Op: opSignal, ID: c.id, Signal: int(unix.SIGTERM)})
}

func (h *helperClient) kill(c *Child) {
	_ = h.link.send(order{Op: opKill, ID: c.id})
}

// shutdown tells the helper that no more orders follow: it kills all children,
// reports their exits and exits itself.
func (l *Launcher) shutdown() {
	p := &l.platform
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.current == nil {
		return
	}
	_ = p.current.link.conn.CloseWrite()
	select {
	case <-p.current.dead:
	case <-time.After(helperWait):
		_ = p.current.cmd.Process.Kill()
		<-p.current.dead
	}
}
