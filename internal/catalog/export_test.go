package catalog

func (d *directory) Tool(name string) (Ref, *Miss) { return d.ToolFor(name, nil) }

func (d *directory) Prompt(name string) (Ref, *Miss) { return d.PromptFor(name, nil) }

func (d *directory) Completion(ref []byte) (server string, own []byte, miss *Miss) {
	return d.CompletionFor(ref, nil)
}
