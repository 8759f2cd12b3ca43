package cli

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"mcp-all-in-one/internal/config"
)

// TestEveryCodeIsExplained finds codes in the source that explain does not
// know.
func TestEveryCodeIsExplained(t *testing.T) {
	files, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, f := range files {
		if !strings.HasSuffix(f.Name(), ".go") || strings.HasSuffix(f.Name(), "_test.go") {
			continue
		}
		source, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		for _, code := range regexp.MustCompile(`"(AIO\d{4})"`).FindAllStringSubmatch(string(source), -1) {
			found++
			e, ours := explanations[code[1]]
			_, _, theirs := config.Explain(code[1])
			if !ours && !theirs || ours && (e.en == "" || e.zh == "") {
				t.Errorf("%s: %s is not explained in both languages", f.Name(), code[1])
			}
		}
	}
	if found < 20 {
		t.Errorf("only %d codes found", found)
	}
}
