package ingest

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	// maxIgnored bounds the names of ignored members in an answer, and maxIgnoredBytes each of
	// them.
	maxIgnored      = 16
	maxIgnoredBytes = 64
)

// Ignored lists the unknown members of positions for an answer. The zero value is empty.
type Ignored struct {
	Names []string `json:"ignored,omitempty"`       // the first ones, each once
	Count int      `json:"ignored_count,omitempty"` // in all positions
	Hints []string `json:"hints,omitempty"`         // probable meanings of names
}

// members holds the names of one form of a position.
type members struct {
	names [][]byte
	// instead returns the name of a position's field in this form.
	instead func(field string) string
}

var (
	positionMembers = &members{
		names:   bytes.Fields([]byte("id fleet lon lat t accuracy speed heading altitude props")),
		instead: func(field string) string { return field },
	}
	featureMembers = &members{
		names: bytes.Fields([]byte("type geometry properties id bbox")),
		instead: func(field string) string {
			switch field {
			case "id":
				return field
			case "lon", "lat", "altitude":
				return "geometry"
			case "props":
				return "properties"
			}
			return "properties." + field
		},
	}
)

// meant maps names of other formats, in lower case without _ and -, to fields.
var meant = map[string]string{
	"deviceid": "id", "device": "id", "vehicleid": "id", "objectid": "id", "uniqueid": "id",
	"lng": "lon", "long": "lon", "longitude": "lon", "latitude": "lat",
	"timestamp": "t", "time": "t", "ts": "t", "datetime": "t",
	"acc": "accuracy", "velocity": "speed", "bearing": "heading", "course": "heading",
	"alt": "altitude", "elevation": "altitude", "ele": "altitude",
	"properties": "props", "attributes": "props",
}

// look adds the unknown members of a well-formed JSON object. As in encoding/json, case is ignored.
//
// hot: guarded by TestMembersDoNotAllocate.
func (g *Ignored) look(object []byte, known *members) {
	level, isName := 0, false
	for i := 0; i < len(object); i++ {
		switch object[i] {
		case '{':
			level++
			isName = level == 1
		case '[':
			level++
		case '}', ']':
			level--
		case ',':
			isName = level == 1
		case '"':
			from := i
			if i = endOfText(object, i); isName {
				isName = false
				g.see(object[from+1:i], known)
			}
		}
	}
}

// see adds a name, which is still escaped, unless it is known.
func (g *Ignored) see(name []byte, known *members) {
	if bytes.IndexByte(name, '\\') >= 0 {
		var text string
		_ = json.Unmarshal(slices.Concat([]byte{'"'}, name, []byte{'"'}), &text) // it is well formed
		name = []byte(text)
	}
	for _, k := range known.names {
		if bytes.EqualFold(k, name) {
			return
		}
	}
	g.add(name, known)
}

// add counts a name, and lists it if it is new and there is room.
func (g *Ignored) add(name []byte, known *members) {
	g.Count++
	name = cut(name, maxIgnoredBytes)
	for _, n := range g.Names {
		if n == string(name) {
			return
		}
	}
	if len(g.Names) == maxIgnored {
		return
	}
	text := string(name)
	g.Names = append(g.Names, text)
	field := strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(text))
	if m := meant[field]; m != "" {
		field = m
	} else if !isField(text) {
		return
	}
	if instead := known.instead(field); instead != text {
		g.Hints = append(g.Hints, text+": did you mean "+instead+"?")
	}
}

// isField reports whether a name is a field of positions. The comparison is case-sensitive.
func isField(name string) bool {
	for _, k := range positionMembers.names {
		if string(k) == name {
			return true
		}
	}
	return false
}

// cut shortens a text to a number of bytes, at the end of a character.
func cut(text []byte, most int) []byte {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// deeper reports whether a JSON text has more than most levels of objects and arrays. The text need
// not be well formed.
func deeper(text []byte, most int) bool {
	level := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '"':
			i = endOfText(text, i)
		case '{', '[':
			if level++; level > most {
				return true
			}
		case '}', ']':
			level--
		}
	}
	return false
}

// endOfText returns the index of the quote that ends the string which begins at from, or the length
// of json if there is none.
func endOfText(json []byte, from int) int {
	for i := from + 1; i < len(json); i++ {
		switch json[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(json)
}
