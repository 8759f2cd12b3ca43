package code

import (
	"strings"
	"testing"
)

// TestSizes checks that the sizes of the code and of the shown log are settings.
func TestSizes(t *testing.T) {
	for _, tt := range []struct{ name, settings, code, want string }{
		{"code", `"scripts":{"code":"1KB"},`, "return 1 //" + strings.Repeat("x", 1013), "the code has 1024 bytes, and the most is 1000"},
		{"more code", `"scripts":{"code":"256KB"},`, "return 'it ran' //" + strings.Repeat("x", 200_000), "it ran"},
		{"log", `"scripts":{"log":"1KB"},`, "for (let i = 0; i < 100; i++) console.log('x'.repeat(99)); return 1", "… 9000 bytes of the log left out …"},
		{"more log", `"scripts":{"log":"20KB"},`, "for (let i = 0; i < 100; i++) console.log('x'.repeat(99)); return 1", "Log:\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", 100)},
	} {
		t.Run("code/sizes "+tt.name, func(t *testing.T) {
			r := start(t, `"mode":"code",`+tt.settings, `{}`).run(tt.code)
			var all strings.Builder
			for _, c := range r.Content {
				all.WriteString(c.Text)
			}
			if !strings.Contains(all.String(), tt.want) {
				t.Errorf("it is %.300s, want %.300s", all.String(), tt.want)
			}
		})
	}
}
