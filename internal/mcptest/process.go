package mcptest

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// A Program is a command to run in a test.
type Program struct {
	Path string
	Args []string
	// Env is added to the environment of the test.
	Env []string
	Dir string
}

// A Process is a running Program. It is stopped when the test ends.
type Process struct {
	// URL is the address of the process, set by Listening.
	URL string

	t      testing.TB
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout *Lines
	stderr *Lines
	done   chan struct{}
	stop   sync.Once
}

// Start runs a program.
func Start(t testing.TB, p Program) *Process {
	t.Helper()
	cmd := exec.Command(p.Path, p.Args...)
	cmd.Dir = p.Dir
	cmd.Env = append(os.Environ(), p.Env...)
	if dir := CoverDir(); dir != "" {
		cmd.Env = append(cmd.Env, "GOCOVERDIR="+dir)
	}
	proc := &Process{t: t, cmd: cmd, stdout: newLines(), stderr: newLines(), done: make(chan struct{})}
	var err error
	if proc.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatalf("starting %s: %v", p.Path, err)
	}
	// StdoutPipe does not work: Wait would close it before all output is read.
	cmd.Stdout, cmd.Stderr = proc.stdout, proc.stderr
	if err := cmd.Start(); err != nil {
		t.Fatalf("starting %s: %v", p.Path, err)
	}
	go func() {
		_ = cmd.Wait() // ProcessState has the result
		proc.stdout.end()
		proc.stderr.end()
		close(proc.done)
	}()
	t.Cleanup(func() {
		proc.Stop()
		if t.Failed() {
			t.Logf("stderr of %s:\n%s", filepath.Base(p.Path), proc.Stderr())
		}
	})
	return proc
}

// listeningOn finds the address in the output of a program that is ready.
var listeningOn = regexp.MustCompile(`https?://[^\s/"']+:\d+`)

// Listening waits until the program prints its address on stdout or stderr.
func (p *Process) Listening() string {
	p.t.Helper()
	found := make(chan string, 2)
	for _, lines := range []*Lines{p.stdout, p.stderr} {
		go func() {
			line, err := lines.Find(deadline, func(line string) bool { return listeningOn.MatchString(line) })
			if err == nil {
				found <- listeningOn.FindString(line)
			}
		}()
	}
	select {
	case p.URL = <-found:
	case <-p.done:
		p.t.Fatalf("the program exited (%s) before it listened\n%s", p.cmd.ProcessState, p.Stderr())
	case <-time.After(deadline):
		p.t.Fatalf("the program does not say where it listens\n%s", p.Stderr())
	}
	return p.URL
}

// Says waits until the program writes a line with that text to stderr.
func (p *Process) Says(text string) {
	p.t.Helper()
	if _, err := p.stderr.Find(deadline, func(line string) bool { return strings.Contains(line, text) }); err != nil {
		p.t.Fatalf("the program does not say %q: %v\n%s", text, err, p.Stderr())
	}
}

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Stderr returns what the program has written to stderr so far.
func (p *Process) Stderr() string { return p.stderr.All() }

// Stdout returns what the program has written to stdout so far.
func (p *Process) Stdout() string { return p.stdout.All() }

// Signal sends a signal.
func (p *Process) Signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Fatalf("signalling %d: %v", p.PID(), err)
	}
}

// CloseStdin closes the program's input.
func (p *Process) CloseStdin() { p.stdin.Close() }

// Wait waits for the end of the program and returns its exit code; -1 if a
// signal killed it.
func (p *Process) Wait(limit time.Duration) int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(limit):
		p.t.Fatalf("process %d still runs after %v\n%s", p.PID(), limit, p.Stderr())
	}
	return p.cmd.ProcessState.ExitCode()
}

// stopWait is how long a program may take to end before it is killed.
const stopWait = 15 * time.Second

// Stop terminates the program, and kills it after stopWait.
func (p *Process) Stop() {
	p.stop.Do(func() {
		p.stdin.Close()
		terminate(p.cmd.Process)
		select {
		case <-p.done:
		case <-time.After(stopWait):
			_ = p.cmd.Process.Kill()
			<-p.done
		}
	})
}

// FindURL reads the output of a program until it prints its address. It
// continues to read in the background, so that the program never blocks. It
// returns "" if the program ends first.
func FindURL(out io.Reader) string {
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if url := listeningOn.FindString(lines.Text()); url != "" {
			go io.Copy(io.Discard, out)
			return url
		}
	}
	return ""
}
