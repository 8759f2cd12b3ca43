package stdio

import (
	"slices"
	"strings"
)

// directCommands are bare names of shells, which are started directly.
var directCommands = []string{"cmd", "powershell", "pwsh"}

// needsShell reports whether Windows starts a command through "cmd /c": most
// bare names (npx, npm, uvx) are scripts there. A path, relative or absolute,
// a program with its extension, and a shell are started directly.
func needsShell(command string) bool {
	if strings.ContainsAny(command, `/\:`) {
		return false
	}
	lower := strings.ToLower(command)
	return !strings.HasSuffix(lower, ".exe") && !strings.HasSuffix(lower, ".com") &&
		!slices.Contains(directCommands, lower)
}

// shellLine returns the command line with which cmd.exe runs argv. It escapes all
// characters that are special to cmd.exe, so that each argument stays one argument.
func shellLine(argv []string) string {
	var b strings.Builder
	b.WriteString(`cmd.exe /d /s /c "`)
	for i, arg := range argv {
		if i > 0 {
			b.WriteByte(' ')
			arg = quoteArgument(arg)
		}
		for _, c := range []byte(arg) {
			if strings.IndexByte(`()%!^"<>&|;, `, c) >= 0 && (i == 0 || c != ' ') {
				b.WriteByte('^')
			}
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// quoteArgument quotes one argument as CommandLineToArgvW reads it:
// backslashes count only before a quote.
func quoteArgument(arg string) string {
	var b strings.Builder
	b.WriteByte('"')
	slashes := 0
	for _, c := range []byte(arg) {
		switch c {
		case '\\':
			slashes++
			continue
		case '"':
			b.WriteString(strings.Repeat(`\`, 2*slashes+1))
		default:
			b.WriteString(strings.Repeat(`\`, slashes))
		}
		slashes = 0
		b.WriteByte(c)
	}
	b.WriteString(strings.Repeat(`\`, 2*slashes))
	b.WriteByte('"')
	return b.String()
}
