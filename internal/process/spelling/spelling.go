// Package spelling finds the word that a misspelt one probably means.
package spelling

import "strings"

// maxTypos is the largest number of wrong letters in a misspelt word.
const maxTypos = 2

// Nearest returns the word that s is probably a misspelling of, or "" if none is near.
func Nearest(s string, words []string) string {
	best, typos := "", maxTypos+1
	for _, w := range words {
		if d := distance(s, w); d < typos {
			best, typos = w, d
		}
	}
	return best
}

// Advice returns the end of an error about a word that is none of words: the nearest one, or all.
func Advice(s string, words []string) string {
	if near := Nearest(s, words); near != "" {
		return "did you mean " + near + "?"
	}
	return "there are " + strings.Join(words, ", ")
}

// distance returns the number of letters to insert, delete or replace to turn a into b
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
