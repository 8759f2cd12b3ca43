package edit

import (
	"net/url"
	"slices"
	"strings"

	"mcp-all-in-one/internal/config"
	"mcp-all-in-one/internal/config/document"
	"mcp-all-in-one/internal/config/layout"
	"mcp-all-in-one/internal/config/problem"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Redacted replaces a secret in the result of Redact.
const Redacted = "[REDACTED]"

// Redact returns a file as JSON with its secrets replaced: values of env and
// headers unless they are only variables, keys, and URLs that contain a
// password or a token. Writing the result back keeps the secrets.
func Redact(data []byte) ([]byte, error) {
	c := &problem.List{}
	text, ok := document.Decode(data, c)
	if !ok {
		return nil, c.Err()
	}
	root := document.Parse(text, document.FormatOf("", text), c)
	if root == nil {
		return nil, c.Err()
	}
	root = redacted(root, false)
	// Anyone who knows the address of a webhook can send messages to its
	// receiver.
	if address := root.Get("inbox").Get("webhook").Get("url"); address != nil && address.Kind == document.KindString && !onlyVariables(address.Text) {
		address.Text = Redacted
	}
	return root.AppendJSON(nil, "", "  "), nil
}

// Redacted returns the content before the draft as Redact does; an empty object
// if there is none.
func (d *Draft) Redacted() ([]byte, error) {
	if d.old == nil {
		return []byte("{}"), nil
	}
	return Redact(d.data)
}

// secretHolders are the keys whose values are objects of secrets.
var secretHolders = []string{"env", "environment", "envs", "headers", "customHeaders", "http_headers", "requestHeaders"}

// secretKeys are the keys whose value is a secret, at any depth.
var secretKeys = []string{"key", "apiKey", "api_key", "token", "password", "secret", "clientSecret", "client_secret", "CLIENT_SECRET"}

func redacted(n *document.Node, secret bool) *document.Node {
	c := *n
	switch n.Kind {
	case document.KindObject:
		c.Members = slices.Clone(n.Members)
		for i, m := range c.Members {
			holds := secret || slices.Contains(secretHolders, m.Key) && m.Value.Kind == document.KindObject ||
				slices.Contains(secretKeys, m.Key) && m.Value.Kind < document.KindArray
			c.Members[i].Value = redacted(m.Value, holds)
		}
	case document.KindArray:
		c.Items = slices.Clone(n.Items)
		for i, v := range c.Items {
			c.Items[i] = redacted(v, secret)
		}
	case document.KindString:
		if secret && !onlyVariables(n.Text) || secretURL(n.Text) {
			c.Text = Redacted
		}
	case document.KindNumber:
		if secret {
			c.Kind, c.Text = document.KindString, Redacted
		}
	}
	return &c
}

var (
	placeholder = lazy.Regexp(`\$\{[^}]*\}`)
	scheme      = lazy.Regexp(`^(?i:bearer|basic|token|apikey|digest)?$`)
)

// onlyVariables reports whether a text has only variables without defaults, and
// at most the name of an authentication scheme.
func onlyVariables(s string) bool {
	withDefault := func(v string) bool { return strings.Contains(v, ":-") }
	return !slices.ContainsFunc(placeholder().FindAllString(s, -1), withDefault) && scheme().MatchString(strings.TrimSpace(placeholder().ReplaceAllString(s, "")))
}

var secretParameter = lazy.Regexp(`(?i)key|token|secret|password|auth|sig`)

func secretURL(s string) bool {
	if !strings.Contains(s, "://") {
		return false
	}
	u, err := url.Parse(s)
	if err != nil {
		return config.HasPassword(s)
	}
	if p, ok := u.User.Password(); ok && !onlyVariables(p) {
		return true
	}
	for name, values := range u.Query() {
		if secretParameter().MatchString(name) && slices.ContainsFunc(values, func(v string) bool { return !onlyVariables(v) }) {
			return true
		}
	}
	return false
}

// unredact restores the secrets that Redact replaced. List items are matched by
// their name.
func unredact(n, old *document.Node) (*document.Node, error) {
	if n.Kind == document.KindString && n.Text == Redacted {
		if old == nil || old.Kind >= document.KindArray {
			return nil, i18n.Errorf("%s stands for a secret that the file does not have", "%s 代表的密钥不在文件中", Redacted)
		}
		c := *old
		c.Kept = true
		return &c, nil
	}
	c := *n
	c.Members, c.Items = slices.Clone(n.Members), slices.Clone(n.Items)
	var err error
	for i, m := range c.Members {
		if c.Members[i].Value, err = unredact(m.Value, old.Get(m.Key)); err != nil {
			return nil, i18n.Errorf("%s: %w", "%s：%w", m.Key, err)
		}
	}
	for i, v := range c.Items {
		if c.Items[i], err = unredact(v, oldItem(old, v, i)); err != nil {
			return nil, err
		}
	}
	return &c, nil
}

// keeps reports whether n contains a restored secret.
func keeps(n *document.Node) bool {
	return n.Kept || slices.ContainsFunc(n.Items, keeps) || slices.ContainsFunc(n.Members, func(m document.Member) bool { return keeps(m.Value) })
}

// keptElsewhere refuses a draft that would send a secret, which the writer has
// not seen, to another address than before.
func (d *Draft) keptElsewhere() error {
	before := layout.Below(d.old).ByID()
	after := layout.Below(d.root).ByID()
	for id, n := range after {
		if old := before[id]; old == nil || !keeps(n) || destination(old) == destination(n) {
			continue
		}
		return i18n.Errorf("server %q has another address than before, and a secret that is kept would be sent there: write its secrets again",
			"服务器 %q 的地址已更改，保留的密钥会被发送到新地址：请重新填写其密钥", id)
	}
	return nil
}

// destination returns where the secrets of an entry are sent: the origin of its
// address and the origin of its authorization server.
func destination(n *document.Node) [2]string {
	own := layout.OwnServer(n, "", &problem.List{})
	return [2]string{originOf(own.Get("url")), originOf(own.Get("auth").Get("issuer"))}
}

// originOf returns the origin of a URL. If the URL cannot be parsed, for
// example because its variables are not resolved, it returns the whole text.
func originOf(n *document.Node) string {
	if n == nil {
		return ""
	}
	u, err := url.Parse(n.Text)
	if err != nil || u.Host == "" {
		return n.Text
	}
	return strings.ToLower(u.Scheme + "://" + u.Host)
}

func oldItem(old, item *document.Node, i int) *document.Node {
	if old == nil {
		return nil
	}
	if name := document.ItemName(item); name != "" {
		for _, o := range old.Items {
			if document.ItemName(o) == name {
				return o
			}
		}
		return nil
	}
	if i < len(old.Items) {
		return old.Items[i]
	}
	return nil
}
