package builtin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
	"mcp-all-in-one/internal/say"
)

// entries are the servers of a file as they are written, by id; nil when the
// file cannot be used.
func (c *SelfConfig) entries(path string) map[string][]byte {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	cfg, err := config.Check(path, data, c.Load)
	if err != nil {
		return nil
	}
	entries := make(map[string][]byte)
	_, err = config.Update(path, config.WriteOptions{Load: c.Load}, func(d *config.Draft) error {
		for _, schema := range cfg.Schemas {
			for _, s := range schema.Servers {
				entries[s.ID()] = d.Entry(schema.Name, s.Name)
			}
		}
		return errLookOnly
	})
	if err != nil && !errors.Is(err, errLookOnly) {
		return nil
	}
	return entries
}

var errLookOnly = say.Errorf("nothing is to be written", "无需写入")

// askApproval puts each pending server of a write to the person at the client,
// where that client can ask, and returns those that still wait.
func (c *SelfConfig) askApproval(ctx context.Context, env *Env, res *config.WriteResult, before map[string][]byte) []string {
	if len(res.Pending) == 0 {
		return nil
	}
	after := c.entries(res.Path)
	approvals := config.ApprovalsOf(res.Path, c.Load.Home, res.Config.Project)
	var left []string
	for _, id := range res.Pending {
		s := serverOf(res.Config, id)
		if s == nil || after[id] == nil || !c.approved(ctx, env, s.Name, shownEntry(after[id], before[id])) {
			left = append(left, id)
			continue
		}
		if err := approvals.Approve(s, s.ApprovalHash()); err != nil {
			c.Log.Warn("recording an approval", "server", id, "err", err)
			left = append(left, id)
			continue
		}
		c.Log.Warn("a person approved a server", "server", id, "path", res.Path)
	}
	return left
}

// approved shows the whole entry and waits for the answer. Only an accepted
// form with a yes in it counts.
func (c *SelfConfig) approved(ctx context.Context, env *Env, name string, entry []byte) bool {
	if env.Ask == nil {
		return false
	}
	text := fmt.Sprintf("允许 mcp-all-in-one 启动服务 '%s' 吗？ / Let mcp-all-in-one start the server '%s'?\n%s", name, name, entry)
	params := fmt.Appendf(nil, `{"message":%s,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean",`+
		`"title":"批准启动 / approve","description":"true 表示允许启动此服务 / true starts it"}},"required":["approve"]}}`, jsonrpc.Quote(text))
	resp, err := env.Ask(ctx, mcp.MethodElicit, params)
	if err != nil || resp.Err != nil {
		return false
	}
	action, _ := jsonrpc.GetString(resp.Result, "action")
	yes, _ := flag(jsonrpc.Get(resp.Result, "content"), "approve")
	return action == "accept" && yes
}

// shownEntry is an entry as a person approves it: whole, as it is written.
// Secrets that were in the file before are not shown to the client again.
func shownEntry(after, before []byte) []byte {
	var entry, old map[string]any
	if json.Unmarshal(after, &entry) != nil {
		return after
	}
	if json.Unmarshal(before, &old) != nil {
		old = nil
	}
	for _, holder := range []string{"env", "headers"} {
		values, _ := entry[holder].(map[string]any)
		kept, _ := old[holder].(map[string]any)
		for name, v := range values {
			was, known := kept[name].(string)
			if is, ok := v.(string); ok && known && was == is {
				values[name] = config.Redacted
			}
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if enc.Encode(entry) != nil {
		return after
	}
	return bytes.TrimSpace(b.Bytes())
}
