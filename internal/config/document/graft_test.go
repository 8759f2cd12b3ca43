package document

import (
	"strings"
	"testing"
)

var local = []string{"server", "cluster", "logging"}

func TestGraft(t *testing.T) {
	for name, c := range map[string]struct {
		format             Format
		data, other        string
		without, want, all string
	}{
		"json": {
			format: FormatJSON,
			data:   "{\n  // of the first\n  \"server\": {\"port\": 1},\n  // the servers\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // this one\n  },\n}\n",
			other:  "{\n  \"mcpServers\": {},\n\n  // of this machine\n  \"cluster\": {\n    // its name\n    \"node\": \"b\"\n  }\n}\n",
			want:   "{\n  // the servers\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"}, // this one\n  },\n  // of this machine\n  \"cluster\": {\n    // its name\n    \"node\": \"b\"\n  },\n}\n",
		},
		"one line": {
			format: FormatJSON,
			data:   `{"mcpServers":{}}`,
			other:  `{"server":{"port":2},"mcpServers":{"z":{}},"cluster":{"node":"b"}}`,
			want:   `{"mcpServers":{}, "server": {"port":2}, "cluster": {"node":"b"}}`,
		},
		"yaml": {
			format: FormatYAML,
			data:   "# of all\nserver:\n  port: 1\nmcpServers: # these\n  a:\n    command: x # this one\n",
			other:  "mcpServers: {}\ncluster:\n  # its name\n  node: b\nlogging: {level: debug}\n",
			want:   "# of all\nmcpServers: # these\n  a:\n    command: x # this one\ncluster:\n  # its name\n  node: b\nlogging: {level: debug}\n",
		},
	} {
		t.Run("cluster/config/graft/"+name, func(t *testing.T) {
			got, err := Graft([]byte(c.data), []byte(c.other), c.format, local)
			if err != nil || string(got) != c.want {
				t.Fatalf("%v\n%s\nwant\n%s", err, got, c.want)
			}
			again, err := Graft(got, got, c.format, local)
			if err != nil || string(again) != string(got) {
				t.Errorf("again: %v\n%s", err, again)
			}
			shared, err := Without([]byte(c.data), c.format, local)
			if err != nil || strings.Contains(string(shared), "port") {
				t.Errorf("%v\n%s", err, shared)
			}
			if back, err := Without(got, c.format, local); err != nil || string(back) != string(shared) {
				t.Errorf("back: %v\n%s\nwant\n%s", err, back, shared)
			}
		})
	}
	t.Run("cluster/config/graft/nothing", func(t *testing.T) {
		if got, err := Without([]byte(`{"server":{}}`), FormatJSON, local); got != nil || err != nil {
			t.Errorf("%s, %v", got, err)
		}
	})
}
