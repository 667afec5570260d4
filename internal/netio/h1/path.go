package h1

import "strings"

// Climbs says whether a path may mean something above where it begins, for
// whoever takes it apart: it has a segment "..", written in any way.
func Climbs(path string) bool {
	if !strings.Contains(path, "..") && !strings.Contains(path, "%") {
		return false
	}
	path, _, _ = strings.Cut(path, "?")
	plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/", "%5c", "/", "%5C", "/", `\`, "/").Replace(path)
	for segment := range strings.SplitSeq(plain, "/") {
		if segment, _, _ = strings.Cut(segment, ";"); segment == ".." {
			return true
		}
	}
	return false
}
