package lint

import (
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

// Features are the lists of a server, by kind and then by key. Its entry in the
// config file and the questions of its publisher are kinds, too.
type Features map[string]map[string]json.RawMessage

// FeaturesOf fetches everything that a server lists.
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
	if member == "" {
		member = "name"
	}
	key, _ := jsonrpc.GetString(raw, member)
	return key
}

// ReadFeatures reads what the list command wrote as JSON.
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

// In says it in a language.
func (c FeatureChange) In(l i18n.Lang) string {
	sign := map[string]string{"added": "+", "removed": "-", "changed": "~"}[c.Change]
	kind := strings.TrimSuffix(c.Kind, "s")
	if c.Kind == "entries" {
		kind = "entry"
	}
	line := fmt.Sprintf("%s %s %s", sign, kind, i18n.Seen(c.Key)) // a name may look like further lines
	for _, d := range c.Differences {
		line += "\n    " + i18n.Seen(d.In(l))
	}
	if len(c.Differences) == probe.MaxDifferences {
		line += "\n    " + i18n.New("there may be more", "可能还有更多").In(l)
	}
	return line
}

// Tell adds all that a new item has.
func (c *FeatureChange) Tell(item json.RawMessage) {
	c.Differences, _ = probe.DiffJSON(jsonrpc.Set([]byte(`{}`), jsonrpc.Quote(c.Key), "name"), item, nil) // an item that was listed is JSON
}

// IsClipped says that a line shows only a part of a difference.
func (c FeatureChange) IsClipped() bool {
	return slices.ContainsFunc(c.Differences, func(d probe.Difference) bool { return strings.Contains(d.In(i18n.English), "…") })
}

// DiffText is a text that differs and that is no item of a list.
func DiffText(kind, before, after string) FeatureChange {
	c := FeatureChange{Kind: kind, Key: "text", Change: "changed"}
	c.Differences, _ = probe.DiffJSON(jsonrpc.Quote(before), jsonrpc.Quote(after), nil) // both are JSON
	return c
}

// DiffFeatures lists what differs from a to b, in a fixed order.
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
				found, err := probe.DiffJSON(before, after, nil)
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

// sortedNames are the keys of both maps, each once.
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
