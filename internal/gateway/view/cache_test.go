package view

import "testing"

// TestOutside checks that views of an older revision are dropped.
func TestOutside(t *testing.T) {
	var c Cache
	get := func() View { return View{} }
	first := c.Outside(Outsider{Principal: "a"}, 1, get)
	c.Outside(Outsider{Principal: "b"}, 1, get)
	if c.Outside(Outsider{Principal: "a"}, 1, get) != first || len(c.outside) != 2 {
		t.Errorf("%d views are kept", len(c.outside))
	}
	if c.Outside(Outsider{Principal: "a"}, 2, get) == first || len(c.outside) != 1 {
		t.Errorf("%d views are kept of an older revision", len(c.outside))
	}
}
