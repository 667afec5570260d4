package dist

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Build is what a release is made of.
type Build struct {
	Root     string    // directory of the product's module
	Out      string    // directory of the files; it is made
	Version  string    // of `git describe`, such as v0.3.0-12-gabc1234
	Revision string    // full hash of the commit, "" without git
	Date     time.Time // of every file
}

// earliest is the oldest date that a zip archive can hold.
var earliest = time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC)

// Describe fills in what is not set: version and revision from git, if the tree has it, and the
// date from SOURCE_DATE_EPOCH or the commit.
func (b *Build) Describe() error {
	b.Version = cmp.Or(b.Version, b.git("describe", "--tags", "--always", "--dirty"), "devel")
	b.Revision = cmp.Or(b.Revision, b.git("rev-parse", "HEAD"))
	seconds := cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), b.git("log", "-1", "--format=%ct"))
	b.Date = earliest
	if seconds != "" {
		n, err := strconv.ParseInt(seconds, 10, 64)
		if err != nil {
			return fmt.Errorf("SOURCE_DATE_EPOCH=%s: not a number of seconds", seconds)
		}
		if at := time.Unix(n, 0).UTC(); at.After(earliest) {
			b.Date = at
		}
	}
	return nil
}

// git returns the output of git, or "" if it fails.
func (b *Build) git(args ...string) string {
	out, err := exec.Command("git", append([]string{"-C", b.Root}, args...)...).Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
}

var (
	released  = regexp.MustCompile(`^v?(\d+\.\d+\.\d+)(?:-([0-9A-Za-z.]+?))??(?:-(\d+)-g([0-9a-f]+))?(-dirty)?$`)
	forbidden = regexp.MustCompile(`[^0-9A-Za-z.+~]`)
)

// packageVersion returns the version as packages have it: 0.3.0~rc.1 is before 0.3.0, which is
// before 0.3.0+12.gabc1234. Without a tag it is 0.0.0 with the date and the commit, so that a later
// one is an upgrade.
func (b *Build) packageVersion() string {
	m := released.FindStringSubmatch(b.Version)
	if m == nil {
		return "0.0.0+" + b.Date.Format("20060102150405") + "." + forbidden.ReplaceAllString(strings.TrimSuffix(b.Version, "-dirty"), ".")
	}
	v := m[1]
	if m[2] != "" {
		v += "~" + m[2]
	}
	if m[3] != "" {
		v += "+" + m[3] + ".g" + m[4]
	}
	return v
}
