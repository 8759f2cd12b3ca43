package mcptest

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"
)

type hostileRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string `json:"name"`
		ProtocolVersion string `json:"protocolVersion"`
		Arguments       struct {
			Message, Token       string
			MS, Count, Bytes     int
			Newline, Answer, All bool
		} `json:"arguments"`
		Meta struct {
			ProgressToken json.RawMessage `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

// take handles one line.
func (h *Hostile) take(line []byte) error {
	var r hostileRequest
	if err := json.Unmarshal(line, &r); err != nil || r.ID == nil || r.Method == "" {
		return nil // a notification, an answer, or an invalid message
	}
	switch r.Method {
	case "initialize":
		if h.has("hang-init") {
			return nil
		}
		if h.has("late-discover") {
			h.fail(r.ID, -32601, "Method not found")
			return nil
		}
		h.result(r.ID, fmt.Sprintf(`{"protocolVersion":%q,"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"hostile","version":"1"}}`,
			r.Params.ProtocolVersion))
	case "server/discover":
		if h.has("exit-discover") {
			return ErrExit
		}
		if h.has("late-discover") {
			time.Sleep(4 * time.Second)
			h.result(r.ID, `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}}}`)
		} else if !h.has("hang-discover") {
			h.fail(r.ID, -32601, "Method not found")
		}
	case "ping":
		h.result(r.ID, `{}`)
	case "tools/list":
		h.listTools(r.ID)
	case "tools/call":
		if err := Note(h.Journal, r.Params.Arguments.Token); err != nil {
			return err
		}
		return h.call(&r)
	default:
		h.fail(r.ID, -32601, "Method not found")
	}
	return nil
}

// HostileTools lists the tools of a hostile server.
var HostileTools = []string{
	"echo", "sleep", "never", "crash", "exit", "garbage", "huge", "flood", "wrong_id", "string_id", "both", "neither", "broken", "broken_id",
	"twice", "deep", "odd_error", "change", "env", "pid", "progress", "ask", "unknown_content",
}

// call runs one tool; an error ends the process.
func (h *Hostile) call(r *hostileRequest) error {
	args := &r.Params.Arguments
	text := fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, encode(args.Message+args.Token))
	switch r.Params.Name {
	case "echo":
		h.result(r.ID, text)
	case "sleep":
		time.Sleep(time.Duration(args.MS) * time.Millisecond)
		h.result(r.ID, text)
	case "never":
	case "crash":
		return fmt.Errorf("crashed in the middle of a call")
	case "exit":
		return ErrExit
	case "garbage":
		for i := range max(args.Count, 1) {
			h.raw(fmt.Sprintf("junk %d \x00\xff{\"half\":\n[1,2,3]\n{\"jsonrpc\":\"2.0\"}\n", i))
		}
		h.result(r.ID, text)
	case "huge":
		h.huge(r.ID, args.Bytes, args.Newline)
	case "flood":
		for range args.Count {
			h.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		}
		h.result(r.ID, text)
	case "change":
		h.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
		h.result(r.ID, text)
	case "env":
		h.result(r.ID, fmt.Sprintf(`{"content":[{"type":"text","text":%s}]}`, encode(strings.Join(os.Environ(), "\n"))))
	case "pid":
		h.result(r.ID, fmt.Sprintf(`{"content":[{"type":"text","text":"%d"}]}`, os.Getpid()))
	case "progress":
		for i := range args.Count {
			h.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%d}}`,
				r.Params.Meta.ProgressToken, i+1))
		}
		h.result(r.ID, text)
	case "ask":
		h.line(`{"jsonrpc":"2.0","id":"question","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`)
		h.result(r.ID, text)
	default:
		h.misbehave(r, text)
	}
	return nil
}

// misbehave answers with a message that violates the protocol. If the argument
// answer is set, the correct answer follows.
func (h *Hostile) misbehave(r *hostileRequest, text string) {
	id := string(r.ID)
	switch r.Params.Name {
	case "wrong_id":
		h.result(json.RawMessage(`999999999`), text)
	case "string_id":
		h.result(json.RawMessage(`"`+strings.Trim(id, `"`)+`"`), text)
	case "both":
		h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s,"error":{"code":1,"message":"both"}}`, id, text))
	case "neither":
		h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s}`, id))
	case "broken":
		h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":}`, id))
	case "broken_id":
		h.line(fmt.Sprintf(`{"jsonrpc":"2.0","result":{"content":[},"id":%s}`, id))
	case "twice":
		h.result(r.ID, text)
		h.result(r.ID, text)
	case "deep":
		depth := max(r.Params.Arguments.Count, 1)
		h.result(r.ID, `{"content":[],"deep":`+strings.Repeat("[", depth)+strings.Repeat("]", depth)+`}`)
	case "odd_error":
		h.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":"not a number"}}`, id))
	case "unknown_content":
		h.result(r.ID, `{"content":[{"type":"hologram","beams":9007199254740993}],"x-extra":1.0}`)
	default:
		h.fail(r.ID, -32602, "Unknown tool: "+r.Params.Name)
	}
	if r.Params.Arguments.Answer {
		h.result(r.ID, text)
	}
}

// huge writes a result of a given size in pieces. It may wait for a second
// before it ends the line.
func (h *Hostile) huge(id json.RawMessage, size int, newline bool) {
	h.write.Lock()
	defer h.write.Unlock()
	fmt.Fprintf(h.out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
	piece := strings.Repeat("x", 64<<10)
	for size > 0 {
		n := min(size, len(piece))
		if _, err := fmt.Fprint(h.out, piece[:n]); err != nil {
			return
		}
		size -= n
	}
	if !newline {
		time.Sleep(time.Second)
	}
	fmt.Fprint(h.out, "\"}]}}\n")
}
