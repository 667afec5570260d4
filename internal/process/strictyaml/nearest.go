package strictyaml

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
