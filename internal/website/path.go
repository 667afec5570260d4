package website

import (
	"path"
	"strings"
	"unicode/utf8"
)

// wellKnown is the only name with a leading dot that is always served: RFC 8615.
const wellKnown = ".well-known"

// nameOf returns the name within the directory for the path of a URL, whose escapes are decoded;
// "." is the directory itself. dir reports that the path requests a directory. ok is false if no
// file can be served for such a path.
//
// Empty and dot segments are resolved within the path, as in net/http's FileServer; they cannot
// climb above its root. A backslash would be a separator on some systems, and control bytes belong
// in no name, so paths with them name nothing.
func nameOf(urlPath string, dotfiles bool) (name string, dir, ok bool) {
	if !strings.HasPrefix(urlPath, "/") || !utf8.ValidString(urlPath) || strings.ContainsFunc(urlPath, odd) {
		return "", false, false
	}
	last := urlPath[strings.LastIndexByte(urlPath, '/')+1:]
	dir = last == "" || last == "." || last == ".."
	name = path.Clean(urlPath)[1:]
	if name == "" {
		return ".", true, true
	}
	return name, dir, dotfiles || !hidden(name)
}

func odd(r rune) bool { return r < ' ' || r == 0x7f || r == '\\' }

// hidden reports whether a clean name has a segment that begins with a dot.
func hidden(name string) bool {
	if name == wellKnown || strings.HasPrefix(name, wellKnown+"/") {
		name = name[1:]
	}
	return strings.HasPrefix(name, ".") || strings.Contains(name, "/.")
}

// urlPath returns the unescaped path under which a name is cached.
func urlPath(name string, dir bool) string {
	switch {
	case name == ".":
		return "/"
	case dir:
		return "/" + name + "/"
	}
	return "/" + name
}
