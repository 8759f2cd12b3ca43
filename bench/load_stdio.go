package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// A pipe is a process that speaks MCP over its standard input and output.
type pipe struct {
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  *os.File
	id   uint64
	buf  []byte
	send []byte
}

func startPipe(ctx context.Context, dir string, env []string, command ...string) (*pipe, error) {
	p := &pipe{cmd: exec.CommandContext(ctx, command[0], command[1:]...), buf: make([]byte, 256<<10)}
	p.cmd.Stderr = os.Stderr
	p.cmd.Dir, p.cmd.Env = dir, env
	var err error
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = out.(*os.File)
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	hello := `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"` + legacyVersion +
		`","capabilities":{},"clientInfo":{"name":"load","version":"1"}}}` + "\n"
	if _, err := p.ask(hello); err != nil {
		p.close()
		return nil, fmt.Errorf("initialize: %w", err)
	}
	_, err = io.WriteString(p.in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
	return p, err
}

func (p *pipe) pid() int { return p.cmd.Process.Pid }

func (p *pipe) close() {
	p.in.Close()
	// It ends because its input was closed; the exit status does not matter.
	_ = p.cmd.Wait()
}

// ask sends one line and returns the next line that is an answer.
func (p *pipe) ask(line string) ([]byte, error) {
	if _, err := io.WriteString(p.in, line); err != nil {
		return nil, err
	}
	var got []byte
	for {
		n, err := p.out.Read(p.buf)
		if err != nil {
			return nil, err
		}
		got = append(got, p.buf[:n]...)
		for {
			end := bytes.IndexByte(got, '\n')
			if end < 0 {
				break
			}
			if bytes.Contains(got[:end], []byte(`"result"`)) || bytes.Contains(got[:end], []byte(`"error"`)) {
				return got[:end], nil
			}
			got = got[end+1:]
		}
	}
}

// tool calls a tool once and checks the answer.
func (p *pipe) tool(tool string, atLeast int) error {
	p.id++
	line, err := p.ask(string(p.appendCall(nil, tool)))
	if err != nil {
		return err
	}
	if len(line) < atLeast || !bytes.Contains(line[:min(len(line), 256)], []byte(`"result"`)) {
		return fmt.Errorf("unexpected answer: %.300s", line)
	}
	return nil
}

// params calls a tool with the given params, without their braces.
func (p *pipe) params(params string) ([]byte, error) {
	p.id++
	return p.ask(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`+"\n", p.id, params))
}

func (p *pipe) appendCall(dst []byte, tool string) []byte {
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = strconv.AppendUint(dst, p.id, 10)
	dst = append(dst, `,"method":"tools/call","params":{"name":"`...)
	dst = append(dst, tool...)
	return append(dst, `","arguments":`+searchArguments+"}}\n"...)
}

// run keeps n calls in flight for the given time. Each answer makes room for
// the next call. Calls are written one by one or, with together, as many as are
// possible in one write.
func (p *pipe) run(tool string, size, n int, length time.Duration, together bool, cpu func() time.Duration) (sample, error) {
	if err := p.tool(tool, size); err != nil {
		return sample{}, err
	}
	before, start := cpu(), time.Now()
	stop := start.Add(length)
	var s sample
	got := 0
	for flying, free := 0, n; free > 0 || flying > 0; {
		for p.send = p.send[:0]; free > 0; free-- {
			p.id++
			flying++
			if p.send = p.appendCall(p.send, tool); together && free > 1 {
				continue
			}
			if _, err := p.in.Write(p.send); err != nil {
				return s, err
			}
			p.send = p.send[:0]
		}
		count, err := p.out.Read(p.buf)
		if err != nil {
			return s, err
		}
		got += count
		answers := bytes.Count(p.buf[:count], []byte("\n"))
		flying -= answers
		s.calls += answers
		if time.Now().Before(stop) {
			free = answers
		}
	}
	s.elapsed, s.cpu = time.Since(start), cpu()-before
	if got < s.calls*size {
		return s, fmt.Errorf("%d answers of %d bytes together", s.calls, got)
	}
	return s, nil
}
