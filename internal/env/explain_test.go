package env

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEveryCodeIsExplained finds the codes in the source of the whole program,
// and requires a complete explanation of each in both languages.
func TestEveryCodeIsExplained(t *testing.T) {
	found := map[string]string{}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		source, err := os.ReadFile(path)
		for _, code := range regexp.MustCompile(`AIO\d{4}`).FindAllString(string(source), -1) {
			found[code] = path
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 60 {
		t.Errorf("only %d codes found", len(found))
	}
	listed := Codes()
	for code, path := range found {
		e, ok := Explain(code)
		if !ok || !slices.Contains(listed, code) {
			t.Errorf("%s: %s is not explained", path, code)
			continue
		}
		for language, text := range map[string]string{"English": e.EN, "Chinese": e.ZH} {
			if len(text) < 30 || strings.ContainsAny(text, "…%") {
				t.Errorf("%s in %s is no explanation: %q", code, language, text)
			}
		}
		if !regexp.MustCompile(`\p{Han}{2}`).MatchString(e.ZH) || regexp.MustCompile(`\p{Han}`).MatchString(e.EN) {
			t.Errorf("%s is explained in the wrong language", code)
		}
	}
	for _, code := range listed {
		if found[code] == "" {
			t.Errorf("%s is explained, and nothing says it", code)
		}
	}
}
