package folders

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPlaces asks where files are, on systems that this is not.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		name                  string
		goos, home            string
		env                   map[string]string
		system, config, state string
	}{
		{"unix", "linux", "/home/me", nil, "/etc/mcp-all-in-one", "/home/me/.config/mcp-all-in-one", "/home/me/.local/state/mcp-all-in-one"},
		{"unix with its own folders", "linux", "/home/me", map[string]string{"XDG_CONFIG_HOME": "/c", "XDG_STATE_HOME": "/s"}, "/etc/mcp-all-in-one", "/c/mcp-all-in-one", "/s/mcp-all-in-one"},
		{"unix with folders that depend", "linux", "", map[string]string{"XDG_CONFIG_HOME": "c", "XDG_STATE_HOME": "./s"}, "/etc/mcp-all-in-one", "", ""},
		{"unix without a home", "darwin", "", nil, "/etc/mcp-all-in-one", "", ""},
		{"windows", "windows", `C:\Users\me`, map[string]string{"ProgramData": `C:\ProgramData`, "APPDATA": `C:\Users\me\AppData\Roaming`, "LOCALAPPDATA": `C:\Users\me\AppData\Local\`},
			`C:\ProgramData\mcp-all-in-one`, `C:\Users\me\AppData\Roaming\mcp-all-in-one`, `C:\Users\me\AppData\Local\mcp-all-in-one`},
		{"windows without anything", "windows", "", nil, "", "", ""},
		{"windows on the current drive", "windows", "", map[string]string{"ProgramData": `\ProgramData`, "APPDATA": `C:AppData`, "LOCALAPPDATA": `/tmp`}, "", "", ""},
		{"windows on a share", "windows", "", map[string]string{"ProgramData": `\\host\share`}, `\\host\share\mcp-all-in-one`, "", ""},
	} {
		t.Run("door/12 "+tt.name, func(t *testing.T) {
			p := Places{GOOS: tt.goos, Home: tt.home, Getenv: func(k string) (string, bool) { v, ok := tt.env[k]; return v, ok }}
			if diff := cmp.Diff([]string{tt.system, tt.config, tt.state}, []string{p.System(), p.Config(), p.State()}); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
