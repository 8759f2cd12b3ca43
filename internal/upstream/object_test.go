package upstream

import (
	"strings"
	"testing"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

// TestObjectAfterRelease reads the error about a result after the buffer of the
// result was used again.
func TestObjectAfterRelease(t *testing.T) {
	result := []byte(`["not an object"]`)
	resp := jsonrpc.NewResponse(result, func() {
		for i := range result {
			result[i] = 'x'
		}
	})
	_, err := withObject(resp, nil)
	en, zh := i18n.Why(err).Both()
	for _, text := range []string{en, zh} {
		if !strings.HasSuffix(text, `["not an object"]`) {
			t.Errorf("%s", text)
		}
	}
}
