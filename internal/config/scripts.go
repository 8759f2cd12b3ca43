package config

import (
	"encoding/json"
	"strings"
	"time"

	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/spelling"
)

// Script is a tool that is written in the file: JavaScript that calls other
// tools.
type Script struct {
	Description string          `json:"description" doc:"Description for clients." zh:"供客户端阅读的说明。"`
	Arguments   json.RawMessage `json:"arguments" doc:"JSON Schema of its arguments, which the script reads from the global args. Absent: it takes none." zh:"参数的 JSON Schema；脚本中为全局变量 args。缺省则没有参数。"`
	Code        string          `json:"code" doc:"The script: the body of an async function. ${NAME} is JavaScript here, not a variable of this file." zh:"脚本：async 函数的函数体。其中的 ${NAME} 是 JavaScript，不是本文件的变量。"`
	File        string          `json:"file" doc:"File with the script, instead of code: a .js file below the folder of the config file. Only a person may write it; clients and projects write code." zh:"存放脚本的文件，代替 code：配置文件所在目录之下的 .js 文件。只有人可以写；客户端和项目请写 code。"`
	ReadOnly    bool            `json:"readOnly" doc:"Declare that it changes nothing, so that readonly keys may call it. Then it may only call tools that say the same (readOnlyHint)." zh:"声明它不作任何修改，使只读密钥也可调用。此时它只能调用同样自称只读（readOnlyHint）的工具。"`
	Timeout     time.Duration   `json:"timeout" min:"100ms" max:"24h" doc:"How long it may run, without the time in which a person is asked; scripts.timeout when absent." zh:"最长运行时间，不含等待人回答的时间；缺省为 scripts.timeout。"`
}

// maxScript is the maximum size of a script in bytes.
const maxScript = 64 << 10

// scripts checks an entry that consists of scripts, and sets its type.
func (k *serverChecker) scripts() {
	s := k.s
	for key, is := range map[string]string{"command": s.Command, "url": s.URL} {
		if is != "" {
			k.report(problem.SeverityError, "scripts", problem.TwoTargets, s.Name, key, "scripts")
			return
		}
	}
	if s.Type != "" && s.Type != TypeScripts {
		k.report(problem.SeverityError, "type", problem.TypeTarget, s.Type, i18n.New("a command or a url", "键 command 或 url"))
	}
	s.Type, s.Protocol, s.Share = TypeScripts, "legacy", "all"
	// A person reads scripts in full before they run, and again when they
	// change. So pinning is not needed.
	s.Pin = "off"
	if k.raw.Get("validate") == nil {
		s.Validate = "full"
	}
	for _, read := range k.code {
		script := s.Scripts[read.Name]
		if !read.Refused.Empty() {
			k.report(problem.SeverityError, "scripts", problem.Script, read.Name, read.Refused)
			continue
		}
		if read.Err != nil && !s.Pending {
			s.Missing = append(s.Missing, "file:"+script.File)
			continue
		}
		if fault := script.fault(read.Name, read.Code); !fault.Empty() {
			k.report(problem.SeverityError, "scripts", problem.Script, read.Name, fault)
		}
		script.Code = read.Code
		s.Scripts[read.Name] = script
	}
}

// fault returns what is wrong with a script.
func (s *Script) fault(name, code string) i18n.Text {
	var schema struct{ Type string }
	switch fault := spelling.Fault(name); {
	case !fault.Empty():
		return fault
	case s.Code != "" && s.File != "":
		return i18n.New("has both code and file", "同时有 code 和 file")
	case s.File != "" && code == "": // an unreadable file is reported elsewhere
	case strings.TrimSpace(code) == "":
		return i18n.New("has no code", "没有代码")
	case len(code) > maxScript:
		return i18n.New("has %d bytes of code, and the most is %d", "的代码有 %d 字节，最多为 %d 字节", len(code), maxScript)
	case strings.ContainsRune(code, 0):
		return i18n.New("has a NUL character in its code", "的代码中含有 NUL 字符")
	case s.Arguments != nil && (json.Unmarshal(s.Arguments, &schema) != nil || schema.Type != "object"):
		return i18n.New(`has arguments that are no JSON Schema with "type": "object"`, `的 arguments 不是 "type": "object" 的 JSON Schema`)
	}
	return i18n.Text{}
}
