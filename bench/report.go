package main

import "fmt"

// A page is what was found.
type page struct {
	cells []*cell
}

func (b *bench) report() error {
	for _, c := range b.page.cells {
		for _, n := range c.names {
			fmt.Println(c.group, c.size, c.clients, n, "util", c.ratio(n, floorHTTPUtil, sample.perSecond), "raw", c.ratio(n, floorRaw, sample.perSecond), "relay", c.ratio(n, pipeRelay, sample.perSecond))
		}
	}
	return nil
}
