package main

import (
	"os"
	"testing"
)

// TestREADMEHasTheRatios holds that the table in README.md is the one that the command prints.
func TestREADMEHasTheRatios(t *testing.T) {
	text, err := table(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := splice(string(readme), text)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(readme) {
		t.Errorf("README.md has another table than docs/results: run make ratios\n%s", text)
	}
}
