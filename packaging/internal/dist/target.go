package dist

import (
	"fmt"
	"slices"
	"strings"
)

// Target is a system that a release is for.
type Target struct {
	OS, Arch string // as Go calls them
	ARM      string // GOARM: 7, or "" for other architectures
}

// All are the targets of a release.
var All = []Target{
	{OS: "linux", Arch: "amd64"},
	{OS: "linux", Arch: "arm64"},
	{OS: "linux", Arch: "arm", ARM: "7"},
	{OS: "darwin", Arch: "amd64"},
	{OS: "darwin", Arch: "arm64"},
	{OS: "windows", Arch: "amd64"},
	{OS: "windows", Arch: "arm64"},
}

// String returns the name of a target, such as linux/amd64 or linux/armv7.
func (t Target) String() string {
	if t.ARM != "" {
		return t.OS + "/" + t.Arch + "v" + t.ARM
	}
	return t.OS + "/" + t.Arch
}

// file returns the part of a file's name that stands for the target.
func (t Target) file() string { return strings.ReplaceAll(t.String(), "/", "-") }

// program returns the name of the program.
func (t Target) program() string {
	if t.OS == "windows" {
		return "paddock.exe"
	}
	return "paddock"
}

// packages reports whether there are packages for the target.
func (t Target) packages() bool { return t.OS == "linux" }

// ParseTargets returns the targets of these names, or all of them without a name.
func ParseTargets(names []string) (targets []Target, err error) {
	if len(names) == 0 {
		return All, nil
	}
	for _, name := range names {
		i := slices.IndexFunc(All, func(t Target) bool { return t.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("%s is no target; there are %v", name, All)
		}
		targets = append(targets, All[i])
	}
	return targets, nil
}
