package durable

import (
	"os"
	"path/filepath"
	"testing"
)

func TestMountOf(t *testing.T) {
	const table = `21 1 254:0 / / rw,relatime - ext4 /dev/vda rw
30 21 0:26 / /tmp rw - tmpfs tmpfs rw,size=1g
31 30 254:1 / /tmp/data rw shared:1 - xfs /dev/vdb rw
32 21 254:2 / /my\040disk rw - ext4 /dev/vdc rw
not a line
`
	for dir, want := range map[string]string{
		"/":            "ext4 on /dev/vda",
		"/home/x":      "ext4 on /dev/vda",
		"/tmp":         "tmpfs on tmpfs",
		"/tmpfs":       "ext4 on /dev/vda",
		"/tmp/data/me": "xfs on /dev/vdb",
		"/my disk/me":  "ext4 on /dev/vdc",
	} {
		if got := mountOf(table, dir); got != want {
			t.Errorf("%s: %q, want %q", dir, got, want)
		}
	}
	if got := FileSystem(t.TempDir()); got == "unknown" {
		t.Error(got)
	}
	if got := FileSystem("/no/such/directory"); got != "unknown" {
		t.Error(got)
	}
}

func TestDisk(t *testing.T) {
	name := filepath.Join(t.TempDir(), "disk")
	d, err := openDisk(name)
	if err != nil {
		t.Fatal(err)
	}
	d.next = diskFile - blockSize
	if err := d.probe(3); err != nil {
		t.Fatal(err)
	}
	if err := d.close(); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(name); err != nil || info.Size() != diskFile || len(d.times) != 3 || d.next != 2*blockSize {
		t.Errorf("%v, %v, %d times, %d", info, err, len(d.times), d.next)
	}
}
