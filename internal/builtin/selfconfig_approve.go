package builtin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/approval"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/mcp"
)

// askApproval asks the user of the client to approve each pending server of a
// write, if the client can ask, and returns the servers that still wait. It
// does not ask for an entry that keeps a secret of the file: the user would have
// to see the secret, and the client must not.
func (c *SelfConfig) askApproval(ctx context.Context, env *Env, res *edit.WriteResult) (left, changed []string) {
	approvals := res.Config.Approvals()
	for _, id := range res.Pending {
		s := serverOf(res.Config, id)
		if s == nil || slices.Contains(res.Kept, id) || !c.approved(ctx, env, s) {
			left = append(left, id)
			continue
		}
		if err := approvals.Approve(id, s.ShownHash()); err != nil {
			c.Log.Warn("recording an approval", "server", id, "err", err)
			left = append(left, id)
			if errors.Is(err, approval.ErrChanged) {
				changed = append(changed, id)
			}
			continue
		}
		c.Log.Warn("a person approved a server", "server", id, "path", res.Path)
	}
	return left, changed
}

// approved shows the whole entry and waits for the answer.
func (c *SelfConfig) approved(ctx context.Context, env *Env, s *config.Server) bool {
	text := fmt.Sprintf("允许 mcp-all-in-one 启动服务 '%s' 吗？ / Let mcp-all-in-one start the server '%s'?\n%s", s.Name, s.Name, s.Entry())
	for _, taken := range s.Taken {
		en, zh := taken.Say().Both()
		text += fmt.Sprintf("\n%s / %s\n  %s", zh, en, strings.Join(taken.Lines, "\n  "))
	}
	yes, _ := env.Ask.confirm(ctx, text, "批准启动 / approve", "true 表示允许启动此服务 / true starts it")
	return yes
}

// Removal asks the user of the client whether servers may be removed. asked is
// false if the client cannot ask.
func (ask Asker) Removal(ctx context.Context, ids []string) (yes, asked bool) {
	names := make([]string, len(ids))
	for i, id := range ids {
		names[i] = i18n.Seen(strings.TrimPrefix(id, config.DefaultSchema+"/"))
	}
	list := strings.Join(names, ", ")
	return ask.confirm(ctx, fmt.Sprintf("允许从 mcp-all-in-one 的配置中移除 %s 吗？ / Let the client remove %s from the configuration of mcp-all-in-one?", list, list),
		"批准移除 / approve", "true 表示允许移除 / true removes it")
}

// confirm asks the user of the client. Only an accepted form with a yes counts.
// asked is false if the client cannot ask.
func (ask Asker) confirm(ctx context.Context, text, title, description string) (yes, asked bool) {
	if ask == nil {
		return false, false
	}
	params := fmt.Appendf(nil, `{"message":%s,"requestedSchema":{"type":"object","properties":{"approve":{"type":"boolean",`+
		`"title":%s,"description":%s}},"required":["approve"]}}`, jsonrpc.Quote(text), jsonrpc.Quote(title), jsonrpc.Quote(description))
	resp, err := ask(ctx, mcp.MethodElicit, params)
	if err != nil || resp.Err != nil {
		var wire *jsonrpc.Error
		return false, !errors.As(err, &wire) || wire.Code != jsonrpc.CodeMethodNotFound
	}
	action, _ := jsonrpc.GetString(resp.Result, "action")
	yes, _ = flag(jsonrpc.Get(resp.Result, "content"), "approve")
	return action == "accept" && yes, true
}
