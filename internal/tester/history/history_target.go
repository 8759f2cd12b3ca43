package history

import (
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/probe"
)

// secretWords occur in the names of flags and parameters whose values are
// secret.
var secretWords = []string{"token", "secret", "password", "passwd", "apikey", "api-key", "api_key", "credential", "auth"}

func isSecretName(name string) bool {
	name = strings.ToLower(name)
	return name == "key" || slices.ContainsFunc(secretWords, func(word string) bool { return strings.Contains(name, word) })
}

// Redacted returns the target without values that are secret by their name:
// values of flags such as --token, and passwords and parameters of a URL.
func (t *RunTarget) Redacted() *RunTarget {
	out := *t
	out.Command = redactCommand(t.Command)
	out.URL = redactURL(t.URL)
	return &out
}

func redactCommand(words []string) []string {
	out := slices.Clone(words)
	for i := range out {
		name, _, given := strings.Cut(out[i], "=")
		if header, value, ok := strings.Cut(out[i], ": "); ok && isSecretName(header) && value != "" {
			out[i] = header + ": " + probe.Hidden
			continue
		}
		if !isSecretName(strings.TrimLeft(name, "-")) {
			continue
		}
		switch {
		case given: // --token=x, TOKEN=x
			out[i] = name + "=" + probe.Hidden
		case strings.HasPrefix(name, "-") && i+1 < len(out) && !strings.HasPrefix(out[i+1], "-"):
			out[i+1] = probe.Hidden
		}
	}
	return out
}

func redactURL(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return text
	}
	if u.User != nil {
		u.User = url.User(probe.Hidden)
	}
	query := u.Query()
	changed := u.User != nil
	for name := range query {
		if isSecretName(name) {
			query.Set(name, probe.Hidden)
			changed = true
		}
	}
	if !changed {
		return text
	}
	u.RawQuery = query.Encode()
	return u.String()
}

// Complete reports that nothing was redacted, so that the target can be used
// again.
func (t *RunTarget) Complete() bool {
	return !slices.ContainsFunc(t.Command, func(word string) bool { return strings.Contains(word, probe.Hidden) }) &&
		!strings.Contains(t.URL, url.QueryEscape(probe.Hidden))
}

// String returns a readable name of the target.
func (t *RunTarget) String() string {
	switch {
	case len(t.Command) > 0:
		return strings.Join(t.Command, " ")
	case t.URL != "":
		return t.URL
	case t.Server != "":
		return t.Server
	}
	return "gateway " + t.Schema
}
