package website

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fortress returns a directory with files beside it, links out of it, and hidden names. Each file
// that must not be served has the word secret in it.
func fortress(t testing.TB) (dir string) {
	t.Helper()
	outer := t.TempDir()
	plant(t, outer, map[string]string{
		"secret.txt": secret, "site2/secret.txt": secret, "site/index.html": "front", "site/a.txt": "a", "site/dir/b.txt": "b",
		"site/dir/index.html": "dir", "site/.env": secret, "site/.git/config": secret, "site/dir/.hidden/x": secret, "site/..secret": secret,
		"site/...": secret, "site/.well-known/acme": "acme", "site/.well-known/.x": secret, "site/dir/.well-known/x": secret, "site/A.TXT": "A",
		"site/back\\slash.txt": secret, "site/bell\a.txt": secret, "site/bad\xff.txt": secret, "site/colon:c.txt": "colon", "site/etc/passwd": "inner",
	})
	dir = filepath.Join(outer, "site")
	for name, to := range map[string]string{
		"out.txt": "../secret.txt", "absolute.txt": filepath.Join(outer, "secret.txt"), "up": "..", "root": "/", "loop": "loop",
		"beside": "../site2", "dir/out": "../../secret.txt", "through": "dir/../../secret.txt", "within.txt": "a.txt", "dir/within": "../a.txt",
		"dangling": "nothing", "proc": "/proc/self/root",
	} {
		must(t, os.Symlink(to, filepath.Join(dir, filepath.FromSlash(name))))
	}
	return dir
}

// corpus returns targets of known path traversal attacks.
func corpus() (targets []string) {
	ups := []string{
		"..", "%2e%2e", "%2E%2E", ".%2e", "%2e.", "%252e%252e", "%25252e%25252e", "%c0%ae%c0%ae", "%c0%2e%c0%2e", "%e0%80%ae%e0%80%ae",
		"%f0%80%80%ae%f0%80%80%ae", "%uff0e%uff0e", "..;", "..;x=1", "..%00", "..%20", "%20..", "..%09", "..%0a", "...", "....", "..%01",
		"%ef%bc%8e%ef%bc%8e", "%e2%80%a5", "..%e2%80%8b", "..%c2%a0", "..%ff", "up",
	}
	slashes := []string{"/", "%2f", "%2F", "\\", "%5c", "%5C", "%252f", "%255c", "%c0%af", "%c1%9c", "%e2%88%95", "%e2%81%84", "%ef%bc%8f", "//", "/./"}
	for _, up := range ups {
		for _, slash := range slashes {
			targets = append(targets,
				"/"+up+slash+"secret.txt",
				"/dir"+slash+up+slash+up+slash+"secret.txt",
				"/"+strings.Repeat(up+slash, 12)+"etc/passwd",
			)
		}
	}
	return append(targets,
		"/.env", "/%2eenv", "/dir/../.env", "//.env", "/./.env", "/.env/", "/.env?x", "/.git/config", "/%2egit/config", "/.git%2fconfig", "/.git", "/.git/",
		"/dir/.hidden/x", "/dir/%2ehidden/x", "/..secret", "/...", "/.well-known/.x", "/.well-known/../.env", "/dir/.well-known/x",
		"/back%5cslash.txt", "/bell%07.txt", "/bad%ff.txt", "/.%65nv", "/.ENV", "/.env.", "/.env%20", "/.env::$DATA", "/a.txt::$DATA",
		"/out.txt", "/absolute.txt", "/up/secret.txt", "/up/site2/secret.txt", "/root/etc/passwd", "/root/etc/hostname", "/loop", "/loop/x", "/beside/secret.txt",
		"/dir/out", "/through", "/dangling", "/proc/etc/passwd", "/proc", "/out.txt/", "/beside", "/up", "/up/", "/root/",
		"/C:/secret.txt", "/c:%5csecret.txt", "/%2fetc/passwd", "//etc/passwd", "///etc/passwd", "/%00", "/a.txt%00.html", "/%00/../secret.txt",
		"/a.txt/../../secret.txt", "/none/../../secret.txt", "/CON", "/NUL", "/AUX.txt", "/COM1", "/~root/secret.txt", "/~/secret.txt",
		"/secret.txt%2f..", "/dir;/../secret.txt", "/;/secret.txt", "/?../secret.txt", "/?/../../secret.txt", "/#/../secret.txt",
		"/"+strings.Repeat("../", 2000)+"secret.txt", "/"+strings.Repeat("a/", 4000), "/"+strings.Repeat("a", 8000), "/"+strings.Repeat("%2e%2e/", 800)+"secret.txt",
		"http://localhost/../secret.txt", "http://localhost/%2e%2e/secret.txt", "file:///etc/passwd", "http://evil/..%2fsecret.txt", "http://localhost", "*", "..", "../secret.txt",
		"secret.txt", "", "/..", "/../", "/.", "/./", "/%2e", "/%2e/", "/dir/..", "/dir/../..", "/dir/%2e%2e/%2e%2e/",
	)
}

// No target reveals a hidden file, over a real socket, on either path through the server.
func TestNoWayOut(t *testing.T) {
	dir := fortress(t)
	targets := corpus()
	for _, o := range []Options{inMemory, {}, {List: true, CacheBytes: 1 << 20}} {
		s := serve(t, dir, o)
		short := &asker{served: s}
		for _, target := range targets {
			for _, version := range []string{"1.1", "1.0"} {
				answered := s.raw(t, "GET "+target+" HTTP/"+version+"\r\nHost: localhost\r\nConnection: close\r\n\r\n")
				if leaks([]byte(answered)) || strings.Contains(answered, "root:x:0") {
					t.Errorf("%q shows %q", target, answered)
				}
				if !strings.HasPrefix(answered, "HTTP/1.") {
					t.Errorf("%q: %q is no answer", target, answered)
				}
			}
			if !strings.ContainsAny(target, " #") && strings.HasPrefix(target, "/") { // valid for the fast path
				if answered := short.ask(t, "GET "+target+" HTTP/1.1\r\nHost: localhost\r\n\r\n"); leaks([]byte(answered)) {
					t.Errorf("%q shows %q", target, answered)
				}
			}
		}
	}
	t.Logf("%d targets", len(targets))
}

// Visible files are served.
func TestWhatIsShown(t *testing.T) {
	s := serve(t, fortress(t), inMemory)
	for target, want := range map[string]string{
		"/": "front", "/dir/": "dir", "/within.txt": "a", "/dir/within": "a", "/.well-known/acme": "acme", "/etc/passwd": "inner", "/A.TXT": "A",
		"/../a.txt": "a", "/dir/../a.txt": "a", "//a.txt": "a", "/colon:c.txt": "colon",
	} {
		if r := s.get(t, "GET", target); r.status != 200 || r.body != want {
			t.Errorf("%s: %d %q", target, r.status, r.body)
		}
	}
	all := serve(t, fortress(t), Options{Dotfiles: true})
	for _, target := range []string{"/.env", "/.git/config", "/...", "/dir/.hidden/x"} {
		if r := all.get(t, "GET", target); r.status != 200 || r.body != secret {
			t.Errorf("%s with dot files: %d %q", target, r.status, r.body)
		}
	}
	for _, target := range []string{"/out.txt", "/../secret.txt", "/up/secret.txt", "/back%5cslash.txt"} {
		if r := all.get(t, "GET", target); r.status != 404 {
			t.Errorf("%s with dot files: %d %q", target, r.status, r.body)
		}
	}
}

// A redirect stays on this host, whatever the path begins with.
func TestRedirectsStay(t *testing.T) {
	dir := t.TempDir()
	plant(t, dir, map[string]string{"evil.example/index.html": "x", "a b/index.html": "x"})
	s := serve(t, dir, Options{})
	for target, want := range map[string]string{
		"//evil.example": "/evil.example/", "///evil.example": "/evil.example/", "/%2fevil.example": "/evil.example/", "/a%20b": "/a%20b/",
		"/a%20b?x=//y": "/a%20b/?x=//y", "/./evil.example": "/evil.example/",
	} {
		if r := s.get(t, "GET", target); r.status != http.StatusMovedPermanently || r.header.Get("Location") != want {
			t.Errorf("%s: %d to %q", target, r.status, r.header.Get("Location"))
		}
	}
}

// While a name changes between a file within and a link out, no answer shows a file outside.
func TestRenamesUnderWay(t *testing.T) {
	dir := fortress(t)
	s := open(t, dir, inMemory)
	stop := make(chan struct{})
	var renaming sync.WaitGroup
	renaming.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			fresh, name := filepath.Join(dir, "fresh"), filepath.Join(dir, "moving.txt")
			if i%2 == 0 {
				_ = os.Symlink("../secret.txt", fresh)
			} else {
				_ = os.WriteFile(fresh, []byte("within"), 0o644)
			}
			_ = os.Rename(fresh, name)
			_ = os.Rename(filepath.Join(dir, "dir"), filepath.Join(dir, "dir2"))
			_ = os.Symlink("../site2", filepath.Join(dir, "dir"))
			_ = os.Remove(filepath.Join(dir, "dir"))
			_ = os.Rename(filepath.Join(dir, "dir2"), filepath.Join(dir, "dir"))
		}
	})
	for range 2000 {
		for _, target := range []string{"/moving.txt", "/dir/secret.txt", "/dir/b.txt"} {
			w := httptest.NewRecorder()
			r := httptest.NewRequest("GET", target, nil)
			r.Host = "localhost"
			s.ServeHTTP(w, r)
			if leaks(w.Body.Bytes()) {
				t.Fatalf("%s shows %q", target, w.Body)
			}
		}
		s.age()
	}
	close(stop)
	renaming.Wait()
}

// Only files within the directory are served, for any target.
func FuzzPath(f *testing.F) {
	if runtime.GOOS == "windows" {
		f.Skip("the names of the fortress are no names there")
	}
	for i, target := range corpus() {
		if i%37 == 0 && len(target) < 200 {
			f.Add(target)
		}
	}
	s := open(f, fortress(f), Options{CacheBytes: 1 << 20, List: true})
	public := []string{"front", "a", "b", "dir", "acme", "A", "colon", "inner"}
	f.Fuzz(func(t *testing.T, target string) {
		u, err := url.ParseRequestURI(target)
		if err != nil {
			u = &url.URL{Path: target}
		}
		w := httptest.NewRecorder()
		r := &http.Request{Method: "GET", URL: u, Host: "localhost", RequestURI: target, Header: http.Header{}, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1}
		s.ServeHTTP(w, r)
		listed := strings.HasPrefix(w.Body.String(), "<!doctype html>")
		switch {
		case leaks(w.Body.Bytes()):
			t.Errorf("%q shows %q", target, w.Body)
		case w.Code == 200 && !listed && !slices.Contains(public, w.Body.String()):
			t.Errorf("%q: %q is not from the directory", target, w.Body)
		case !slices.Contains([]int{200, 301, 403, 404}, w.Code):
			t.Errorf("%q: %d", target, w.Code)
		case w.Code == 301 && (!strings.HasPrefix(w.Header().Get("Location"), "/") || strings.HasPrefix(w.Header().Get("Location"), "//")):
			t.Errorf("%q leads to %q", target, w.Header().Get("Location"))
		}
	})
}

// Every accepted name is clean, and os.Root can open it.
func FuzzNameOf(f *testing.F) {
	f.Add("/a/../b")
	f.Fuzz(func(t *testing.T, path string) {
		name, dir, ok := nameOf(path, true)
		if !ok {
			return
		}
		if name != "." && !filepath.IsLocal(filepath.FromSlash(name)) || strings.ContainsAny(name, "\\\x00") {
			t.Fatalf("%q: %q", path, name)
		}
		if again, againDir, ok := nameOf(urlPath(name, dir), true); !ok || again != name || againDir != dir {
			t.Fatalf("%q is %q, and that %q: %s", path, name, again, fmt.Sprint(dir, againDir, ok))
		}
	})
}
