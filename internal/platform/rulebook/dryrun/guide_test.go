package dryrun_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"paddock/fence/track/rule"
)

var (
	recipe = regexp.MustCompile(`(?m)^\*\*\d+\. `)
	block  = regexp.MustCompile("(?ms)^```(yaml|history)\n(.*?)^```")
)

// TestGuide holds that each recipe of the guide gives the events that the guide shows beside it.
func TestGuide(t *testing.T) {
	page, err := os.ReadFile("../../../../docs/guides/rules.md")
	if err != nil {
		t.Fatal(err)
	}
	begin := strings.Index(string(page), "\n## Twenty rules\n")
	end := strings.Index(string(page), "\n## Policies\n")
	if begin < 0 || end < begin {
		t.Fatal("the guide has no recipes")
	}
	recipes := recipe.Split(string(page[begin:end]), -1)[1:]
	if len(recipes) != 20 {
		t.Errorf("%d recipes", len(recipes))
	}
	for _, text := range recipes {
		playRecipe(t, text)
	}
}

func playRecipe(t *testing.T, text string) {
	t.Helper()
	var of *rule.Rule
	played := 0
	for _, m := range block.FindAllStringSubmatch(text, -1) {
		if m[1] == "history" {
			if played++; of == nil {
				t.Fatalf("a history without a rule: %s", m[2])
			}
			if got := parseHistory(t, of, m[2]).run(); got != m[2] {
				t.Errorf("%s: the guide has\n%s\nthe tracker gives\n%s", of.ID, m[2], got)
			}
			continue
		}
		rules, err := rule.ParseFile("rules.yaml", []byte("rules:\n"+m[2]))
		if err != nil || len(rules) != 1 {
			t.Fatalf("%d rules, %v in %s", len(rules), err, m[2])
		}
		of = rules[0]
	}
	if played == 0 {
		t.Errorf("%s has no history", of.ID)
	}
}
