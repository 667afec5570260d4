package website

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func touch(t testing.TB, dir, name string, at time.Time) {
	t.Helper()
	must(t, os.Chtimes(filepath.Join(dir, name), at, at))
}

// A page changes with its file, however the file is changed.
func TestChangesAreSeen(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, inMemory)
	expect := func(target, want string) {
		t.Helper()
		s.age()
		for range 2 { // from the directory, then from memory
			if r := s.get(t, "GET", target, "Accept-Encoding", "gzip"); r.body != want {
				t.Errorf("%s: %d %q, want %q", target, r.status, r.body, want)
			}
		}
	}
	expect("/a.txt", "not found\n")
	plant(t, dir, map[string]string{"a.txt": "one"})
	expect("/a.txt", "one")
	plant(t, dir, map[string]string{"a.txt": "longer"}) // with the same time
	expect("/a.txt", "longer")
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("LONGER"), 0o644)) // with the same size
	expect("/a.txt", "LONGER")
	plant(t, dir, map[string]string{"a.txt": "before", "b.txt": "behind"})
	expect("/a.txt", "before")
	must(t, os.Rename(filepath.Join(dir, "b.txt"), filepath.Join(dir, "a.txt"))) // with the same time and size
	expect("/a.txt", "behind")
	plant(t, dir, map[string]string{"a.txt.gz": "compressed"})
	expect("/a.txt", "compressed")
	must(t, os.Remove(filepath.Join(dir, "a.txt.gz")))
	expect("/a.txt", "behind")
	must(t, os.Remove(filepath.Join(dir, "a.txt")))
	expect("/a.txt", "not found\n")
	plant(t, dir, map[string]string{"d/index.html": "index"})
	expect("/d/", "index")
	must(t, os.RemoveAll(filepath.Join(dir, "d")))
	expect("/d/", "not found\n")
	if n := s.Stats().Changed; n < 6 {
		t.Errorf("%d changes counted", n)
	}
}

// Between two comparisons, a second apart, the files are not checked.
func TestPagesAreComparedOnceASecond(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.txt": "one"})
	s := open(t, dir, inMemory)
	now := time.Now()
	first, err := s.page("/a.txt", now)
	must(t, err)
	plant(t, dir, map[string]string{"a.txt": "other"})
	for after, want := range map[time.Duration]bool{0: true, 900 * time.Millisecond: true} {
		if p, err := s.page("/a.txt", now.Add(after)); err != nil || (p == first) != want {
			t.Errorf("after %v: %v, %v", after, p == first, err)
		}
	}
	if p, err := s.page("/a.txt", now.Add(2*time.Second)); err != nil || p == first {
		t.Errorf("after two seconds: %v, %v", p == first, err)
	}
}

// A file that was just written could change again within the same tick of the file system's clock,
// so it has no tag yet.
func TestFreshFilesHaveNoTag(t *testing.T) {
	dir := t.TempDir()
	s := serve(t, dir, inMemory)
	for i, at := range []time.Time{time.Now(), time.Now().Add(time.Hour)} {
		name := fmt.Sprint(i, ".txt")
		plant(t, dir, map[string]string{name: "x"})
		touch(t, dir, name, at)
		for range 2 {
			r := s.get(t, "GET", "/"+name)
			if r.status != 200 || r.header.Get("Etag") != "" || r.header.Get("Last-Modified") != "" {
				t.Errorf("%+v", r)
			}
			s.age()
		}
		touch(t, dir, name, old)
		s.age()
		if r := s.get(t, "GET", "/"+name); r.header.Get("Etag") == "" || r.header.Get("Last-Modified") == "" {
			t.Errorf("%+v", r)
		}
	}
}

// The pages in memory stay within the bound, and the most recently used remain.
func TestCacheIsBounded(t *testing.T) {
	dir := t.TempDir()
	files := map[string]string{"large.bin": large[:maxInMemory+1], "most.bin": large[:maxInMemory]}
	for i := range 100 {
		files[fmt.Sprintf("%d.txt", i)] = large[:1000]
	}
	plant(t, dir, files)
	const limit = 20 * (pageBytes + 1100)
	s := open(t, dir, Options{CacheBytes: limit})
	now := time.Now()
	for i := range 100 {
		now = now.Add(2 * checkEvery)
		for _, name := range []string{"/0.txt", fmt.Sprintf("/%d.txt", i)} {
			if p, err := s.page(name, now); err != nil || !p.inMemory {
				t.Fatal(err)
			}
		}
		if stats := s.Stats(); stats.Bytes > limit || stats.Pages > 20 {
			t.Fatalf("%+v", stats)
		}
	}
	if p := s.cache.get([]byte("/0.txt")); p == nil {
		t.Error("the page that is asked for all the time is gone")
	}
	if p := s.cache.get([]byte("/1.txt")); p != nil {
		t.Error("the page that was asked for once is still there")
	}
	if stats := s.Stats(); stats.Missed != 100 || stats.Evicted < 80 {
		t.Errorf("%+v", stats)
	}
	for _, name := range []string{"/most.bin", "/large.bin"} { // one exceeds this cache, the other every cache
		if p, err := s.page(name, now); err != nil || p.inMemory {
			t.Errorf("%s is in memory: %v", name, err)
		}
	}
}

// Only regular files are served, and a named pipe does not block.
func TestOddFiles(t *testing.T) {
	dir := t.TempDir()
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	plant(t, dir, map[string]string{"locked.txt": "x", "index.html/": ""})
	must(t, os.Chmod(filepath.Join(dir, "locked.txt"), 0))
	for _, s := range []*served{serve(t, dir, inMemory), serve(t, dir, Options{List: true})} {
		if r := s.get(t, "GET", "/pipe"); r.status != 404 {
			t.Errorf("a pipe: %+v", r)
		}
		if r := s.get(t, "GET", "/locked.txt"); os.Geteuid() != 0 && r.status != 403 {
			t.Errorf("a file that may not be read: %+v", r)
		}
		want := map[bool]int{true: 200, false: 404}[s.options.List]
		if r := s.get(t, "GET", "/"); r.status != want {
			t.Errorf("a directory called index.html: %+v", r)
		}
	}
}

func TestMethodsAndHosts(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"a.txt": "a"})
	s, public := serve(t, dir, inMemory), serve(t, dir, Options{AnyHost: true, CacheBytes: 1 << 20})
	for _, method := range []string{"POST", "PUT", "DELETE", "PATCH", "TRACE", "PROPFIND", "get"} {
		if r := s.get(t, method, "/a.txt"); r.status != 405 || r.header.Get("Allow") != methods {
			t.Errorf("%s: %+v", method, r)
		}
	}
	for _, target := range []string{"/a.txt", "*"} {
		if r := s.get(t, "OPTIONS", target); r.status != 204 || r.header.Get("Allow") != methods || r.body != "" {
			t.Errorf("OPTIONS %s: %+v", target, r)
		}
	}
	for host, want := range map[string]int{"localhost": 200, "localhost:80": 200, "127.0.0.1": 200, "[::1]:1": 200, "evil.example": 421, "localhost.evil.example": 421} {
		request := "GET /a.txt HTTP/1.1\r\nHost: " + host + "\r\n\r\n"
		if r := replies(t, s.raw(t, request+request), "GET", "GET"); r[0].status != want || r[1].status != want {
			t.Errorf("%s: %+v", host, r)
		}
		if r := replies(t, public.raw(t, request), "GET"); r[0].status != 200 {
			t.Errorf("%s, public: %+v", host, r)
		}
	}
	mixed := "GET /a.txt HTTP/1.1\r\nHost: localhost\r\n\r\nGET /a.txt HTTP/1.1\r\nHost: evil.example\r\n\r\n"
	if r := replies(t, s.raw(t, mixed), "GET", "GET"); r[0].status != 200 || r[1].status != 421 {
		t.Errorf("%+v", r)
	}
}

func TestListing(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{
		"sub/a.txt": "abc", "sub/<b>&\"'.txt": "", "sub/javascript:alert(1)": "", "sub/.hidden": "", "sub/deep/x": "", "sub/ä ö.txt": "", "sub/bad\xff": "", "index.html": "front",
	})
	must(t, os.Symlink("../../out", filepath.Join(dir, "sub", "link")))
	s := serve(t, dir, Options{List: true})
	r := s.get(t, "GET", "/sub/")
	for _, part := range []string{
		`<a href="../">`, `<a href="a.txt">a.txt</a><td>3<td>2024-02-29 12:30:45`, `<a href="deep/">deep/</a>`, `%3Cb%3E&amp;%22%27.txt">&lt;b&gt;&amp;&#34;&#39;.txt</a>`,
		`<a href="./javascript:alert%281%29">`, `<a href="%C3%A4%20%C3%B6.txt">ä ö.txt</a>`, `<a href="link">`,
	} {
		if !strings.Contains(r.body, part) {
			t.Errorf("%s is not in %s", part, r.body)
		}
	}
	if r.status != 200 || strings.Contains(r.body, "hidden") || strings.Contains(r.body, "bad") || r.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("%+v", r)
	}
	for target, want := range map[string]string{"/": "front", "/sub": ""} {
		if r := s.get(t, "GET", target); r.body != want {
			t.Errorf("%s: %+v", target, r)
		}
	}
	for target, want := range map[string]int{"/none/": 404, "/sub/a.txt/": 404, "/.git/": 404, "/../": 200, "/sub": 301} {
		if r := s.get(t, "GET", target); r.status != want {
			t.Errorf("%s: %+v", target, r)
		}
	}
	quiet := serve(t, dir, Options{})
	for _, target := range []string{"/sub/", "/sub", "/sub/deep/"} { // their existence is not revealed either
		if r := quiet.get(t, "GET", target); r.status != 404 {
			t.Errorf("%s without listings: %+v", target, r)
		}
	}
}
