package rule

import (
	"slices"
	"strings"
)

// maxTypos is the largest number of wrong letters in a misspelt word.
const maxTypos = 2

// suggest returns the advice for a word that is none of words.
func suggest(word string, words []string) string {
	best := slices.MinFunc(words, func(a, b string) int { return typos(word, a) - typos(word, b) })
	if typos(word, best) <= maxTypos {
		return "did you mean " + best + "?"
	}
	return "there are " + strings.Join(words, ", ")
}

// typos returns the number of letters to insert, delete or replace to turn a into b (Levenshtein).
// Words whose lengths differ by more than maxTypos are not compared.
func typos(a, b string) int {
	if d := len(a) - len(b); d > maxTypos || d < -maxTypos {
		return maxTypos + 1
	}
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := []int{i + 1}
		for j := range len(b) {
			replace := above[j]
			if a[i] != b[j] {
				replace++
			}
			row = append(row, min(replace, above[j+1]+1, row[j]+1))
		}
		above = row
	}
	return above[len(b)]
}
