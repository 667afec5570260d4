package website

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

// indexName is the file that answers for a directory.
const indexName = "index.html"

// unsettled is the time after a write within which a file may change again with the same
// modification time, because clocks of file systems tick up to two seconds apart. Until then the
// file is served without ETag and Last-Modified, which could stand for two contents.
const unsettled = 2 * time.Second

// page is the content of one path. It does not change after it was made, except for the fields that
// say so.
type page struct {
	path      string
	mediaType string
	contents  []content // the file itself, then its precompressed forms
	seen      []sight   // the files that were checked to make it
	inMemory  bool
	bytes     int64 // its cost in the cache

	checked atomic.Int64 // Unix nanoseconds of the last comparison with its files
}

// content is one representation of a page.
type content struct {
	name     string // of its file
	encoding int    // index into encodings, -1 for the file as it is
	stamp    stamp
	body     []byte // only if the page is in memory
	head     []byte // head of an answer on the fast path, up to the date; nil if there is none
}

// stamp identifies the state of a file: it changes with the file.
type stamp struct {
	modified time.Time
	size     int64
	settled  bool
}

func stampOf(info fs.FileInfo, now time.Time) stamp {
	return stamp{info.ModTime(), info.Size(), now.Sub(info.ModTime()) > unsettled}
}

// tag returns the ETag. It is strong: equal tags mean equal bytes, unless the modification time of
// a changed file is set back.
func (c *content) tag(s stamp) string {
	tag := strconv.FormatInt(s.modified.UnixNano(), 36) + "-" + strconv.FormatInt(s.size, 36)
	if c.encoding >= 0 {
		tag += "-" + encodings[c.encoding].coding
	}
	return `"` + tag + `"`
}

// sight is the file found under a name.
type sight struct {
	name string
	info fs.FileInfo // nil if there was no regular file
}

// look returns the present file of a name. Only regular files count.
func (s *Site) look(name string) sight {
	info, err := s.root.Stat(name)
	if err != nil || !info.Mode().IsRegular() {
		return sight{name: name}
	}
	return sight{name, info}
}

func (a sight) equal(b sight) bool {
	if a.info == nil || b.info == nil {
		return a.info == nil && b.info == nil
	}
	return a.info.Size() == b.info.Size() && a.info.ModTime().Equal(b.info.ModTime()) && os.SameFile(a.info, b.info)
}

// newPage makes the page of an open file.
func (s *Site) newPage(path, name string, f *os.File, info fs.FileInfo) (*page, error) {
	now := time.Now()
	p := &page{path: path, seen: []sight{{name, info}}}
	p.checked.Store(now.UnixNano())
	p.mediaType = mediaType(name, func() []byte {
		beginning := make([]byte, sniffed)
		n, _ := f.ReadAt(beginning, 0) // a shorter read means a shorter file
		return beginning[:n]
	})
	p.contents = append(p.contents, content{name: name, encoding: -1, stamp: stampOf(info, now)})
	for i := range encodings {
		beside := s.look(name + encodings[i].extension)
		p.seen = append(p.seen, beside)
		// An older form was made from other contents.
		if beside.info != nil && !beside.info.ModTime().Before(info.ModTime()) {
			p.contents = append(p.contents, content{name: beside.name, encoding: i, stamp: stampOf(beside.info, now)})
		}
	}
	p.bytes = pageBytes + int64(len(path)+len(name))
	for _, c := range p.contents {
		if c.stamp.size > maxInMemory {
			return p, nil
		}
		p.bytes += c.stamp.size
	}
	if p.bytes > s.cache.limit {
		return p, nil
	}
	return p, s.readInto(p, f)
}

// errMoving reports a file that changes while it is read.
var errMoving = errors.New("the file is being written")

// readInto reads the contents of a page into memory. The first file is open.
func (s *Site) readInto(p *page, f *os.File) error {
	for i := range p.contents {
		c := &p.contents[i]
		if i > 0 {
			var err error
			if f, _, err = s.open(c.name); err != nil {
				return err
			}
			defer f.Close()
		}
		c.body = make([]byte, c.stamp.size)
		if _, err := io.ReadFull(io.NewSectionReader(f, 0, c.stamp.size), c.body); err != nil {
			return errMoving // the file has become shorter
		}
		if after := s.look(c.name); !after.equal(p.sightOf(c.name)) {
			return errMoving
		}
	}
	p.inMemory = true
	for i := range p.contents {
		p.contents[i].head = p.fastHead(&p.contents[i])
	}
	return nil
}

func (p *page) sightOf(name string) sight {
	for _, s := range p.seen {
		if s.name == name {
			return s
		}
	}
	return sight{}
}

// unchanged reports whether the page still equals its files.
func (s *Site) unchanged(p *page) bool {
	return !slices.ContainsFunc(p.contents, func(c content) bool { return !c.stamp.settled }) &&
		!slices.ContainsFunc(p.seen, func(seen sight) bool { return !seen.equal(s.look(seen.name)) })
}

// choose returns the content for a client with this Accept-Encoding: the encoding with the highest
// weight, of several the smallest.
func (p *page) choose(acceptEncoding []byte) *content {
	best := &p.contents[0]
	if len(p.contents) == 1 {
		return best
	}
	accept := readAccepted(acceptEncoding)
	highest := accept.identityWeight()
	for i := 1; i < len(p.contents); i++ {
		c := &p.contents[i]
		weight := accept.weight(c.encoding)
		if weight > 0 && (weight > highest || weight == highest && c.stamp.size < best.stamp.size) {
			best, highest = c, weight
		}
	}
	return best
}

// describe sets the header of an answer with this content in the state s.
func (p *page) describe(h http.Header, c *content, s stamp) {
	h["Content-Type"] = []string{p.mediaType}
	h["X-Content-Type-Options"] = noSniff
	if len(p.contents) > 1 {
		h["Vary"] = varyEncoding
	}
	if c.encoding >= 0 {
		h["Content-Encoding"] = []string{encodings[c.encoding].coding}
	}
	if s.settled {
		h["Etag"] = []string{c.tag(s)}
	}
}

var (
	noSniff      = []string{"nosniff"}
	varyEncoding = []string{"Accept-Encoding"}
)

// fastHead renders the head of an answer for the fast path, up to its date, with the fields and
// the order of net/http. It returns nil if the content is too large.
func (p *page) fastHead(c *content) []byte {
	if c.stamp.size > maxFast {
		return nil
	}
	h := http.Header{
		"Accept-Ranges":  {"bytes"},
		"Content-Length": {strconv.FormatInt(c.stamp.size, 10)},
	}
	p.describe(h, c, c.stamp)
	if c.stamp.settled && !c.stamp.modified.IsZero() && !c.stamp.modified.Equal(time.Unix(0, 0)) { // as http.ServeContent
		h["Last-Modified"] = []string{c.stamp.modified.UTC().Format(http.TimeFormat)}
	}
	var b bytes.Buffer
	b.WriteString("HTTP/1.1 200 OK\r\n")
	_ = h.Write(&b) // into memory
	return b.Bytes()
}
