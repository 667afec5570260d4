package install

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// system is a clean Debian in a directory. Commands run in it by chroot; nothing is mounted.
type system struct {
	t    *testing.T
	root string
}

// newSystem makes a system of the packages that every Debian has.
func newSystem(t *testing.T) *system {
	t.Helper()
	if os.Getenv("PADDOCK_DIST_CHECK") == "" {
		t.Skip("PADDOCK_DIST_CHECK is not set: make dist-check sets it")
	}
	if os.Getuid() != 0 {
		t.Fatal("the test takes root, for debootstrap and chroot")
	}
	mirror := os.Getenv("PADDOCK_DEBIAN_MIRROR")
	if mirror == "" {
		mirror = "http://deb.debian.org/debian"
	}
	s := &system{t, filepath.Join(t.TempDir(), "root")}
	if ready := os.Getenv("PADDOCK_DEBIAN_ROOT"); ready != "" { // made by debootstrap before
		s.host("cp", "-a", ready, s.root)
	} else {
		s.host("debootstrap", "--variant=minbase", "bookworm", s.root, mirror)
	}
	return s
}

func (s *system) host(name string, args ...string) {
	s.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out[max(0, len(out)-2000):])
	}
}

// run runs a command in the system as root.
func (s *system) run(environ []string, name string, args ...string) string {
	s.t.Helper()
	cmd := exec.Command("chroot", append([]string{s.root, name}, args...)...)
	cmd.Env = append([]string{"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C"}, environ...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		s.t.Fatalf("%s %v: %v\n%s", name, args, err, out)
	}
	return string(out)
}

// install installs a package.
func (s *system) install(deb string) {
	s.t.Helper()
	text, err := os.ReadFile(deb)
	if err != nil {
		s.t.Fatal(err)
	}
	const name = "tmp/paddock.deb"
	s.write(name, text, 0o644)
	s.run(nil, "dpkg", "-i", "/"+name)
	if err := os.Remove(s.path(name)); err != nil {
		s.t.Fatal(err)
	}
}

func (s *system) path(name string) string { return filepath.Join(s.root, name) }

func (s *system) read(name string) string {
	s.t.Helper()
	text, err := os.ReadFile(s.path(name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

func (s *system) write(name string, text []byte, mode os.FileMode) {
	s.t.Helper()
	if err := os.WriteFile(s.path(name), text, mode); err != nil {
		s.t.Fatal(err)
	}
}

// files lists the system with the contents of each file. The records of the package manager are
// left out.
func (s *system) files() map[string]string {
	s.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(s.root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name, err := filepath.Rel(s.root, path)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains([]string{"var/lib/dpkg", "var/log", "proc", "sys", "dev"}, name):
			return fs.SkipDir
		case d.Type() == fs.ModeSymlink:
			all[name], err = os.Readlink(path)
		case d.Type().IsRegular():
			var text []byte
			text, err = os.ReadFile(path)
			all[name] = fmt.Sprintf("%x", sha256.Sum256(text))
		case d.IsDir():
			all[name] = "directory"
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// leaves checks that nothing differs from an earlier list but names below some.
func (s *system) leaves(before map[string]string, allowed ...string) {
	s.t.Helper()
	now := s.files()
	for _, name := range slices.Sorted(maps.Keys(now)) {
		of := func(a string) bool { return name == a || strings.HasPrefix(name, a+"/") }
		if before[name] != now[name] && !slices.ContainsFunc(allowed, of) {
			s.t.Errorf("%s is left", name)
		}
	}
	for name := range before {
		if _, ok := now[name]; !ok {
			s.t.Errorf("%s is gone", name)
		}
	}
}
