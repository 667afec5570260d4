// Package website serves the files of one directory over HTTP.
//
// A path becomes a page: one file, its type, and its precompressed encodings. Pages of small files
// are kept in memory, bounded, and compared with their files once a second while they are
// requested.
//
//	            ┌── plain GET of a page in memory ──▶ one read, one write
//	connection ─┤
//	            └── everything else, bytes unread ──▶ net/http ─▶ Site.ServeHTTP
//
// The fast path is that of package plainhttp. It answers a GET or HEAD without a body, conditions,
// ranges or anything else that could change the answer. From the first other request on, net/http
// has the connection, beginning with the bytes of that request. So there are never two readings of
// one stream, and both paths give the same bytes.
//
// Files are opened through [os.Root], so neither paths nor symbolic links lead out of the
// directory.
package website

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"slices"
	"sync/atomic"
	"syscall"
)

// maxLoads bounds the pages that are read from the directory at once: together they hold at most 64
// MiB besides the cache.
const maxLoads = 16

// Options configure a Site. The zero value serves no dot files, lists no directories, keeps nothing
// in memory, and answers for local names only.
type Options struct {
	List       bool         // list directories without an index
	Dotfiles   bool         // serve names that begin with a dot, not only .well-known
	AnyHost    bool         // answer for every host name
	CacheBytes int64        // memory for pages
	Requests   *RequestLog  // nil writes none
	Logger     *slog.Logger // nil drops the log
}

// Site is a served directory. It is safe for concurrent use.
type Site struct {
	options Options
	root    *os.Root
	cache   cache
	loads   chan struct{} // holds one for each page that is being read
	log     *slog.Logger

	requests, short, missed atomic.Uint64
}

// Open opens a directory. If dir is a symbolic link, its present target is served until Close.
func Open(dir string, o Options) (*Site, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	s := &Site{options: o, root: root, loads: make(chan struct{}, maxLoads), log: o.Logger}
	s.cache.limit = o.CacheBytes
	s.cache.pages = map[string]*list.Element{}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	return s, nil
}

// Close closes the directory. The site must not be used after it.
func (s *Site) Close() error { return s.root.Close() }

// Stats are counts since Open.
type Stats struct {
	Requests uint64 // answered requests
	Short    uint64 // of these, on the fast path
	Missed   uint64 // pages that were not in memory
	Evicted  uint64 // pages dropped for lack of room
	Changed  uint64 // pages dropped because their files have changed
	Pages    int    // in memory now
	Bytes    int64  // of the pages in memory
}

// Stats returns the counts.
func (s *Site) Stats() Stats {
	stats := Stats{
		Requests: s.requests.Load(),
		Short:    s.short.Load(),
		Missed:   s.missed.Load(),
		Evicted:  s.cache.evicted.Load(),
		Changed:  s.cache.changed.Load(),
	}
	stats.Pages, stats.Bytes = s.cache.size()
	return stats
}

// errUnslashed reports a request for a directory without the final slash.
var errUnslashed = errors.New("a directory's path ends with a slash")

// errNoIndex reports a directory without an index.
var errNoIndex = fmt.Errorf("a directory without %s: %w", indexName, fs.ErrNotExist)

// find makes the page of a name from the directory. The error is errUnslashed, errNoIndex, or the
// system's. For a missing file the latter is not always fs.ErrNotExist: see isShortage.
func (s *Site) find(name string, dir bool) (*page, error) {
	f, info, err := s.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	switch {
	case info.IsDir():
		return s.findIndex(name, dir)
	case dir:
		return nil, fs.ErrNotExist
	}
	return s.newPage(urlPath(name, dir), name, f, info)
}

// findIndex makes the page of a directory.
func (s *Site) findIndex(name string, dir bool) (*page, error) {
	index := path.Join(name, indexName)
	f, info, err := s.open(index)
	if err == nil {
		defer f.Close()
	}
	none := errors.Is(err, fs.ErrNotExist) || err == nil && info.IsDir()
	switch {
	case !dir && (err == nil && !none || none && s.options.List):
		return nil, errUnslashed
	case none:
		return nil, errNoIndex
	case err != nil:
		return nil, err
	}
	return s.newPage(urlPath(name, dir), index, f, info)
}

// open opens a file within the directory. A file that is neither regular nor a directory counts as
// missing: O_NONBLOCK keeps the open of a named pipe from blocking.
func (s *Site) open(name string) (*os.File, fs.FileInfo, error) {
	f, err := s.root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		err = fs.ErrNotExist
	}
	if err != nil {
		_ = f.Close()
		return nil, nil, err
	}
	return f, info, nil
}

// shortages are the errors that do not concern the requested file.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// isShortage reports whether an error is a failure of the machine, and not about the name: a name
// may be missing, too long, circular, or lead out of the directory.
func isShortage(err error) bool {
	return slices.ContainsFunc(shortages, func(shortage error) bool { return errors.Is(err, shortage) })
}
