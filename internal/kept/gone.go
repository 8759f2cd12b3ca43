package kept

import (
	"time"

	"mcp-all-in-one/internal/i18n"
)

// maxGone is how many dropped results are remembered.
const maxGone = 1024

// A GoneError says why a result of the caller is not kept, or no longer.
type GoneError struct{ why i18n.Text }

func (e *GoneError) Error() string { return e.In(i18n.English) }

// In returns the message in the given language.
func (e *GoneError) In(l i18n.Lang) string { return e.why.In(l) }

func (e *GoneError) Unwrap() error { return ErrNotFound }

func expired(keep time.Duration) *GoneError {
	return &GoneError{i18n.New("the result has expired: it was not read for %v; call the tool again, or keep results longer with results.keep",
		"该结果已过期：已有 %v 未被读取；请重新调用工具，或用 results.keep 延长保存时间", keep)}
}

var displaced = &GoneError{i18n.New("the result had to make room for newer ones; call the tool again, or allow more with results.disk",
	"该结果已为更新的结果腾出空间；请重新调用工具，或用 results.disk 增大空间")}

var signedOut = &GoneError{i18n.New("the result was forgotten, because its user signed out of the server; sign in and call the tool again",
	"该结果已被清除，因为其用户已注销该服务器；请登录后重新调用工具")}

// OwnerGone is the error for a result of a replica that has ended.
func OwnerGone(node string) *GoneError {
	return &GoneError{i18n.New("the result has expired with replica %s, which kept it and has ended; call the tool again",
		"该结果已过期：保存它的副本 %s 已结束；请重新调用工具", node)}
}

// Gone returns an error for a reason that another replica gave.
func Gone(en, zh string) *GoneError { return &GoneError{i18n.Pair(en, zh)} }

// gone remembers why results were dropped. The oldest are forgotten first.
type gone struct {
	why   map[string]goneEntry
	order []string
}

type goneEntry struct {
	owner Owner
	err   *GoneError
}

func (g *gone) add(e *entry, err *GoneError) {
	if g.why == nil {
		g.why = make(map[string]goneEntry)
	}
	if len(g.order) == maxGone {
		delete(g.why, g.order[0])
		g.order = append(g.order[:0], g.order[1:]...)
	}
	g.why[e.id] = goneEntry{e.owner, err}
	g.order = append(g.order, e.id)
}

// of returns the error for an owner's result that is not kept.
func (g *gone) of(owner Owner, id string) error {
	if e, ok := g.why[id]; ok && e.owner == owner {
		return e.err
	}
	return ErrNotFound
}
