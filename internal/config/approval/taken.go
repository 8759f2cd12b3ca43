package approval

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
)

// holding are the keys of an entry that restrict its server.
var holding = []string{"enabled", "allow", "deny", "tools", "prompts", "resources", "pin", "sandbox", "validate", "callsPerMinute", layout.DeniedKey}

// A Taken lists restrictions that a person had set for a server and that a
// client has changed or removed.
type Taken struct {
	Server  string   // the name in the file
	Removed bool     // the client removed the whole server
	Lines   []string // "- " with the old setting, "+ " with the new one
}

// Say returns the sentence before the lines.
func (t Taken) Say() i18n.Text {
	if t.Removed {
		return i18n.New("a client removed the server %s, and with it:", "客户端移除了服务器 %s，同时移除了：", t.Server)
	}
	return i18n.New("a client takes away what you had set for %s:", "客户端去掉了你为 %s 所做的设置：", t.Server)
}

// In returns the sentence and the lines in a language.
func (t Taken) In(l i18n.Lang) string { return t.Say().In(l) + "\n  " + strings.Join(t.Lines, "\n  ") }

// held returns the restrictions of an entry, under the gateway's own key names.
func held(l *layout.Layout, e layout.Entry) *document.Node {
	own := layout.OwnServer(l.Approvable(e), "", &problem.List{})
	kept := own.With(nil)
	for _, m := range own.Members {
		if slices.Contains(holding, m.Key) && !(m.Key == "enabled" && m.Value.Text == "true") {
			kept.Add(m.Key, m.Value)
		}
	}
	return layout.Canonical(kept)
}

// HeldText returns the result of held in the form of a record; nil if there are
// no restrictions.
func HeldText(l *layout.Layout, e layout.Entry) json.RawMessage {
	if n := held(l, e); len(n.Members) > 0 {
		return n.AppendJSON(nil, "", "")
	}
	return nil
}

// TakenBy returns the restrictions that clients have removed, for the person
// who is asked to approve e: those of the server itself, and those of removed
// servers, because e may replace one of them.
func (all Marks) TakenBy(l *layout.Layout, e layout.Entry) []Taken {
	var list []Taken
	id := e.Schema + "/" + e.Name
	if lines := takenLines(all[id].held, held(l, e)); len(lines) > 0 {
		list = append(list, Taken{Server: i18n.Seen(e.Name), Lines: lines})
	}
	there := l.ByID()
	for _, gone := range slices.Sorted(maps.Keys(all)) {
		if lines := takenLines(all[gone].held, nil); there[gone] == nil && len(lines) > 0 {
			list = append(list, Taken{Server: i18n.Seen(strings.TrimPrefix(gone, layout.DefaultSchema+"/")), Removed: true, Lines: lines})
		}
	}
	return list
}

// takenLines returns the settings in was that are absent or different in is.
func takenLines(was json.RawMessage, is *document.Node) []string {
	if len(was) == 0 {
		return nil
	}
	before := document.Parse(was, document.FormatJSON, &problem.List{})
	if before == nil {
		return nil
	}
	var lines []string
	for _, m := range before.Members {
		old, now := m.Value.AppendJSON(nil, "", ""), []byte(nil)
		if v := is.Get(m.Key); v != nil {
			now = v.AppendJSON(nil, "", "")
		}
		if bytes.Equal(old, now) {
			continue
		}
		key := i18n.Seen(m.Key) + ": "
		lines = append(lines, "- "+key+i18n.SeenJSON(string(old)))
		if now != nil {
			lines = append(lines, "+ "+key+i18n.SeenJSON(string(now)))
		}
	}
	return lines
}
