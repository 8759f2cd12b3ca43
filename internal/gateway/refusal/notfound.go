package refusal

import (
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// A NotFoundError says that an addressed schema or server does not exist.
type NotFoundError struct {
	Kind, Name string
	Known      []string
}

func (e *NotFoundError) Error() string { return e.In(i18n.English) }

// In returns the message in a language.
func (e *NotFoundError) In(l i18n.Lang) string {
	return i18n.New("%s '%s' not found or disabled; there is: %s", "%s '%s' 不存在或已停用；现有：%s", e.Kind, e.Name, strings.Join(e.Known, ", ")).In(l)
}
