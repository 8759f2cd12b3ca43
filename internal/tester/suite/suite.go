// Package suite runs test files against a server. A test file contains calls
// and expectations about their answers.
package suite

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/goccy/go-yaml"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// A Suite is one test file.
type Suite struct {
	// Path is the file it was read from.
	Path string `yaml:"-"`
	// Exactly one of Target, URL and Command is set, unless the command line
	// gives the target.
	Target  string            `yaml:"target"`
	URL     string            `yaml:"url"`
	Command words             `yaml:"command"`
	Headers map[string]string `yaml:"headers"`
	Env     map[string]string `yaml:"env"`
	// Protocol is the protocol version of the tests.
	Protocol string `yaml:"protocol"`
	Tests    []Test `yaml:"tests"`
	// Model is the model for the evals, unless the command line sets it.
	Model Model  `yaml:"model"`
	Evals []Eval `yaml:"evals"`
}

// A Test is one request and the expectations about its answer. Exactly one of
// Call, Script, Read, Prompt, Complete, List and Request is set.
type Test struct {
	Name     string         `yaml:"name"`
	Call     string         `yaml:"call"`
	Script   string         `yaml:"script"` // code that calls tools through the gateway
	Read     string         `yaml:"read"`
	Prompt   string         `yaml:"prompt"`
	Complete string         `yaml:"complete"`
	List     string         `yaml:"list"`
	Request  string         `yaml:"request"`
	Args     map[string]any `yaml:"args"`
	Params   map[string]any `yaml:"params"`
	// Answer holds the answers to questions of the server: by kind, or by the
	// message of the question.
	Answer  map[string]any `yaml:"answer"`
	Timeout duration       `yaml:"timeout"`
	Skip    string         `yaml:"skip"`
	Expect  Expect         `yaml:"expect"`
}

// Expect holds the expectations about the answer.
type Expect struct {
	IsError *bool `yaml:"is_error"`
	// Error is the code of the expected error, or a part of its message.
	Error any `yaml:"error"`
	// Schema is "output" for the tool's own output schema, or a JSON Schema.
	Schema any `yaml:"schema"`
	// JQ must yield true; Text must be the whole text, Contains must be parts
	// of it.
	JQ          words   `yaml:"jq"`
	Text        *string `yaml:"text"`
	Contains    words   `yaml:"contains"`
	NotContains words   `yaml:"not_contains"`
	// Equals is compared with the whole answer.
	Equals    any       `yaml:"equals"`
	Snapshot  *Snapshot `yaml:"snapshot"`
	MaxMS     float64   `yaml:"max_ms"`
	MaxBytes  int       `yaml:"max_bytes"`
	MaxTokens int       `yaml:"max_tokens"`
	Sent      *Sent     `yaml:"sent"`
	// Progress is the minimum number of progress notifications; Asked lists the
	// expected kinds of questions, in order.
	Progress int   `yaml:"progress"`
	Asked    words `yaml:"asked"`
}

// Snapshot compares the answer with an earlier one.
type Snapshot struct {
	Ignore words `yaml:"ignore"`
}

var errSnapshot = i18n.Errorf("snapshot: is {} or {ignore: [PATH]}, not true or false", "snapshot: 应写 {} 或 {ignore: [PATH]}，而非 true 或 false")

// UnmarshalYAML reads the settings of a snapshot.
func (s *Snapshot) UnmarshalYAML(decode func(any) error) error {
	var on bool
	if decode(&on) == nil {
		return errSnapshot
	}
	type plain Snapshot
	return decode((*plain)(s))
}

// Sent holds the expectations about the request on the wire.
type Sent struct {
	Has    words          `yaml:"has"`
	NotHas words          `yaml:"not_has"`
	Equals map[string]any `yaml:"equals"`
}

// words is a list of strings; in YAML it may be a single string.
type words []string

// UnmarshalYAML reads one text or a list of them.
func (w *words) UnmarshalYAML(data []byte) error {
	var one string
	if yaml.Unmarshal(data, &one) == nil {
		*w = words{one}
		return nil
	}
	var many []string
	if err := yaml.Unmarshal(data, &many); err != nil {
		return err
	}
	*w = many
	return nil
}

// duration is a duration such as 2s.
type duration time.Duration

// UnmarshalYAML reads a time.
func (d *duration) UnmarshalYAML(data []byte) error {
	var text string
	if err := yaml.Unmarshal(data, &text); err != nil {
		return err
	}
	parsed, err := time.ParseDuration(text)
	*d = duration(parsed)
	return err
}

// ReadSuite reads a test file.
func ReadSuite(path string) (*Suite, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return ParseSuite(path, data)
}

// ParseSuite reads the content of a test file.
func ParseSuite(path string, data []byte) (*Suite, error) {
	s := &Suite{Path: path}
	if err := yaml.UnmarshalWithOptions(data, s, yaml.Strict()); errors.Is(err, errSnapshot) {
		return nil, i18n.Errorf("%s: %w", "%s：%w", path, errSnapshot)
	} else if unknown, ok := errors.AsType[*yaml.UnknownFieldError](err); ok {
		return nil, unknownKey(path, unknown)
	} else if err != nil {
		return nil, i18n.Errorf("%s: %s", "%s：YAML 语法错误：%s", path, yaml.FormatError(err, false, true))
	}
	if err := s.check(); err != nil {
		return nil, i18n.Errorf("%s: %w", "%s：%w", path, err)
	}
	return s, nil
}

// unknownKey returns the error for a key that no test file has, with the key
// that was probably meant.
func unknownKey(path string, err *yaml.UnknownFieldError) error {
	at, key := err.GetToken().Position, err.GetToken().Value
	if near := spelling.Nearest(key, keysOf(reflect.TypeFor[Suite]())); near != "" {
		return i18n.Errorf("%s:%d:%d: unknown key %q; did you mean %q?", "%s:%d:%d：未知的键 %q；是否应为 %q？", path, at.Line, at.Column, key, near)
	}
	return i18n.Errorf("%s:%d:%d: unknown key %q", "%s:%d:%d：未知的键 %q", path, at.Line, at.Column, key)
}

// keysOf returns the keys of a type and of the types within.
func keysOf(t reflect.Type) (keys []string) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return keysOf(t.Elem())
	case reflect.Struct:
		for i := range t.NumField() {
			if key, _, _ := strings.Cut(t.Field(i).Tag.Get("yaml"), ","); key != "" && key != "-" {
				keys = append(append(keys, key), keysOf(t.Field(i).Type)...)
			}
		}
	}
	return keys
}

// Argv returns the command to test; nil if there is none.
func (s *Suite) Argv() []string {
	if len(s.Command) == 1 {
		return strings.Fields(s.Command[0])
	}
	return s.Command
}

func (s *Suite) check() error {
	if len(s.Tests) == 0 && len(s.Evals) == 0 {
		return i18n.Errorf("there are no tests in it", "其中没有测试")
	}
	if err := s.checkEvals(); err != nil {
		return err
	}
	names := make(map[string]bool)
	for i := range s.Tests {
		t := &s.Tests[i]
		if t.Name == "" {
			t.Name = t.subject()
			for n := 2; names[t.Name]; n++ {
				t.Name = fmt.Sprintf("%s (%d)", t.subject(), n)
			}
		}
		if t.kinds() != 1 {
			return i18n.Errorf("test %q has %d of call, script, read, prompt, complete, list and request; exactly one is needed", "测试 %q 含有 call、script、read、prompt、complete、list 和 request 中的 %d 项；应恰好有一项", t.Name, t.kinds())
		}
		if names[t.Name] {
			return i18n.Errorf("two tests are called %q", "有两个测试都叫 %q", t.Name)
		}
		names[t.Name] = true
	}
	return nil
}

func firstLine(code string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
	return line
}

func (t *Test) subject() string {
	return strings.TrimSpace(firstLine(t.Script) + t.Call + t.Read + t.Prompt + t.Complete + t.List + t.Request)
}

func (t *Test) kinds() int {
	n := 0
	for _, v := range []string{t.Call, t.Script, t.Read, t.Prompt, t.Complete, t.List, t.Request} {
		if v != "" {
			n++
		}
	}
	return n
}

// FindSuites returns the test files under paths: the named files, and every
// YAML file in directories.
func FindSuites(paths []string) ([]string, error) {
	var files []string
	for _, path := range paths {
		info, err := os.Stat(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, i18n.Errorf("there is no file or folder %s", "没有文件或文件夹 %s", path)
		}
		if err != nil {
			return nil, err
		}
		if !info.IsDir() {
			files = append(files, path)
			continue
		}
		for _, pattern := range []string{"*.yaml", "*.yml"} {
			found, err := filepath.Glob(filepath.Join(path, pattern))
			if err != nil {
				return nil, err
			}
			files = append(files, found...)
		}
	}
	return files, nil
}

func JSONOf(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return raw
}
