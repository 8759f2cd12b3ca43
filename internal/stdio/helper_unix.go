//go:build unix

package stdio

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// sweepWait is how long the other processes of an exited child's tree may take
	// to die. After that the exit is reported anyway.
	sweepWait = 2 * time.Second
	// endWait bounds the helper's own shutdown.
	endWait = 8 * time.Second
	// pollWait is how often the helper checks for an exit that causes no SIGCHLD.
	pollWait = 10 * time.Millisecond
)

// lookAgain are the times after the last start at which the helper records who has
// forked whom: most forks happen when a server starts. The last step repeats while
// there are children.
var lookAgain = []time.Duration{
	100 * time.Millisecond, 300 * time.Millisecond, time.Second, 3 * time.Second, 10 * time.Second, 30 * time.Second,
}

// A starter is the state of the helper process. One goroutine owns it.
type starter struct {
	link   *link
	self   int
	kids   map[uint64]*kid
	family family
	look   *time.Timer
	step   int // index into lookAgain
	// launched receives the results of starting confined children.
	launched chan launched
}

// A kid is a child that the helper has started but not yet reported as exited.
type kid struct {
	id     uint64
	pid    int
	exited bool
	status syscall.WaitStatus
	killed bool      // its tree must be killed even if it lives
	until  time.Time // deadline for the end of its tree
	// confining says that the process is still the launcher of its sandbox.
	confining bool
	container *ending // ends its container, if it runs one
	ending    bool    // the child has exited, and its container is being ended
}

// kill marks the tree of a child to be killed.
func (k *kid) kill() {
	if !k.killed && !k.ending {
		k.killed, k.until = true, time.Now().Add(sweepWait)
	}
}

// RunHelper is the main function of the helper process. It starts children on
// orders from the socket at file descriptor 3 and reaps all processes. It kills the
// whole tree of a child when that child exits, and all trees when the socket
// closes. It returns the exit code. It ignores ctx and handles signals, because it
// has to outlive the gateway.
func RunHelper(context.Context) int {
	// Children are killed when the thread that forked them exits (Pdeathsig). So
	// this thread, which lives as long as the process, forks all of them.
	runtime.LockOSThread()
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(20)
	unix.CloseOnExec(helperSocket)
	link, err := newLink(os.NewFile(helperSocket, "socket"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "this command is started by the gateway itself:", err)
		return 2
	}
	reaper, _ := becomeReaper() // the gateway has logged the error
	// Handled, not ignored: ignored signals stay ignored in children.
	deaf := make(chan os.Signal, 1)
	signal.Notify(deaf, unix.SIGINT, unix.SIGTERM, unix.SIGHUP, unix.SIGQUIT, unix.SIGTSTP)

	s := &starter{link: link, self: os.Getpid(), kids: make(map[uint64]*kid), look: time.NewTimer(time.Hour), launched: make(chan launched)}
	s.family.init(s.self, reaper)
	s.run()
	return 0
}

// An envelope is an order and the files that came with it.
type envelope struct {
	order
	fds []int
}

func (s *starter) run() {
	died := make(chan os.Signal, 1)
	signal.Notify(died, unix.SIGCHLD)
	orders := make(chan envelope)
	go func() {
		defer close(orders)
		for {
			var e envelope
			var err error
			if e.fds, err = s.link.recv(&e.order); err != nil {
				return
			}
			orders <- e
		}
	}()
	for {
		select {
		case e, ok := <-orders:
			if !ok {
				s.end(died)
				return
			}
			s.obey(e)
		case l := <-s.launched:
			s.reportLaunch(l)
		case <-died:
			s.reap()
		case <-s.look.C:
			s.step = min(s.step+1, len(lookAgain)-1)
			debug.FreeOSMemory()
		}
		s.tend()
	}
}

func (s *starter) obey(e envelope) {
	switch e.Op {
	case opStart:
		s.start(e)
	case opSignal:
		if k := s.kids[e.ID]; k != nil && !k.exited && !k.ending {
			_ = unix.Kill(-k.pid, unix.Signal(e.Signal))
		}
	case opLook:
		s.family.survey(processes())
		s.report(report{Kind: kindLooked, ID: e.ID})
	case opKill:
		if k := s.kids[e.ID]; k != nil {
			k.kill()
		}
	}
}

func (s *starter) start(e envelope) {
	defer func() {
		for _, fd := range e.fds {
			unix.Close(fd)
		}
	}()
	if len(e.fds) != 3 {
		s.report(report{Kind: kindFailed, ID: e.ID, Error: "its files did not arrive"})
		return
	}
	attr := &syscall.ProcAttr{Dir: string(e.Dir), Env: toStrings(e.Env), Sys: childAttr()}
	for _, fd := range e.fds {
		attr.Files = append(attr.Files, uintptr(fd))
	}
	if e.Profile != nil {
		s.startConfined(e, attr)
		return
	}
	argv, container := label(string(e.Path), toStrings(e.Argv), attr.Env)
	pid, err := syscall.ForkExec(string(e.Path), argv, attr)
	if err != nil {
		s.failed(e.ID, err)
		return
	}
	s.kids[e.ID] = &kid{id: e.ID, pid: pid, container: container}
	s.family.add(e.ID, pid, e.fds)
	s.step = 0
	s.report(report{Kind: kindStarted, ID: e.ID, PID: pid})
}

func toStrings(list [][]byte) []string {
	out := make([]string, len(list))
	for i, b := range list {
		out[i] = string(b)
	}
	return out
}
