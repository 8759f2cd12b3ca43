package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"sync"
)

// sizes are the sizes of the texts that the server's tools return.
var sizes = []struct {
	name  string
	tool  string
	bytes int
}{
	{"100 B", "fixed-100b", 100},
	{"10 KB", "fixed-10kb", 10 << 10},
	{"1 MB", "fixed-1mb", 1 << 20},
	{"15 MB", "fixed-15mb", 15 << 20},
}

// A server is an MCP server with minimal cost: it looks for the name of the
// tool and answers with bytes that were built at the first call.
type server struct {
	modern  bool
	stream  bool // answers over HTTP are event streams
	listing []byte
	results map[string]func() []byte
}

func newServer(tools int, modern bool) *server {
	s := &server{modern: modern, results: make(map[string]func() []byte)}
	for _, size := range sizes[:3] {
		s.results[size.tool] = sync.OnceValue(func() []byte { return s.sized(size.bytes) })
	}
	var list strings.Builder
	for i := range tools {
		name := "tool-" + strconv.Itoa(i)
		if i < len(sizes) {
			name = sizes[i].tool
		}
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, toolFormat, name)
	}
	s.listing = s.result(`"tools":[` + list.String() + `]`)
	return s
}

// toolFormat is a tool of about half a kilobyte.
const toolFormat = `{"name":"%s","title":"A tool","description":"Reads the entries of a table that match a pattern, in the order ` +
	`in which they were written, and returns at most as many as it is asked for.","inputSchema":{"type":"object","properties":` +
	`{"pattern":{"type":"string","description":"what the entries must match"},"limit":{"type":"integer","minimum":1,"maximum":1000,` +
	`"default":100}},"additionalProperties":false},"annotations":{"readOnlyHint":true,"openWorldHint":false}}`

// text returns JSON text of n bytes, with the escapes that are typical of
// source code and prose.
func text(n int) string {
	const line = `The \"quick\" brown fox jumps over the lazy dog, then looks up.\n`
	b := strings.Repeat(line, n/len(line)+1)[:n]
	if strings.HasSuffix(b, `\`) {
		b = b[:n-1] + "."
	}
	return b
}

func (s *server) sized(n int) []byte {
	return s.result(`"content":[{"type":"text","text":"` + text(n) + `"}]`)
}

func (s *server) result(members string) []byte {
	if s.modern {
		return []byte(`{"resultType":"complete",` + members + `}`)
	}
	return []byte(`{` + members + `}`)
}

var (
	envelope  = []byte(`{"jsonrpc":"2.0","id":`)
	toolsCall = []byte(`"method":"tools/call"`)
)

// answer returns the head and the result of the answer to a message, nil for a
// message without an answer. They are valid until buf is used again.
func (s *server) answer(buf []byte, msg []byte) (head, result []byte) {
	id, method := s.read(msg)
	if id == nil {
		return nil, nil
	}
	head = append(append(append(buf, envelope...), id...), `,"result":`...)
	switch method {
	case "tools/call":
		return head, s.call(msg)
	case "initialize":
		return head, s.initialize(msg)
	case "server/discover":
		return head, s.result(`"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private",` +
			`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"bench","version":"1"}}`)
	case "tools/list":
		return head, s.listing
	}
	return head, []byte(`{}`)
}

func (s *server) call(msg []byte) []byte {
	for _, size := range sizes {
		if !bytes.Contains(msg, []byte(size.tool)) {
			continue
		}
		if result := s.results[size.tool]; result != nil {
			return result()
		}
		return s.sized(size.bytes) // too rare to be cached
	}
	return s.results[sizes[0].tool]()
}

// read finds the id and the method. It does not decode messages of the common
// form.
func (s *server) read(msg []byte) (id []byte, method string) {
	if rest, ok := bytes.CutPrefix(msg, envelope); ok {
		if end := bytes.IndexByte(rest, ','); end > 0 && bytes.HasPrefix(rest[end+1:], toolsCall) {
			return rest[:end], "tools/call"
		}
	}
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if json.Unmarshal(msg, &m) != nil || m.Method == "" {
		return nil, ""
	}
	return m.ID, m.Method
}

func (s *server) initialize(msg []byte) []byte {
	var m struct {
		Params struct{ ProtocolVersion string }
	}
	// If the message cannot be read, use the version that every client
	// supports.
	if json.Unmarshal(msg, &m) != nil || m.Params.ProtocolVersion == "" {
		m.Params.ProtocolVersion = "2025-06-18"
	}
	return fmt.Appendf(nil, `{"protocolVersion":%q,"capabilities":{"tools":{}},"serverInfo":{"name":"bench","version":"1"}}`, m.Params.ProtocolVersion)
}

// refuses reports whether the server does not speak the era of the message.
func (s *server) refuses(msg []byte) bool {
	_, method := s.read(msg)
	return s.modern && method == "initialize" || !s.modern && method == "server/discover"
}
