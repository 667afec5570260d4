package strictyaml

// Fields are the keys of a mapping, each with what takes its value.
type Fields map[string]func(e Entry)

// Read gives each entry of n to its field. What names n in faults.
func (f Fields) Read(n *Node, what string) { f.Take(n.Entries(what)) }

// Take gives each entry to its field; a key without one is a fault.
func (f Fields) Take(entries []Entry) {
	for _, e := range entries {
		if take, ok := Known(e, f); ok {
			take(e)
		}
	}
}

// Into takes a single value that parse understands.
func Into[T any](field *T, parse func(string) (T, error)) func(Entry) {
	return func(e Entry) {
		text, ok := e.Text(e.Key)
		if !ok {
			return
		}
		v, err := parse(text)
		if err != nil {
			e.Value.Fault("%s: %w", e.Key, err)
			return
		}
		*field = v
	}
}

// ListInto takes a list of values that parse understands.
func ListInto[T any](field *[]T, parse func(string) (T, error)) func(Entry) {
	return func(e Entry) {
		for _, item := range e.Value.Items(e.Key) {
			text, ok := item.Text("a value of " + e.Key)
			if !ok {
				continue
			}
			v, err := parse(text)
			if err != nil {
				item.Fault("%s: %w", e.Key, err)
				continue
			}
			*field = append(*field, v)
		}
	}
}

// maxTypos is how many letters may differ between a word and what was meant.
const maxTypos = 2

// Nearest returns the word that s was probably meant to be, "" if none is near.
func Nearest(s string, words []string) string {
	best, typos := "", maxTypos+1
	for _, w := range words {
		if d := distance(s, w); d < typos {
			best, typos = w, d
		}
	}
	return best
}

// distance is the number of letters to insert, delete or replace to make b of a
// (Levenshtein). Swapped neighbours count as two.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
