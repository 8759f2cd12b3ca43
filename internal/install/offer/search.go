package offer

import (
	"context"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/install"
)

// Found is a server in a registry, with its state on this machine.
type Found struct {
	Name        string   `json:"name"`
	Version     string   `json:"version"`
	Kinds       []string `json:"kinds"`
	Status      string   `json:"status"`
	Registry    string   `json:"registry"`
	Description string   `json:"description"`
	Installed   string   `json:"installed,omitempty"` // its local name
	LooksLike   string   `json:"looksLike,omitempty"`
}

// Search lists the servers of the registries whose names contain a word. A name
// that looks like an installed one, or one earlier in the list, is marked. The
// errors are those of the registries that failed.
func Search(ctx context.Context, cfg *config.Config, word string) ([]Found, []error) {
	r := registries(ctx, cfg)
	defer r.Close()
	records, faults := r.Search(ctx, word)
	list := []Found{}
	here, known := installed(cfg)
	for _, rec := range records {
		s := &rec.Server
		list = append(list, Found{
			Name: s.Name, Version: install.Show(s.Version), Kinds: rec.Offers(), Status: install.Show(rec.Meta.Official.Status), Registry: rec.Registry,
			Description: install.Show(s.Description), Installed: here[s.Name], LooksLike: install.LooksLike(s.Name, known),
		})
		known = append(known, s.Name)
	}
	return list, faults
}
