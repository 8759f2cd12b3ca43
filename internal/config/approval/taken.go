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

// holding are the keys of an entry that hold its server back.
var holding = []string{"enabled", "allow", "deny", "tools", "prompts", "resources", "pin", "sandbox", "validate", "callsPerMinute", layout.DeniedKey}

// A Taken is what held a server back that a person had written, and what a
// client has put in its place.
type Taken struct {
	Server  string   // as the file names it
	Removed bool     // the server is gone, too
	Lines   []string // "- " and a setting as it was, "+ " and as it is
}

// Say says it in words, before the lines.
func (t Taken) Say() i18n.Text {
	if t.Removed {
		return i18n.New("a client removed the server %s, and with it:", "客户端移除了服务 %s，同时移除了：", t.Server)
	}
	return i18n.New("a client takes away what you had set for %s:", "客户端去掉了你为 %s 所做的设置：", t.Server)
}

// In says all of it in a language.
func (t Taken) In(l i18n.Lang) string { return t.Say().In(l) + "\n  " + strings.Join(t.Lines, "\n  ") }

// held is what holds a server back, as its entry says it in our words.
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

// HeldText is held as a record keeps it; "" when nothing holds the server back.
func HeldText(l *layout.Layout, e layout.Entry) json.RawMessage {
	if n := held(l, e); len(n.Members) > 0 {
		return n.AppendJSON(nil, "", "")
	}
	return nil
}

// TakenBy is what clients have taken away, for the person who is asked to
// approve e: from the server itself, and from those that are gone, whose place
// it may take.
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

// takenLines are the settings of was that is has not, or has otherwise.
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
