package durable

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

func dataSync(f *os.File) error { return unix.Fdatasync(int(f.Fd())) }

// FileSystem names the file system of a directory, and its device.
func FileSystem(dir string) string {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if dir, err2 := filepath.EvalSymlinks(dir); err == nil && err2 == nil {
		if name := mountOf(string(table), dir); name != "" {
			return name
		}
	}
	return "unknown"
}

// escapes are those of the table: of the characters that part its fields and lines.
var escapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// mountOf returns the file system and the device of the last of the deepest mounts above a
// directory; see proc_pid_mountinfo(5).
func mountOf(table, dir string) (name string) {
	deepest := -1
	for line := range strings.Lines(table) {
		head, tail, _ := strings.Cut(line, " - ")
		before, after := strings.Fields(head), strings.Fields(tail)
		if len(before) < 5 || len(after) < 2 {
			continue
		}
		point := escapes.Replace(before[4])
		if dir != point && !strings.HasPrefix(dir, strings.TrimSuffix(point, "/")+"/") || len(point) < deepest {
			continue
		}
		deepest, name = len(point), after[0]+" on "+after[1]
	}
	return name
}
