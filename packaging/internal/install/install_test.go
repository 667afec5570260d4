package install

import (
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"paddock/packaging/internal/dist"
)

const (
	square = `{"type":"FeatureCollection","features":[{"type":"Feature","id":"yard","properties":null,"geometry":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]]]}}]}`
	config = "etc/paddock/paddock.yaml"
)

// data are the places of a fleet's past. Nothing removes them unless it is told to.
var data = []string{"var/lib/private", "var/lib/paddock"}

// debs builds the package for this machine in two versions.
func debs(t *testing.T) (older, newer string) {
	t.Helper()
	root, err := filepath.Abs("../../..")
	must(t, err)
	i := slices.IndexFunc(dist.All, func(d dist.Target) bool { return d.OS == "linux" && d.Arch == runtime.GOARCH })
	if i < 0 {
		t.Fatalf("no package for %s", runtime.GOARCH)
	}
	var files []string
	for _, version := range []string{"v1.0.0", "v1.1.0"} {
		b := &dist.Build{Root: root, Out: t.TempDir(), Version: version}
		must(t, b.Describe())
		binary, err := b.Binary(t.Context(), dist.All[i])
		must(t, err)
		packages, err := b.Packages(dist.All[i], binary)
		must(t, err)
		files = append(files, packages[0])
	}
	return files[0], files[1]
}

// A package is installed in a clean system, its service runs as the unit says, and it is upgraded,
// rolled back, removed and purged. Edits of the configuration and the data stay.
func TestPackageInACleanSystem(t *testing.T) {
	s := newSystem(t)
	older, newer := debs(t)
	before := s.files()
	s.install(older)
	if got := s.read("usr/share/doc/paddock/copyright"); !strings.Contains(got, "Apache License") {
		t.Error("no licence")
	}
	if out := s.run(nil, "dpkg", "-s", "paddock"); !strings.Contains(out, "Status: install ok installed") || !strings.Contains(out, "Version: 1.0.0") {
		t.Errorf("%s", out)
	}
	for _, name := range []string{"etc/systemd/system/multi-user.target.wants/paddock.service"} {
		if before[name] == "" && s.files()[name] == "" {
			t.Errorf("%s: the service is not enabled", name)
		}
	}
	at := s.configure()
	s.write("etc/paddock/paddock.env", []byte("PADDOCK_WIRE_TOKEN=0123456789abcdef\n"), 0o600) // of the administrator
	p := s.start("paddock.service")
	s.usable(at)
	p.reload()
	p.stop()

	edited := s.read(config)
	s.install(newer)
	if out := s.run(nil, "/usr/bin/paddock", "version"); !strings.Contains(out, "v1.1.0") {
		t.Errorf("%s", out)
	}
	s.keeps(edited, at)
	s.install(older) // the way back
	s.keeps(edited, at)

	s.run(nil, "dpkg", "-r", "paddock")
	s.leaves(before, append(data, "var/cache/private", "var/cache/paddock", "run", "etc/paddock", "etc/systemd", "var/lib/systemd")...)
	if s.read(config) != edited {
		t.Error("the removal has changed the configuration")
	}
	s.install(newer)
	s.keeps(edited, at)
	s.run(nil, "dpkg", "-P", "paddock")
	s.leaves(before, append(data, "var/cache/private", "run", "etc/systemd/system", "var/lib/systemd")...)
	s.read("var/lib/paddock/journal/FORMAT")
	s.install(newer)
	s.run([]string{"PADDOCK_PURGE_DATA=1"}, "dpkg", "-P", "paddock")
	s.leaves(before, "var/lib/private", "var/cache/private", "run", "etc/systemd/system", "var/lib/systemd")
	if now := s.files(); now["var/lib/private/paddock"] != "" || now["var/lib/paddock"] != "" {
		t.Error("the data are left")
	}
}

// configure edits the configuration as an administrator does, and returns the address of HTTP.
func (s *system) configure() (url string) {
	s.t.Helper()
	text := s.read(config)
	port := freePort(s.t)
	for old, own := range map[string]string{"8080": port, "4222": freePort(s.t), "7400": freePort(s.t)} {
		if !strings.Contains(text, "127.0.0.1:"+old) {
			s.t.Fatalf("no port %s in the configuration", old)
		}
		text = strings.Replace(text, "127.0.0.1:"+old, "127.0.0.1:"+own, 1)
	}
	s.write(config, []byte(text+"track: {policy: raw, initial: enter}\n# an edit\n"), 0o644)
	environ := s.directories(s.unit("paddock.service"))
	if out, err := s.command(environ, "/usr/bin/paddock", "check", "-c", "/"+config).CombinedOutput(); err != nil {
		s.t.Errorf("paddock check: %v\n%s", err, out)
	}
	return "http://127.0.0.1:" + port
}

// usable checks that a position causes an event.
func (s *system) usable(url string) {
	s.t.Helper()
	if out, err := s.command(nil, "/usr/bin/paddock", "ready", url).CombinedOutput(); err != nil {
		s.t.Errorf("paddock ready: %v\n%s", err, out)
	}
	ask(s.t, "PUT", url+"/v1/sets/yards", square)
	if answer := ask(s.t, "POST", url+"/v1/positions", `{"id":"bus-7","lon":0.5,"lat":0.5}`); !strings.Contains(answer, `"accepted":1`) {
		s.t.Errorf("%s", answer)
	}
	if events := ask(s.t, "GET", url+"/v1/events?wait=0&format=ndjson", ""); !strings.Contains(events, "bus-7") || !strings.Contains(events, "yard") {
		s.t.Errorf("events: %s", events)
	}
}

// keeps checks that the configuration is as it was edited, and that a start has the data.
func (s *system) keeps(edited, url string) {
	s.t.Helper()
	if got := s.read(config); got != edited {
		s.t.Errorf("the configuration was\n%s\nand is\n%s", edited, got)
	}
	p := s.start("paddock.service")
	if objects := ask(s.t, "GET", url+"/v1/objects", ""); !strings.Contains(objects, "bus-7") {
		s.t.Errorf("objects: %s", objects)
	}
	p.stop()
}
