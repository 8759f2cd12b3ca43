package catalog

import (
	"slices"
	"strings"
)

// uriRules are the rules for a server's resources. A URI has several spellings,
// and some servers treat different URIs as equal. A URI is therefore listed
// only if the rules allow it in each form.
type uriRules struct {
	forms [2]Rules // for the results of uriForms
	// off are the templates that are switched off, on those of the server that
	// are listed.
	off, on []*templateForms
}

// templateForms matches the URIs of a template in each form.
type templateForms struct {
	template string
	forms    [2]pattern
	slashes  pattern
}

func newTemplateForms(template string) *templateForms {
	return &templateForms{normalURI(template), [2]pattern{{in: asWritten}, {in: asDecoded}}, pattern{in: withSlashes}}
}

func (t *templateForms) makes(form int, uri string) bool {
	return t.forms[form].match(t.template, uri) != nil
}

var uriForms = [2]func(string) string{normalURI, looseURI}

func newURIRules(r *Rules) *uriRules {
	if len(r.Items)+len(r.Allow)+len(r.Deny) == 0 {
		return nil
	}
	u := new(uriRules)
	for i, form := range uriForms {
		f := Rules{Items: make(map[string]Override, len(r.Items))}
		for _, p := range r.Allow {
			f.Allow = append(f.Allow, form(p))
		}
		for _, p := range r.Deny {
			f.Deny = append(f.Deny, form(p))
		}
		for uri, o := range r.Items {
			// If two spellings of one URI are configured, the disabled one
			// wins.
			if had, twice := f.Items[form(uri)]; !twice || had.Enabled == nil || *had.Enabled && o.Enabled != nil {
				f.Items[form(uri)] = o
			}
		}
		u.forms[i] = f
	}
	for uri, o := range r.Items {
		if o.Enabled != nil && !*o.Enabled && strings.Contains(uri, "{") {
			u.off = append(u.off, newTemplateForms(uri))
		}
	}
	return u
}

// lists reports whether a resource or a template is visible.
func (u *uriRules) lists(uri string) bool {
	if u == nil {
		return true
	}
	for i, form := range uriForms {
		if !u.forms[i].lists(form(uri)) {
			return false
		}
	}
	return true
}

// reads reports whether a URI that the server does not list may be read. A URI
// made from a disabled template may not, unless the URI itself is enabled, or
// another template makes it too. Each form is judged alone: a URI that leads to
// another place once it is decoded is what it is there.
func (u *uriRules) reads(uri string) bool {
	if u == nil {
		return true
	}
	normal := normalURI(uri)
	for i, form := range uriForms {
		written := form(uri)
		if !u.forms[i].lists(written) {
			return false
		}
		if o := u.forms[i].Items[written]; o.Enabled != nil && *o.Enabled {
			continue
		}
		if slices.ContainsFunc(u.off, func(t *templateForms) bool {
			return t.makes(i, written) || written != normal && t.slashes.match(t.template, written) != nil
		}) && !slices.ContainsFunc(u.on, func(t *templateForms) bool { return t.makes(i, written) }) {
			return false
		}
	}
	return true
}
