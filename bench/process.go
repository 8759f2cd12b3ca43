package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A process is a part of the benchmark that serves an endpoint.
type process struct {
	cmd      *exec.Cmd
	stdin    io.WriteCloser
	endpoint string
	pid      int
}

// startProcess starts a command and reads its endpoint from its output.
func startProcess(ctx context.Context, dir string, env []string, command ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, command[0], command[1:]...)}
	p.cmd.Dir, p.cmd.Env, p.cmd.Stderr = dir, env, os.Stderr
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(syscall.SIGTERM) }
	p.cmd.WaitDelay = 5 * time.Second
	var err error
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	p.pid = p.cmd.Process.Pid
	late := time.AfterFunc(10*time.Second, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if fields := strings.Fields(lines.Text()); len(fields) == 2 && fields[0] == "endpoint" {
			p.endpoint = fields[1]
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return p, nil
		}
	}
	p.stop()
	return nil, fmt.Errorf("%s did not say where it listens", strings.Join(command, " "))
}

// stop ends the process and waits for it.
func (p *process) stop() {
	// It may already have ended.
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	p.stdin.Close()
	_ = p.cmd.Wait()
}

// cpuOf returns a function that returns the processor time of a process.
func cpuOf(pid int) func() time.Duration {
	return func() time.Duration {
		if d, err := schedstat(pid); err == nil {
			return d
		}
		return ticks(pid)
	}
}

// schedstat sums the time of all threads, to the nanosecond.
func schedstat(pid int) (time.Duration, error) {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	var total time.Duration
	for _, thread := range threads {
		raw, err := os.ReadFile(dir + "/" + thread.Name() + "/schedstat")
		if err != nil {
			continue // the thread has just ended
		}
		first, _, _ := strings.Cut(string(raw), " ")
		n, err := strconv.ParseInt(first, 10, 64)
		if err != nil {
			return 0, err
		}
		total += time.Duration(n)
	}
	if total == 0 {
		return 0, errors.New("no scheduler statistics")
	}
	return total, nil
}

// ticks returns the same time, to a hundredth of a second.
func ticks(pid int) time.Duration {
	return procTime(fmt.Sprintf("/proc/%d/stat", pid), ") ", 11, 13)
}

// procTime sums words after a mark in a file, which are hundredths of a second;
// zero if they do not exist.
func procTime(file, mark string, from, to int) (total time.Duration) {
	raw, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(raw), mark)
	words := strings.Fields(rest)
	if len(words) < to {
		return 0
	}
	for _, word := range words[from:to] {
		n, _ := strconv.Atoi(word)
		total += time.Duration(n) * 10 * time.Millisecond
	}
	return total
}

// memory reads a line such as VmRSS from a process's status, in KiB.
func memory(pid int, name string) int {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(raw)) {
		if rest, ok := strings.CutPrefix(line, name+":"); ok {
			n, _ := strconv.Atoi(strings.Fields(rest)[0])
			return n
		}
	}
	return 0
}
