package usage

import (
	"iter"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Other is the name under which the excess over a limit is counted.
const Other = "…"

const (
	// maxRows is how many rows a day has before calls are counted without their
	// client. After spareRows more rows they are counted without their principal
	// too, and after spareRows more in a single row.
	maxRows, spareRows = 2000, 500
	// maxClients is how many client names one principal may have per day.
	maxClients = 32
	// maxName and maxClient limit texts, in bytes.
	maxName, maxClient = 128, 64
)

// A day holds the counts of one day. Its size is limited whatever is called.
type day struct {
	rows    map[Key]*Sum
	clients map[[2]string]bool // pairs of principal and client
	names   map[string]int     // number of clients by principal
}

func newDay() *day {
	return &day{rows: make(map[Key]*Sum), clients: make(map[[2]string]bool), names: make(map[string]int)}
}

// at returns the counters for a key.
func (d *day) at(k Key) *Sum {
	if s := d.rows[k]; s != nil {
		return s
	}
	k = bounded(k)
	if who := [2]string{k.Principal, k.Client}; k.Client != Other && !d.clients[who] {
		if d.names[k.Principal] >= maxClients {
			k.Client = Other
		} else if len(d.clients) < maxRows {
			d.clients[who] = true
			d.names[k.Principal]++
		}
	}
	most := maxRows
	for _, fewer := range []func(){
		func() {},
		func() { k.Client, k.Door = Other, "" },
		func() { k.Principal = Other },
		func() { k = Key{Principal: Other, Client: Other, Kind: Tool, Server: Other, Name: Other} },
	} {
		fewer()
		if s := d.rows[k]; s != nil {
			return s
		}
		if len(d.rows) < most {
			break
		}
		most += spareRows
	}
	s := &Sum{}
	d.rows[k] = s
	return s
}

// bounded returns a key with short, single-line texts.
func bounded(k Key) Key {
	if len(k.Client) > maxClient {
		cut := maxClient
		for cut > 0 && !utf8.RuneStart(k.Client[cut]) {
			cut--
		}
		k.Client = k.Client[:cut]
	}
	k.Client = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.Clone(k.Client))
	for _, text := range []*string{&k.Principal, &k.Schema, &k.Server, &k.Name} {
		if len(*text) > maxName || strings.ContainsFunc(*text, unicode.IsControl) {
			*text = Other
		}
	}
	return k
}

// merge adds rows.
func (d *day) merge(rows iter.Seq2[Key, *Sum]) {
	for k, s := range rows {
		d.at(k).add(s)
	}
}
