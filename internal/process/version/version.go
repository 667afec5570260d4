// Package version identifies the running build of Paddock.
//
// Two sources are merged. The linker's -X values take precedence, because `make build` takes them
// from `git describe` even where Go's own stamping is off. Missing values come from the build
// information that the go command embeds. A build with neither, such as `go run` outside a work
// tree, reports "devel".
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"
)

// Set by the linker, see the Makefile: all are optional.
var (
	linkedVersion  string // of `git describe`, such as v0.3.0-12-gabc1234 or v0.3.0-dirty
	linkedRevision string // the full commit hash
	linkedTime     string // the commit's time, RFC 3339
)

const (
	unknown     = "devel"  // the version of an unstamped build
	dirtySuffix = "-dirty" // the suffix of `git describe --dirty`
	shortHash   = 12       // digits of the revision in texts for people
)

// Info describes one build. Unknown fields are empty.
type Info struct {
	Version  string    `json:"version"`            // "v0.3.0", or "devel"
	Revision string    `json:"revision,omitempty"` // full commit hash
	Time     time.Time `json:"time,omitzero"`      // of the commit
	Dirty    bool      `json:"dirty"`              // the work tree had uncommitted changes
	Go       string    `json:"go"`                 // "go1.26.0"
	Platform string    `json:"platform"`           // "linux/amd64"
}

// Get returns the running program's build. It never changes while the program runs.
var Get = sync.OnceValue(func() Info {
	built, _ := debug.ReadBuildInfo()
	return merge(built, linkedVersion, linkedRevision, linkedTime)
})

// String returns the line that `paddock version` prints.
func (i Info) String() string {
	var b strings.Builder
	b.WriteString("paddock " + i.Version)
	if i.Revision != "" {
		fmt.Fprintf(&b, " (%s", i.Revision[:min(shortHash, len(i.Revision))])
		if !i.Time.IsZero() {
			b.WriteString(", " + i.Time.UTC().Format(time.DateOnly))
		}
		if i.Dirty {
			b.WriteString(", with local changes")
		}
		b.WriteString(")")
	}
	fmt.Fprintf(&b, " %s %s", i.Go, i.Platform)
	return b.String()
}

// merge puts the linker's values over the build information. built may be nil.
func merge(built *debug.BuildInfo, version, revision, commitTime string) Info {
	i := Info{
		Version:  version,
		Revision: revision,
		Go:       runtime.Version(),
		Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	i.Time, _ = time.Parse(time.RFC3339, commitTime) // an unreadable time is an unknown one
	i.Dirty = strings.HasSuffix(version, dirtySuffix)
	if built != nil {
		i.fill(built)
	}
	if commit := strings.TrimSuffix(i.Version, dirtySuffix); i.Version == "" || strings.HasPrefix(i.Revision, commit) {
		i.Version = unknown // git describe gives the revision where there is no tag
	}
	return i
}

// fill takes the values that the linker left empty from the build information.
func (i *Info) fill(built *debug.BuildInfo) {
	if i.Version == "" && built.Main.Version != "(devel)" {
		i.Version = built.Main.Version
	}
	if i.Revision != "" {
		return // the linker's revision and its dirty flag belong together
	}
	for _, s := range built.Settings {
		switch s.Key {
		case "vcs.revision":
			i.Revision = s.Value
		case "vcs.time":
			i.Time, _ = time.Parse(time.RFC3339, s.Value)
		case "vcs.modified":
			i.Dirty = i.Dirty || s.Value == "true"
		}
	}
}
