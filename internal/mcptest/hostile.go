package mcptest

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Hostile is a legacy MCP server on a pair of pipes that breaks the rules on
// request: a tool according to its name, the whole process according to its
// Modes. It writes raw bytes, because a transport would not let it misbehave.
type Hostile struct {
	// Modes are the defects of the process as a whole; HostileModes lists them.
	Modes []string
	// Journal is a file that gets a line for every token that a tool was called
	// with. It shows which calls the server has run.
	Journal string
	// Spawn starts a process that outlives its parent; own starts it in its own
	// session.
	Spawn func(own bool) error

	out   io.Writer
	write sync.Mutex
	lists int
}

// HostileModes are the values of Hostile.Modes.
var HostileModes = []string{
	"arrays",         // every message is in an array
	"banner",         // text on stdout before the first message
	"garbage",        // invalid data before every answer
	"bad-tools",      // lists invalid tools among valid ones
	"changing",       // every list differs from the previous one
	"crlf",           // lines end in CR LF
	"cursor-loop",    // every page of a list refers to the same next page
	"exit-discover",  // exits on server/discover
	"exit-start",     // exits at once with an error
	"float-ids",      // answers 7.0 to the id 7
	"grandchild",     // starts a child process
	"hang-discover",  // never answers server/discover
	"hang-init",      // never answers initialize
	"ignore-term",    // ignores SIGTERM and the end of stdin
	"late-discover",  // modern alone: takes 4 s for server/discover, refuses initialize at once
	"partial",        // writes every answer in small pieces
	"poison",         // hides instructions in its tool descriptions
	"setsid",         // starts a child process in its own session
	"stderr-flood",   // fills stderr
	"string-ids",     // answers "7" to the id 7
	"trailing-blank", // blank lines after every answer
}

// ErrExit is returned by Serve if the process must exit with success.
var ErrExit = errors.New("exit")

func (h *Hostile) has(mode string) bool { return slices.Contains(h.Modes, mode) }

// Serve runs until stdin ends, or until a mode or a tool ends it. The error
// then determines how the process must exit, with calls still running.
func (h *Hostile) Serve(in io.Reader, out, stderr io.Writer) error {
	h.out = out
	if h.has("exit-start") {
		return fmt.Errorf("cannot start: no licence file")
	}
	if err := h.spawn(); err != nil {
		return err
	}
	if h.has("banner") {
		h.raw("Welcome to the server!\n\x1b[2J{not json}\n")
	}
	if h.has("stderr-flood") {
		go flood(stderr)
	}
	lines := make(chan []byte)
	go split(in, lines)
	failed := make(chan error, 1)
	var running sync.WaitGroup
	for {
		select {
		case err := <-failed:
			return err
		case line, ok := <-lines:
			if !ok {
				return h.finish(&running, failed)
			}
			running.Go(func() {
				if err := h.take(line); err != nil {
					select {
					case failed <- err:
					default:
					}
				}
			})
		}
	}
}

// split sends the lines of in until it ends.
func split(in io.Reader, lines chan<- []byte) {
	defer close(lines)
	r := bufio.NewReader(in)
	for {
		line, err := r.ReadBytes('\n')
		if len(line) > 1 {
			lines <- line
		}
		if err != nil {
			return
		}
	}
}

// finish is called when stdin has ended.
func (h *Hostile) finish(running *sync.WaitGroup, failed <-chan error) error {
	if h.has("ignore-term") {
		select {} // only a kill ends the process
	}
	running.Wait()
	select {
	case err := <-failed:
		return err
	default:
		return nil
	}
}

func (h *Hostile) spawn() error {
	for _, mode := range []string{"grandchild", "setsid"} {
		if h.has(mode) {
			if err := h.Spawn(mode == "setsid"); err != nil {
				return fmt.Errorf("starting a grandchild: %w", err)
			}
		}
	}
	return nil
}

func flood(w io.Writer) {
	line := strings.Repeat("noise on stderr ", 64) + "\n"
	for range 20_000 {
		if _, err := io.WriteString(w, line); err != nil {
			return
		}
	}
}

// raw writes bytes unchanged.
func (h *Hostile) raw(s string) {
	h.write.Lock()
	defer h.write.Unlock()
	_, _ = io.WriteString(h.out, s) // fails only if the client has stopped reading
}

// line writes one message as the modes require.
func (h *Hostile) line(s string) {
	h.write.Lock()
	defer h.write.Unlock()
	end := "\n"
	if h.has("crlf") {
		end = "\r\n"
	}
	if h.has("trailing-blank") {
		end += "\n\n"
	}
	if h.has("arrays") {
		s = "[" + s + "]"
	}
	if h.has("garbage") {
		s = "\x00\xff garbage {\"half\":\n" + s
	}
	s += end
	if !h.has("partial") {
		_, _ = io.WriteString(h.out, s)
		return
	}
	for len(s) > 0 {
		n := min(len(s), 7)
		_, _ = io.WriteString(h.out, s[:n])
		s = s[n:]
		time.Sleep(time.Millisecond) // so that the reader gets separate pieces
	}
}

func (h *Hostile) result(id json.RawMessage, result string) {
	h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, h.written(id), result))
}

// written returns an id as this server writes it.
func (h *Hostile) written(id json.RawMessage) string {
	switch {
	case id[0] == '"':
	case h.has("float-ids"):
		return string(id) + ".0"
	case h.has("string-ids"):
		return strconv.Quote(string(id))
	}
	return string(id)
}

func (h *Hostile) fail(id json.RawMessage, code int, message string) {
	h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, h.written(id), code, message))
}

// Note appends a token to a journal, unless the token is empty.
func Note(journal, token string) error {
	if journal == "" || token == "" {
		return nil
	}
	f, err := os.OpenFile(journal, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	defer f.Close()
	_, err = f.WriteString(token + "\n")
	return err
}
