package manual

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"
)

// The bounds of a search. Further words are ignored, and further results are counted.
const (
	maxQuery   = 200 // bytes
	maxWords   = 8
	maxResults = 40
	maxCount   = 8   // times that a word counts in one section
	before     = 60  // bytes of an excerpt before the first word
	excerpt    = 240 // bytes of an excerpt
)

// results are the sections that have all words of a query.
type results struct {
	Found   []*result
	Omitted int
}

type result struct {
	section
	Page    *page
	Excerpt template.HTML
	score   int
}

// Total is the number of sections that were found.
func (r *results) Total() int { return len(r.Found) + r.Omitted }

// Link returns the place of a section, relative to the root of the manual.
func (r *result) Link() string { return r.Page.Name + "#" + r.Anchor }

// search answers /search?q=words.
func (m *Manual) search(w http.ResponseWriter, r *http.Request) {
	values, err := url.ParseQuery(r.URL.RawQuery)
	query := values.Get("q")
	for name := range values {
		if name != "q" || len(values[name]) > 1 {
			m.refuse(w, "search", http.StatusBadRequest, "The search takes one q.")
			return
		}
	}
	switch {
	case err != nil || !utf8.ValidString(query):
		m.refuse(w, "search", http.StatusBadRequest, "The query cannot be read.")
	case len(query) > maxQuery:
		m.refuse(w, "search", http.StatusBadRequest, "The query is too long.")
	default:
		m.write(w, "search", http.StatusOK, &shown{Title: "Search", Query: query, Search: m.book().find(query)})
	}
}

// find returns the sections that have all words of a query, best first: words in a heading count
// more than in the title of a page, and these more than in the text.
func (b *book) find(query string) *results {
	words := strings.Fields(lower(query))
	words = words[:min(len(words), maxWords)]
	r := &results{}
	if len(words) == 0 {
		return r
	}
	for i := range b.sections {
		s := &b.sections[i]
		if score := s.score(words); score > 0 {
			r.Found = append(r.Found, &result{section: *s, Page: s.page, score: score})
		}
	}
	slices.SortStableFunc(r.Found, func(x, y *result) int { return cmp.Compare(y.score, x.score) })
	if n := len(r.Found) - maxResults; n > 0 {
		r.Omitted, r.Found = n, r.Found[:maxResults]
	}
	for i := range r.Found {
		r.Found[i].Excerpt = r.Found[i].cut(words)
	}
	return r
}

// score returns how well a section fits, 0 if a word is missing.
func (s *section) score(words []string) (sum int) {
	heading, title := lower(s.Heading), lower(s.page.Title)
	for _, w := range words {
		n := min(strings.Count(s.lower, w), maxCount)
		inTitle := strings.Contains(title, w)
		if n == 0 && !inTitle {
			return 0
		}
		sum += n
		if inTitle {
			sum += 10
		}
		if strings.Contains(heading, w) {
			sum += 20
		}
	}
	return sum
}

// cut returns the text around the first word that it has, with all words marked.
func (s *section) cut(words []string) template.HTML {
	small := lower(s.text)
	from := len(s.text)
	for _, w := range words {
		if at := strings.Index(small, w); at >= 0 {
			from = min(from, at)
		}
	}
	if from == len(s.text) {
		from = 0 // the words are in the heading
	}
	from = max(0, from-before)
	to := min(len(s.text), from+excerpt)
	for from > 0 && s.text[from-1] != ' ' {
		from--
	}
	for to < len(s.text) && s.text[to] != ' ' {
		to++
	}
	var out strings.Builder
	if from > 0 {
		out.WriteString("… ")
	}
	rest, small := s.text[from:to], small[from:to]
	for len(rest) > 0 {
		at, n := len(rest), 0
		for _, w := range words {
			if i := strings.Index(small, w); i >= 0 && (i < at || i == at && len(w) > n) {
				at, n = i, len(w)
			}
		}
		out.WriteString(template.HTMLEscapeString(rest[:at]))
		if n > 0 {
			out.WriteString("<mark>" + template.HTMLEscapeString(rest[at:at+n]) + "</mark>")
		}
		rest, small = rest[at+n:], small[at+n:]
	}
	if to < len(s.text) {
		out.WriteString(" …")
	}
	return template.HTML(out.String()) //nolint:gosec // its text is escaped
}

// lower returns s with the letters of ASCII in small form, so that the places of bytes stay.
func lower(s string) string {
	return strings.Map(func(c rune) rune {
		if c >= 'A' && c <= 'Z' {
			return c + 'a' - 'A'
		}
		return c
	}, s)
}
