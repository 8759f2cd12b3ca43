package clients

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/lazy"
)

// Edit returns the content of a client's file with one server set, or removed
// if entry is nil. Everything else is unchanged.
func Edit(c *Client, data []byte, name string, entry any) ([]byte, error) {
	var raw []byte
	if entry != nil {
		var err error
		if raw, err = json.Marshal(entry); err != nil {
			return nil, err
		}
	}
	after, err := editClientText(c, data, name, raw)
	if err != nil {
		return nil, err
	}
	return document.LikeBefore(data, after), nil
}

// editClientText is like Edit, but does not preserve the line endings and byte
// order mark of the file.
func editClientText(c *Client, data []byte, name string, raw []byte) ([]byte, error) {
	switch {
	case c.format == clientTOML:
		text := bytes.ReplaceAll(bytes.TrimPrefix(data, []byte(byteOrderMark)), []byte("\r\n"), []byte("\n"))
		return editTOML(text, c.key, name, raw)
	case c.list:
		list, err := listWith(c, data, name, raw)
		if err != nil {
			return nil, err
		}
		return edit.SetMember(data, document.FormatYAML, list, c.key)
	case c.format == clientYAML:
		return edit.SetMember(data, document.FormatYAML, raw, c.key, name)
	}
	doc, err := asJSON(data, c.format)
	if err != nil {
		return nil, err
	}
	return edit.SetMember(data, document.FormatJSON, raw, append(c.holder(doc), name)...)
}

// listWith returns the client's list of servers with one server changed.
func listWith(c *Client, data []byte, name string, raw []byte) ([]byte, error) {
	servers, err := Parse(data, c)
	if err != nil {
		return nil, err
	}
	list := []json.RawMessage{}
	for _, s := range servers {
		if s.Name != name {
			list = append(list, s.raw)
		}
	}
	if raw != nil {
		named := append([]byte(`{"name":`+fmt.Sprintf("%q", name)+`,`), raw[1:]...)
		list = append(list, named)
	}
	return json.Marshal(list)
}

var tomlHeader = lazy.Regexp(`^\s*\[+\s*([^\]]+?)\s*\]+\s*(#.*)?$`)

// editTOML changes one table of a TOML file as text, so that the rest keeps its
// comments and layout.
func editTOML(data []byte, key, name string, raw []byte) ([]byte, error) {
	var out bytes.Buffer
	inside, after := false, "" // after: comments that belong to the following table
	for line := range strings.Lines(string(data)) {
		text := strings.TrimSpace(line)
		if m := tomlHeader().FindStringSubmatch(text); m != nil {
			table := strings.NewReplacer(`"`, "", "'", "", " ", "").Replace(m[1])
			inside = table == key+"."+name || strings.HasPrefix(table, key+"."+name+".")
		}
		switch {
		case !inside:
			out.WriteString(after + line)
			after = ""
		case text == "" || text[0] == '#':
			after += line
		default:
			after = ""
		}
	}
	out.WriteString(after)
	if raw == nil {
		return out.Bytes(), nil
	}
	var entry map[string]any
	if err := json.Unmarshal(raw, &entry); err != nil {
		return nil, err
	}
	if text := out.String(); text != "" {
		if !strings.HasSuffix(text, "\n") {
			out.WriteByte('\n')
		}
		if !strings.HasSuffix(text, "\n\n") {
			out.WriteByte('\n')
		}
	}
	fmt.Fprintf(&out, "[%s.%s]\n", key, tomlKey(name))
	for _, k := range env.SortedKeys(entry) {
		fmt.Fprintf(&out, "%s = %s\n", tomlKey(k), tomlValue(entry[k]))
	}
	return out.Bytes(), nil
}

var bareKey = lazy.Regexp(`^[A-Za-z0-9_-]+$`)

func tomlKey(s string) string {
	if bareKey().MatchString(s) {
		return s
	}
	return TOMLString(s)
}

// tomlValue formats a value from JSON on one line.
func tomlValue(v any) string {
	switch v := v.(type) {
	case []any:
		var items []string
		for _, item := range v {
			items = append(items, tomlValue(item))
		}
		return "[" + strings.Join(items, ", ") + "]"
	case map[string]any:
		var members []string
		for _, k := range env.SortedKeys(v) {
			members = append(members, tomlKey(k)+" = "+tomlValue(v[k]))
		}
		return "{ " + strings.Join(members, ", ") + " }"
	case string:
		return TOMLString(v)
	}
	return fmt.Sprint(v) // a number or a boolean
}

// TOMLString returns a TOML basic string; its escapes are those of JSON.
func TOMLString(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return `""` // a string cannot fail
	}
	return string(raw)
}

// replaceClientFile replaces a client's file atomically, with the same mode,
// and keeps a backup.
func replaceClientFile(path string, before, after []byte) (backup string, err error) {
	mode := os.FileMode(0o600)
	if target, err := filepath.EvalSymlinks(path); err == nil {
		path = target // a symbolic link stays a link
	}
	if info, err := os.Stat(path); err == nil {
		mode = info.Mode().Perm()
		backup = path + ".backup." + time.Now().UTC().Format("2006-01-02T15-04-05.000Z07-00")
		if err := os.WriteFile(backup, before, mode); err != nil {
			return "", err
		}
	} else if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	return backup, disk.Replace(disk.OS{}, path, after, mode)
}
