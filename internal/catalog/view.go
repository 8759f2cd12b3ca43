package catalog

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"hash/fnv"
	"sync"

	"mcp-all-in-one/internal/catalog/fit"
	"mcp-all-in-one/internal/i18n"
	"mcp-all-in-one/internal/mcp"
)

// View describes the client of a list. Views that differ only in Visible must
// see the same.
type View struct {
	// Version is the client's protocol version; Modern reports that it speaks
	// the modern era, whatever the version.
	Version string
	Modern  bool
	// UI reports that the client shows the interfaces of tools. Other clients
	// do not see the tools that are for interfaces only.
	UI bool
	// Fit is the dialect of the client; nil for none.
	Fit *fit.Dialect
	// Scope identifies the filter Visible. A filter without a scope is
	// evaluated each time.
	Scope   string
	Visible Visible
}

func (v *View) modern() bool {
	return v.Modern || mcp.Rules(v.Version).Era == mcp.Modern
}

// ErrCursor means that a cursor is invalid or belongs to a list that has
// changed.
var ErrCursor = i18n.Errorf("invalid or expired cursor", "游标无效或已过期")

// viewKey holds all inputs of a rendering.
type viewKey struct {
	kind       Kind
	modern, ui bool
	scope      string
	fit        *fit.Dialect // an element of fit.Dialects, or nil
}

// rendering is one list as one kind of client sees it.
type rendering struct {
	once sync.Once
	used uint64

	whole []byte
	// ends[i] is the end of item i in whole. The list begins at start; the tail
	// follows its closing bracket.
	ends  []int
	start int
	epoch uint64
}

// maxViews limits the cached renderings of each catalogue.
const maxViews = 64

type viewCache struct {
	mu   sync.Mutex
	tick uint64
	by   map[viewKey]*rendering
}

// get returns the rendering of a key, an empty one if it is new. It evicts the
// least recently used rendering.
func (vc *viewCache) get(key viewKey) *rendering {
	vc.mu.Lock()
	defer vc.mu.Unlock()
	vc.tick++
	r := vc.by[key]
	if r == nil {
		if len(vc.by) >= maxViews {
			vc.evictLocked()
		}
		if vc.by == nil {
			vc.by = make(map[viewKey]*rendering)
		}
		r = &rendering{}
		vc.by[key] = r
	}
	r.used = vc.tick
	return r
}

func (vc *viewCache) evictLocked() {
	var oldest viewKey
	least := vc.tick + 1
	for key, r := range vc.by {
		if r.used < least {
			oldest, least = key, r.used
		}
	}
	delete(vc.by, oldest)
}

func (c *Catalog) rendering(k Kind, v *View) *rendering {
	key := viewKey{kind: k, modern: v.modern(), ui: v.UI && k == Tools, scope: v.Scope}
	if k == Tools {
		key.fit = v.Fit
	}
	if v.Visible != nil && v.Scope == "" {
		r := &rendering{}
		c.render(r, key, v.Visible)
		return r
	}
	r := c.views.get(key)
	r.once.Do(func() { c.render(r, key, v.Visible) })
	return r
}

// List returns the whole result of a list request, such as {"tools":[...]}. The
// slice belongs to the catalogue and must not be changed.
func (c *Catalog) List(k Kind, v View) []byte { return c.rendering(k, &v).whole }

// Count returns the number of items in List.
func (c *Catalog) Count(k Kind, v View) int { return len(c.rendering(k, &v).ends) }

// Equal reports whether a client sees the same list in both catalogues.
func Equal(a, b *Catalog, k Kind, v View) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && bytes.Equal(a.List(k, v), b.List(k, v))
}

// Page returns at most size items of the list from cursor on. An empty cursor
// is the beginning; a size of zero means all items. It fails with ErrCursor.
func (c *Catalog) Page(k Kind, v View, cursor string, size int) ([]byte, error) {
	r := c.rendering(k, &v)
	from := 0
	if cursor != "" {
		epoch, offset, ok := decodeCursor(cursor)
		if !ok || epoch != r.epoch || offset >= uint64(len(r.ends)) {
			return nil, ErrCursor
		}
		from = int(offset)
	}
	to := len(r.ends)
	if size > 0 && size < to-from {
		to = from + size
	}
	if from == 0 && to == len(r.ends) {
		return r.whole, nil
	}
	begin, end, tail := r.start, r.start, r.start
	if n := len(r.ends); n > 0 {
		tail = r.ends[n-1]
	}
	if from > 0 {
		begin = r.ends[from-1] + 1
	}
	if to > 0 {
		end = r.ends[to-1]
	}
	page := make([]byte, 0, end-begin+len(r.whole)-tail+r.start+64)
	page = append(append(page, r.whole[:r.start]...), r.whole[begin:end]...)
	page = append(page, ']')
	if to < len(r.ends) {
		page = append(page, `,"nextCursor":"`...)
		page = append(page, encodeCursor(r.epoch, uint64(to))...)
		page = append(page, '"')
	}
	return append(page, r.whole[tail+1:]...), nil
}

// epochOf returns a digest of a whole list: a cursor stays valid while the list
// is the same, even if the catalogue was rebuilt.
func epochOf(list []byte) uint64 {
	h := fnv.New64a()
	h.Write(list)
	return h.Sum64()
}

func encodeCursor(epoch, offset uint64) string {
	var b [8 + binary.MaxVarintLen64]byte
	binary.BigEndian.PutUint64(b[:], epoch)
	n := binary.PutUvarint(b[8:], offset)
	return base64.RawURLEncoding.EncodeToString(b[:8+n])
}

// decodeCursor accepts only the output of encodeCursor.
func decodeCursor(cursor string) (epoch, offset uint64, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 9 {
		return 0, 0, false
	}
	epoch = binary.BigEndian.Uint64(b)
	offset, _ = binary.Uvarint(b[8:])
	return epoch, offset, encodeCursor(epoch, offset) == cursor
}
