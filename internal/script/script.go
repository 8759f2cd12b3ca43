// Package script runs JavaScript that calls tools, each script in a process of
// its own that can do nothing but talk over its pipe.
//
// It owns the engine, which runs in the child process, the protocol between the
// two and the limits. It refuses to know what a tool is: the caller of a script
// answers what it asks.
package script

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// Command is the argument that makes the program the process of one script. It
// is not for people.
const Command = "__script"

// The methods between the gateway and the process of a script.
const (
	// MethodRun hands the process its one job; the answer is an Outcome.
	MethodRun = "script/run"
	// MethodLog is a notification with a line that the script logged.
	MethodLog = "script/log"
	// What the script asks for: Params are the struct of that name.
	MethodCall      = "script/call"
	MethodRaw       = "script/raw"
	MethodInspect   = "script/inspect"
	MethodRead      = "script/read"
	MethodPrompt    = "script/prompt"
	MethodKept      = "script/kept"
	MethodAsk       = "script/ask"
	MethodKeptSlice = "script/slice"
)

// Limits bound one script. A zero field stands for its default.
type Limits struct {
	Memory  int64         `json:"memory"` // bytes that the script may use
	CPU     time.Duration `json:"cpu"`    // of its process
	Timeout time.Duration `json:"timeout"`
	Calls   int           `json:"calls"`
	// Parallel is how many calls run at once; the others wait in order.
	Parallel int `json:"parallel"`
	// Output is how much of the value is shown; the rest is kept.
	Output int64 `json:"output"`
	Log    int64 `json:"log"`
	Code   int64 `json:"code"`
}

// Defaults are the limits where nothing else is said.
var Defaults = Limits{
	Memory: 64 << 20, CPU: 5 * time.Second, Timeout: 120 * time.Second, Calls: 100, Parallel: 8,
	Output: 8 << 10, Log: 4 << 10, Code: 64 << 10,
}

// MaxValue is the size of the largest value that passes between a script and a
// tool, or comes back from the script.
const MaxValue = 16 << 20

// Or fills in the defaults.
func (l Limits) Or(d Limits) Limits {
	return Limits{
		Memory: or(l.Memory, d.Memory), CPU: or(l.CPU, d.CPU), Timeout: or(l.Timeout, d.Timeout), Calls: or(l.Calls, d.Calls),
		Parallel: or(l.Parallel, d.Parallel), Output: or(l.Output, d.Output), Log: or(l.Log, d.Log), Code: or(l.Code, d.Code),
	}
}

func or[T int | int64 | time.Duration](v, otherwise T) T {
	if v > 0 {
		return v
	}
	return otherwise
}

// A Job is one script to run.
type Job struct {
	Code string `json:"code"`
	// Args is the global of that name; nil leaves it out.
	Args json.RawMessage `json:"args,omitempty"`
	// Seed seeds Math.random; 0 takes any. At is the time at which the
	// clock of the script stands; zero lets it run.
	Seed   uint64    `json:"seed,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Limits Limits    `json:"limits"`
	// JQ is a filter to run on Args instead, of which at most Most bytes are
	// wanted; the value is a kept.Part.
	JQ   string `json:"jq,omitempty"`
	Most int64  `json:"most,omitempty"`
}

// An Outcome is how a script ended.
type Outcome struct {
	// Value is the JSON of what it returned; nil where that is undefined.
	Value json.RawMessage `json:"value,omitempty"`
	// Fault is what ended it instead.
	Fault *Fault `json:"fault,omitempty"`
	// Tail is what it logged after the lines that were sent while it ran,
	// LogBytes the size of all that it logged.
	Tail     string `json:"tail,omitempty"`
	LogBytes int64  `json:"logBytes,omitempty"`
	// Unawaited is how many calls still ran when the script returned.
	Unawaited int           `json:"unawaited,omitempty"`
	CPU       time.Duration `json:"cpu"`
	// Peak is the largest size that its process had.
	Peak int64 `json:"peak"`
}

// A Fault is what went wrong in a script. Line and Column are places in the
// given code; 0 where they are not known.
type Fault struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	// Limit is the limit that was reached; empty for an error of the script
	// itself.
	Limit string `json:"limit,omitempty"`

	imports bool
}

// The limits that end a script.
const (
	LimitMemory  = "memory"
	LimitCPU     = "cpu"
	LimitTimeout = "timeout"
	LimitDepth   = "depth"
	// LimitShutdown is the end of the gateway.
	LimitShutdown = "shutdown"
)

// Sentence says what ended a script. What the engine said of it is English.
func (f *Fault) Sentence(l Limits) i18n.Text {
	at := i18n.Plain("")
	if f.Line > 0 {
		at = i18n.New(" (line %d, column %d)", "（第 %d 行第 %d 列）", f.Line, f.Column)
	}
	switch f.Limit {
	case LimitMemory:
		return i18n.New("out of memory: a script may use %d MB%v", "内存不足：脚本最多可用 %d MB%v", l.Memory>>20, at)
	case LimitCPU:
		return i18n.New("out of processor time: a script may compute for %v%v", "处理器时间用尽：脚本最多可计算 %v%v", l.CPU, at)
	case LimitTimeout:
		return i18n.New("out of time: a script may run for %v", "超时：脚本最多可运行 %v", l.Timeout)
	case LimitShutdown:
		return i18n.New("the gateway shut down before the script ended", "网关在脚本结束前关闭")
	case LimitDepth:
		return i18n.New("recursion is too deep%v", "递归过深%v", at)
	}
	more := i18n.Plain("")
	switch {
	case f.Name != "SyntaxError":
	case f.imports:
		more = i18n.New(". A script cannot import: what it can use is global", "。脚本不能使用 import：可用的内容都是全局的")
	case looksTyped(f.Message):
		more = i18n.New(". Write plain JavaScript, no types", "。请写普通 JavaScript，不要写类型")
	}
	return i18n.New("%s: %s%v%v", "%s：%s%v%v", f.Name, f.Message, at, more)
}

// importing finds an import, which a script cannot have.
var importing = regexp.MustCompile(`(?m)^\s*(import|export)\b`)

// Explain lets the sentence of a fault know the code.
func (f *Fault) Explain(code string) *Fault {
	f.imports = importing.MatchString(code)
	return f
}

// looksTyped says whether a message of the parser may be about a type.
func looksTyped(message string) bool {
	return strings.Contains(message, "':'") || strings.Contains(message, "missing initializer") || strings.Contains(message, "expecting")
}
