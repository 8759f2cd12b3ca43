package config

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"

	"mcp-all-in-one/internal/config/layout"
)

// layout.Sections must have all our top-level keys: they distinguish a config
// file from a bare map of servers.
func TestSections(t *testing.T) {
	var keys []string
	for _, f := range fieldsOf(reflect.TypeFor[Config]()) {
		keys = append(keys, f.name)
	}
	if diff := cmp.Diff(keys, layout.Sections); diff != "" {
		t.Errorf("layout.Sections (-want +got):\n%s", diff)
	}
}
