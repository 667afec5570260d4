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
	want, err := splice(string(readme), begin, text, end)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(readme) {
		t.Errorf("README.md has another table than docs/results: run make ratios\n%s", text)
	}
}

// TestSizingHasTheFigures holds that docs/start/sizing.md has the figures that the command prints.
func TestSizingHasTheFigures(t *testing.T) {
	text, err := sizing(os.DirFS("."))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../start/sizing.md")
	if err != nil {
		t.Fatal(err)
	}
	want, err := splice(string(page), sizingBegin, text, sizingEnd)
	if err != nil {
		t.Fatal(err)
	}
	if want != string(page) {
		t.Errorf("%s has other figures than docs/results: run make ratios\n%s", sizingPage, text)
	}
}

func TestNumbers(t *testing.T) {
	for _, c := range [][2]string{
		{size(0), "0.0 B"},
		{size(999.4), "999 B"},
		{size(1500), "1.5 kB"},
		{size(25_000_000), "25 MB"},
		{size(3e13), "30 TB"},
		{number(0.5), "0.5"},
		{number(1000), "1,000"},
		{number(1_234_567.8), "1,234,568"},
		{seconds(0.5), "0.5 s"},
		{figureOf(1234), "1.2 ms"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
}
