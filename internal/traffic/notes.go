package traffic

import (
	"regexp"
	"slices"

	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/lazy"
)

// remarks are the notes of an entry in both languages; zh is nil if it would be
// the same.
type remarks struct{ en, zh []string }

// Bridged returns the note on a call between two eras.
func Bridged(client, server string) string { return bridged(client, server).String() }

// Spoken returns the note on a call between two versions of one era.
func Spoken(client, server string) string { return spoken(client, server).String() }

func bridged(client, server string) i18n.Text {
	return i18n.New("bridged from %s to %s: the other era", "从 %s 转换为 %s：属于另一代协议", client, server)
}

func spoken(client, server string) i18n.Text {
	return i18n.New("client speaks %s, server %s", "客户端使用 %s，服务器使用 %s", client, server)
}

// Recalled is the note on a call that was answered from the cache.
var Recalled = recalled().String()

func recalled() i18n.Text {
	return i18n.New("answered from the cache", "由缓存应答")
}

// Rehearsed is the note on a call that a rehearsal answered instead of the
// server.
var Rehearsed = rehearsed().String()

func rehearsed() i18n.Text {
	return i18n.New("rehearsed: the server was not called", "演练：未调用服务器")
}

// Confined returns the note about a call of a confined server that failed with a
// permission error.
func Confined(server string) string { return confined(server).String() }

func confined(server string) i18n.Text {
	return i18n.New("confined; `sandbox learn %s` shows what it wants", "已受沙箱限制；`sandbox learn %s` 可显示它需要什么", server)
}

// known are the notes that have a Chinese form. An entry keeps the English notes,
// which filters search.
var known = []struct {
	form func() *regexp.Regexp
	say  func(of []string) i18n.Text
}{
	{lazy.Regexp(`^bridged from (.*) to (.*): the other era$`), func(of []string) i18n.Text { return bridged(of[0], of[1]) }},
	{lazy.Regexp(`^client speaks (.*), server (.*)$`), func(of []string) i18n.Text { return spoken(of[0], of[1]) }},
	{lazy.Regexp(`^answered from the cache$`), func([]string) i18n.Text { return recalled() }},
	{lazy.Regexp("^confined; `sandbox learn (.*)` shows what it wants$"), func(of []string) i18n.Text { return confined(of[0]) }},
	{lazy.Regexp(`^rehearsed: the server was not called$`), func([]string) i18n.Text { return rehearsed() }},
}

func remarksOf(notes []string) remarks {
	r := remarks{en: slices.Clone(notes)}
	for i, note := range notes {
		for _, k := range known {
			if m := k.form().FindStringSubmatch(note); m != nil {
				if r.zh == nil {
					r.zh = slices.Clone(notes)
				}
				r.zh[i] = k.say(m[1:]).In(i18n.Chinese)
			}
		}
	}
	return r
}
