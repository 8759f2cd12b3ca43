package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// askApproval puts each pending server of a write to the person at the client,
// where that client can ask, and returns those that still wait. One that keeps
// a secret of the file is not put there: the person would have to see it, and
// the client must not.
func (c *SelfConfig) askApproval(ctx context.Context, env *Env, res *config.WriteResult) (left, changed []string) {
	approvals := res.Config.Approvals()
	for _, id := range res.Pending {
		s := serverOf(res.Config, id)
		if s == nil || slices.Contains(res.Kept, id) || !c.approved(ctx, env, s) {
			left = append(left, id)
			continue
		}
		if err := approvals.Approve(id, s.ApprovalHash()); err != nil {
			c.Log.Warn("recording an approval", "server", id, "err", err)
			left = append(left, id)
			if errors.Is(err, config.ErrChanged) {
				changed = append(changed, id)
			}
			continue
		}
		c.Log.Warn("a person approved a server", "server", id, "path", res.Path)
	}
	return left, changed
}

// approved shows the whole entry and waits for the answer. Only an accepted
// form with a yes in it counts.
func (c *SelfConfig) approved(ctx context.Context, env *Env, s *config.Server) bool {
	if env.Ask == nil {
		return false
	}
	text := fmt.Sprintf("允许 mcp-all-in-one 启动服务 '%s' 吗？ / Let mcp-all-in-one start the server '%s'?\n%s", s.Name, s.Name, s.Entry())
	for _, taken := range s.Taken() {
		en, zh := taken.Say().Both()
		text += fmt.Sprintf("\n%s / %s\n  %s", zh, en, strings.Join(taken.Lines, "\n  "))
	}
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
