package script

import (
	"context"
	crand "crypto/rand"
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"modernc.org/quickjs"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/jsonrpc"
)

//go:embed prelude.js
var prelude string

const (
	// maxStack is how deep functions may call each other.
	maxStack = 2000
	// gcThreshold is how much a script may allocate between collections.
	gcThreshold = 1 << 20
)

// An engine runs one script. One goroutine owns it.
type engine struct {
	vm      *quickjs.VM
	conn    *jsonrpc.Conn
	ctx     context.Context
	log     *journal
	meter   *meter
	mark    string
	settled chan settlement
	open    int // requests that were sent and not settled
	calls   int // those among them that are no sleep
	// The functions of the prelude.
	start, settle, done, value, fault quickjs.Value
}

// A settlement is the outcome of one request of the script.
type settlement struct {
	id    int
	call  bool
	ok    bool
	json  string
	large bool
}

// newEngine returns an engine with the globals of a script, ready for its job:
// that takes longer than a short script.
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
	e := &engine{vm: vm, mark: fmt.Sprintf("\u0001%x:", nonce), settled: make(chan settlement, maxAsked)}
	return e, e.prepare()
}

// run runs a script to its end.
func (e *engine) run(ctx context.Context, conn *jsonrpc.Conn, job *Job, log *journal, m *meter) *Outcome {
	e.ctx, e.conn, e.log, e.meter = ctx, conn, log, m
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

// prepare gives the script its globals.
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
	for name, f := range map[string]*quickjs.Value{"start": &e.start, "settle": &e.settle, "done": &e.done, "value": &e.value, "fault": &e.fault} {
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
	}{Mark: e.mark, Seed: []uint32{uint32(seed), uint32(seed >> 32), 0x9e3779b9, 0x7f4a7c15}, Fixed: job.Seed != 0}
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

// send takes what the prelude asks for: a line of the log, a pause, a request
// to the gateway.
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
		e.open++
		pause := time.Duration(min(ms, 24*3600*1000) * float64(time.Millisecond))
		time.AfterFunc(pause, func() { e.settled <- settlement{id: id, ok: true} })
		return nil, nil
	}
	text, _ := args[2].(string)
	e.open++
	e.calls++
	params := e.digits(wellFormed(text))
	go func() { e.settled <- e.ask(id, method, params) }()
	return nil, nil
}

// ask sends one request to the gateway.
func (e *engine) ask(id int, method string, params []byte) settlement {
	s := settlement{id: id, call: true}
	resp, err := e.conn.Call(e.ctx, &jsonrpc.Request{Method: method, Params: params})
	switch {
	case err != nil:
		s.json = string(refusal("CallError", err.Error()))
	case resp.Err != nil && resp.Err.Data != nil:
		s.json = string(resp.Err.Data)
	case resp.Err != nil:
		s.json = string(refusal("CallError", resp.Err.Message))
	default:
		s.ok, s.json, s.large = true, e.marked(jsonrpc.Get(resp.Result, "value")), hasLarge(resp.Result)
		resp.Release()
	}
	return s
}

func refusal(name, message string) []byte {
	return fmt.Appendf(nil, `{"name":%q,"message":%s}`, name, jsonrpc.Quote(message))
}

// marked gives the handle of a value that was too large its mark.
func (e *engine) marked(value []byte) string {
	text := string(value)
	if rest, ok := strings.CutPrefix(text, "{"+handleMark); ok {
		return `{"result://":` + string(jsonrpc.Quote(e.mark)) + rest
	}
	return text
}

// digits writes marked numbers as what they are.
func (e *engine) digits(text string) []byte {
	quoted := jsonrpc.Quote(e.mark)
	mark := string(quoted[:len(quoted)-1])
	if !strings.Contains(text, mark) {
		return []byte(text)
	}
	var b strings.Builder
	for {
		head, rest, ok := strings.Cut(text, mark)
		b.WriteString(head)
		if !ok {
			return []byte(b.String())
		}
		number, after, _ := strings.Cut(rest, `"`)
		b.WriteString(number)
		text = after
	}
}

// loop runs what is ready and waits for what is asked, until the script has
// ended and nothing that it began still runs.
func (e *engine) loop() *Outcome {
	unawaited := 0
	for {
		n, err := e.vm.ExecutePendingJobs()
		if err != nil && n == 0 {
			return e.broken(err)
		}
		if n > 0 {
			continue
		}
		done, err := e.done.Call(quickjs.UndefinedValue)
		if err != nil {
			return e.broken(err)
		}
		if done == true {
			unawaited = max(unawaited, e.calls)
			if e.calls == 0 {
				return e.outcome(unawaited)
			}
		} else if e.open == 0 && e.meter.short() {
			// Without memory the engine leaves a promise unsettled and says nothing.
			return &Outcome{Fault: &Fault{Name: "Limit", Limit: LimitMemory}}
		} else if e.open == 0 {
			return faulty("Error", "the script waits for nothing: a promise that it awaits is never settled")
		}
		if fault := e.next(); fault != nil {
			return fault
		}
	}
}

// next waits for one settlement and hands it to the script.
func (e *engine) next() *Outcome {
	e.meter.rest()
	s := <-e.settled
	e.meter.work()
	e.open--
	if s.call {
		e.calls--
	}
	if _, err := e.settle.Call(quickjs.UndefinedValue, s.id, s.ok, s.json, s.large); err != nil {
		return e.broken(err)
	}
	return nil
}

// outcome reads what the script came to.
func (e *engine) outcome(unawaited int) *Outcome {
	o := &Outcome{Unawaited: unawaited}
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

// broken is an error of the engine outside any promise.
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

// readFault reads what the prelude wrote about an error.
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

// inCode finds a place in the given code; the function around it adds two
// lines.
var inCode = regexp.MustCompile(`<input>:(\d+)(?::(\d+))?`)

const linesAround = 2

func (f *Fault) locate(stack string) {
	m := inCode.FindStringSubmatch(stack)
	if m == nil {
		return
	}
	line, _ := strconv.Atoi(m[1])
	if line <= linesAround {
		return
	}
	f.Line = line - linesAround
	f.Column, _ = strconv.Atoi(m[2]) // stays 0 where it is not told
}

// name names the limit behind an error of the engine. Where there is no memory
// left for an error, the engine throws null.
func (f *Fault) name(short bool) {
	switch {
	case f.Message == "stack overflow" && (f.Name == "InternalError" || f.Name == "SyntaxError"):
		f.Limit = LimitDepth
	case f.Message == "out of memory" && f.Name == "InternalError", f.Message == "null" && f.Name == "Thrown" && short:
		f.Limit = LimitMemory
	}
}

// hasLarge says whether JSON has whole numbers that a double may not hold.
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
