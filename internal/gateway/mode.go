package gateway

import (
	"mcp-all-in-one/internal/builtin"
	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/receipt"
)

// What a task is taken to cost beside the list of tools: so many tools are
// looked up in the compact modes, and each is one more turn of the model.
const (
	lookupsPerTask = 3
	tokensPerTurn  = 1500
	foundPerSearch = 20
)

// A choice is the mode that clients are shown, and why.
type choice struct {
	mode string
	why  i18n.Text
}

// choose picks the mode in which a typical task costs least. named says that
// compact mode names every tool; most is how many tools the client can take, 0
// when that is not known.
func choose(r catalog.Receipt, tools int, named bool, most int) choice {
	if tools == 0 {
		return choice{builtin.ModeFull, i18n.New("there are no tools yet", "还没有工具")}
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
		return choice{small, i18n.New("the client takes %d tools at most; %v", "该客户端最多接受 %d 个工具；%v", most, numbers)}
	case full <= least:
		return choice{builtin.ModeFull, numbers}
	}
	return choice{small, numbers}
}

// pick decides what an auto schema shows to this session. Sessions keep what
// they were first shown; a modern request is judged by the tools alone, never
// by who sends it.
func (s *Session) pick(full view) choice {
	if kept := s.picked.Load(); kept != nil {
		return *kept
	}
	most := 0
	if limits := receipt.LimitOf(s.clientName()); limits != nil {
		most = limits.Tools
	}
	return choose(full.cost.all(), full.cost.tools(), full.cost.named(), most)
}

// keep lets a session go on with the mode that it was first shown.
func (s *Session) keep(v *view) {
	if v.choice.mode == "" || !s.opening.Session || !s.picked.CompareAndSwap(nil, &v.choice) {
		return
	}
	s.gw.log.Info("mode chosen", "schema", s.opening.Schema, "session", s.caller.Session, "mode", v.choice.mode, "why", v.choice.why)
}
