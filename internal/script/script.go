// Package script runs JavaScript that calls tools. Each script runs in its own
// process, which can only communicate over its pipe.
//
// The package owns the engine, which runs in the child process, the protocol
// between the two processes, and the limits. It does not know what a tool is:
// the caller of Run answers the requests of the script.
package script

import (
	"encoding/json"
	"time"

	"mcp-all-in-one/internal/i18n"
)

// Command is the argument that makes the program run as the process of one
// script. It is not for people.
const Command = "__script"

// The methods between the gateway and the process of a script.
const (
	// MethodRun sends the process its only job; the result is an Outcome.
	MethodRun = "script/run"
	// MethodLog is a notification with a line that the script logged.
	MethodLog = "script/log"
	// The requests of the script.
	MethodCall      = "script/call"
	MethodRaw       = "script/raw"
	MethodInspect   = "script/inspect"
	MethodRead      = "script/read"
	MethodPrompt    = "script/prompt"
	MethodKept      = "script/kept"
	MethodAsk       = "script/ask"
	MethodKeptSlice = "script/slice"
)

// Limits are the limits of one script. A zero field means its default.
type Limits struct {
	Memory  int64         `json:"memory"` // memory of the script in bytes
	CPU     time.Duration `json:"cpu"`    // CPU time of its process
	Timeout time.Duration `json:"timeout"`
	Calls   int           `json:"calls"`
	// Parallel is how many calls run at once; the others wait in order.
	Parallel int `json:"parallel"`
	// Output is how much of the value is shown; the rest is kept.
	Output int64 `json:"output"`
	Log    int64 `json:"log"`
	Code   int64 `json:"code"`
}

// Defaults are the default limits.
var Defaults = Limits{
	Memory: 64 << 20, CPU: 5 * time.Second, Timeout: 120 * time.Second, Calls: 100, Parallel: 8,
	Output: 8 << 10, Log: 4 << 10, Code: 64 << 10,
}

// MaxValue is the maximum size of a value that passes between a script and a
// tool, or that the script returns.
const MaxValue = 16 << 20

// Or replaces zero fields by those of d.
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
	// Args is the global args; nil leaves it undefined.
	Args json.RawMessage `json:"args,omitempty"`
	// Servers are the keys of the global tools.
	Servers []string `json:"servers,omitempty"`
	// Seed seeds Math.random; 0 means a random seed. At stops the clock of the
	// script at that time; zero lets it run.
	Seed   uint64    `json:"seed,omitempty"`
	At     time.Time `json:"at,omitzero"`
	Limits Limits    `json:"limits"`
	// JQ is a filter to run on the text in Args instead of Code. The value is a kept.Part
	// of at most Most bytes.
	JQ   string `json:"jq,omitempty"`
	Most int64  `json:"most,omitempty"`
}

// An Outcome is the result of a script.
type Outcome struct {
	// Value is the returned value as JSON; nil if it is undefined.
	Value json.RawMessage `json:"value,omitempty"`
	// Fault is set if the script failed.
	Fault *Fault `json:"fault,omitempty"`
	// Tail is the end of the log after the lines that were sent while the
	// script ran. LogBytes is the size of the whole log.
	Tail     string `json:"tail,omitempty"`
	LogBytes int64  `json:"logBytes,omitempty"`
	// Unawaited is how many calls were still running when the script returned.
	Unawaited int `json:"unawaited,omitempty"`
	// Lost is the first error of those calls; empty if all succeeded.
	Lost string        `json:"lost,omitempty"`
	CPU  time.Duration `json:"cpu"`
	// Peak is the maximum memory size of its process.
	Peak int64 `json:"peak"`
}

// A Fault is the error that ended a script. Line and Column are a position in
// the given code, or 0 if it is unknown.
type Fault struct {
	Name    string `json:"name"`
	Message string `json:"message"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	// Limit is the limit that was reached; empty for an error of the script
	// itself.
	Limit string `json:"limit,omitempty"`

	// said replaces what the engine says of a place outside the script.
	said, advice i18n.Text
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

// Sentence describes the fault. Messages of the engine are in English.
func (f *Fault) Sentence(l Limits) i18n.Text {
	at := i18n.Plain("")
	switch {
	case f.Line > 0 && f.Column == 0:
		at = i18n.New(" (line %d)", "（第 %d 行）", f.Line)
	case f.Line > 0:
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
	said := f.said
	if said.Empty() {
		said = i18n.Plain(f.Message)
	}
	return i18n.New("%s: %v%v%v", "%s：%v%v%v", f.Name, said, at, f.advice)
}
