package inbox

import (
	"errors"
	"net/http"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/api"
)

// AnswerPattern is the pattern of the route that Post serves.
const AnswerPattern = "inbox/{id}"

// Post answers a question.
func (b *Inbox) Post(r *api.Request, a Answer) (any, error) {
	a.Typed = api.IsTyped(r.Context())
	switch a.Action {
	case "accept", "decline", "cancel":
	default:
		return nil, api.BadRequest(i18n.New("action must be accept, decline or cancel", "action 应为 accept、decline 或 cancel"))
	}
	switch err := b.Answer(r.Who, r.Param("id"), a); {
	case errors.Is(err, errOwnQuestion):
		return nil, api.Refuse(http.StatusForbidden, "own", i18n.Why(err))
	case errors.Is(err, errNoScript) || errors.Is(err, errFor):
		return nil, api.BadRequest(i18n.Why(err))
	case errors.As(err, new(*badAnswer)):
		return nil, api.BadRequest(i18n.Why(errors.Unwrap(err)))
	case errors.As(err, new(*notApplied)):
		return nil, errors.Unwrap(err)
	case err != nil:
		return nil, api.Refuse(http.StatusGone, "gone", i18n.New("this question no longer waits", "这个问题已不再等待回答"))
	}
	return nil, nil
}
