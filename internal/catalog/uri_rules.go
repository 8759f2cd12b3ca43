package catalog

import "strings"

// uriRules are the rules for a server's resources. A URI has several spellings,
// and some servers treat different URIs as equal. A URI is therefore listed
// only if the rules allow it in each form.
type uriRules struct {
	forms [2]Rules // for the results of uriForms
	// off holds the templates that are switched off.
	off []offTemplate
}

type offTemplate struct {
	template string
	made     *pattern
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
			u.off = append(u.off, offTemplate{normalURI(uri), new(pattern)})
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
// made from a disabled template may not, unless the URI itself is enabled.
func (u *uriRules) reads(uri string) bool {
	if u == nil {
		return true
	}
	for i, form := range uriForms {
		written := form(uri)
		if !u.forms[i].lists(written) {
			return false
		}
		if o := u.forms[i].Items[written]; o.Enabled != nil && *o.Enabled {
			continue
		}
		for _, t := range u.off {
			if t.made.match(t.template, written) != nil {
				return false
			}
		}
	}
	return true
}
