package clients

import (
	"strconv"
	"time"
)

// rules are how a client means what stands in its file, where that differs
// from ours. They are taken from its documentation.
type rules struct {
	// unit is what its timeout counts; 0 when that timeout is not one of calls.
	unit time.Duration
	// vars are the variables that it replaces; any other text is literal.
	vars variables
	// only is the one key whose texts it replaces them in; empty is every key.
	only string
	// off is the path of a list of servers that it does not use.
	off []string
}

// ourRules are those of a file that no client is known for: our own.
var ourRules = rules{unit: time.Millisecond, vars: varOwn | varInput}

var clientRules = map[string]rules{
	"claude-desktop": {unit: time.Millisecond},
	"claude-code":    {unit: time.Millisecond, vars: varBraces},
	"cursor":         {unit: time.Millisecond, vars: varEnv | varEditor},
	"vscode":         {unit: time.Millisecond, vars: varEnv | varEditor | varInput},
	"copilot":        {unit: time.Millisecond, vars: varBraces | varDollar},
	"windsurf":       {unit: time.Millisecond, vars: varEnv | varFile},
	"zed":            {unit: time.Second},
	"codex":          {unit: time.Second},
	"gemini":         {unit: time.Millisecond, vars: varBraces | varDollar, off: []string{"mcp", "excluded"}},
	"opencode":       {vars: varCurly}, // its timeout bounds the fetching of tools
	"cline":          {unit: time.Second, vars: varEnv},
	"lmstudio":       {unit: time.Millisecond},
	"kiro":           {unit: time.Millisecond, vars: varBraces},
	"goose":          {unit: time.Second, vars: varBraces | varDollar, only: "headers"},
	"continue":       {unit: time.Millisecond, vars: varSecrets},
	"crush":          {unit: time.Second, vars: varBraces | varDollar | varShell},
}

func (c *Client) rules() rules {
	if r, ok := clientRules[c.ID]; ok {
		return r
	}
	return ourRules
}

// longestTimeout is the longest that our file takes.
const longestTimeout = 24 * time.Hour

// takeTimeout takes over a timeout that counts unit; false when it has no place
// here.
func (t *Translation) takeTimeout(v any, unit time.Duration) bool {
	n, number := v.(float64)
	switch {
	case unit == 0 || number && (n <= 0 || n > float64(longestTimeout/unit)):
		return false
	case number && unit == time.Second:
		v = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	t.entry["timeout"] = v // a bare number counts milliseconds here too
	return true
}
