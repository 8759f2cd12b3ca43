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

// View is who looks at a list. Two views with the same fields, Visible apart,
// must see the same.
type View struct {
	// Version is the client's protocol version; Modern says that it speaks the
	// modern era whatever the version is.
	Version string
	Modern  bool
	// UI says that the client shows the interfaces of tools. One that does not
	// is not shown the tools that are for interfaces alone.
	UI bool
	// Fit is what the client takes of a tool; nil for everything.
	Fit *fit.Dialect
	// Scope names what Visible lets through. A filter without a scope is
	// evaluated each time.
	Scope   string
	Visible Visible
}

func (v *View) modern() bool {
	return v.Modern || mcp.Rules(v.Version).Era == mcp.Modern
}

// ErrCursor is a cursor that was not ours or is of a list that has changed
// since.
var ErrCursor = i18n.Errorf("invalid or expired cursor", "游标无效或已过期")

// viewKey is everything that what is rendered depends on.
type viewKey struct {
	kind       Kind
	modern, ui bool
	scope      string
	fit        *fit.Dialect // of Fits, or nil
}

// rendering is one list as one kind of client sees it.
type rendering struct {
	once sync.Once
	used uint64

	whole []byte
	// ends[i] is where item i ends in whole; the list begins at start and the
	// tail follows its closing bracket.
	ends  []int
	start int
	epoch uint64
}

// maxViews bounds what is kept of each catalogue.
const maxViews = 64

type viewCache struct {
	mu   sync.Mutex
	tick uint64
	by   map[viewKey]*rendering
}

// get returns the rendering of a key, an empty one when it is new; the one that
// was not used for longest makes room.
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

// List is the whole result of a list request: {"tools":[...]}, for example. It
// belongs to the catalogue and must not be changed.
func (c *Catalog) List(k Kind, v View) []byte { return c.rendering(k, &v).whole }

// Count is how many items List has.
func (c *Catalog) Count(k Kind, v View) int { return len(c.rendering(k, &v).ends) }

// Equal says whether a client sees the same list in both catalogues.
func Equal(a, b *Catalog, k Kind, v View) bool {
	if a == b {
		return true
	}
	return a != nil && b != nil && bytes.Equal(a.List(k, v), b.List(k, v))
}

// Page is at most size items of the list from cursor on; an empty cursor is
// the beginning, a size of zero is everything. It fails with ErrCursor.
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

// epochOf is a digest of a whole list: a cursor holds for as long as what it
// points into is the same, whatever was rebuilt meanwhile.
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

// decodeCursor reads what encodeCursor wrote, and nothing else.
func decodeCursor(cursor string) (epoch, offset uint64, ok bool) {
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) < 9 {
		return 0, 0, false
	}
	epoch = binary.BigEndian.Uint64(b)
	offset, _ = binary.Uvarint(b[8:])
	return epoch, offset, encodeCursor(epoch, offset) == cursor
}
