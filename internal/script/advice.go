package script

import (
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

var (
	// importing matches import and export statements.
	importing = lazy.Regexp(`(?m)^\s*(import|export)\b`)
	// undefined matches the message about a name that is not defined.
	undefined = lazy.Regexp(`^'([\w$]+)' is not defined$`)
)

// hostNames are globals of browsers, Node.js and others that scripts do not have.
// Scripts use tools and sleep instead.
var hostNames = map[string]bool{
	"fetch": true, "XMLHttpRequest": true, "WebSocket": true, "process": true, "Buffer": true, "fs": true, "window": true, "document": true,
	"setTimeout": true, "setInterval": true, "setImmediate": true, "Deno": true, "Bun": true,
}

// Explain examines the code at the place of the fault, so that Sentence can say
// what to write instead.
func (f *Fault) Explain(code string) *Fault {
	noImport := i18n.New(". A script cannot import: what it can use is global", "。脚本不能使用 import：可用的内容都是全局的")
	switch f.Name {
	case "SyntaxError":
		f.atEnd(code)
		if importing().MatchString(code) {
			f.advice = noImport
		} else if part := typeAt(code, f.Line, f.Column); part != "" {
			f.advice = i18n.New(`. Types are TypeScript: write plain JavaScript, without "%s"`, "。类型属于 TypeScript：请写普通 JavaScript，去掉“%s”", part)
		}
	case "ReferenceError":
		name := undefined().FindStringSubmatch(f.Message)
		switch {
		case strings.HasPrefix(f.Message, "could not load module") || name != nil && name[1] == "require":
			f.advice = noImport
		case name != nil && hostNames[name[1]]:
			f.advice = i18n.New(". A script has no network, files, environment or timers: it calls tools, and waits with sleep(ms)",
				"。脚本没有网络、文件、环境变量和定时器：请调用工具，等待请用 sleep(ms)")
		}
	}
	return f
}

// atEnd corrects a fault that the engine found in the function around the
// script.
func (f *Fault) atEnd(code string) {
	lines := 1 + strings.Count(strings.TrimRight(code, "\n"), "\n")
	if f.Line <= lines {
		return
	}
	if f.Message == "expecting ')'" && strings.Count(code, "}") > strings.Count(code, "{") {
		f.said, f.Line = i18n.New("a '}' has no '{'", "有一个 '}' 没有对应的 '{'"), 0
		return
	}
	f.said, f.Line, f.Column = i18n.New("unexpected end of the script", "脚本在中途结束"), lines, 0
}

var (
	// typeHere matches what TypeScript adds to JavaScript, at the place where
	// the parser of JavaScript stops.
	typeHere = lazy.Regexp(`^(?:(\??:\s*(?:[\w$.]+(?:<[^<>]*>|\[\])*|[{(\[]))|((?:as|satisfies)\s+[\w$.]+)|(<[\w$.,\s|\[\]]+>)|(!)(?:[.;,)\]\[]|\s*$)|(enum\s+[\w$]+)|[{\[][^=;]*[}\]]\s*(:\s*[\w{(\[])|this\s*(:\s*[\w$]+))`)
	// typeBefore matches its keywords before the place.
	typeBefore = lazy.Regexp(`\b(?:interface|type|declare|namespace|abstract|private|public|protected|readonly|implements)\s+$`)
	// argumentsBefore matches the arguments of a generic type before the place:
	// to JavaScript they are comparisons.
	argumentsBefore = lazy.Regexp(`[\w$](<[\w$.,\s|\[\]]+)$`)
	word            = lazy.Regexp(`^[\w$]+`)
)

// typeAt returns the part of the code that is TypeScript at a place, or an
// empty string.
func typeAt(code string, line, column int) string {
	lines := strings.Split(code, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	text := []rune(lines[line-1])
	if column < 1 || column > len(text) {
		return ""
	}
	before, here := string(text[:column-1]), string(text[column-1:])
	if m := typeHere().FindStringSubmatch(here); m != nil {
		return closed(strings.Join(m[1:], "")) // only one of them matches
	}
	if m := argumentsBefore().FindStringSubmatch(before); m != nil && here[0] == '>' {
		return m[1] + ">"
	}
	if keyword := typeBefore().FindString(before); keyword != "" {
		return keyword + word().FindString(here)
	}
	return ""
}

// closed completes a part that ends with an opening bracket.
func closed(part string) string {
	for _, pair := range []string{"{}", "()", "[]"} {
		if strings.HasSuffix(part, pair[:1]) {
			return part + "…" + pair[1:]
		}
	}
	return part
}
