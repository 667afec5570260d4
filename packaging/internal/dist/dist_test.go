package dist

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/blakesmith/ar"
)

// build returns a release of this tree in a directory of the test.
func build(t *testing.T) *Build {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	b := &Build{Root: root, Out: t.TempDir(), Version: "v1.2.3", Revision: "abc"}
	t.Setenv("SOURCE_DATE_EPOCH", "1700000000")
	if err := b.Describe(); err != nil {
		t.Fatal(err)
	}
	return b
}

// stub is a file in place of a binary, which takes its time to build.
func stub(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "paddock")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho paddock\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func digest(t *testing.T, file string) [32]byte {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(text)
}

// Archives and packages of the same inputs have the same bytes, in whichever directory they are
// made.
func TestReproducible(t *testing.T) {
	binary := stub(t)
	var seen [2]map[string][32]byte
	for i := range seen {
		b := build(t)
		seen[i] = map[string][32]byte{}
		for _, target := range All {
			archive, err := b.Archive(target, binary)
			if err != nil {
				t.Fatal(err)
			}
			packages, err := b.Packages(target, binary)
			if err != nil {
				t.Fatal(err)
			}
			if len(packages) != 2 && target.OS == "linux" {
				t.Errorf("%s: packages %v", target, packages)
			}
			for _, file := range append(packages, archive) {
				seen[i][filepath.Base(file)] = digest(t, file)
			}
		}
	}
	if len(seen[0]) != len(All)+2*3 {
		t.Errorf("%d files", len(seen[0]))
	}
	for name, sum := range seen[0] {
		if seen[1][name] != sum {
			t.Errorf("%s differs", name)
		}
	}
}

// The program for this machine runs, is static, and knows its version.
func TestBinary(t *testing.T) {
	b := build(t)
	i := slices.IndexFunc(All, func(target Target) bool { return target.OS == runtime.GOOS && target.Arch == runtime.GOARCH })
	if i < 0 {
		t.Skip("no release for this machine")
	}
	binary, err := b.Binary(t.Context(), All[i])
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command(binary, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(out), "paddock v1.2.3") || !strings.Contains(string(out), "2023-11-14") {
		t.Errorf("%s, %v", out, err)
	}
	if info, err := exec.Command("go", "version", "-m", binary).Output(); err != nil || !strings.Contains(string(info), "CGO_ENABLED=0") || strings.Contains(string(info), b.Root) {
		t.Errorf("%s, %v", info, err)
	}
}

func TestArchives(t *testing.T) {
	b, binary := build(t), stub(t)
	want := []string{"README.md", "LICENSE", "CHANGELOG.md", "paddock.example.yaml", "completions/paddock.bash", "completions/paddock.fish", "completions/paddock.zsh"}
	for _, target := range All {
		file, err := b.Archive(target, binary)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := "paddock-1.2.3-" + strings.ReplaceAll(target.String(), "/", "-")
		var names []string
		if target.OS == "windows" {
			z, err := zip.NewReader(bytes.NewReader(text), int64(len(text)))
			if err != nil {
				t.Fatal(err)
			}
			for _, f := range z.File {
				names = append(names, f.Name)
			}
		} else {
			names = tarNames(t, text)
		}
		expected := []string{dir + "/" + target.program()}
		for _, name := range want {
			expected = append(expected, dir+"/"+name)
		}
		if !slices.Equal(names, expected) {
			t.Errorf("%s: %q", target, names)
		}
	}
}

func tarNames(t *testing.T, packed []byte) (names []string) {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for in := tar.NewReader(r); ; {
		h, err := in.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			names = append(names, h.Name)
			if h.Uid != 0 || h.Gid != 0 || !h.ModTime.Equal(time.Unix(1700000000, 0)) {
				t.Errorf("%s: owner %d:%d, of %v", h.Name, h.Uid, h.Gid, h.ModTime)
			}
		}
	}
}

// The package for Debian has the program, the units, one file of configuration, and nothing beside
// these and the documents.
func TestDebianPackage(t *testing.T) {
	b := build(t)
	files, err := b.Packages(Target{OS: "linux", Arch: "arm", ARM: "7"}, stub(t))
	if err != nil {
		t.Fatal(err)
	}
	if name := filepath.Base(files[0]); name != "paddock_1.2.3_armhf.deb" {
		t.Errorf("named %s", name)
	}
	f, err := os.Open(files[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	parts := map[string][]string{}
	for r := ar.NewReader(f); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(h.Name, ".tar.gz") {
			parts[h.Name] = tarNames(t, text)
		}
	}
	slices.Sort(parts["control.tar.gz"])
	if want := []string{"./conffiles", "./control", "./md5sums", "./postinst", "./postrm", "./prerm"}; !slices.Equal(parts["control.tar.gz"], want) {
		t.Errorf("control: %q", parts["control.tar.gz"])
	}
	want := []string{
		"./etc/paddock/paddock.yaml", "./usr/bin/paddock",
		"./usr/lib/systemd/system/paddock-agent.service", "./usr/lib/systemd/system/paddock-bus.service",
		"./usr/lib/systemd/system/paddock-tunnel.service", "./usr/lib/systemd/system/paddock.service",
		"./usr/share/bash-completion/completions/paddock",
	}
	for _, doc := range []string{"CHANGELOG.md", "copyright", "examples/agent.yaml", "examples/bus.conf", "examples/tunnel.yaml", "paddock.example.yaml", "service.md", "upgrade.md"} {
		want = append(want, "./usr/share/doc/paddock/"+doc)
	}
	want = append(want, "./usr/share/fish/vendor_completions.d/paddock.fish", "./usr/share/zsh/vendor-completions/_paddock")
	if !slices.Equal(parts["data.tar.gz"], want) {
		t.Errorf("data: %q", parts["data.tar.gz"])
	}
}

// Versions of packages are in the order of the commits.
func TestPackageVersion(t *testing.T) {
	at := time.Date(2026, 11, 27, 1, 2, 3, 0, time.UTC)
	for version, want := range map[string]string{
		"v0.3.0":                  "0.3.0",
		"0.3.0":                   "0.3.0",
		"v0.3.0-rc.1":             "0.3.0~rc.1",
		"v0.3.0-12-gabc1234":      "0.3.0+12.gabc1234",
		"v0.3.0-rc.1-2-gabc1234":  "0.3.0~rc.1+2.gabc1234",
		"v0.3.0-2-gabc1234-dirty": "0.3.0+2.gabc1234",
		"abc1234":                 "0.0.0+20261127010203.abc1234",
		"abc1234-dirty":           "0.0.0+20261127010203.abc1234",
		"devel":                   "0.0.0+20261127010203.devel",
		"feature/x_y":             "0.0.0+20261127010203.feature.x.y",
	} {
		b := &Build{Version: version, Date: at}
		if got := b.packageVersion(); got != want {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	all, err := ParseTargets(nil)
	if err != nil || len(all) != len(All) {
		t.Errorf("%v, %v", all, err)
	}
	one, err := ParseTargets([]string{"linux/armv7"})
	if err != nil || len(one) != 1 || one[0].ARM != "7" {
		t.Errorf("%v, %v", one, err)
	}
	if _, err := ParseTargets([]string{"plan9/amd64"}); err == nil || !strings.Contains(err.Error(), "linux/armv7") {
		t.Errorf("%v", err)
	}
	if err := (&Build{Root: t.TempDir()}).Describe(); err != nil {
		t.Error(err)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "yesterday")
	if err := (&Build{}).Describe(); err == nil {
		t.Error("no error")
	}
}

// The same tree in another directory gives the same program. It takes minutes.
func TestBinaryIsReproducible(t *testing.T) {
	if os.Getenv("PADDOCK_DIST_CHECK") == "" {
		t.Skip("PADDOCK_DIST_CHECK is not set: make dist-check sets it")
	}
	b := build(t)
	target := Target{OS: "linux", Arch: "amd64"}
	first, err := b.Binary(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	for _, part := range []string{"go.mod", "go.sum", "bus", "cmd", "docs", "fence", "internal", "lab", "load", "tunnel", "wire"} {
		if out, err := exec.Command("cp", "-a", filepath.Join(b.Root, part), root).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	again := build(t)
	again.Root = root
	second, err := again.Binary(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	if digest(t, first) != digest(t, second) {
		t.Errorf("%s and %s differ", first, second)
	}
}
