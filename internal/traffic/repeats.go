package traffic

// repeatsIn is how many calls Repeats looks at.
const repeatsIn = 1000

// Repeats counts the last calls to the tools of a schema's servers, without
// those of scripts and those that answer questions, and how many of them were
// followed by another call of the same tool by the same client. method is the one
// that calls a tool.
func (r *Recorder) Repeats(schema, method string) (calls, followed int) {
	if r == nil {
		return 0, 0
	}
	direct := func(c *Call) bool {
		return c.Hop == HopServer && c.Kind == KindCall && c.Method == method && c.Schema == schema && !c.FromServer && !c.Bench && !c.Answers && (c.Door == DoorSession || c.Door == DoorExec)
	}
	type client struct{ session, principal, name string }
	type tool struct{ server, name string }
	next := make(map[client]tool)
	list, _ := r.List(new(Filter).Only(direct), 0, repeatsIn)
	for i := range list { // newest first
		c := &list[i]
		by, of := client{c.Session, c.Principal, c.Client}, tool{c.Server, c.Name}
		if next[by] == of {
			followed++
		}
		next[by] = of
	}
	return len(list), followed
}
