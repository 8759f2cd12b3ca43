package script

import (
	"bytes"
	"cmp"
	crand "crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"modernc.org/quickjs"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/lazy"
)

//go:embed prelude.js
var prelude string

const (
	// maxStack is the maximum depth of function calls.
	maxStack = 2000
	// gcThreshold is how many bytes a script may allocate between collections.
	gcThreshold = 1 << 20
)

// An engine runs one script. It is owned by one goroutine.
type engine struct {
	vm    *quickjs.VM
	pipe  *pipe
	log   *journal
	meter *meter
	mark  string
	// quoted is the beginning of a JSON string that begins with the mark.
	quoted string
	calls  int      // number of calls without a response
	queue  [][]byte // calls that wait to be sent
	out    []byte   // messages to send at the end of this turn
	sleeps []sleep  // sorted by end time
	// Functions of the prelude.
	start, settle, done, unawaited, value, fault, lost quickjs.Value
}

// A settlement is the result of one request of the script.
type settlement struct {
	id    int
	ok    bool
	json  string
	large bool
}

// A sleep is a pause of the script.
type sleep struct {
	until time.Time
	id    int
}

// maxSent is how many requests may be outstanding at the gateway; the others
// are queued here. It is less than the number that the gateway reads, so the
// gateway always reads what is sent.
const maxSent = maxAsked / 4

// newEngine returns an engine with the globals of a script, ready for its job.
// Creating it takes longer than running a short script.
func newEngine() (*engine, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetMaxStackSize(maxStack)
	vm.SetGCThreshold(gcThreshold)
	vm.SetWTF8(false)
	nonce := make([]byte, 12)
	crand.Read(nonce)
	e := &engine{vm: vm, mark: fmt.Sprintf("\u0001%x:", nonce)}
	quoted := jsonrpc.Quote(e.mark)
	e.quoted = string(quoted[:len(quoted)-1])
	return e, e.prepare()
}

// run runs a script to its end.
func (e *engine) run(p *pipe, job *Job, log *journal, m *meter) *Outcome {
	e.pipe, e.log, e.meter = p, log, m
	e.vm.SetMemoryLimit(uintptr(job.Limits.Memory))
	config, err := e.config(job)
	if err != nil {
		return faulty("InternalError", err.Error())
	}
	m.work()
	if _, err := e.start.Call(quickjs.UndefinedValue, string(config), job.Code); err != nil {
		return e.broken(err)
	}
	return e.loop()
}

func faulty(name, message string) *Outcome {
	return &Outcome{Fault: &Fault{Name: name, Message: message}}
}

// prepare defines the globals of the script.
func (e *engine) prepare() error {
	if err := e.vm.RegisterHostFunc("__send", e.send); err != nil {
		return err
	}
	if err := e.vm.RegisterHostFunc("__uuid", func([]any) (any, error) { return randomUUID(), nil }); err != nil {
		return err
	}
	api, err := e.vm.EvalValue("("+prelude+")(__send, __uuid)", quickjs.EvalGlobal)
	if err != nil {
		return err
	}
	for name, f := range map[string]*quickjs.Value{"start": &e.start, "settle": &e.settle, "done": &e.done, "unawaited": &e.unawaited, "value": &e.value, "fault": &e.fault, "lost": &e.lost} {
		atom, err := e.vm.NewAtom(name)
		if err != nil {
			return err
		}
		if *f, err = e.vm.GetPropertyValue(api, atom); err != nil {
			return err
		}
	}
	_, err = e.vm.Eval("delete globalThis.__send; delete globalThis.__uuid", quickjs.EvalGlobal)
	return err
}

func (e *engine) config(job *Job) ([]byte, error) {
	seed := job.Seed
	if seed == 0 {
		var raw [8]byte
		crand.Read(raw[:])
		seed = binary.BigEndian.Uint64(raw[:])
	}
	c := struct {
		Mark      string   `json:"mark"`
		Seed      []uint32 `json:"seed"`
		Fixed     bool     `json:"fixed"`
		At        *int64   `json:"at"`
		Args      *string  `json:"args"`
		LargeArgs bool     `json:"largeArgs"`
		Servers   []string `json:"servers"`
	}{Servers: append([]string{}, job.Servers...), Mark: e.mark, Seed: []uint32{uint32(seed), uint32(seed >> 32), 0x9e3779b9, 0x7f4a7c15}, Fixed: job.Seed != 0}
	if !job.At.IsZero() {
		at := job.At.UnixMilli()
		c.At = &at
	}
	if job.Args != nil {
		args := string(job.Args)
		c.Args, c.LargeArgs = &args, hasLarge(job.Args)
	}
	return json.Marshal(c)
}

// send handles a request of the prelude: a line of the log, a pause, or a
// request to the gateway.
func (e *engine) send(args []any) (any, error) {
	if len(args) != 3 {
		return nil, i18n.Errorf("send takes three arguments", "send 需要三个参数")
	}
	method, _ := args[0].(string)
	id, _ := args[1].(int)
	switch method {
	case MethodLog:
		line, _ := args[2].(string)
		e.log.add(string(e.digits(line)))
		return nil, nil
	case "sleep":
		text, _ := args[2].(string)
		ms, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, err
		}
		pause := sleep{time.Now().Add(time.Duration(min(ms, 24*3600*1000) * float64(time.Millisecond))), id}
		i, _ := slices.BinarySearchFunc(e.sleeps, pause, func(a, b sleep) int { return cmp.Or(a.until.Compare(b.until), -1) })
		e.sleeps = slices.Insert(e.sleeps, i, pause)
		return nil, nil
	}
	text, _ := args[2].(string)
	params := e.digits(wellFormed(text))
	e.queue = append(e.queue, append(jsonrpc.AppendRequest(nil, strconv.AppendInt(nil, int64(id), 10), method, params), '\n'))
	e.calls++
	return nil, nil
}

// flush sends the requests of this turn in one write.
func (e *engine) flush() {
	room := maxSent - (e.calls - len(e.queue))
	n := min(room, len(e.queue))
	for _, m := range e.queue[:max(n, 0)] {
		e.out = append(e.out, m...)
	}
	if n <= 0 {
		return
	}
	e.queue = slices.Delete(e.queue, 0, n)
	e.pipe.write(e.out)
	if e.out = e.out[:0]; cap(e.out) > maxLine/16 {
		e.out = nil
	}
}

// receive waits for the next settlement. An error means that the gateway has
// closed the pipe.
func (e *engine) receive() (s settlement, err error) {
	if len(e.sleeps) > 0 && !e.pipe.ready(e.sleeps[0].until) {
		s = settlement{id: e.sleeps[0].id, ok: true}
		e.sleeps = slices.Delete(e.sleeps, 0, 1)
		return s, nil
	}
	data, release, err := e.pipe.in.Read()
	if err != nil {
		return s, err
	}
	if release != nil {
		defer release()
	}
	e.calls--
	if id, result, ok := jsonrpc.PeekAnswer(data); ok {
		s.id, s.ok = int(id), true
		if value, ok := bytes.CutPrefix(result, []byte(`{"value":`)); ok {
			value = value[:len(value)-1]
			s.json, s.large = e.marked(value), hasLarge(value)
		}
		return s, nil
	}
	m, bad := jsonrpc.ScanAnswer(data, &jsonrpc.ScanLimits{Depth: maxDepth})
	if bad != nil {
		return s, bad
	}
	if s.id, err = strconv.Atoi(string(m.ID)); err != nil {
		return s, err
	}
	refused := jsonrpc.ParseError(m.Err)
	if s.json = string(refused.Data); refused.Data == nil {
		s.json = string(refusal("CallError", refused.Message))
	}
	return s, nil
}

func refusal(name, message string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"message":%s}`, name, jsonrpc.Quote(message))
}

// marked replaces the placeholder in the handle of a large value by the mark of
// this run.
func (e *engine) marked(value []byte) string {
	text := string(value)
	if rest, ok := strings.CutPrefix(text, "{"+handleMark); ok {
		return `{"result://":` + string(jsonrpc.Quote(e.mark)) + rest
	}
	return text
}

// digits writes marked strings as numbers.
func (e *engine) digits(text string) []byte {
	if !strings.Contains(text, e.quoted) {
		return []byte(text)
	}
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, e.quoted)
		b.WriteString(head)
		if !ok {
			return []byte(b.String())
		}
		number, after, _ := strings.Cut(rest, `"`)
		b.WriteString(number)
		text = after
	}
}

// loop runs pending jobs and waits for responses until the script has ended and
// all its calls have too.
func (e *engine) loop() *Outcome {
	for {
		n, err := e.vm.ExecutePendingJobs()
		if err != nil && n == 0 {
			return e.broken(err)
		}
		if err != nil {
			continue
		}
		if e.calls == 0 {
			done, err := e.done.Call(quickjs.UndefinedValue)
			switch {
			case err != nil:
				return e.broken(err)
			case done == true:
				return e.outcome()
			case len(e.sleeps) > 0:
			case e.meter.short():
				// Without memory the engine leaves a promise unsettled and
				// reports no error.
				return &Outcome{Fault: &Fault{Name: "Limit", Limit: LimitMemory}}
			default:
				return faulty("Error", "the script waits for nothing: a promise that it awaits is never settled")
			}
		}
		if fault := e.next(); fault != nil {
			return fault
		}
	}
}

// next waits for one settlement and passes it to the script. If a settlement is
// already buffered, the script's requests can wait until the end of the turn.
func (e *engine) next() *Outcome {
	if !e.pipe.in.Buffered() {
		e.flush()
	}
	e.meter.rest()
	s, err := e.receive()
	e.meter.work()
	if err != nil {
		return faulty("InternalError", err.Error())
	}
	text, free, err := e.text(&s)
	if err != nil {
		return faulty("InternalError", err.Error())
	}
	defer free()
	if _, err := e.settle.Call(quickjs.UndefinedValue, s.id, s.ok, text, s.large); err != nil {
		return e.broken(err)
	}
	return nil
}

// largeText is the size above which text saves memory.
const largeText = 1 << 20

// text returns the JSON of a settlement as an argument for the engine. Before a
// large one is parsed, the memory of all its copies here is given back, and it
// has ASCII characters only: the engine would need several times the size of
// any other text to parse it.
func (e *engine) text(s *settlement) (arg any, free func(), err error) {
	if len(s.json) < largeText {
		return s.json, func() {}, nil
	}
	text := ascii(s.json)
	e.meter.received(int64(len(text)))
	if len(text) > len(s.json) {
		s.json = ""
		debug.FreeOSMemory()
	}
	v, err := e.vm.NewString(text)
	if err != nil {
		return nil, nil, err
	}
	s.json, text = "", ""
	debug.FreeOSMemory()
	return v, v.Free, nil
}

// outcome reads the result of the script.
func (e *engine) outcome() *Outcome {
	o := &Outcome{}
	unawaited, err := e.unawaited.Call(quickjs.UndefinedValue)
	if err != nil {
		return e.broken(err)
	}
	o.Unawaited, _ = unawaited.(int)
	lost, err := e.lost.Call(quickjs.UndefinedValue)
	if err != nil {
		return e.broken(err)
	}
	o.Lost, _ = lost.(string)
	fault, err := e.fault.Call(quickjs.UndefinedValue)
	if err != nil {
		return e.broken(err)
	}
	if text, ok := fault.(string); ok {
		o.Fault = readFault([]byte(text), e.meter.short())
		return o
	}
	value, err := e.value.Call(quickjs.UndefinedValue)
	if err != nil {
		return e.broken(err)
	}
	if text, ok := value.(string); ok {
		if len(text) > MaxValue {
			return faulty("RangeError", fmt.Sprintf("the script returned %d bytes, and the most is %d", len(text), MaxValue))
		}
		o.Value = e.digits(wellFormed(text))
	}
	return o
}

// broken returns the outcome for an error of the engine outside any promise.
func (e *engine) broken(err error) *Outcome {
	var js *quickjs.Error
	if !errors.As(err, &js) {
		return faulty("InternalError", err.Error())
	}
	f := &Fault{Name: js.Name, Message: js.Message}
	f.locate(js.Stack)
	f.name(e.meter.short())
	return &Outcome{Fault: f}
}

// readFault parses the prelude's description of an error.
func readFault(raw []byte, short bool) *Fault {
	var said struct{ Name, Message, Stack string }
	if err := json.Unmarshal(raw, &said); err != nil {
		return &Fault{Name: "Error", Message: "an error that cannot be read"}
	}
	f := &Fault{Name: said.Name, Message: said.Message}
	f.locate(said.Stack)
	f.name(short)
	return f
}

// inCode matches a position in the given code. The wrapper function adds two
// lines.
var inCode = lazy.Regexp(`<input>:(\d+)(?::(\d+))?`)

const linesAround = 2

func (f *Fault) locate(stack string) {
	m := inCode().FindStringSubmatch(stack)
	if m == nil {
		return
	}
	line, _ := strconv.Atoi(m[1])
	if line <= linesAround {
		return
	}
	f.Line = line - linesAround
	f.Column, _ = strconv.Atoi(m[2]) // stays 0 if unknown
}

// name sets the limit that caused an error of the engine. If there is no memory
// left for an error, the engine throws null.
func (f *Fault) name(short bool) {
	switch {
	case f.Message == "stack overflow" && (f.Name == "InternalError" || f.Name == "SyntaxError"):
		f.Limit = LimitDepth
	case f.Message == "out of memory" && f.Name == "InternalError", short && (f.Message == "null" && f.Name == "Thrown" || f.Message == "" && f.Name == ""):
		f.Limit = LimitMemory
	}
}

// hasLarge reports whether JSON has integers that a double may not represent.
func hasLarge(raw []byte) bool {
	inText, digits := false, 0
	for i := 0; i < len(raw); i++ {
		c := raw[i]
		switch {
		case inText:
			if c == '\\' {
				i++
			} else if c == '"' {
				inText = false
			}
		case c >= '0' && c <= '9':
			if digits++; digits > 15 {
				return true
			}
		default:
			digits, inText = 0, c == '"'
		}
	}
	return false
}

func randomUUID() string {
	var b [16]byte
	crand.Read(b[:])
	b[6], b[8] = b[6]&0x0f|0x40, b[8]&0x3f|0x80
	return fmt.Sprintf("%08x-%04x-%04x-%04x-%012x", binary.BigEndian.Uint32(b[:4]), binary.BigEndian.Uint16(b[4:6]),
		binary.BigEndian.Uint16(b[6:8]), binary.BigEndian.Uint16(b[8:10]), b[10:])
}
