package offer

import (
	"context"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/install"
)

// Found is a server that a registry lists, with what is known about it here.
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

// Search lists the servers of the registries whose names have a word in them. A
// name that looks like one that is installed or listed higher up is marked. A
// registry that fails is among the errors.
func Search(ctx context.Context, cfg *config.Config, word string) ([]Found, []error) {
	r := registries(cfg)
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
