package test

import (
	"regexp"
	"strings"
	"testing"
)

// TestFormatsInChinese checks that every comment of the example files is
// translated.
func TestFormatsInChinese(t *testing.T) {
	t.Parallel()
	comment := regexp.MustCompile(`# .*`)
	han := regexp.MustCompile(`\p{Han}`)
	for name, format := range map[string]string{"test": suiteFormat, "eval": evalFormat} {
		translated := inChinese.Replace(format)
		for _, c := range comment.FindAllString(translated, -1) {
			if !han.MatchString(c) {
				t.Errorf("%s: %s", name, c)
			}
		}
		if strings.Count(translated, "#") != strings.Count(format, "#") {
			t.Errorf("%s has other comments in Chinese:\n%s", name, translated)
		}
	}
}
