package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/mcptest"
	"mcp-all-in-one/internal/mcptest/corpus"
	"mcp-all-in-one/internal/mcptest/random"
)

// orders is how often the corpus runs on one session: once in order, and with
// TORTURE set three more times shuffled (fault/T41).
func orders() int {
	if os.Getenv("TORTURE") != "" {
		return 4
	}
	return 1
}

func shuffled[T any](t testing.TB, rows []T, order int) []T {
	rows = slices.Clone(rows)
	if order > 0 {
		random.New(t).Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	}
	return rows
}

func name(id, c string) string {
	if c == "" {
		return "corpus/" + id
	}
	return "corpus/" + id + "/" + c
}

// demoConfig has a legacy server, two of the same kind, and a disabled one.
func demoConfig(t *testing.T) string {
	fake := mcptest.Build(t)
	return fmt.Sprintf(`{"mcpServers":{"demo":{"command":%[1]q,"args":["-era","legacy"]},"one":{"command":%[1]q,"args":["-role","example"]},`+
		`"two":{"command":%[1]q,"args":["-role","example"]},"off":{"command":%[1]q,"enabled":false}}}`, fake)
}

type envelope struct {
	ID, Case string
	In       pieces
	Flight   []string
	Want     struct {
		Code, Answer int64
		Kind, IDEcho string
	}
	HTTPStatus, HTTPStatusModern int
}

// TestEnvelopes sends every envelope of the corpus to the product.
func TestEnvelopes(t *testing.T) {
	r := newRig(t, demoConfig(t))
	rows := slices.DeleteFunc(corpus.Rows[envelope](t, "../../testdata/corpus/J/*.json"), func(e envelope) bool { return e.Flight != nil })
	for order := range orders() {
		for _, row := range shuffled(t, rows, order) {
			t.Run(name(row.ID, row.Case), func(t *testing.T) {
				row.overHTTP(t, r)
				row.overStdio(t, r)
				r.alive(t, "demo__echo", "message")
			})
		}
	}
}

func (e *envelope) overHTTP(t *testing.T, r *rig) {
	client := r.http
	if e.ID == "J10" || e.ID == "J11" {
		client = r.batches
	}
	status := []int{e.HTTPStatus}
	if e.ID == "J77" {
		status = append(status, http.StatusRequestEntityTooLarge) // refused because of its size
	}
	reply := client.Post(string(e.In))
	if !slices.Contains(status, reply.Status) {
		t.Errorf("status %d, want %v: %.200s", reply.Status, status, reply.Body)
	}
	if e.Want.Code != 0 && reply.Status == http.StatusBadRequest {
		m := reply.Answer(t)
		if code, id := codeOf(&m), cmp.Or(string(m.ID), "null"); code != e.Want.Code || id != cmp.Or(e.Want.IDEcho, "null") {
			t.Errorf("code %d, id %s: %.200s", code, id, reply.Body)
		}
	}
	if e.Want.Code == 0 || e.Want.Kind != "invalid" || e.HTTPStatus != http.StatusBadRequest || e.ID == "J77" {
		return // accepted, or not a message of the modern era
	}
	if reply := r.post(t, string(e.In), map[string]string{"Mcp-Protocol-Version": mcp.LatestModern}); reply.Status != http.StatusBadRequest {
		t.Errorf("modern: status %d: %.200s", reply.Status, reply.Body)
	}
}

func (e *envelope) overStdio(t *testing.T, r *rig) {
	if strings.TrimSpace(string(e.In)) == "" {
		r.stdio.Send(string(e.In))
		return
	}
	code, id := e.Want.Code, e.Want.IDEcho
	switch {
	case len(e.In) > 10<<20:
		code = -32600 // a line that is too long
	case code == 0 && e.Want.Kind != "request" || e.ID == "J59":
		r.stdio.Send(string(e.In))
		return // it gets no response
	case code == 0:
		code = e.Want.Answer
	}
	if e.ID == "J55" {
		code = -32602 // its tool is called a, which does not exist
	}
	r.stdio.Send(string(e.In))
	if id == "" {
		id = "null"
	}
	m := r.stdio.Expect("an answer to "+id, func(m *mcptest.Message) bool {
		return m.Method == "" && (string(m.ID) == id || id == "null" && m.ID == nil)
	})
	if got := codeOf(&m); got != code {
		t.Errorf("stdio: code %d, want %d: %.200s", got, code, m.Raw)
	}
	for range strings.Count(string(e.In), "\n") { // each line is one more message
		r.stdio.Expect("an answer to the next line", func(m *mcptest.Message) bool { return m.Error != nil && (m.ID == nil || string(m.ID) == "null") })
	}
}

func codeOf(m *mcptest.Message) int64 {
	if m.Error == nil {
		return 0
	}
	return m.Error.Code
}

type methodRow struct {
	ID, Case, Era, Over, Method, Version string
	Fresh, Bare, Notification            bool
	Params                               json.RawMessage
	Long                                 int
	Want                                 struct {
		Code            []int64
		Status          int
		Contains, Lacks string
	}
}

// TestMethods sends every request of the corpus to the product, in each era
// and over each transport.
func TestMethods(t *testing.T) {
	r := newRig(t, demoConfig(t))
	id := 0
	for order := range orders() {
		for _, row := range shuffled(t, corpus.Rows[methodRow](t, "../../testdata/corpus/M/*.json"), order) {
			t.Run(name(row.ID, row.Case), func(t *testing.T) {
				for _, era := range []string{"legacy", "modern"} {
					for _, over := range []string{"stdio", "http"} {
						if row.Era != "" && row.Era != era || row.Over != "" && row.Over != over {
							continue
						}
						id++
						row.run(t, r, era, over, fmt.Sprint(1000+id))
					}
				}
				r.alive(t, "demo__echo", "message")
			})
		}
	}
}

func (row *methodRow) run(t *testing.T, r *rig, era, over, id string) {
	t.Helper()
	params := json.RawMessage(strings.ReplaceAll(string(row.Params), "{long}", strings.Repeat("x", row.Long)))
	if era == "modern" && !row.Bare {
		params = withMeta(t, params, `{}`)
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q`, id, row.Method)
	if row.Notification {
		line = fmt.Sprintf(`{"jsonrpc":"2.0","method":%q`, row.Method)
	}
	if len(params) > 0 {
		line += `,"params":` + string(params)
	}
	line += "}"
	if over == "stdio" {
		row.overStdio(t, r, line)
		return
	}
	var reply *mcptest.Reply
	switch {
	case era == "modern":
		version := mcp.LatestModern
		if row.Version != "" {
			version = row.Version
		}
		reply = r.post(t, line, modernHeader(version, row.Method, params))
	case row.Fresh:
		reply = r.post(t, line, nil)
	default:
		reply = r.http.Post(line)
	}
	if row.Want.Status != 0 && reply.Status != row.Want.Status {
		t.Errorf("%s over HTTP: status %d, want %d: %.200s", era, reply.Status, row.Want.Status, reply.Body)
	}
	if !row.Notification {
		row.check(t, era+" over HTTP", reply.Answer(t))
	}
}

func (row *methodRow) overStdio(t *testing.T, r *rig, line string) {
	t.Helper()
	switch {
	case row.Notification:
		r.stdio.Send(line)
	case row.Fresh:
		own := mcptest.GatewayStdio(t, r.config)
		row.check(t, "stdio", own.Ask(line))
	default:
		row.check(t, "stdio", r.stdio.Ask(line))
	}
}

func (row *methodRow) check(t *testing.T, where string, m mcptest.Message) {
	t.Helper()
	code := codeOf(&m)
	if code != 0 && !slices.Contains(row.Want.Code, code) || code == 0 && row.Want.Code != nil {
		t.Errorf("%s: code %d, want %v: %.300s", where, code, row.Want.Code, m.Raw)
	}
	if !strings.Contains(m.Raw, row.Want.Contains) {
		t.Errorf("%s: %q is missing: %.300s", where, row.Want.Contains, m.Raw)
	}
	if row.Want.Lacks != "" && strings.Contains(m.Raw, row.Want.Lacks) {
		t.Errorf("%s: %q is there: %.300s", where, row.Want.Lacks, m.Raw)
	}
	if len(m.Raw) > 64<<10 && code != 0 {
		t.Errorf("%s: an error of %d bytes", where, len(m.Raw))
	}
}
