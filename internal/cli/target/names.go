package target

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcp-all-in-one/internal/catalog"
	"mcp-all-in-one/internal/folders"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// The lists of servers are cached for completion, so that a shell need not
// start a server to know the names of its tools.

// namesLife is how long a cached list is valid.
const namesLife = 24 * time.Hour

// A knownItem is an item of a list, with the data that completion needs.
type knownItem struct {
	Name  string   `json:"name"`
	About string   `json:"about,omitempty"`
	Words []string `json:"words,omitempty"` // name= and name=choice
}

// namesFile returns the cache file for a list of a target; "" if it is not
// cached.
func (m *Target) namesFile(k catalog.Kind) string {
	file := ""
	if m.cfg != nil {
		file = m.cfg.Path
	}
	from := m.From()
	if from == nil {
		return "" // clients come and go
	}
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%s", file, from.Schema, from))
	return filepath.Join(folders.StateDir(), "names", hex.EncodeToString(sum[:8])+"."+k.Member()+".json")
}

// listed caches a list. Write errors are ignored.
func (b *Connection) listed(l *probe.Listing) {
	path := b.To.namesFile(l.Kind)
	if path == "" {
		return
	}
	raw, err := json.Marshal(knownItems(l))
	if err != nil || os.MkdirAll(filepath.Dir(path), 0o700) != nil {
		return
	}
	_ = os.WriteFile(path, b.Redact(raw), 0o600)
}

// rememberedItems returns a cached list that is still valid.
func (m *Target) rememberedItems(k catalog.Kind) []knownItem {
	path := m.namesFile(k)
	info, err := os.Stat(path)
	if err != nil || time.Since(info.ModTime()) > namesLife {
		return nil
	}
	var items []knownItem
	data, err := os.ReadFile(path)
	if err != nil || json.Unmarshal(data, &items) != nil {
		return nil
	}
	return items
}

func knownItems(l *probe.Listing) []knownItem {
	items := []knownItem{}
	for i := range l.Items {
		it := &l.Items[i]
		about, _, _ := strings.Cut(it.Description, "\n")
		items = append(items, knownItem{Name: it.Key, About: about, Words: ArgumentWords(l.Kind, it)})
	}
	return items
}

// ArgumentWords returns the words that may follow the name of an item.
func ArgumentWords(k catalog.Kind, it *catalog.Item) []string {
	var words []string
	switch k {
	case catalog.Tools:
		for _, f := range probe.Form(it.InputSchema) {
			words = append(words, f.Name+"=")
			for _, c := range f.Choices {
				words = append(words, f.Name+"="+c)
			}
		}
	case catalog.Prompts:
		for _, arg := range probe.PromptArguments(it.Raw) {
			words = append(words, arg.Name+"=")
		}
	case catalog.Templates:
		template, _ := jsonrpc.GetString(it.Raw, "uriTemplate")
		for _, name := range probe.TemplateVariables(template) {
			words = append(words, name+"=")
		}
	}
	return words
}
