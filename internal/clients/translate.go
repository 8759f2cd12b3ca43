package clients

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"mcp-all-in-one/internal/config/edit"
	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// A Translation is a client's entry, converted to our format.
type Translation struct {
	own   string // the client's name for it
	Name  string // ours
	entry map[string]any
	// notes say what could not be converted, and what is left to do.
	notes   []string
	skip    string // why it is not imported; empty if it is
	replace bool   // the user wants it to replace the server of the same name
	strange bool   // from a file that does not belong to a client of this user
}

// translate converts a client's entry to our format. Nothing is dropped
// silently.
func translate(a *env.Env, c *Client, f foreign) Translation {
	t := Translation{own: f.Name, Name: f.Name, entry: map[string]any{}}
	var in map[string]any
	if err := json.Unmarshal(f.raw, &in); err != nil {
		t.skip = a.Lang.Of(err)
		return t
	}
	if in["bundled"] == true || in["type"] == "builtin" || in["type"] == "platform" {
		t.skip = a.T("part of the client itself", "客户端自带")
		return t
	}
	if startsGateway(in) {
		t.skip = a.T("this gateway", "即本网关")
		return t
	}
	if f.off {
		t.entry["enabled"] = false
	}
	t.translateVariables(a, c.rules(), f, in)
	for _, key := range slices.Sorted(maps.Keys(in)) {
		for _, left := range t.take(a, c, key, in) {
			t.note(a.T("not taken over: ", "未导入：") + left)
		}
	}
	if n := strings.Count(string(f.raw), edit.Redacted); n > 0 {
		t.skip = fmt.Sprintf(a.T(env.Many(n, "%d value says %s: write it into the file, or export with --with-secrets", "%d values say %s: write them into the file, or export with --with-secrets"), "%d 个值为 %s：请在文件中填写，或用 --with-secrets 导出"), n, edit.Redacted)
		return t
	}
	if t.entry["command"] == nil && t.entry["url"] == nil {
		t.skip = a.T("neither a command nor a URL", "既无命令也无 URL")
	}
	return t
}

// Line returns the command line that the server would run, or its URL.
func (t *Translation) Line() string {
	if url, ok := t.entry["url"].(string); ok {
		return url
	}
	return i18n.Command(slices.Concat(words(t.entry["command"]), words(t.entry["args"]))...)
}

// Mark identifies the entry that importing writes.
func (t *Translation) Mark() string {
	raw, _ := json.Marshal(t.entry) // it was read from JSON
	return HashOf(raw)
}

// startsGateway reports whether a client's entry starts this program as a
// gateway. The small servers that this program can run as are treated like any
// other server.
func startsGateway(in map[string]any) bool {
	line := slices.Concat(words(in["command"]), words(in["cmd"]), words(in["args"]))
	if len(line) == 0 {
		return false
	}
	p, known := env.Personalities()[strings.TrimSuffix(line[0][strings.LastIndexAny(line[0], `/\`)+1:], ".exe")]
	if !known || !p.Own {
		return known
	}
	args := line[1:]
	flags := pflag.NewFlagSet(p.Name, pflag.ContinueOnError)
	env.AddGlobalFlags(new(env.Env), flags)
	at := env.FirstWord(flags, args)
	return at < 0 || !slices.Contains([]string{"demo", "mock", "record"}, args[at])
}

// words returns the words of a command that may be a string or a list.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, word := range v {
			list = append(list, fmt.Sprint(word))
		}
		return list
	}
	return nil
}

// renamed maps keys of clients to our keys with the same meaning.
var renamed = map[string]string{
	"args": "args", "cwd": "cwd", "url": "url", "serverUrl": "url", "uri": "url", "headers": "headers", "http_headers": "headers",
	"env": "env", "environment": "env", "envs": "env", "enabled": "enabled",
	"enabled_tools": "allow", "includeTools": "allow", "disabled_tools": "deny", "excludeTools": "deny", "disabledTools": "deny",
}

// ignored are keys that do not affect how a server is reached.
var ignored = []string{"name", "description", "display_name", "source", "gallery", "version"}

// take converts one key of an entry, and returns the parts that cannot be
// converted.
func (t *Translation) take(a *env.Env, c *Client, key string, in map[string]any) (left []string) {
	v, taken := in[key], true
	switch key {
	case "type", "transport":
		taken = t.takeType(v)
	case "command", "cmd":
		taken = t.takeCommand(v)
	case "timeout":
		taken = t.takeTimeout(v, c.rules().unit)
	case "tool_timeout_sec":
		taken = t.takeTimeout(v, time.Second)
	case "disabled":
		if v == true {
			t.entry["enabled"] = false
		}
	case "tools", "available_tools":
		t.takeTools(key, v)
	case "env_vars", "env_keys":
		if taken = t.takeNames(a, c, v); in["uri"] != nil {
			delete(t.entry, "inheritEnv") // they are for the headers
		}
	case "bearer_token_env_var":
		t.header("Authorization", fmt.Sprintf("Bearer ${%v}", v))
	case "env_http_headers":
		for name, variable := range object(v) {
			t.header(name, fmt.Sprintf("${%v}", variable))
		}
	case "requestOptions":
		return t.takeOptions(v)
	case "httpUrl":
		t.entry["url"], t.entry["type"] = v, "http"
	default:
		taken = t.takeRenamed(c, key, in)
	}
	if !taken {
		left = append(left, key)
	}
	return left
}

// takeRenamed converts a key that differs from ours only in its name.
func (t *Translation) takeRenamed(c *Client, key string, in map[string]any) bool {
	ours, ok := renamed[key]
	v := in[key]
	switch {
	case !ok:
		return slices.Contains(ignored, key)
	case v == nil, key == "envs" && in["uri"] != nil: // already in the headers
	case ours == "headers":
		for name, value := range object(v) {
			t.header(name, fmt.Sprint(value))
		}
	case key == "enabled" && t.entry["enabled"] != nil: // already disabled
	default:
		if key == "url" && c.ID == "gemini" {
			t.entry["type"] = "sse" // httpUrl is the other kind there
		}
		if m, ok := v.(map[string]any); !ok || len(m) > 0 {
			t.entry[ours] = v
		}
	}
	return true
}

// takeTools converts the list of offered tools. An empty list in Goose and a
// star in Copilot mean all tools.
func (t *Translation) takeTools(key string, v any) {
	list, ok := v.([]any)
	if key == "available_tools" && len(list) == 0 || ok && slices.Contains(list, any("*")) {
		return
	}
	t.entry["allow"] = v
}

// takeNames converts the names of inherited variables.
func (t *Translation) takeNames(a *env.Env, c *Client, v any) bool {
	list, ok := v.([]any)
	names := []any{}
	for _, item := range list {
		if named := object(item); named != nil {
			item = named["name"]
		}
		name, text := item.(string)
		ok = ok && text
		names = append(names, name)
		if c.ID == "goose" && text {
			t.note(fmt.Sprintf(a.T("Goose keeps %s itself: set it in the gateway's environment", "%s 由 Goose 保存：请在网关的环境变量中设置"), name))
		}
	}
	if ok && len(names) > 0 {
		t.entry["inheritEnv"] = names
	}
	return ok
}

// takeOptions converts the headers in Continue's requestOptions.
func (t *Translation) takeOptions(v any) (left []string) {
	for key, value := range object(v) {
		if key != "headers" {
			left = append(left, "requestOptions."+key)
			continue
		}
		for name, text := range object(value) {
			t.header(name, fmt.Sprint(text))
		}
	}
	slices.Sort(left)
	return left
}

// takeType converts the transport: ours are stdio, http and sse.
func (t *Translation) takeType(v any) bool {
	switch v {
	case "local", "stdio", "remote", nil:
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		t.entry["type"] = "http"
	case "sse":
		t.entry["type"] = "sse"
	default:
		return false
	}
	return true
}

// takeCommand converts a command that may be a string, a list, or an object as
// in older versions of Zed.
func (t *Translation) takeCommand(v any) bool {
	switch v := v.(type) {
	case string:
		t.entry["command"] = v
	case []any:
		if len(v) == 0 {
			return false
		}
		t.entry["command"] = v[0]
		if len(v) > 1 {
			t.entry["args"] = v[1:]
		}
	case map[string]any:
		t.entry["command"] = v["path"]
		for _, key := range []string{"args", "env"} {
			if v[key] != nil {
				t.entry[key] = v[key]
			}
		}
	default:
		return false
	}
	return true
}

func (t *Translation) header(name, value string) {
	headers, _ := t.entry["headers"].(map[string]any)
	if headers == nil {
		headers = map[string]any{}
		t.entry["headers"] = headers
	}
	headers[name] = value
}

var (
	secretName  = lazy.Regexp(`(?i)key|token|secret|passw|credential|auth`)
	secretWords = lazy.Regexp(`^(?i:(bearer|basic|token) )?(.{8,})$`)
)

// secrets counts the values that should not be in a file in plain text. If move
// is not nil, each value is replaced by the result of move.
func (t *Translation) secrets(move func(name, value string) string) int {
	n := 0
	for _, holder := range []string{"env", "headers"} {
		values, _ := t.entry[holder].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := values[name].(string)
			m := secretWords().FindStringSubmatch(text)
			if !ok || m == nil || strings.Contains(text, "${") || !secretName().MatchString(name) {
				continue
			}
			n++
			if move != nil {
				scheme := strings.TrimSuffix(text, m[2])
				values[name] = scheme + move(t.Name+"-"+strings.ToLower(name), m[2])
			}
		}
	}
	return n
}
