package install

import (
	"strings"

	"mcp-all-in-one/internal/env"
)

// A value builds a text for the config file. Text from outside is escaped; a
// secret becomes a reference to the store.
type value struct {
	done strings.Builder // escaped text and references
	run  strings.Builder // text since the last reference
}

func (v *value) text(s string) { v.run.WriteString(s) }

// secret adds a reference to the store. The text before it must not combine
// with the reference to another variable.
func (v *value) secret(name string) error {
	run := v.run.String()
	open := strings.LastIndex(run, "${")
	if strings.HasSuffix(run, "$") || open >= 0 && !strings.Contains(run[open:], "}") {
		return fail(env.CodeRecord, "a secret follows %q: refused", "密钥之前是 %q：已拒绝", Show(run))
	}
	v.done.WriteString(literal(run) + "${secret:" + name + "}")
	v.run.Reset()
	return nil
}

func (v *value) String() string { return v.done.String() + literal(v.run.String()) }

// literal escapes a text from outside so that the config file contains no
// variable in it.
func literal(s string) string {
	var b strings.Builder
	for {
		start := strings.Index(s, "${")
		if start < 0 {
			break
		}
		end := strings.IndexByte(s[start:], '}')
		if end < 0 {
			break
		}
		b.WriteString(s[:start] + "$" + s[start:start+end+1])
		s = s[start+end+1:]
	}
	return b.String() + s
}
