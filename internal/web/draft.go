package web

import (
	"encoding/json"
	"slices"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/tester/history"
	"mcp-all-in-one/internal/tester/record"
	"mcp-all-in-one/internal/tester/suite"
	"mcp-all-in-one/internal/traffic"
	"mcp-all-in-one/internal/web/api"
)

// drafts makes test files from recorded calls.
type drafts struct {
	traffic *traffic.Recorder
	history *histories
}

type draftBody struct {
	Server string `json:"server,omitempty"`
	// Servers lists all servers that the calls went to; a test file has only
	// one.
	Servers []string `json:"servers"`
	Calls   int      `json:"calls"`
	Text    string   `json:"text"`
}

// post makes a test file from recorded calls. The file is not saved.
// A run of the Bench is selected by Run instead of Q.
func (d *drafts) post(r *api.Request, body struct{ Q, Run string }) (any, error) {
	if body.Run != "" {
		return d.run(r, body.Run)
	}
	f, err := filter(r.Who, body.Q)
	if err != nil {
		return nil, err
	}
	calls, _ := d.traffic.List(f, 0, 1<<20)
	out := draftBody{Servers: []string{}}
	var turns []record.Turn
	for _, c := range slices.Backward(calls) {
		if t, ok := d.turn(&c); ok {
			turns = append(turns, t)
			if !slices.Contains(out.Servers, c.Server) {
				out.Servers = append(out.Servers, c.Server)
			}
		}
	}
	slices.Sort(out.Servers)
	if len(out.Servers) <= 1 {
		out.Server = strings.Join(out.Servers, "")
		var from *history.RunTarget
		if out.Server != "" {
			from = &history.RunTarget{Server: out.Server}
		}
		out.Text = string(suite.SuiteFrom(from, turns))
	}
	out.Calls = len(turns)
	return out, nil
}

// run makes the test file of one run.
func (d *drafts) run(r *api.Request, id string) (any, error) {
	k, err := d.history.find(r, id)
	if err != nil {
		return nil, err
	}
	t := record.Turn{Method: k.Method, Params: k.Params, Err: k.Error}
	switch k.Status {
	case "ok":
		t.Result = json.RawMessage(`{}`)
	case "tool_error":
		t.Result = json.RawMessage(`{"isError":true}`)
	case "error":
	default:
		return nil, i18n.Errorf("only a run that was answered can be a test", "只有得到回答的运行才能存为测试")
	}
	out := draftBody{Servers: []string{}, Calls: 1, Text: string(suite.SuiteFrom(k.From, []record.Turn{t}))}
	if k.From != nil && k.From.Server != "" {
		out.Server, out.Servers = k.From.Server, []string{k.From.Server}
	}
	return out, nil
}

// turn converts a recorded server call to a turn that a test can repeat;
// false if the call cannot be repeated.
func (d *drafts) turn(c *traffic.Call) (record.Turn, bool) {
	switch c.Method {
	case mcp.MethodToolsCall, mcp.MethodResourcesRead, mcp.MethodPromptsGet:
	default:
		return record.Turn{}, false
	}
	if c.Hop != traffic.HopServer || c.FromServer || c.Status == traffic.StatusPending {
		return record.Turn{}, false
	}
	params, whole := d.traffic.Body(c.ID, traffic.Request)
	if !whole || len(params) == 0 || params[0] != '{' {
		return record.Turn{}, false
	}
	t := record.Turn{Method: c.Method, Params: params}
	switch c.Status {
	case traffic.StatusError:
		t.Err, _ = json.Marshal(map[string]int64{"code": c.Code})
	case traffic.StatusToolError:
		t.Result = json.RawMessage(`{"isError":true}`)
	default:
		t.Result = json.RawMessage(`{}`)
	}
	return t, true
}
