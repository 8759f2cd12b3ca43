// Package appframe serves the page around an app that an MCP server provides.
package appframe

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// Path is the URL path of the outer frame of an app.
//
// An app must not share an origin with the console: it would have the console's
// login and API. A second port or host name is also a separate origin, but does not
// work: cookies ignore ports, a second name of this gateway serves the API again,
// and neither is reachable if the console is behind a proxy. The frame is therefore
// sandboxed by its own header. Such a page has an opaque origin, which equals no
// other origin and has neither cookies nor storage. A browser that opens the
// address without our page around it gets the same.
const Path = "/ui/app-frame"

// appCSP holds the origins that an app asks for in the metadata of its
// resource.
type appCSP struct {
	ConnectDomains  []string `json:"connectDomains"`
	ResourceDomains []string `json:"resourceDomains"`
	FrameDomains    []string `json:"frameDomains"`
	BaseURIDomains  []string `json:"baseUriDomains"`
}

// appSource matches an origin that is safe to insert into a policy.
var appSource = lazy.Regexp(`^(https?|wss?)://(\*\.)?[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)*(:([0-9]{1,5}|\*))?(/[A-Za-z0-9._~%/-]*)?$`)

// sources returns the domains that may appear in a policy. It leaves out the
// gateway itself.
func sources(domains []string, self string, fixed ...string) string {
	for _, d := range domains {
		u, err := url.Parse(d)
		if !appSource().MatchString(d) || err == nil && strings.EqualFold(u.Host, self) {
			continue
		}
		fixed = append(fixed, d)
	}
	if len(fixed) == 0 {
		return "'none'"
	}
	return strings.Join(fixed, " ")
}

// policy returns a policy that allows what the app asks for and nothing else.
// The inner frame has no URL, so it inherits this policy.
//
// An app that asks for nothing may not compile text (unsafe-eval), as the MCP
// Apps SDK expects of hosts. Libraries loaded from another host may need that:
// the map library of the published server-map does, and an app has no other way
// to ask for it.
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

// appFrame passes messages between the console and the inner frame, which
// contains the app. It reports violations of the policy to the console.
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

// Serve answers with the frame. The app's request determines the policy.
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
