package clients

import (
	"strconv"
	"time"
)

// rules describe how the meaning of a client's file differs from ours. They
// come from the client's documentation.
type rules struct {
	// unit is the unit of its timeout; 0 if that timeout does not apply to
	// calls.
	unit time.Duration
	// vars are the variable forms that it replaces; any other text is literal.
	vars variables
	// only is the only key in which it replaces variables; empty means every
	// key.
	only string
	// off is the path of its list of disabled servers.
	off []string
}

// ourRules apply to a file of an unknown client.
var ourRules = rules{unit: time.Millisecond, vars: varOwn | varInput | varSecrets}

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
	"opencode":       {vars: varCurly}, // its timeout bounds only the listing of tools
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

// longestTimeout is the maximum timeout in our file.
const longestTimeout = 24 * time.Hour

// takeTimeout converts a timeout that is given in unit; false if it cannot be
// expressed.
func (t *Translation) takeTimeout(v any, unit time.Duration) bool {
	n, number := v.(float64)
	switch {
	case unit == 0 || number && (n <= 0 || n > float64(longestTimeout/unit)):
		return false
	case number && unit == time.Second:
		v = strconv.FormatFloat(n, 'f', -1, 64) + "s"
	}
	t.entry["timeout"] = v // a plain number means milliseconds here, too
	return true
}
