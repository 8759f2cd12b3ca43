package install

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"time"

	"mcp-all-in-one/internal/env"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Limits of an untrusted record or manifest.
const (
	maxRecord   = 1 << 20
	maxDepth    = 64
	maxInputs   = 200
	maxPackages = 20
)

// A Record is a registry's data about one version of a server.
type Record struct {
	Server struct {
		Name        string      `json:"name"`
		Title       string      `json:"title"`
		Description string      `json:"description"`
		Version     string      `json:"version"`
		Repository  *repository `json:"repository"`
		Packages    []pack      `json:"packages"`
		Remotes     []transport `json:"remotes"`
	} `json:"server"`
	Meta struct {
		Official struct {
			Status    string    `json:"status"`
			Message   string    `json:"statusMessage"`
			Published time.Time `json:"publishedAt"`
		} `json:"io.modelcontextprotocol.registry/official"`
	} `json:"_meta"`

	// Registry is the name of the registry that the record comes from.
	Registry string `json:"-"`
	// Kept means that the record was stored earlier, because the registry
	// cannot be reached.
	Kept bool `json:"-"`
}

type repository struct {
	URL    string `json:"url"`
	Source string `json:"source"`
}

type pack struct {
	Type      string     `json:"registryType"`
	Base      string     `json:"registryBaseUrl"`
	ID        string     `json:"identifier"`
	Version   string     `json:"version"`
	SHA256    string     `json:"fileSha256"`
	Transport transport  `json:"transport"`
	Runtime   []argument `json:"runtimeArguments"`
	Args      []argument `json:"packageArguments"`
	Env       []keyed    `json:"environmentVariables"`
}

type transport struct {
	Type      string           `json:"type"`
	URL       string           `json:"url"`
	Headers   []keyed          `json:"headers"`
	Variables map[string]input `json:"variables"`
}

type input struct {
	Description string           `json:"description"`
	Required    bool             `json:"isRequired"`
	Format      string           `json:"format"`
	Value       string           `json:"value"`
	Secret      bool             `json:"isSecret"`
	Default     string           `json:"default"`
	Placeholder string           `json:"placeholder"`
	Choices     []string         `json:"choices"`
	Variables   map[string]input `json:"variables"`
}

type keyed struct {
	input
	Name string `json:"name"`
}

type argument struct {
	input
	Type     string `json:"type"`
	Name     string `json:"name"`
	Hint     string `json:"valueHint"`
	Repeated bool   `json:"isRepeated"`
}

// namePattern is the syntax of a server's name in a registry.
var namePattern = lazy.Regexp(`^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`)

// IsName reports whether a word names a server in a registry: it has a dot
// before the slash, and no scheme. A version may follow.
func IsName(word string) bool {
	name, _, _ := strings.Cut(word, "@")
	space, _, _ := strings.Cut(name, "/")
	return namePattern().MatchString(name) && strings.Contains(space, ".") && !strings.HasPrefix(space, ".")
}

// parseRecord parses the response of a registry for the server with that name.
func parseRecord(data []byte, name string) (*Record, error) {
	r := new(Record)
	if err := parseStrict(data, r); err != nil {
		return nil, err
	}
	if err := r.check(); err != nil {
		return nil, err
	}
	if r.Server.Name != name {
		return nil, fail(env.CodeRecord, "the registry was asked for %s and answered with %s: refused", "向注册表查询 %s，得到的却是 %s：已拒绝", name, Show(r.Server.Name))
	}
	return r, nil
}

// check checks the limits of a record.
func (r *Record) check() error {
	s := &r.Server
	switch inputs := r.inputs(); {
	case !namePattern().MatchString(s.Name) || len(s.Name) > 200:
		return fail(env.CodeRecord, "%s is not a name of a server: refused", "%s 不是服务器名：已拒绝", Show(s.Name))
	case !isReleaseVersion(s.Version):
		return fail(env.CodeRecord, "%s is not a version: refused", "%s 不是版本号：已拒绝", Show(s.Version))
	case len(s.Packages)+len(s.Remotes) > maxPackages:
		return fail(env.CodeRecord, "the record has more than %d packages: refused", "记录中的包超过 %d 个：已拒绝", maxPackages)
	case inputs > maxInputs:
		return fail(env.CodeRecord, "the record has more than %d inputs: refused", "记录中的输入项超过 %d 个：已拒绝", maxInputs)
	}
	return nil
}

// inputs counts the inputs of a record.
func (r *Record) inputs() int {
	n := 0
	count := func(in input) { n += 1 + len(in.Variables) }
	for _, t := range r.Server.Remotes {
		n += len(t.Variables)
		for _, h := range t.Headers {
			count(h.input)
		}
	}
	for _, p := range r.Server.Packages {
		for _, list := range [][]argument{p.Runtime, p.Args} {
			for _, a := range list {
				count(a.input)
			}
		}
		for _, e := range p.Env {
			count(e.input)
		}
	}
	return n
}

// parseStrict parses JSON that all parsers read the same way: one value, no
// duplicate keys, limited depth and size.
func parseStrict(data []byte, v any) error {
	if len(data) > maxRecord {
		return fail(env.CodeRecord, "it is larger than %d bytes: refused", "超过 %d 字节：已拒绝", maxRecord)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := scanValue(dec, 0); err != nil {
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return fail(env.CodeRecord, "something follows the JSON value: refused", "JSON 值之后还有内容：已拒绝")
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fail(env.CodeRecord, "it does not fit the published form: %v", "不符合公开的格式：%v", i18n.Why(err))
	}
	return nil
}

func scanValue(dec *json.Decoder, depth int) error {
	if depth > maxDepth {
		return fail(env.CodeRecord, "it is nested more than %d levels deep: refused", "嵌套超过 %d 层：已拒绝", maxDepth)
	}
	t, err := dec.Token()
	if err != nil {
		return fail(env.CodeRecord, "it is not JSON: %v", "不是 JSON：%v", i18n.Why(err))
	}
	switch t {
	case json.Delim('{'):
		seen := map[string]bool{}
		for dec.More() {
			key, err := dec.Token()
			if err != nil {
				return fail(env.CodeRecord, "it is not JSON: %v", "不是 JSON：%v", i18n.Why(err))
			}
			// encoding/json ignores the case of keys, also of ſ and the Kelvin sign.
			name := strings.ToUpper(strings.ToLower(key.(string)))
			if seen[name] {
				return fail(env.CodeRecord, "the key %s is there twice: refused", "键 %s 出现两次：已拒绝", Show(key.(string)))
			}
			seen[name] = true
			if err := scanValue(dec, depth+1); err != nil {
				return err
			}
		}
	case json.Delim('['):
		for dec.More() {
			if err := scanValue(dec, depth+1); err != nil {
				return err
			}
		}
	default:
		return nil
	}
	if _, err := dec.Token(); err != nil {
		return fail(env.CodeRecord, "it is not JSON: %v", "不是 JSON：%v", i18n.Why(err))
	}
	return nil
}
