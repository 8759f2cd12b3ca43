package catalog

import (
	"net/url"
	"slices"
	"strings"
	"testing"
)

// TestDisabledResource asks for a resource that is switched off, in every
// spelling that a server may treat as the same URI.
func TestDisabledResource(t *testing.T) {
	off, on := false, true
	rules := Rules{Items: map[string]Override{
		"file:///dir/secret": {Enabled: &off}, "HTTP://Example.com:80/%7euser/x": {Enabled: &off},
		"db://t/{table}": {Enabled: &off}, "db://t/open": {Enabled: &on}, "s3://b/{+key}": {Enabled: &off},
	}}
	src := withResources(server("a"), []string{resourceItem("file:///dir/secret"), resourceItem("file:///dir/public"), resourceItem("db://t/listed")},
		[]string{templateItem("db://t/{table}"), templateItem("s3://b/docs/{id}"), templateItem("file:///dir/{name}")})
	src.Policy.Resources = rules
	c := Merge([]Source{src}, Options{})
	reached := func(uri string) bool {
		ref, miss := c.Resource(uri)
		return miss == nil && ref.Server == "a" || miss != nil && len(miss.Candidates) > 0
	}
	for _, uri := range []string{
		"file:///dir/secret", "file:///dir/%73ecret", "file:///dir/%73%65%63%72%65%74", "FILE:///dir/secret", "file://localhost/dir/secret",
		"file://LOCALHOST/dir/secret", "file:/dir/secret", "file:///dir/./secret", "file:///dir/x/../secret", "file:///../dir/secret", "file:///dir/%2e/secret",
		"file:///dir/x/%2E%2e/secret", "file:///dir/x%2F..%2Fsecret", "file:///dir%2fsecret", "file:///dir//secret", "file:////dir/secret", "file:///dir/secret/",
		"file:///dir/secret?", "file:///dir/secret?x", "file:///dir/secret#", "file:///dir/secret#x", "file:///dir/secret%3fx/../secret",
		"file://elsewhere/dir/secret", "file://127.0.0.1/dir/secret", "file://u@localhost/dir/secret", "file://[::1]:1/dir/%73ecret", "file://elsewhere/x/../dir/secret",
		"file:///dir/secret%00", "file:///dir/secret%00.txt", "file:///dir/secret\x00", "file:///dir/%2573ecret", "file:///dir/%25252573ecret", "file:///dir/%%373ecret",
		"file:///dir/%73ecret%00%zz", `file:///dir\secret`, "file:///dir%5csecret", `file:\\\dir\secret`, "file:///dir/se\tcret", "fi\nle:///dir/secret", "file:///dir/secret\r", " \x01file:///dir/secret ",
		"http://example.com/%257euser/x", "http://example.com/%25257Euser/x",
		"http://example.com/~user/x", "http://EXAMPLE.com/%7Euser/x", "http://example.com:/~user/x", "http://example.com/a/../~user/x",
		"db://t/users", "db://t/%75sers", "DB://T/users", "s3://b/any/key", "s3://b/docs/a/../../k/e",
	} {
		for _, asked := range []string{uri, "a__" + uri, AliasURI("a", uri)} {
			t.Run("door/16 off "+asked, func(t *testing.T) {
				if reached(asked) {
					t.Error("leads to the server")
				}
			})
		}
	}
	for _, uri := range []string{
		"file:///dir/public", "file:///dir/%70ublic", "file:///dir/%2570ublic", "file:///dir/a%zz", "file:///dir/secret2", "file:///secret", "http://example.com/~user/y", "http://example.com:8080/~user/x",
		"db://t/open", "db://t/%6fpen", "db://t/listed", "db://t/a/b", "s3://b/docs/7", "other:dir/secret",
	} {
		for _, asked := range []string{uri, "a__" + uri, AliasURI("a", uri)} {
			t.Run("door/16 on "+asked, func(t *testing.T) {
				if !reached(asked) {
					t.Error("does not lead to the server")
				}
			})
		}
	}
	t.Run("door/16 lists", func(t *testing.T) {
		for _, it := range listed(t, c, Resources, View{}) {
			if strings.Contains(it.URI, "secret") {
				t.Errorf("%s is listed", it.URI)
			}
		}
		equalTo(t, 2, len(listed(t, c, Resources, View{})))
		equalTo(t, 2, len(listed(t, c, Templates, View{})))
	})
	t.Run("door/16 patterns", func(t *testing.T) {
		src.Policy.Resources = Rules{Allow: []string{"file:///pub/*"}, Deny: []string{"file:///pub/%70rivate*"}}
		c = Merge([]Source{src}, Options{})
		for uri, want := range map[string]bool{
			"file:///pub/a": true, "file:///p%75b/a": true, "file:///pub/../etc/passwd": false, "file:///pub/..%2fetc/passwd": false, "file:///pub/privates": false, "file:///pub/%70rivates": false,
		} {
			if reached(uri) != want {
				t.Errorf("%s leads to the server: %v", uri, !want)
			}
		}
	})
}

// TestDisabledTemplate asks for what a template makes that is switched off, by
// URIs that another template makes as they are written.
func TestDisabledTemplate(t *testing.T) {
	off := false
	src := withResources(server("a"), nil, []string{templateItem("file:///public/{path}"), templateItem("file:///private/{path}"),
		templateItem("file:///a b/{path}"), templateItem("db://t/{table}"), templateItem("db://t/open-{name}")})
	src.Policy.Resources = Rules{Items: map[string]Override{
		"file:///private/{path}": {Enabled: &off}, "file:///a%20b/{path}": {Enabled: &off}, "db://t/{table}": {Enabled: &off},
	}}
	for _, other := range [][]Source{nil, {withResources(server("b"), []string{resourceItem("file:///x")}, nil)}} {
		c := Merge(append([]Source{src}, other...), Options{})
		for uri, want := range map[string]bool{
			"file:///public/key": true, "file:///public/a%20b": true, "file:///public/a%2Fb": true, "file:///public/x%2f..%2Fkey": true, "file:///private2/key": true,
			"db://t/open-1": true, "db://t/open-%31": true, "db://t/open-a%20b": true,
			"file:///private/key": false, "file:///public/../private/key": false, "file:///public/..%2Fprivate/key": false,
			"file:///public/..%2fprivate%2fkey": false, "file:///public/%2e%2e%2fprivate%2fkey": false, "file:///public/..%252fprivate%252fkey": false,
			"file:///public/..%5cprivate%5ckey": false, `file:///public/..\private\key`: false, "file://elsewhere/public/..%2fprivate%2fkey": false,
			"file:///public/..%2fprivate%2fsub%2fkey": false, "file:///public/..%2fprivate%2fkey%00": false, "file:///public/..%2fprivate%2fkey%3fx": false,
			"file:///public/..%2fa b%2fkey": false, "file:///public/..%2fa%20b%2fkey": false, "file:///a%20b/key": false,
			"db://t/users": false, "db://t/%6fpen": false, "db://t/open-1%2f..%2fusers": false,
		} {
			for _, asked := range []string{uri, "a__" + uri, AliasURI("a", uri)} {
				t.Run("door/16 template "+asked, func(t *testing.T) {
					ref, miss := c.Resource(asked)
					if got := miss == nil && ref.Server == "a" || miss != nil && slices.Contains(miss.Candidates, "a"); got != want {
						t.Errorf("leads to the server: %v", got)
					}
				})
			}
		}
	}
}

// TestLooseURI reads URIs that were encoded many times, in linear time.
func TestLooseURI(t *testing.T) {
	for uri, want := range map[string]string{
		"file:///" + strings.Repeat("%25", 1<<20) + "73": "file:///" + strings.Repeat("%", 1<<20-1) + "s",
		"file:///%" + strings.Repeat("25", 1<<20) + "73": "file:///s",
		"file:///" + strings.Repeat("%2", 1<<20) + "5":   "file:///" + strings.Repeat("%2", 1<<20-1) + "%",
		"file://h/a%2525zz":                              "file:///a%zz",
		"a:%253A%252525":                                 "a::%",
	} {
		if got := looseURI(uri); got != want {
			t.Errorf("%.40q is %.40q, want %.40q", uri, got, want)
		}
	}
}

func FuzzNormalURI(f *testing.F) {
	for _, seed := range []string{"file:///%73ecret", "HTTP://H:80/a/./b/../c?x#y", "a:b", "..", "%", "file://x@[::1]:1/%2e%2E/", "mailto:a@b", "HTTP:/.//b:80"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, uri string) {
		once := normalURI(uri)
		_, broken := url.PathUnescape(uri)
		if again := normalURI(once); again != once && broken == nil {
			t.Errorf("%q is %q, then %q", uri, once, again)
		}
		_ = looseURI(uri)
	})
}
