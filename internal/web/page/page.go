// Package page writes small pages for a browser that is not at the console.
package page

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"html"
	"net/http"

	"mcp-all-in-one/internal/i18n"
)

const shell = `<!doctype html>
<html lang="%s"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<style nonce="%s">body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:3rem auto;padding:0 1rem;color-scheme:light dark}input{font:inherit;width:100%%}button{font:inherit}output{font-size:2rem;letter-spacing:.1em}</style>
<main>%s</main>
</html>
`

// Write sends a page with a title and an HTML body; without a body, the page
// shows the title.
func Write(w http.ResponseWriter, lang i18n.Lang, status int, title i18n.Text, body string) {
	text := html.EscapeString(title.In(lang))
	body = cmp.Or(body, "<p>"+text+"</p>")
	nonce, tag := rand.Text(), "en"
	if lang == i18n.Chinese {
		tag = "zh"
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'nonce-"+nonce+"'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer, browsers do not send the origin of the form
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, shell, tag, text, nonce, body)
}
