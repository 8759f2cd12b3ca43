package view

import (
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
)

// What a task is taken to cost beside the list of tools: so many tools are
// looked up in the compact modes, and each is one more turn of the model.
const (
	lookupsPerTask = 3
	tokensPerTurn  = 1500
	foundPerSearch = 20
)

// A Choice is the mode that clients are shown, and why. Its zero value says that
// there was nothing to choose.
type Choice struct {
	Mode string
	Why  i18n.Text
}

// Choose picks the mode in which a typical task costs least. named says that
// compact mode names every tool; most is how many tools the client can take, 0
// when that is not known.
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
	// A model that sees the names need not guess what to search for, which is
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
