package catalog

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"mcp-all-in-one/internal/jsonrpc"
	"mcp-all-in-one/internal/spelling"
)

// Hit is one result of a search.
type Hit struct {
	Ref
	Score float64
}

// Weights of a term by the field that contains it.
const (
	weightName        = 4
	weightTitle       = 2
	weightServer      = 2
	weightParam       = 1.5
	weightDescription = 1
)

// Factors for an index term that is only similar to the query term.
const (
	likePrefix = 0.6
	likeTypo   = 0.4
)

type searchIndex struct {
	docs    []*entry
	wholes  []string // the names as single words
	hidden  []bool   // for interfaces only
	lengths []float64
	mean    float64
	terms   []string // sorted
	runes   [][]rune
	found   [][]posting // by term
}

// posting is the weight of a term in a document.
type posting struct {
	doc   int32
	count float32
}

// Search ranks the tools that the caller may see by how well they match a
// query. Similar spellings and prefixes of words match too.
func (c *Catalog) Search(query string, v View, limit int) []Hit {
	c.index.once.Do(func() { c.index.searchIndex = newSearchIndex(c) })
	ix := c.index.searchIndex
	terms := queryTerms(query)
	scores := make([]float64, len(ix.docs))
	matched := make([]int, len(ix.docs))
	best := make([]float64, len(ix.docs))
	for _, term := range terms {
		clear(best)
		for _, like := range ix.alike(term) {
			ix.score(like, best)
		}
		for doc, s := range best {
			if s > 0 {
				scores[doc] += s
				matched[doc]++
			}
		}
	}
	whole := strings.Join(terms, "")
	var ranked []int
	for doc, s := range scores {
		e := ix.docs[doc]
		if s == 0 || !c.sees(e, v.Visible) || !v.UI && ix.hidden[doc] {
			continue
		}
		scores[doc] *= float64(matched[doc]) / float64(len(terms))
		if whole == ix.wholes[doc] || strings.EqualFold(query, e.listed) {
			scores[doc] *= 2
		}
		ranked = append(ranked, doc)
	}
	slices.SortStableFunc(ranked, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	if limit > 0 && len(ranked) > limit {
		ranked = ranked[:limit]
	}
	hits := make([]Hit, len(ranked))
	for i, doc := range ranked {
		hits[i] = Hit{c.ref(ix.docs[doc]), scores[doc]}
	}
	return hits
}

func newSearchIndex(c *Catalog) *searchIndex {
	n := len(c.tools().order)
	ix := &searchIndex{docs: c.tools().order, wholes: make([]string, n), hidden: make([]bool, n), lengths: make([]float64, n)}
	byTerm := make(map[string][]posting)
	total := 0.0
	for doc, e := range ix.docs {
		counts := make(map[string]float32)
		add := func(text string, weight float32) {
			spelling.Terms(text, func(term string) { counts[term] += weight })
		}
		add(e.name, weightName)
		ix.wholes[doc], ix.hidden[doc] = spelling.Joined(e.name), forInterfaceOnly(e.item.Raw)
		counts[ix.wholes[doc]] += weightName / 2
		add(c.sources[e.source].Server, weightServer)
		add(e.item.Title, weightTitle)
		add(e.item.Description, weightDescription)
		add(c.override(Tools, e).Description, weightDescription)
		for name, schema := range jsonrpc.Members(jsonrpc.Get(e.item.InputSchema, "properties")) {
			add(name, weightParam)
			if d, ok := jsonrpc.GetString(schema, "description"); ok {
				add(d, weightDescription/2)
			}
		}
		for term, n := range counts {
			byTerm[term] = append(byTerm[term], posting{int32(doc), n})
			ix.lengths[doc] += float64(n)
		}
		total += ix.lengths[doc]
	}
	ix.mean = total / float64(max(1, n))
	ix.terms = slices.Sorted(maps.Keys(byTerm))
	for _, term := range ix.terms {
		ix.runes = append(ix.runes, []rune(term))
		ix.found = append(ix.found, byTerm[term])
	}
	return ix
}

// fillers are words of a question that say nothing about a tool.
var fillers = strings.Fields("a an and the of to for in on at by with from is are be i me my how do does can what which please 的 了 吗")

func queryTerms(query string) []string {
	var all, telling []string
	spelling.Terms(query, func(term string) {
		if slices.Contains(all, term) {
			return
		}
		all = append(all, term)
		if !slices.Contains(fillers, term) {
			telling = append(telling, term)
		}
	})
	if len(telling) == 0 {
		return all
	}
	return telling
}

// likeness is an index term and its similarity to the query term.
type likeness struct {
	term   int
	factor float64
}

// alike returns the term itself, the terms that begin with it and, if the term
// is unknown, the terms that it may be a misspelling of.
func (ix *searchIndex) alike(term string) []likeness {
	var likes []likeness
	from, exact := slices.BinarySearch(ix.terms, term)
	if exact {
		likes = append(likes, likeness{from, 1})
	}
	length := utf8.RuneCountInString(term)
	dense, _ := utf8.DecodeRuneInString(term)
	if length >= 3 || spelling.IsDense(dense) {
		for i := from; i < len(ix.terms) && strings.HasPrefix(ix.terms[i], term); i++ {
			if ix.terms[i] != term {
				likes = append(likes, likeness{i, likePrefix * float64(length) / float64(len(ix.runes[i]))})
			}
		}
	}
	if exact || length < 4 || spelling.IsDense(dense) {
		return likes
	}
	limit := 1
	if length >= 8 {
		limit = 2
	}
	asked := []rune(term)
	for i, known := range ix.runes {
		if len(known) < 3 || strings.HasPrefix(ix.terms[i], term) {
			continue
		}
		if d := spelling.Distance(asked, known, limit); d <= limit {
			likes = append(likes, likeness{i, likeTypo / float64(d)})
		}
	}
	return likes
}

// score raises the best score of each document that contains the term (BM25).
func (ix *searchIndex) score(like likeness, best []float64) {
	const k1, b = 1.2, 0.6
	found := ix.found[like.term]
	n := float64(len(ix.docs))
	rarity := math.Log(1 + (n-float64(len(found))+0.5)/(float64(len(found))+0.5))
	for _, p := range found {
		tf := float64(p.count)
		norm := k1 * (1 - b + b*ix.lengths[p.doc]/ix.mean)
		s := like.factor * rarity * tf * (k1 + 1) / (tf + norm)
		best[p.doc] = max(best[p.doc], s)
	}
}
