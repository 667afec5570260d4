package main

import (
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program refuses the data directory of a newer one with a sentence, and changes nothing in it.
// With the newer program, which is this one here, everything is there again.
func TestADowngradeIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	up := []string{"up", "--data", dir, "--listen", "127.0.0.1:0", "--bus-listen", "127.0.0.1:0", "--wire-listen", "127.0.0.1:0"}
	p := startUp(t, up...)
	p.dock(t)
	p.terminate(t)
	file := filepath.Join(dir, "journal", "FORMAT")
	own, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	newer := "format 1000"
	if err := os.WriteFile(file, fmt.Appendf(nil, "%s crc32 %08x\n", newer, crc32.ChecksumIEEE([]byte(newer))), 0o600); err != nil {
		t.Fatal(err)
	}
	before := treeOf(t, dir)
	for _, args := range [][]string{up, append(up, "--accept-loss"), {"check", "--replay", "--data", dir}} {
		code, _, stderr := outcomeOf(t, args...)
		if want := "journal has format 1000, and this program reads up to"; code == 0 || args[0] == "up" && code != 5 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "use the newer program, or restore a backup of this one") {
			t.Errorf("%v: code %d: %s", args, code, stderr)
		}
		if after := treeOf(t, dir); after != before {
			t.Errorf("%v: the files were\n%s\nand are\n%s", args, before, after)
		}
	}
	if err := os.WriteFile(file, own, 0o600); err != nil {
		t.Fatal(err)
	}
	p = startUp(t, up...)
	if sets := p.request(t, "GET", "v1/sets", ""); !strings.Contains(sets, "docks") {
		t.Errorf("the sets are %s", sets)
	}
	p.terminate(t)
}

// treeOf lists the files below a directory with their times and checksums.
func treeOf(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %s %08x\n", path, info.ModTime(), crc32.ChecksumIEEE(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}
