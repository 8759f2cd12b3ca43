package stdio

import "testing"

func TestFetches(t *testing.T) {
	for command, want := range map[string]bool{
		"npx": true, "/usr/bin/uvx": true, "npx.cmd": true, "docker": true, "node": false, "/opt/npxy": false, "": false,
	} {
		if got := Fetches(command); got != want {
			t.Errorf("Fetches(%q) = %v", command, got)
		}
	}
}
