package view

import (
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
)

// Assumed costs of a task beside the list of tools. In the compact modes the
// model looks tools up, and each lookup is one more turn.
const (
	lookupsPerTask = 3
	tokensPerTurn  = 1500
	foundPerSearch = 20
)

// A Choice is the mode chosen for a client, with the reason. The zero value
// means that the mode is configured.
type Choice struct {
	Mode string
	Why  i18n.Text
}

// Choose picks the mode in which a typical task costs least. named is set if
// compact mode names every tool. most is the client's limit of tools, 0 if
// unknown.
func Choose(r catalog.Receipt, tools int, named bool, most int) Choice {
	if tools == 0 {
		return Choice{builtin.ModeFull, i18n.New("there are no tools yet", "还没有工具")}
	}
	one := r.Full.Tokens / tools
	full := r.Full.Tokens
	compact := r.Compact.Tokens + lookupsPerTask*(one+tokensPerTurn)
	search := r.Search.Tokens + lookupsPerTask*(min(tools, foundPerSearch)*one+tokensPerTurn)
	numbers := i18n.New("a task costs about %d tokens in full mode, %d in compact mode, %d in search mode (%d tools)",
		"一项任务在 full 模式约需 %d 个 token，compact 模式 %d 个，search 模式 %d 个（共 %d 个工具）", full, compact, search, tools)
	small, least := builtin.ModeSearch, search
	// A model that sees the names does not have to guess search words, which is
	// worth a little.
	if named && compact <= search+search/4 {
		small, least = builtin.ModeCompact, compact
	}
	switch {
	case most > 0 && tools > most:
		return Choice{small, i18n.New("the client takes %d tools at most; %v", "该客户端最多接受 %d 个工具；%v", most, numbers)}
	case full <= least:
		return Choice{builtin.ModeFull, numbers}
	}
	return Choice{small, numbers}
}
