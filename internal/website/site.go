// Package website serves the files of one directory over HTTP.
//
// A path becomes a page: one file, its type, and the encodings that stand
// precompressed beside it. Pages of small files are kept in memory, bounded, and
// compared with their files once a second while they are asked for.
//
//	            ┌── plain GET of a page in memory ──▶ one read, one write
//	connection ─┤
//	            └── everything else, bytes unread ──▶ net/http ─▶ Site.ServeHTTP
//
// The short way is that of package plainhttp. It answers a GET or HEAD without a body,
// conditions, ranges or anything else that could change the answer. From the first
// request on that is not so, net/http has the connection, beginning with the very
// bytes of that request. So there are never two readings of one stream, and both
// ways give the same bytes.
//
// No way leads out of the directory: files are opened through [os.Root], symbolic
// links included.
package website

import (
	"container/list"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"sync/atomic"
	"syscall"
)

// maxLoads is how many pages are read from the directory at once: together they
// hold 64 MiB at most that the cache does not know of yet.
const maxLoads = 16

// Options say how a directory is served. The zero value serves no dot files, lists
// no directories, keeps nothing in memory, and answers for local names only.
type Options struct {
	List       bool         // show what is in a directory without an index
	Dotfiles   bool         // serve names that begin with a dot, not only .well-known
	AnyHost    bool         // answer whatever name the client knows this machine by
	CacheBytes int64        // memory for pages
	Requests   *RequestLog  // nil writes none
	Logger     *slog.Logger // nil drops the log
}

// Site is a directory that is served. Any number of goroutines may use it.
type Site struct {
	options Options
	root    *os.Root
	cache   cache
	loads   chan struct{} // holds one for each page that is being read
	log     *slog.Logger

	requests, short, missed atomic.Uint64
}

// Open opens a directory. Where dir is a symbolic link, what it points to now is
// served, until Close.
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

// Close gives the directory back. Nobody uses the site any more.
func (s *Site) Close() error { return s.root.Close() }

// Stats are counts since Open.
type Stats struct {
	Requests uint64 // all that were answered
	Short    uint64 // of these, by the short way
	Missed   uint64 // pages that were not in memory
	Evicted  uint64 // pages dropped because others needed the room
	Changed  uint64 // pages dropped because their files have changed
	Pages    int    // in memory now
	Bytes    int64  // what they take
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

// errUnslashed is about a directory that is asked for without the slash at the end.
var errUnslashed = errors.New("a directory's path ends with a slash")

// errNoIndex is about a directory that has nothing to show by itself.
var errNoIndex = fmt.Errorf("a directory without %s: %w", indexName, fs.ErrNotExist)

// find makes the page of a name from the directory. The error is errUnslashed,
// errNoIndex, or the system's; that is not fs.ErrNotExist in each case in which
// nothing is there, see isShortage.
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

// open opens a file within the directory. What is neither a regular file nor a
// directory is not there: the flag keeps the open of a named pipe from waiting.
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

// shortages are the errors that are not about the file that was asked for.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM, syscall.EIO}

// isShortage tells what the machine could not do from what is not there: a name
// that does not exist, is too long, runs in circles or leads out of the directory.
func isShortage(err error) bool {
	for _, shortage := range shortages {
		if errors.Is(err, shortage) {
			return true
		}
	}
	return false
}
