package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
)

// A translation is a client's entry in our words.
type translation struct {
	name  string
	entry map[string]any
	// notes say what could not be taken over, and what is left to do.
	notes []string
	skip  string // why it is not imported; empty when it is
}

// translate writes a client's entry in our words. Nothing is dropped silently.
func (a *app) translate(c *client, f foreign) translation {
	t := translation{name: f.name, entry: map[string]any{}}
	var in map[string]any
	if err := json.Unmarshal(f.raw, &in); err != nil {
		t.skip = a.lang.Of(err)
		return t
	}
	if in["bundled"] == true || in["type"] == "builtin" || in["type"] == "platform" {
		t.skip = a.t("part of the client itself", "客户端自带")
		return t
	}
	if startsGateway(in) {
		t.skip = a.t("this gateway", "即本网关")
		return t
	}
	for _, key := range slices.Sorted(maps.Keys(in)) {
		if !t.take(c, key, in[key]) {
			t.notes = append(t.notes, a.t("not taken over: ", "未导入：")+key)
		}
	}
	if n := strings.Count(string(f.raw), config.Redacted); n > 0 {
		t.skip = fmt.Sprintf(a.t("%d values say %s: write them into the file, or export with --with-secrets", "%d 个值为 %s：请在文件中填写，或用 --with-secrets 导出"), n, config.Redacted)
		return t
	}
	t.variables(a)
	if t.entry["command"] == nil && t.entry["url"] == nil {
		t.skip = a.t("neither a command nor a URL", "既无命令也无 URL")
	}
	return t
}

// startsGateway says whether a client's entry starts us as a gateway. The
// small servers that we can be are servers like any other.
func startsGateway(in map[string]any) bool {
	line := slices.Concat(words(in["command"]), words(in["cmd"]), words(in["args"]))
	if len(line) == 0 {
		return false
	}
	p, known := personalities()[strings.TrimSuffix(line[0][strings.LastIndexAny(line[0], `/\`)+1:], ".exe")]
	if !known || !p.own {
		return known
	}
	args := line[1:]
	at := firstWord((&app{Env: Env{Getenv: os.LookupEnv}}).mainRoot(), args)
	return at < 0 || !slices.Contains([]string{"demo", "mock", "record"}, args[at])
}

// words are those of a command that may be a text or a list.
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

// renamed are the keys that mean the same under another name.
var renamed = map[string]string{
	"command": "command", "cmd": "command", "args": "args", "cwd": "cwd", "url": "url", "serverUrl": "url", "headers": "headers",
	"env": "env", "environment": "env", "envs": "env", "http_headers": "headers", "timeout": "timeout", "enabled": "enabled",
	"enabled_tools": "allow", "includeTools": "allow", "disabled_tools": "deny", "excludeTools": "deny", "disabledTools": "deny",
	"env_vars": "inheritEnv", "env_keys": "inheritEnv",
}

// ignored are keys that say nothing about how a server is reached.
var ignored = []string{"name", "description", "display_name", "source", "gallery", "version", "available_tools"}

// take takes over one key; false when it has no place here.
func (t *translation) take(c *client, key string, v any) bool {
	switch key {
	case "type", "transport":
		return t.takeType(v)
	case "httpUrl":
		t.entry["url"], t.entry["type"] = v, "http"
	case "disabled":
		if v == true {
			t.entry["enabled"] = false
		}
	case "tools":
		if list, ok := v.([]any); !ok || !slices.Contains(list, any("*")) {
			t.entry["allow"] = v
		}
	case "bearer_token_env_var":
		t.header("Authorization", fmt.Sprintf("Bearer ${%v}", v))
	case "env_http_headers":
		m, _ := v.(map[string]any)
		for name, variable := range m {
			t.header(name, fmt.Sprintf("${%v}", variable))
		}
	case "tool_timeout_sec":
		t.entry["timeout"] = fmt.Sprintf("%vs", v)
	case "command":
		return t.takeCommand(v)
	default:
		if slices.Contains(ignored, key) {
			return true
		}
		ours, ok := renamed[key]
		if !ok {
			return false
		}
		if key == "timeout" && c.id == "goose" {
			v = fmt.Sprintf("%vs", v) // seconds there
		}
		if key == "url" && c.id == "gemini" {
			t.entry["type"] = "sse" // the other kind is called httpUrl there
		}
		if key == "http_headers" {
			m, _ := v.(map[string]any)
			for name, value := range m {
				t.header(name, fmt.Sprint(value))
			}
			return true
		}
		if m, ok := v.(map[string]any); (!ok || len(m) > 0) && v != nil {
			t.entry[ours] = v
		}
	}
	return true
}

// takeType takes over the transport: ours are stdio, http and sse.
func (t *translation) takeType(v any) bool {
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

// takeCommand takes a command that may be a list, or an object as in older
// versions of Zed.
func (t *translation) takeCommand(v any) bool {
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

func (t *translation) header(name, value string) {
	headers, _ := t.entry["headers"].(map[string]any)
	if headers == nil {
		headers = map[string]any{}
		t.entry["headers"] = headers
	}
	headers[name] = value
}

var (
	inputVariable = regexp.MustCompile(`\$\{input:([^}]+)\}`)
	homeVariable  = regexp.MustCompile(`\$\{userHome\}`)
	placeVariable = regexp.MustCompile(`\$\{(workspaceFolder|workspaceFolderBasename|pathSeparator)[^}]*\}`)
)

// variables writes the client's variables in our way.
func (t *translation) variables(a *app) {
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case string:
			for _, m := range inputVariable.FindAllStringSubmatch(v, -1) {
				t.notes = append(t.notes, a.t("store it: ", "请保存：")+"mcp-all-in-one secret set "+m[1])
			}
			if m := placeVariable.FindString(v); m != "" {
				t.notes = append(t.notes, a.t("means nothing outside the client: ", "在客户端之外没有意义：")+m)
			}
			return homeVariable.ReplaceAllString(inputVariable.ReplaceAllString(v, "$${secret:$1}"), "$${HOME}")
		case []any:
			for i := range v {
				v[i] = walk(v[i])
			}
		case map[string]any:
			for k := range v {
				v[k] = walk(v[k])
			}
		}
		return v
	}
	walk(t.entry)
}

var (
	secretName  = regexp.MustCompile(`(?i)key|token|secret|passw|credential|auth`)
	secretWords = regexp.MustCompile(`^(?i:(bearer|basic|token) )?(.{8,})$`)
)

// secrets finds texts that should not stand in a file; move replaces each by
// what it returns.
func (t *translation) secrets(move func(name, value string) string) int {
	n := 0
	for _, holder := range []string{"env", "headers"} {
		values, _ := t.entry[holder].(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(values)) {
			text, ok := values[name].(string)
			m := secretWords.FindStringSubmatch(text)
			if !ok || m == nil || strings.Contains(text, "${") || !secretName.MatchString(name) {
				continue
			}
			n++
			if move != nil {
				scheme := strings.TrimSuffix(text, m[2])
				values[name] = scheme + move(t.name+"-"+strings.ToLower(name), m[2])
			}
		}
	}
	return n
}
