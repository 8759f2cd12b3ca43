package suite

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/probe"
)

// snapshots holds the earlier answers of a test file, stored in a file beside
// it.
type snapshots struct {
	path   string
	values map[string]json.RawMessage
	dirty  bool
}

func readSnapshots(suite string) (*snapshots, error) {
	s := &snapshots{path: suite + ".snap", values: make(map[string]json.RawMessage)}
	data, err := os.ReadFile(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(data, &s.values); err != nil {
		return nil, i18n.Errorf("reading the snapshots in %s: %w", "读取 %s 中的快照失败：%w", s.path, err)
	}
	return s, nil
}

// put stores a value without the ignored parts, so that they do not change the
// file.
func (s *snapshots) put(name string, value json.RawMessage, ignore []probe.Places) {
	decoded, err := jsonrpc.Decode(value)
	if err != nil {
		return
	}
	for _, p := range ignore {
		decoded = p.Remove(decoded)
	}
	fresh := probe.Encode(decoded)
	if before, ok := s.values[name]; ok && bytes.Equal(compact(before), fresh) {
		return
	}
	s.values[name], s.dirty = fresh, true
}

func compact(raw json.RawMessage) []byte {
	var buf bytes.Buffer
	if json.Compact(&buf, raw) != nil {
		return raw
	}
	return buf.Bytes()
}

func (s *snapshots) save() error {
	if !s.dirty {
		return nil
	}
	data, err := json.MarshalIndent(s.values, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(s.path, append(data, '\n'), 0o644)
}
