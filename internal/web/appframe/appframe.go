// Package appframe is the page around an app that a server brings along.
package appframe

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"mcp-all-in-one/internal/i18n"
)

// Path is the outer frame of an app that a server brings along.
//
// An app must not share an origin with the console: it would have its login and
// its API. A second port or host name is an origin of its own, too, and yet the
// wrong one: cookies do not know ports, a second name of this gateway has its
// API again, and neither is reachable where the console stands behind a proxy.
// The frame is therefore sandboxed by its own header. Such a page has an opaque
// origin, which equals no other and has neither cookies nor storage; a browser that
// opens its address without our page around it gets the same.
const Path = "/ui/app-frame"

// appCSP are the origins that an app asks for, as the metadata of its resource
// has them.
type appCSP struct {
	ConnectDomains  []string `json:"connectDomains"`
	ResourceDomains []string `json:"resourceDomains"`
	FrameDomains    []string `json:"frameDomains"`
	BaseURIDomains  []string `json:"baseUriDomains"`
}

// appSource is an origin that can stand in a policy and nothing else can.
var appSource = regexp.MustCompile(`^(https?|wss?)://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:([0-9]{1,5}|\*))?(/[A-Za-z0-9._~%/-]*)?$`)

// sources returns the domains that may stand in a policy. The gateway itself
// is none of them.
func sources(domains []string, self string, fixed ...string) string {
	for _, d := range domains {
		u, err := url.Parse(d)
		if !appSource.MatchString(d) || err == nil && strings.EqualFold(u.Host, self) {
			continue
		}
		fixed = append(fixed, d)
	}
	if len(fixed) == 0 {
		return "'none'"
	}
	return strings.Join(fixed, " ")
}

// policy is what the app asks for and no more. The frame inside has no address,
// so it inherits this one.
//
// The policy of an app that asks for nothing does not let it compile text, as
// the MCP Apps SDK expects of hosts. Libraries that are loaded from another host
// may need that: the map library of the published server-map does, and an app
// cannot ask for it in other words.
func (c *appCSP) policy(self string) string {
	code := []string{"'unsafe-inline'", "blob:", "data:"}
	if sources(c.ResourceDomains, self) != "'none'" {
		code = append(code, "'unsafe-eval'")
	}
	return strings.Join([]string{
		"sandbox allow-scripts allow-forms",
		"default-src 'none'",
		"script-src " + sources(c.ResourceDomains, self, code...),
		"worker-src " + sources(c.ResourceDomains, self, "blob:", "data:"),
		"style-src " + sources(c.ResourceDomains, self, "'unsafe-inline'", "blob:", "data:"),
		"img-src " + sources(c.ResourceDomains, self, "blob:", "data:"),
		"font-src " + sources(c.ResourceDomains, self, "blob:", "data:"),
		"media-src " + sources(c.ResourceDomains, self, "blob:", "data:"),
		"connect-src " + sources(c.ConnectDomains, self, "blob:", "data:"),
		"frame-src " + sources(c.FrameDomains, self),
		"base-uri " + sources(c.BaseURIDomains, self),
		"form-action 'none'",
		"frame-ancestors 'self'",
	}, "; ")
}

// appFrame passes messages between the console and the frame inside, which has
// the app. What the policy refuses is told to the console.
const appFrame = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>App</title>
<style>html, body, iframe { margin: 0; border: 0; width: 100%; height: 100%; display: block; }</style>
<script>
"use strict";
const watch = "<script>addEventListener('securitypolicyviolation', (e) => parent.postMessage({ jsonrpc: '2.0', method: 'ui/notifications/sandbox-denied', params: { directive: e.effectiveDirective, uri: e.blockedURI } }, '*'))<\/script>";
let inner;
function show(html) {
  inner?.remove();
  inner = document.createElement("iframe");
  inner.sandbox = "allow-scripts allow-forms";
  inner.title = "App";
  inner.srcdoc = /<head[^>]*>/i.test(html) ? html.replace(/<head[^>]*>/i, (head) => head + watch) : html.replace(/^\s*(<!doctype[^>]*>)?/i, (type) => type + watch);
  document.body.append(inner);
}
addEventListener("message", (e) => {
  if (e.source === parent) {
    if (e.data?.method === "ui/notifications/sandbox-resource-ready") show(String(e.data.params.html));
    else inner?.contentWindow.postMessage(e.data, "*");
  } else if (inner && e.source === inner.contentWindow) parent.postMessage(e.data, "*");
});
addEventListener("DOMContentLoaded", () => parent.postMessage({ jsonrpc: "2.0", method: "ui/notifications/sandbox-proxy-ready", params: {} }, "*"));
</script><body></body></html>
`

// Serve answers with the frame, whose policy is what the app asks for.
func Serve(w http.ResponseWriter, r *http.Request) error {
	var csp appCSP
	if asked := r.URL.Query().Get("csp"); asked != "" {
		if err := json.Unmarshal([]byte(asked), &csp); err != nil {
			return i18n.Errorf("reading the policy of an app: %w", "读取应用的策略失败：%w", err)
		}
	}
	h := w.Header()
	h.Set("Content-Security-Policy", csp.policy(r.Host))
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write([]byte(appFrame))
	return nil
}
