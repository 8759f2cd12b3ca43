package values

import (
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"strings"
	"unicode"

	"mcp-all-in-one/internal/access"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/web/page"
)

// maxForm bounds the size of a submitted form.
const maxForm = 256 << 10

// A Page serves the paths below Path.
type Page struct {
	Book *Book
	// Has reports whether a user has a value other than the refused one, which is
	// given by its digest. Such a value must not be replaced here.
	Has func(user, name, refused string) bool
	// Store saves a value of a user.
	Store func(user, name, value string) error
	// Current returns the present state of a principal; false if its credential
	// is no longer valid.
	Current func(access.Principal) (access.Principal, bool)
	Log     *slog.Logger
}

// ServeHTTP shows the form of a ticket, or stores the submitted value.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	v := view{w: w, lang: i18n.ByTag(r.Header.Get("Accept-Language"))}
	text := strings.TrimPrefix(r.URL.Path, Path)
	q, ok := p.Book.find(text)
	if ok {
		_, ok = p.Current(q.Who)
	}
	ok = ok && !p.Has(q.Who.ID, q.Name, q.Refused)
	switch {
	case !ok:
		v.write(http.StatusNotFound, gone, "")
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		v.form(http.StatusOK, q, q.fault())
	case r.Method != http.MethodPost:
		w.Header().Set("Allow", "GET, HEAD, POST")
		v.write(http.StatusMethodNotAllowed, i18n.New("Use GET or POST.", "请使用 GET 或 POST。"), "")
	default:
		p.post(v, r, text, q)
	}
}

// fault returns the message that the server refused the stored value.
func (q *Question) fault() i18n.Text {
	if q.Refused == "" {
		return i18n.Text{}
	}
	return i18n.New("%s refused the value that is stored now. Enter another one.", "%s 拒绝了现在保存的值。请输入另一个。", q.Server)
}

var gone = i18n.New("This link was used already, or is too old. Let your program call the tool again.", "此链接已使用或已过期。请让你的程序再次调用该工具。")

func (p *Page) post(v view, r *http.Request, text string, q Question) {
	r.Body = http.MaxBytesReader(v.w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		v.form(http.StatusBadRequest, q, i18n.New("That cannot be read, or is too long.", "无法读取，或内容过长。"))
		return
	}
	value := strings.TrimSpace(r.PostForm.Get("value"))
	switch {
	case value == "":
		v.form(http.StatusBadRequest, q, i18n.New("Enter a value.", "请输入值。"))
		return
	case strings.ContainsFunc(value, unicode.IsControl):
		v.form(http.StatusBadRequest, q, i18n.New("A value has no line breaks in it.", "值中不能有换行。"))
		return
	}
	if _, ok := p.Book.take(text); !ok {
		v.write(http.StatusNotFound, gone, "")
		return
	}
	if err := p.Store(q.Who.ID, q.Name, value); err != nil {
		p.Log.Warn("a value was not stored", "upstream", q.Server, "name", q.Name, "err", err)
		v.write(http.StatusInternalServerError, i18n.New("The value was not stored; the log of the gateway says why.", "未能保存该值；原因见网关日志。"), "")
		return
	}
	p.Log.Info("a value was stored", "upstream", q.Server, "name", q.Name, "principal", q.Who.ID)
	v.write(http.StatusOK, i18n.New("The value is stored. Go back to your program; you can close this page.", "已保存。请回到你的程序；可以关闭此页。"), "")
}

// A view is a response to a browser.
type view struct {
	w    http.ResponseWriter
	lang i18n.Lang
}

const formHTML = `<h1>%s</h1>
<p>%s</p>
<p>%s</p>
<form method="post"><p><label>%s <input type="password" name="value" autocomplete="off" required autofocus></label></p>
<p role="alert">%s</p>
<p><button>%s</button></p></form>`

func (v view) form(status int, q Question, fault i18n.Text) {
	what := "<code>" + html.EscapeString(q.Name) + "</code>"
	if q.Description != "" {
		what = html.EscapeString(q.Description) + " (" + what + ")"
	}
	title := i18n.New("%s needs your %s", "%s 需要由你设置的 %s", q.Server, q.Name)
	body := fmt.Sprintf(formHTML, html.EscapeString(title.In(v.lang)), what,
		html.EscapeString(i18n.New("It is kept encrypted by the gateway and used for the calls of %s alone. Enter it only if a program of yours has just led you here.",
			"网关将其加密保存，仅用于 %s 的调用。仅当你自己的程序刚刚引导你到此页时才输入。", q.Who.Name).In(v.lang)),
		i18n.New("Value", "值").In(v.lang), html.EscapeString(fault.In(v.lang)), i18n.New("Save", "保存").In(v.lang))
	v.write(status, title, body)
}

// write sends a page with a body, or only with its title.
func (v view) write(status int, title i18n.Text, body string) {
	page.Write(v.w, v.lang, status, title, body)
}
