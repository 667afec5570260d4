package tiles

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// maxName bounds a name in a tile, in bytes.
const maxName = 64

// NameOf chooses a name for a fence from its properties: the string in name, title or label, else
// in the first property with such an ending, such as DistrictName. It returns "" if there is none.
func NameOf(properties json.RawMessage) string {
	if len(properties) == 0 {
		return ""
	}
	d := json.NewDecoder(bytes.NewReader(properties))
	if _, err := d.Token(); err != nil {
		return ""
	}
	best, rank := "", 0
	for d.More() {
		property, err := d.Token()
		if err != nil {
			break
		}
		var value json.RawMessage
		if d.Decode(&value) != nil {
			break
		}
		var text string
		if r := namingRank(property.(string)); r > rank && json.Unmarshal(value, &text) == nil {
			if text = strings.TrimSpace(text); text != "" {
				best, rank = text, r
			}
		}
	}
	return shorten(best)
}

// namingRank returns a higher rank the more likely a property of that name names the fence; 0: it
// does not.
func namingRank(property string) int {
	p := strings.ToLower(property)
	for i, word := range []string{"label", "title", "name"} {
		if p == word {
			return 2 + i
		}
		if strings.HasSuffix(p, word) {
			return 1
		}
	}
	return 0
}

func shorten(s string) string {
	if len(s) <= maxName {
		return s
	}
	s = s[:maxName]
	for !utf8.ValidString(s) {
		s = s[:len(s)-1]
	}
	return s
}
