package jsonrpc

import "strings"

// methodName returns the text of a method member. It does not allocate for
// well-known names.
func methodName(raw []byte) string {
	if name, ok := names[string(raw[1:len(raw)-1])]; ok {
		return name
	}
	return unquote(raw)
}

var names = func() map[string]string {
	m := make(map[string]string)
	for name := range strings.FieldsSeq(`
		initialize ping server/discover completion/complete logging/setLevel
		tools/list tools/call prompts/list prompts/get
		resources/list resources/read resources/templates/list resources/subscribe resources/unsubscribe
		roots/list sampling/createMessage elicitation/create subscriptions/listen
		tasks/list tasks/get tasks/result tasks/cancel tasks/update script/call
		notifications/initialized notifications/cancelled notifications/progress notifications/message
		notifications/tools/list_changed notifications/prompts/list_changed notifications/roots/list_changed
		notifications/resources/list_changed notifications/resources/updated
		notifications/elicitation/complete notifications/tasks/status`) {
		m[name] = name
	}
	return m
}()
