package lint

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// Features holds the lists of a server, by kind and key. Its entry in the config
// file and the questions of its publisher are kinds, too.
type Features map[string]map[string]json.RawMessage

// FeaturesOf fetches all lists of a server.
func FeaturesOf(ctx context.Context, s *probe.Session) (Features, error) {
	f := make(Features)
	for k := range probe.ListMethods {
		if !s.Offers(k) {
			continue
		}
		l, err := s.List(ctx, k)
		if err != nil {
			return nil, err
		}
		f.add(k, l.Raw)
	}
	return f, nil
}

func (f Features) add(k catalog.Kind, items []json.RawMessage) {
	byKey := make(map[string]json.RawMessage)
	for _, raw := range items {
		byKey[keyOf(k, raw)] = raw
	}
	f[probe.KindWord(k)] = byKey
}

func keyOf(k catalog.Kind, raw []byte) string {
	member := map[catalog.Kind]string{catalog.Resources: "uri", catalog.Templates: "uriTemplate"}[k]
	member = cmp.Or(member, "name")
	key, _ := jsonrpc.GetString(raw, member)
	return key
}

// ReadFeatures parses the JSON output of the list command.
func ReadFeatures(data []byte) (Features, error) {
	var lists map[string][]json.RawMessage
	if err := json.Unmarshal(data, &lists); err != nil {
		return nil, i18n.Errorf("this is not a saved list: %w", "这不是保存的列表：%w", err)
	}
	f := make(Features)
	for k := range probe.ListMethods {
		if items, ok := lists[k.Member()]; ok {
			f.add(k, items)
		}
	}
	return f, nil
}

// A FeatureChange is one item that differs between two servers.
type FeatureChange struct {
	Kind string `json:"kind"`
	Key  string `json:"key"`
	// Change is added, removed or changed.
	Change      string             `json:"change"`
	Differences []probe.Difference `json:"differences,omitempty"`
}

// In returns the change in the given language. Long values and lists are clipped.
func (c FeatureChange) In(l i18n.Lang) string {
	list := c.Differences[:min(len(c.Differences), probe.MaxDifferences)]
	text := c.text(list, func(d probe.Difference) string { return d.In(l) })
	if len(list) < len(c.Differences) {
		text += "\n    " + i18n.New("and %d more", "另有 %d 处", len(c.Differences)-len(list)).In(l)
	}
	return text
}

// Whole is like In, but clips nothing: it is for a person who is asked to agree.
func (c FeatureChange) Whole(l i18n.Lang) string {
	return c.text(c.Differences, func(d probe.Difference) string { return d.Whole(l) })
}

func (c FeatureChange) text(list []probe.Difference, in func(probe.Difference) string) string {
	sign := map[string]string{"added": "+", "removed": "-", "changed": "~"}[c.Change]
	kind := strings.TrimSuffix(c.Kind, "s")
	if c.Kind == "entries" {
		kind = "entry"
	}
	line := fmt.Sprintf("%s %s %s", sign, kind, i18n.Seen(c.Key)) // a name may contain line breaks
	for _, d := range list {
		line += "\n    " + i18n.Seen(in(d))
	}
	return line
}

// Tell adds all members of a new item as differences.
func (c *FeatureChange) Tell(item json.RawMessage) {
	c.Differences, _ = probe.DiffAll(jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(c.Key), "name"), item, nil) // a listed item is valid JSON
}

// DiffText returns the change of a text that is not an item of a list.
func DiffText(kind, before, after string) FeatureChange {
	c := FeatureChange{Kind: kind, Key: "text", Change: "changed"}
	c.Differences, _ = probe.DiffAll(jsonrpc.Quote(before), jsonrpc.Quote(after), nil) // both are JSON
	return c
}

// DiffFeatures returns the changes from a to b, in a fixed order.
func DiffFeatures(a, b Features) []FeatureChange {
	var changes []FeatureChange
	for _, kind := range []string{"entries", "questions", "tools", "resources", "templates", "prompts"} {
		for _, key := range sortedNames(a[kind], b[kind]) {
			before, was := a[kind][key]
			after, is := b[kind][key]
			c := FeatureChange{Kind: kind, Key: key, Change: "changed"}
			switch {
			case !was:
				c.Change = "added"
			case !is:
				c.Change = "removed"
			default:
				found, err := probe.DiffAll(before, after, nil)
				if err == nil && len(found) == 0 {
					continue
				}
				c.Differences = found
			}
			changes = append(changes, c)
		}
	}
	return changes
}

// sortedNames returns the keys of both maps, without duplicates.
func sortedNames[V any](a, b map[string]V) []string {
	all := make(map[string]struct{}, len(a)+len(b))
	for name := range a {
		all[name] = struct{}{}
	}
	for name := range b {
		all[name] = struct{}{}
	}
	return slices.Sorted(maps.Keys(all))
}
