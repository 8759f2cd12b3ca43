package cli

import (
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestPersonalities runs a script for each feature that users of the four
// programs rely on.
func TestPersonalities(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ id, file string }{
		{"req/S003-1+S003-2+S003-4", "proxy_http"},
		{"req/S003-3+S003-13+S003-14", "proxy_schemas"},
		{"req/S003-5..7+S003-19+S003-10", "proxy_stdio"},
		{"req/S003-8+S003-15+S003-20+S003-24+S003-37", "proxy_one_schema"},
		{"req/S003-9+S003-26+S003-41", "proxy_jsonrpc"},
		{"req/S003-11+S003-12+S003-40+S003-43", "proxy_operations"},
		{"req/S003-16..18+S003-33..35", "proxy_no_schema"},
		{"req/S003-21+S003-36", "proxy_arguments"},
		{"req/S003-22+S003-23", "proxy_stdio_section"},
		{"req/S003-25+S003-30..32", "proxy_banner"},
		{"req/S003-27..29+S003-38+S003-39", "proxy_help"},
		{"req/S003-42+S003-48+S003-49+S003-47", "proxy_files"},
		{"req/S003-50..53", "proxy_end"},
		{"req/S002-20+S002-25+S002-26", "mcpx_stdio"},
		{"req/S002-21+S002-23+S002-24", "mcpx_http"},
		{"req/S002-27", "mcpx_no_reload"},
		{"req/S002-28", "mcpx_bad_config"},
		{"req/S002-29", "mcpx_one_down"},
		{"mcpx/usage", "mcpx_usage"},
	} {
		t.Run(c.id, func(t *testing.T) {
			testscript.Run(t, scriptParams(t, "", filepath.Join("testdata", "personality", c.file+".txtar")))
		})
	}
}
