package eval

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"sync"
	"time"

	"mcp-all-in-one/internal/disk"
	"mcp-all-in-one/internal/i18n"
)

// format is the format name in the first line of a recording.
const format = "mcp-all-in-one/eval/1"

type header struct {
	Format string `json:"format"`
	Model  string `json:"model"`
}

// An entry is one answer of a model. Of the request it holds only the digest.
type entry struct {
	Digest string `json:"digest"`
	Eval   string `json:"eval"`
	Mode   string `json:"mode"`
	Run    int    `json:"run"`
	Turn   int    `json:"turn"`
	// Millis is how long the answer took.
	Millis int64           `json:"ms"`
	Answer json.RawMessage `json:"answer,omitempty"`
	// Refused is why there is no answer, in both languages.
	Refused   string `json:"refused,omitempty"`
	RefusedZH string `json:"refusedZH,omitempty"`
}

func digestOf(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// A Tape records the answers of models.
type Tape struct {
	mu      sync.Mutex
	model   string
	entries []entry
}

// Of returns a model whose answers are recorded; name is the API's name of it.
func (t *Tape) Of(m Model, name string) Model {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.model = cmp.Or(t.model, name)
	return &taped{m, t}
}

type taped struct {
	model Model
	tape  *Tape
}

// Ask asks the model and records its answer.
func (m *taped) Ask(ctx context.Context, q *Question) (*Reply, error) {
	reply, err := m.model.Ask(ctx, q)
	e := entry{Digest: digestOf(q.Body), Eval: q.Eval, Mode: q.Mode, Run: q.Run, Turn: q.Turn}
	var refused *RefusedError
	switch {
	case errors.As(err, &refused):
		e.Refused, e.RefusedZH = refused.text.Both()
	case err != nil:
		return nil, err
	default:
		e.Answer, e.Millis = reply.Body, reply.Took.Milliseconds()
	}
	m.tape.mu.Lock()
	defer m.tape.mu.Unlock()
	m.tape.entries = append(m.tape.entries, e)
	return reply, err
}

// Save writes the recording. It contains the answers of the model and digests
// of the requests.
func (t *Tape) Save(path string) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(header{format, t.model}); err != nil {
		return err
	}
	for i := range t.entries {
		if err := enc.Encode(&t.entries[i]); err != nil {
			return i18n.Errorf("the answer of the model cannot be recorded: %w", "无法录制模型的应答：%w", err)
		}
	}
	return disk.Replace(disk.OS{}, path, b.Bytes(), 0o644)
}

// A Recording is a model that repeats recorded answers.
type Recording struct {
	path string
	// Name is the API's name of the model.
	Name string

	mu      sync.Mutex
	entries map[string][]entry // by digest, in recorded order
	spent   map[string]int
}

// maxLine limits one line of a recording.
const maxLine = 2 * maxAnswer

// ReadRecording reads a file written by Tape.Save.
func ReadRecording(path string) (*Recording, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r := &Recording{path: path, entries: make(map[string][]entry), spent: make(map[string]int)}
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxLine)
	for n := 1; lines.Scan(); n++ {
		if n == 1 {
			var h header
			if json.Unmarshal(lines.Bytes(), &h) != nil || h.Format != format {
				return nil, i18n.Errorf("%s is not a recording of a model: --record FILE makes one", "%s 不是模型录制文件：用 --record FILE 生成", path)
			}
			r.Name = h.Model
			continue
		}
		var e entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, i18n.Errorf("%s, line %d: %w", "%s 第 %d 行：%w", path, n, err)
		}
		r.entries[e.Digest] = append(r.entries[e.Digest], e)
	}
	if err := lines.Err(); err != nil {
		return nil, i18n.Errorf("%s: %w", "%s：%w", path, err)
	}
	if r.Name == "" && len(r.entries) == 0 {
		return nil, i18n.Errorf("%s is not a recording of a model: --record FILE makes one", "%s 不是模型录制文件：用 --record FILE 生成", path)
	}
	return r, nil
}

// Ask returns the recorded answers to a question, one after the other.
func (r *Recording) Ask(_ context.Context, q *Question) (*Reply, error) {
	digest := digestOf(q.Body)
	r.mu.Lock()
	defer r.mu.Unlock()
	list, n := r.entries[digest], r.spent[digest]
	if len(list) == 0 {
		return nil, stop(Unrecorded, i18n.New("eval %q in mode %s, run %d, turn %d: this request is not in %s: it was not recorded, or the task, the tools, what they answer or the model have changed since; record it again with --record",
			"eval %q（模式 %s，第 %d 次运行，第 %d 轮）：%s 中没有这一请求：未曾录制，或任务、工具、工具的应答、模型已改变；请用 --record 重新录制", q.Eval, q.Mode, q.Run, q.Turn, r.path))
	}
	if n == len(list) {
		return nil, stop(Unrecorded, i18n.New("eval %q in mode %s, run %d, turn %d: %s has %d answers to this request and no more; use fewer --runs, or record it again with --record",
			"eval %q（模式 %s，第 %d 次运行，第 %d 轮）：%s 中对这一请求只有 %d 个应答；请减少 --runs，或用 --record 重新录制", q.Eval, q.Mode, q.Run, q.Turn, r.path, len(list)))
	}
	r.spent[digest]++
	e := &list[n]
	if e.Answer == nil {
		return nil, &RefusedError{i18n.Pair(e.Refused, e.RefusedZH)}
	}
	return &Reply{Body: e.Answer, Took: time.Duration(e.Millis) * time.Millisecond}, nil
}
