package kept

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/itchyny/gojq"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/pattern"
)

// A Query selects a part of a result. At most one of Lines, Grep and JQ is set.
// If none is set, it selects everything from Offset on.
type Query struct {
	Offset int64
	Lines  string // A-B, A- or A, counted from 1
	Grep   string // RE2
	JQ     string
	// Principal is whose query it is: searches with grep and jq run in turn.
	Principal string
}

// A Part is the result of a query. Rest says how to continue; empty at the end.
type Part struct {
	Text string
	Rest string
}

// A Filter runs a jq filter like Filtered, but isolated, so that a filter that
// grows without end harms nothing else.
type Filter func(ctx context.Context, data []byte, filter string, limit int64) (Part, error)

// Read reads a part of a result, at most limit bytes. jq runs the queries for jq.
func Read(ctx context.Context, data []byte, q Query, limit int64, jq Filter) (Part, error) {
	return ReadFrom(ctx, func() ([]byte, error) { return data, nil }, q, limit, jq)
}

// ReadFrom reads a part of a result that load returns, like Read. Searches that
// wait for their turn have not loaded it.
func ReadFrom(ctx context.Context, load func() ([]byte, error), q Query, limit int64, jq Filter) (Part, error) {
	set := 0
	for _, text := range []string{q.Lines, q.Grep, q.JQ} {
		if text != "" {
			set++
		}
	}
	if set > 1 || set == 1 && q.Offset != 0 {
		return Part{}, i18n.Errorf("give one of offset, lines, grep and jq", "offset、lines、grep、jq 只能给一个")
	}
	var data []byte
	get := func() (err error) {
		data, err = load()
		return err
	}
	var search *Turns
	switch {
	case q.Grep != "":
		search = grepping
	case q.JQ != "":
		search = filtering
	default:
		if err := get(); err != nil {
			return Part{}, err
		}
	}
	if search != nil {
		leave, err := search.Enter(ctx, q.Principal, get)
		if err != nil {
			return Part{}, err
		}
		defer leave()
	}
	switch {
	case q.Lines != "":
		return byLines(data, q.Lines, limit)
	case q.Grep != "":
		return byPattern(ctx, data, q.Grep, limit)
	case q.JQ != "":
		return byFilter(ctx, data, q.JQ, limit, jq)
	}
	return byOffset(data, q.Offset, limit)
}

func byOffset(data []byte, offset, limit int64) (Part, error) {
	size := int64(len(data))
	if offset < 0 || offset > size || offset == size && size > 0 {
		return Part{}, i18n.Errorf("offset %d is beyond the end: the result has %d bytes", "offset %d 超出末尾：结果共 %d 字节", offset, size)
	}
	rest := data[offset:]
	if int64(len(rest)) <= limit {
		return Part{Text: valid(rest)}, nil
	}
	cut := cutRunes(rest, limit)
	return Part{Text: valid(cut), Rest: fmt.Sprintf("offset=%d", offset+int64(len(cut)))}, nil
}

// cutRunes returns the first limit bytes of a text, but never splits a character.
func cutRunes(text []byte, limit int64) []byte {
	if int64(len(text)) <= limit {
		return text
	}
	n := int(limit)
	for n > 0 && n > int(limit)-utf8.UTFMax && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}

func valid(text []byte) string { return strings.ToValidUTF8(string(text), "\uFFFD") }

func byLines(data []byte, lines string, limit int64) (Part, error) {
	from, to, ok := strings.Cut(lines, "-")
	first, err := strconv.Atoi(strings.TrimSpace(from))
	last := first
	if ok && err == nil {
		last = int(^uint(0) >> 1)
		if to = strings.TrimSpace(to); to != "" {
			last, err = strconv.Atoi(to)
		}
	}
	if err != nil || first < 1 || last < first {
		return Part{}, i18n.Errorf("lines %.40q is not a range: write 10-20, 10- or 10", "lines %.40q 不是范围：请写 10-20、10- 或 10", lines)
	}
	var out []byte
	n := 0
	for line := range bytes.Lines(data) {
		if n++; n < first {
			continue
		}
		if n > last {
			break
		}
		if int64(len(out)+len(line)) > limit {
			if len(out) == 0 {
				return Part{Text: valid(cutRunes(line, limit)), Rest: fmt.Sprintf("lines=%d-, or offset, as line %d has %d bytes", n+1, n, len(line))}, nil
			}
			return Part{Text: valid(out), Rest: fmt.Sprintf("lines=%d-", n)}, nil
		}
		out = append(out, line...)
	}
	if n < first {
		return Part{}, i18n.Errorf("line %d is beyond the end: the result has %d lines", "第 %d 行超出末尾：结果共 %d 行", first, n)
	}
	return Part{Text: valid(out)}, nil
}

// Limits for grep. RE2 takes time in proportion to the text and to the pattern,
// and a line is matched as a whole, so the time for one line is limited by both.
const (
	grepTime   = time.Second
	maxPattern = 20_000     // size of the pattern
	maxWork    = 20_000_000 // steps of the pattern for one line, about a second
)

var grepping = NewTurns(1, maxInTurn)

func byPattern(ctx context.Context, data []byte, expr string, limit int64) (Part, error) {
	if len(expr) > maxFilter {
		return Part{}, i18n.Errorf("grep: the pattern has %d bytes, and at most %d are read", "grep：模式有 %d 字节，最多读取 %d 字节", len(expr), maxFilter)
	}
	p, err := pattern.Compile(expr, maxPattern)
	if err != nil {
		return Part{}, i18n.Errorf("grep: %v", "grep：%v", err)
	}
	steps := p.Steps
	if _, all := p.Regexp.LiteralPrefix(); all {
		steps = 1
	}
	ctx, cancel := context.WithTimeout(ctx, grepTime)
	defer cancel()
	var out []byte
	n, found := 0, 0
	for line := range bytes.Lines(data) {
		n++
		if ctx.Err() != nil {
			return Part{}, i18n.Errorf("grep: it took longer than %v: give a simpler pattern, or use lines", "grep：耗时超过 %v：请用更简单的模式，或用 lines", grepTime)
		}
		if len(line)*steps > maxWork {
			return Part{}, i18n.Errorf("grep: line %d has %d bytes, too many for this pattern: give a simpler one, or use jq or offset", "grep：第 %d 行有 %d 字节，对该模式过长：请用更简单的模式，或用 jq 或 offset", n, len(line))
		}
		if !p.Regexp.Match(bytes.TrimRight(line, "\r\n")) {
			continue
		}
		found++
		text := fmt.Appendf(nil, "%d: %s", n, cutRunes(bytes.TrimRight(line, "\r\n"), limit/4))
		if int64(len(out)+len(text)) > limit {
			return Part{Text: valid(out), Rest: fmt.Sprintf("lines=%d-, as more lines match", n)}, nil
		}
		out = append(append(out, text...), '\n')
	}
	if found == 0 {
		return Part{Text: fmt.Sprintf("no line of %d matches", n)}, nil
	}
	return Part{Text: valid(out)}, nil
}

// Limits for jq: gojq has none of its own.
const (
	maxJQInput = 16 << 20
	// maxFilter limits the length of a filter, and with it the depth of its
	// nesting. Parsing uses stack in proportion to the depth, and a stack
	// overflow would end the gateway.
	maxFilter = 4 << 10
	jqTime    = time.Second
)

// filtering lets two filters run: each takes a process.
var filtering = NewTurns(2, maxInTurn)

func byFilter(ctx context.Context, data []byte, filter string, limit int64, jq Filter) (Part, error) {
	if err := checkJQ(data, filter); err != nil {
		return Part{}, err
	}
	return jq(ctx, data, filter, limit)
}

// endless are functions by which a filter may run, or grow, without end.
var endless = []string{"input", "inputs", "env", "$ENV", "range", "repeat", "while", "until", "recurse", "limit", "combinations", "debug", "input_line_number"}

// checkJQ refuses queries that are invalid or not allowed, before they run.
func checkJQ(data []byte, filter string) error {
	if len(data) > maxJQInput {
		return i18n.Errorf("jq reads up to %d MB, and the result has %d: use lines or grep", "jq 最多读取 %d MB，而结果有 %d MB：请用 lines 或 grep", maxJQInput>>20, len(data)>>20)
	}
	if len(filter) > maxFilter {
		return i18n.Errorf("jq: the filter has %d bytes, and at most %d are read", "jq：过滤器有 %d 字节，最多读取 %d 字节", len(filter), maxFilter)
	}
	query, err := gojq.Parse(filter)
	if err != nil {
		return i18n.Errorf("jq: %v", "jq：%v", err)
	}
	if word := forbidden(query); word != "" {
		return i18n.Errorf("jq: %s is not allowed here", "jq：此处不允许 %s", word)
	}
	if !json.Valid(data) {
		return i18n.Errorf("jq: the result is not JSON: use lines or grep", "jq：结果不是 JSON：请用 lines 或 grep")
	}
	return nil
}

// Filtered runs a jq filter. One function call may use unlimited memory, and gojq
// cannot stop it: it goes on when Filtered has returned because of the time. So the
// filter belongs in a process that has limits, and that ends then.
func Filtered(ctx context.Context, data []byte, filter string, limit int64) (Part, error) {
	query, err := gojq.Parse(filter)
	if err != nil {
		return Part{}, i18n.Errorf("jq: %v", "jq：%v", err)
	}
	value, err := jsonrpc.Decode(data)
	if err != nil {
		return Part{}, i18n.Errorf("jq: %v", "jq：%v", err)
	}
	ctx, cancel := context.WithTimeout(ctx, jqTime)
	defer cancel()
	type end struct {
		part Part
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		part, err := runJQ(ctx, query, value, limit)
		ended <- end{part, err}
	}()
	select {
	case e := <-ended:
		return e.part, e.err
	case <-ctx.Done():
		return Part{}, tooLong()
	}
}

func tooLong() error {
	return i18n.Errorf("jq: it took longer than %v", "jq：耗时超过 %v", jqTime)
}

func runJQ(ctx context.Context, query *gojq.Query, value any, limit int64) (Part, error) {
	var out []byte
	iter := query.RunWithContext(ctx, value)
	for n := 0; ; n++ {
		v, ok := iter.Next()
		if !ok {
			return Part{Text: valid(out)}, nil
		}
		if err, bad := v.(error); bad {
			if ctx.Err() != nil {
				return Part{}, tooLong()
			}
			// The text of the error may be the whole result.
			return Part{}, i18n.Errorf("jq: %.500s", "jq：%.500s", err.Error())
		}
		line, err := gojq.Marshal(v)
		if err != nil {
			return Part{}, i18n.Errorf("jq: %v", "jq：%v", err)
		}
		if text, isText := v.(string); isText {
			line = []byte(text)
		}
		if int64(len(out)+len(line)) > limit {
			return Part{Text: valid(append(out, cutRunes(line, limit-int64(len(out)))...)), Rest: fmt.Sprintf("a narrower filter: value %d and what follows it did not fit", n+1)}, nil
		}
		out = append(append(out, line...), '\n')
	}
}

// forbidden returns the first word of a filter that is not allowed; empty if
// there is none.
func forbidden(q *gojq.Query) string {
	text := q.String()
	if len(q.FuncDefs) > 0 || regexp.MustCompile(`\bdef\b`).MatchString(text) {
		return "def"
	}
	if q.Meta != nil || len(q.Imports) > 0 {
		return "import"
	}
	for _, word := range regexp.MustCompile(`\$?[A-Za-z_]+`).FindAllString(text, -1) {
		if slices.Contains(endless, word) {
			return word
		}
	}
	return ""
}
